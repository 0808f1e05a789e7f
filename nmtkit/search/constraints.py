"""What translations of a sentence must and must not have: terms, forbidden words, a prefix.

A term has alternatives, sequences of tokens; a translation must have one of them. A state of
`ConstrainedSentence` says which terms a hypothesis has so far, and which sequences it is in the
middle of. Terms share no tokens, and begin and end where words do.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from nmtkit.search.constraint_states import (
    AllowedTokens,
    ConstraintState,
    Move,
    StateView,
    TermStep,
)
from nmtkit.search.forced_prefix import PrefixNode
from nmtkit.search.token_trees import TokenNode, Tokens, add_sequence, follow, forbidden_tree
from nmtkit.search.word_boundaries import WordBoundaries

ALWAYS = 1_000_000
"""More tokens than any hypothesis may have."""

MAX_READINGS = 64
"""Ways to see the terms in a translation that are compared."""


Rests = tuple[tuple[float, ...], ...]
"""For each alternative of a term and each of its tokens log p of those behind it."""


@dataclass(frozen=True)
class Constraints:
    """Constraints on the translations of a sentence.

    terms: for each term its alternatives. spans: positions of its source tokens. forbidden:
    sequences that must not occur. prefix: what translations begin with. strict: a translation
    without a term is not finished; else it only has a place in the beam. automata: nodes before
    what must not occur in any spelling (`spelled_phrases.py`). spelled: such nodes for each term,
    of alternatives that count in any spelling, though only the tokens in `terms` are proposed.
    rests: for each term, alternative and token log p of the tokens behind it, to compare
    alternatives by before all tokens are there; empty if it is not known.
    """

    terms: tuple[tuple[Tokens, ...], ...] = ()
    spans: tuple[tuple[int, ...], ...] = ()
    forbidden: tuple[Tokens, ...] = ()
    prefix: PrefixNode | None = None
    strict: bool = True
    automata: tuple[TokenNode, ...] = ()
    spelled: tuple[tuple[TokenNode, ...], ...] = ()
    rests: tuple[Rests, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.terms or self.has_forbidden or self.prefix)

    def sentence(self, boundaries: WordBoundaries) -> "ConstrainedSentence":
        """Return the states that hypotheses pass through: the same object each time, as it learns.

        :param boundaries: of the target words.
        """
        known = self.__dict__.get("_sentence")
        if isinstance(known, ConstrainedSentence) and known.boundaries is boundaries:
            return known
        built = ConstrainedSentence(self, boundaries)
        object.__setattr__(self, "_sentence", built)
        return built

    @property
    def has_forbidden(self) -> bool:
        """Return whether something must not occur."""
        return bool(self.forbidden or self.automata)

    @property
    def tokens(self) -> list[int]:
        """Tokens of the prefix, and those of all terms."""
        prefix = self.prefix.candidates() if self.prefix else ()
        return [*prefix, *(i for term in self.terms for tokens in term for i in tokens)]

    @property
    def room(self) -> int:
        """Tokens of the longest alternatives of all terms."""
        return sum(max(map(len, term)) for term in self.terms)


class ConstrainedSentence:
    """The states that hypotheses of a sentence pass through."""

    def __init__(self, constraints: Constraints, boundaries: WordBoundaries) -> None:
        """Build the trees of sequences."""
        self.constraints = constraints
        self.boundaries = boundaries
        self.opens, self._goes_on = boundaries.opens, boundaries.goes_on
        self._is_open = boundaries.is_open
        self._terms, self._bad = TokenNode(), forbidden_tree(constraints.forbidden)
        for number, alternatives in enumerate(constraints.terms):
            rests = constraints.rests[number] if constraints.rests else ()
            for tokens, known in zip_longest(alternatives, rests, fillvalue=()):
                self._add_term(number, tokens, known)
        self._views: dict[ConstraintState, StateView] = {}
        self._numbers = tuple(range(len(constraints.terms)))
        self._unmet: dict[int, Tokens] = {}
        numbered = enumerate(constraints.spelled)
        self._spelled = tuple((node, number) for number, nodes in numbered for node in nodes)

    def _add_term(self, number: int, tokens: Tokens, rests: Sequence[float]) -> None:
        """Add an alternative of a term to the tree."""
        nodes = add_sequence(self._terms, tokens)
        nodes[-1].ends.add(number)
        for length, node in enumerate(nodes[:-1], start=1):
            node.is_inside = self.boundaries.ends_inside(tokens[:length])
            node.below.add(number)
        for node, rest in zip(nodes, rests, strict=False):
            node.rests[number] = _log_sum(node.rests.get(number, -math.inf), rest)

    @property
    def start(self) -> ConstraintState:
        """The state of an empty hypothesis."""
        return ConstraintState(prefix=self.constraints.prefix)

    @property
    def has_only_prefix(self) -> bool:
        """Whether nothing is constrained behind the prefix."""
        return not self.constraints.terms and not self.constraints.has_forbidden

    @property
    def levels(self) -> int:
        """Number of terms, and one."""
        return len(self.constraints.terms) + 1

    def unmet(self, state: ConstraintState) -> Tokens:
        """Return the terms that a hypothesis lacks."""
        found = self._unmet.get(state.met)
        if found is None:
            found = tuple(number for number in self._numbers if not state.met >> number & 1)
            self._unmet[state.met] = found
        return found

    def is_complete(self, state: ConstraintState) -> bool:
        """Return whether a hypothesis has all terms, and the prefix."""
        return not self.unmet(state) and state.prefix is None

    def missing(self, tokens: Iterable[int]) -> Tokens:
        """Return the terms that a translation lacks.

        Where tokens could belong to one term or another, each is tried, unless the first choice has
        all terms.
        """
        read, start = list(tokens), ConstraintState()
        *_, last = start, *self._states(start, read)
        if not self.unmet(last):
            return ()
        states = [start]
        for token in read:
            # in the order found: that of a set would differ from process to process
            after = dict.fromkeys(new for one in states for new in self._readings(one, token))
            states = sorted(after, key=lambda state: -state.met.bit_count())[:MAX_READINGS]
        return min(map(self.unmet, states), key=len)

    def lacks_tokens(self, tokens: Iterable[int]) -> bool:
        """Return whether a translation lacks a term for certain, as tokens of it are not there."""
        if any(self.constraints.spelled):
            return False
        known = set(tokens)
        return any(
            not any(known.issuperset(words) for words in alternatives)
            for alternatives in self.constraints.terms
        )

    def _readings(self, state: ConstraintState, token: int) -> Iterator[ConstraintState]:
        """Yield the states after a token, for each term that it may belong to.

        A term whose word may go on is not ended in one of them, as `disks` may be meant.
        """
        for order in self._orders(state, token):
            after = self.move(state, token, order).state
            yield after
            if after.ended:
                yield self._move(state, token, order, ends=False).state

    def _orders(self, state: ConstraintState, token: int) -> list[Tokens]:
        """Return orders of the terms that are not met, one for each that a token may belong to."""
        unmet = self.unmet(state)
        if self.is_idle(state, token):
            return [unmet]
        terms = self.constraints.terms
        alike = {terms[term]: term for term in reversed(unmet)}  # the first of equal ones
        first = [term for words, term in alike.items() if any(token in one for one in words)]
        return [(term, *(other for other in unmet if other != term)) for term in first] or [unmet]

    def allows(self, tokens: Iterable[int]) -> bool:
        """Return whether tokens have no forbidden sequence, as whole words."""
        state = ConstraintState()
        for token in tokens:
            if state.must_go_on and not self._goes_on[token]:
                return False
            state = self.move(state, token).state
            if state.must_go_on and not self.opens[token]:
                return False
        return not state.must_go_on

    def allowed_length(self, tokens: Iterable[int]) -> int:
        """Return how many tokens come before a forbidden end that was to become a longer word."""
        states = enumerate(self._states(self.start, tokens), start=1)
        return max((length for length, state in states if not state.must_go_on), default=0)

    def _states(self, state: ConstraintState, tokens: Iterable[int]) -> Iterator[ConstraintState]:
        """Yield the states after each of some tokens."""
        for token in tokens:
            state = self.move(state, token).state
            yield state

    def move(self, state: ConstraintState, token: int, order: Tokens | None = None) -> Move:
        """Return the state after one more token.

        :param order: the terms that are not met; of several that a token could begin, the first
            one is begun. None: in the order of the constraints.
        """
        view = self.view(state)
        key = view.unmet if order is None else order, token
        move = view.moves.get(key)
        if move is None:
            move = view.moves[key] = self._move(state, token, key[0])
        return move

    def is_idle(self, state: ConstraintState, token: int) -> bool:
        """Return whether a token neither begins a sequence nor goes on with one, or the prefix."""
        if state.prefix is not None:
            return False
        return not any(token in nodes for nodes in self.view(state).sequences)

    def view(self, state: ConstraintState) -> StateView:
        """Return what follows from a state."""
        view = self._views.get(state)
        if view is None:
            begun = (*(node for node, _ in state.begun), *state.bad)
            spelled = (node for node, _ in (*self._spelled, *state.spelled))
            roots = (self._terms, self._bad, *self.constraints.automata)
            following = [node.following for node in (*roots, *begun, *spelled)]
            rule, needed = self._new_rule(state)
            idle_level = state.met.bit_count()
            view = self._views[state] = StateView(
                self.unmet(state),
                idle_level + bool(state.begun),
                (ConstraintState(state.met), ConstraintState(state.met, is_open=True)),
                idle_level,
                tuple(filter(None, following)),
                rule,
                needed,
                {},
            )
        return view

    def steps(self, state: ConstraintState, order: Tokens | None = None) -> list[TermStep]:
        """Return the tokens that begin a term that is not met, or go on with it.

        :param order: as in `move`.
        """
        view, goes_on = self.view(state), self._goes_on
        fresh = ((self._terms, term) for term in (view.unmet if order is None else order))
        found: dict[int, tuple[int, int, bool, bool, float]] = {}  # as in `TermStep`
        for group, (node, term) in enumerate((*state.begun, *fresh)):
            is_first = self._begins_later(state, node)
            for token in node.steps_of(term):
                if node is self._terms and state.is_open and goes_on[token]:
                    continue  # it would go on with a word
                after = node.following[token]
                is_last, rest = term in after.ends, after.rests.get(term, 0.0)
                if token not in found or is_last and not found[token][3]:
                    found[token] = term, group, is_first, is_last, rest
        urgent = self._urgent_tokens(state, found)
        groups: dict[int, int] = {}
        return [
            TermStep(
                token,
                term,
                groups.setdefault(group, len(groups)),
                first,
                last,
                token in urgent,
                rest,
            )
            for token, (term, group, first, last, rest) in found.items()
        ]

    def _urgent_tokens(self, state: ConstraintState, steps: Iterable[int]) -> set[int]:
        """Return the tokens that go on with what is begun, or else begin something."""
        rule, needed = self.view(state).rule, self.view(state).needed
        if needed < 0:
            return set()
        begun = (node.steps_of(term) for node, term in state.begun[:1])  # what was begun first
        urgent = set(next(begun, steps)) - rule.banned
        if state.must_go_on:  # what is forbidden becomes a longer word first
            urgent = {token for token in urgent if self._goes_on[token]}
        return urgent

    def must_close(self, state: ConstraintState) -> bool:
        """Return whether a word has to end before the terms that are not met can be forced."""
        return state.is_open and self.view(state).needed >= 0 and self.boundaries.can_close

    def shared(self, state: ConstraintState) -> tuple[Tokens, ...]:
        """Return terms that are not met and that one token could begin alike, for each token."""
        unmet = set(self.unmet(state))
        if len(unmet) < 2 or state.prefix is not None:
            return ()
        nodes = self._terms.following.values()
        found = (tuple(sorted((node.ends | node.below) & unmet)) for node in nodes)
        return tuple(dict.fromkeys(terms for terms in found if len(terms) > 1))

    def _new_rule(self, state: ConstraintState) -> tuple[AllowedTokens, int]:
        """Return the rule of a state, and how many tokens the terms that are not met take."""
        complete = self.is_complete(state) or not self.constraints.strict
        needed = -1 if complete else self._needed(state)
        if state.begun and state.begun[0][0].is_inside:
            needed = ALWAYS  # all bytes of a character, or none
        if state.prefix is not None:
            return AllowedTokens(state.prefix.tokens), -1
        banned = frozenset(self._ends_of_forbidden(state))
        goes_on = True if state.must_go_on else False if state.ended else None
        return AllowedTokens(None, banned, goes_on, complete and not state.must_go_on), needed

    def _needed(self, state: ConstraintState) -> int:
        """Return how many tokens the terms that are not met take, and `</s>`.

        One more is for the end of a word that is open, or for a forbidden word that must go on
        before they are forced.
        """
        terms = self.constraints.terms
        ends = 1 + (self.constraints.has_forbidden or self.boundaries.can_close)
        return ends + sum(max(map(len, terms[number])) for number in self.unmet(state))

    def _ends_of_forbidden(self, state: ConstraintState) -> Iterator[int]:
        """Yield the tokens that would end a forbidden sequence and its word."""
        for node in (self._bad, *self.constraints.automata, *state.bad):
            for token, after in node.following.items():
                inside = node is self._bad and state.is_open and self._goes_on[token]
                if after.is_end and not inside and not self.opens[token]:
                    yield token

    def _move(self, state: ConstraintState, token: int, order: Tokens, ends: bool = True) -> Move:
        """Return the state after one more token.

        :param ends: end a term where that can be.
        """
        inside = state.is_open and self._goes_on[token]
        fresh: list[tuple[TokenNode, int]] = []
        if not inside and token in self._terms.following:
            node = self._terms.following[token]
            known = node.ends | node.below
            fresh = [(self._terms, term) for term in order if term in known]
        reached = follow((*state.begun, *fresh), token)
        ending = ((node, term) for node, term, _ in reached if term in node.ends)
        ended = next(ending, None) if ends else None
        spelled = self._spell(state, token, order)
        if ended is None and ends:
            ended = _ended_spelling(spelled, order, [term for _, term, _ in reached])
        last = 0 if ended is None else 1 << ended[1]
        before_last = state.met & ~state.ended if self._goes_on[token] else state.met
        bad_nodes = (*state.bad, *self.constraints.automata, *([] if inside else [self._bad]))
        found = (node.following[token] for node in bad_nodes if token in node.following)
        bad = list(dict.fromkeys(found))
        after = ConstraintState(
            before_last | last,
            () if ended else tuple((node, term) for node, term, _ in reached),
            tuple(node for node in bad if node.following),
            self.opens[token],
            last if self._is_open[token] else 0,
            any(node.is_end for node in bad) and (state.prefix is None or self.opens[token]),
            () if ended else tuple(one for one in spelled if not one[0].is_end),
            None if state.prefix is None else state.prefix.following.get(token),
        )
        if not reached:
            return Move(after)
        _, term, before = next((one for one in reached if one[:2] == ended), reached[0])
        return Move(after, before.steps_of(term), term, self._begins_later(state, before))

    def _spell(
        self, state: ConstraintState, token: int, order: Tokens
    ) -> list[tuple[TokenNode, int]]:
        """Return where a token leads to in the terms of `order` that count in any tokens."""
        before = (one for one in (*state.spelled, *self._spelled) if token in one[0].following)
        after = ((node.following[token], term) for node, term in before if term in order)
        return [*dict.fromkeys(after)]

    def _begins_later(self, state: ConstraintState, node: TokenNode) -> bool:
        """Return whether what goes on from a node begins after what is begun first, or now.

        In "la salle de la", of a term "la salle de la ville", "salle" could go on from the last
        "la". Sequences that begin at the same token are at the same node.
        """
        return not state.begun or node is not state.begun[0][0]


def _ended_spelling(
    spelled: Iterable[tuple[TokenNode, int]], order: Tokens, begun: Sequence[int]
) -> tuple[TokenNode, int] | None:
    """Return the term that has been spelled to its end, the first of an order; None if none has.

    :param begun: terms that are begun with their own tokens. Another one does not end then, as
        terms share no tokens.
    """
    ended = [(node, term) for node, term in spelled if node.is_end]
    ended = [one for one in ended if not begun or one[1] in begun]
    return min(ended, key=lambda one: order.index(one[1]), default=None)


def _log_sum(one: float, other: float) -> float:
    """Return the logarithm of the sum of two numbers that are given by theirs."""
    high, low = max(one, other), min(one, other)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))
