"""Expansions of hypotheses under constraints: a beam with a place for each number of terms.

Dynamic beam allocation (Post and Vilar 2018; Hu et al. 2019, with alternatives): besides the best
tokens of each hypothesis, those that begin a missing term or go on with it are considered. The
beam is divided evenly among hypotheses with 0, 1, 2, ... terms; what is left goes to the best ones.
So a term enters where the model gives it the highest probability: of the hypotheses with as many
terms, which are equally long, the best remain. Where the authors count the tokens of terms, terms
are counted here, also one that is only begun, because small beams have no room for more.

Where the model has attention, hypotheses are not compared by log p alone, as a term that the model
would never write itself costs much wherever it stands, and stands best where it spoils least. In
place of log p of its first token, the logarithm of the attention that its source words have counts:
the model would translate them now. Of the tokens that go on with it, the others of its alternatives
share the probability. Scores that are reported are log p as always.
"""

import heapq
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nmtkit.models.search_state import row_numbers
from nmtkit.search.candidates import CandidateScorer
from nmtkit.search.constraints import (
    ConstrainedSentence,
    Constraints,
    Move,
    Rule,
    State,
    StateView,
    WordBoundaries,
)
from nmtkit.search.next_token import Expansions, NextTokenScorer, TokenMask
from nmtkit.special_symbols import EOS, UNK

MIN_ATTENTION = 1e-6
"""Smallest weight by which a place for a term is judged."""

LEVEL_BONUS = 1.0
"""What a term is worth, in log p, where the beam has no place for each number of terms."""

MAX_TOKENS = 200
"""Tokens that are considered after a hypothesis: the most probable ones, where terms have more."""

SLACK = 10
"""Tokens by which a translation with terms may be longer than one without, besides the terms; and
by which it may always be longer than its prefix."""


class Progress(NamedTuple):
    """What a hypothesis has, and how its rank differs from log p.

    credit: added to log p where hypotheses are compared. debt: the part of it that is for a term
    which is begun and not ended.
    """

    state: State = State()
    credit: float = 0.0
    debt: float = 0.0


class Candidate(NamedTuple):
    """An expansion of a hypothesis; the best come first when they are sorted.

    rank: - log p - credit. parent: slot of the hypothesis. score: log p. level: number of terms.
    """

    rank: float
    parent: int
    token: int
    score: float
    level: int
    progress: Progress


class ConstrainedRows:
    """The sentences of a batch that have constraints, and the states of their hypotheses.

    rows: their rows in the batch.
    """

    def __init__(self, sentences: Sequence[ConstrainedSentence | None]) -> None:
        """Take the sentence of each row, None for one without constraints."""
        self._sentences = list(sentences)
        self._progress = [[Progress(one.start if one else State())] for one in sentences]
        self._chosen: dict[int, dict[tuple[int, int], Progress]] = {}
        self._note_rows()

    @classmethod
    def of(
        cls, constraints: Sequence[Constraints], boundaries: WordBoundaries
    ) -> "ConstrainedRows":
        """Return the rows of newcomers."""
        return cls([ConstrainedSentence(one, boundaries) if one else None for one in constraints])

    def _note_rows(self) -> None:
        self._spans: Tensor | None = None  # positions of terms, of these rows
        self.rows = [row for row, sentence in enumerate(self._sentences) if sentence is not None]

    @property
    def free_rows(self) -> list[int]:
        """Rows of sentences without constraints."""
        return [row for row, sentence in enumerate(self._sentences) if sentence is None]

    def limits(self, limits: Tensor) -> Tensor:
        """Return how many tokens the translations of each row may have.

        :param limits: the same without constraints. Shape: [B].
        """
        rooms, least = [], []
        for sentence in self._sentences:
            found = Constraints() if sentence is None else sentence.constraints
            rooms.append(found.room + SLACK if found.terms or found.forbidden else 0)
            least.append(found.prefix.length + SLACK if found.prefix else 0)
        return (limits + limits.new_tensor(rooms)).maximum(limits.new_tensor(least))

    def select(self, rows: Sequence[int]) -> "ConstrainedRows":
        """Keep some rows."""
        selected = ConstrainedRows([self._sentences[row] for row in rows])
        selected._progress = [self._progress[row] for row in rows]
        return selected

    def replace(self, rows: Sequence[int], newcomers: "ConstrainedRows") -> None:
        """Replace the sentences of some rows."""
        columns = rows, newcomers._sentences, newcomers._progress
        for row, sentence, progress in zip(*columns, strict=True):
            self._sentences[row], self._progress[row] = sentence, progress
        self._note_rows()

    def advance(self, parents: Tensor, tokens: Tensor) -> None:
        """Let the progress follow the hypotheses.

        :param parents, tokens: old slot and token of each new slot. Shapes: [B, k].
        """
        rows = row_numbers(self.rows, tokens.device)
        old, new = parents[rows].tolist(), tokens[rows].tolist()
        for row, slots, last in zip(self.rows, old, new, strict=True):
            chosen, pairs = self._chosen[row], zip(slots, last, strict=True)
            known = self._progress[row] = [chosen.get(pair, Progress()) for pair in pairs]
            if self._sentence_at(row).has_only_prefix:
                if all(one.state.prefix is None for one in known):
                    self._sentences[row] = None  # free from now on
        if not all(self._sentences[row] for row in self.rows):
            self._note_rows()

    def best(
        self,
        scorer: NextTokenScorer | CandidateScorer,
        readouts: Sequence[Tensor],
        alignment: Tensor | None,
        scores: Tensor,
        count: int,
        mask: TokenMask,
        lengths: tuple[Tensor, Tensor, Tensor],
        shrinking: bool,
    ) -> Expansions:
        """Find the expansions of the constrained rows, in their order.

        :param scorer: of these rows; other parameters as in `NextTokenScorer.best`, of these rows.
        :param alignment: alpha_i of the hypotheses, or None. Shape: [B, k, T_x].
        :param lengths: of each row, tokens so far, maximum number, and width of the beam. Shapes:
            [B].
        :param shrinking: each finished hypothesis makes the beam one narrower.
        """
        steps, limits, widths = lengths
        left: list[int] = (limits - steps).tolist()
        hypotheses = self._hypotheses(alignment, scores, left)
        k = scores.size(1)
        count_of_one = min(int(widths.max()) + 1, scorer.vocabulary_size)  # with `</s>`
        found: list[list[Candidate]] = [[] for _ in self.rows]
        for chunk, log_probs in scorer.log_probs(readouts):
            mask.select(chunk)._replace(unk=False).apply(log_probs)
            part = [one for one in hypotheses if chunk.start <= one.number < chunk.stop]
            rows = [one.number - chunk.start for one in part]
            wanted = constrain(part, rows, log_probs, mask.unk)
            values = log_probs if len(rows) == len(log_probs) else log_probs[rows]
            best = values.topk(count_of_one, dim=1)
            top = zip(best.indices.tolist(), best.values.tolist(), strict=True)
            for one, extra, pair in zip(part, wanted, top, strict=True):
                probabilities = {**dict(zip(*pair, strict=True)), **extra}
                found[one.number // k] += one.candidates(probabilities)
        chosen = [
            choose(candidates, width, self._sentence(index).levels, shrinking)
            for index, (candidates, width) in enumerate(zip(found, widths.tolist(), strict=True))
        ]
        self._chosen = {
            row: {(one.parent, one.token): one.progress for one in kept}
            for row, kept in zip(self.rows, chosen, strict=True)
        }
        return _expansions(chosen, count, scores)

    def _hypotheses(
        self, alignment: Tensor | None, scores: Tensor, left: Sequence[int]
    ) -> list["_Hypothesis"]:
        """Return the active hypotheses of the constrained rows.

        :param left: how many tokens those of each row may still have.
        """
        weights = self._attention(alignment)
        found = []
        for index, totals in enumerate(scores.tolist()):
            sentence, progress = self._sentence(index), self._progress[self.rows[index]]
            attentions = weights[index] if weights and sentence.constraints.spans else None
            first = index * scores.size(1)
            for slot, (total, one) in enumerate(zip(totals, progress, strict=False)):
                if total > -math.inf:
                    view = sentence.view(one.state)
                    attention = None if attentions is None else attentions[slot]
                    place = (first + slot, slot, total)
                    found.append(_Hypothesis(sentence, view, *place, one, left[index], attention))
        return found

    def _attention(self, alignment: Tensor | None) -> list[list[list[float]]] | None:
        """Return the weight of the source words of each term, for each hypothesis.

        :param alignment: alpha_i of the hypotheses, or None. Shape: [B, k, T_x].
        """
        if alignment is None:
            return None
        if self._spans is None or self._spans.size(1) != alignment.size(2):
            all_spans = [self._sentence(index).constraints.spans for index in range(len(self.rows))]
            terms = max(map(len, all_spans), default=0)
            marked = torch.zeros(len(all_spans), alignment.size(2), terms)  # [B, T_x, terms]
            for row, spans in enumerate(all_spans):
                for term, span in enumerate(spans):
                    marked[row, list(span), term] = 1.0
            self._spans = marked.to(alignment.device)
        weights: list[list[list[float]]] = (alignment.float() @ self._spans).tolist()
        return weights

    def _sentence(self, index: int) -> ConstrainedSentence:
        return self._sentence_at(self.rows[index])

    def _sentence_at(self, row: int) -> ConstrainedSentence:
        sentence = self._sentences[row]
        assert sentence is not None
        return sentence


class _Hypothesis(NamedTuple):
    """An active hypothesis of a constrained sentence.

    view: what follows from its state. number: its index among all slots. slot: that of the beam.
    score: log p. left: tokens that it may still have. attention: weight of the source words of each
    term, or None.
    """

    sentence: ConstrainedSentence
    view: StateView
    number: int
    slot: int
    score: float
    progress: Progress
    left: int
    attention: list[float] | None

    @property
    def order(self) -> tuple[int, ...]:
        """The terms that are not met, those first that the model looks at."""
        attention, unmet = self.attention, self.view.unmet
        if attention is None or len(unmet) < 2:
            return unmet
        return tuple(sorted(unmet, key=lambda term: -attention[term]))

    @property
    def rule(self) -> Rule:
        """What may follow."""
        if self.left > self.view.needed:
            return self.view.rule
        return self.sentence.rule(self.progress.state, self.left)

    def candidates(self, log_probs: dict[int, float]) -> list[Candidate]:
        """Return the expansions by some tokens."""
        sentence, slot, opens, view = self.sentence, self.slot, self.sentence.opens, self.view
        state, credit, debt = self.progress
        idle = [Progress(after, credit - debt) for after in view.idle]
        level, cost, order, found = view.idle_level, debt - credit, self.order, list[Candidate]()
        sums: dict[int, float] = {}
        for token, log_prob in _likely(log_probs).items():
            score = self.score + log_prob
            if not score > -math.inf:  # forbidden, or not a number
                continue
            if token == EOS:
                after = Progress(state, credit - debt)
                found.append(Candidate(cost - score, slot, token, score, view.level, after))
            elif state.prefix or any([token in nodes for nodes in view.sequences]):
                move = sentence.move(state, token, order)
                if self.attention is not None and id(move.rivals) not in sums:
                    sums[id(move.rivals)] = self._log_sum(move.rivals, log_probs)
                after = self._after(move, sums.get(id(move.rivals), 0.0))
                rank, own = -score - after.credit, sentence.level(after.state)
                found.append(Candidate(rank, slot, token, score, own, after))
            else:
                after = idle[opens[token]]
                found.append(Candidate(cost - score, slot, token, score, level, after))
        return found

    def _log_sum(self, tokens: Sequence[int], log_probs: dict[int, float]) -> float:
        """Return log p of any of some tokens; 0 if that is not known."""
        if len(tokens) == 1:
            known_one = log_probs.get(tokens[0], -math.inf)
            return known_one if known_one > -math.inf else 0.0
        known = [log_probs.get(token, -math.inf) for token in tokens]
        highest = max(known, default=-math.inf)
        if highest == -math.inf:
            return 0.0
        return highest + math.log(sum(math.exp(value - highest) for value in known))

    def _after(self, move: Move, log_sum: float) -> Progress:
        """Return the progress after a token.

        :param log_sum: log p of the token or one of its rivals.
        """
        _, credit, debt = self.progress
        if not move.rivals or move.is_first:  # what was begun is given up
            credit, debt = credit - debt, 0.0
        if move.rivals and self.attention is not None:
            gain = -log_sum
            if move.is_first:
                gain += math.log(max(self.attention[move.term], MIN_ATTENTION))
                gain = max(gain, 0.0)
            credit, debt = credit + gain, debt + gain
        return Progress(move.state, credit, debt if move.state.begun else 0.0)


def _likely(log_probs: dict[int, float]) -> dict[int, float]:
    """Return the most probable tokens, at most `MAX_TOKENS`."""
    if len(log_probs) <= MAX_TOKENS:
        return log_probs
    return dict(heapq.nlargest(MAX_TOKENS, log_probs.items(), key=lambda pair: pair[1]))


def constrain(
    hypotheses: Sequence[_Hypothesis],
    rows: Sequence[int],
    log_probs: Tensor,
    forbid_unk: bool = False,
) -> list[dict[int, float]]:
    """Forbid tokens of hypotheses, in place.

    :param rows: the row of each hypothesis in `log_probs`. Shape: [r, K].
    :param forbid_unk: `<unk>` is forbidden behind a prefix.
    :return: for each hypothesis log p of the tokens that begin a term or go on with it.
    """
    endless: list[int] = []  # rows that must not end
    behind: list[int] = []  # rows that may go on with any token
    wanted: list[Sequence[int]] = []
    for one, row in zip(hypotheses, rows, strict=True):
        rule = one.rule
        if rule.only is not None:
            allowed = rule.only.to(log_probs.device)
            kept = log_probs[row, allowed]
            log_probs[row].fill_(-torch.inf)[allowed] = kept
            wanted.append(() if one.progress.state.prefix else allowed.tolist())
            continue
        behind.append(row)
        if rule.banned:
            tokens = torch.tensor(list(rule.banned), device=log_probs.device)
            log_probs[row].index_fill_(0, tokens, -torch.inf)
        if not rule.may_end:
            endless.append(row)
        if rule.goes_on is not None:
            goes_on = one.sentence.boundaries.going_on.to(log_probs.device)
            log_probs[row].masked_fill_(goes_on != rule.goes_on, -torch.inf)
        wanted.append(one.sentence.steps(one.progress.state))
    if endless:
        log_probs[endless, EOS] = -torch.inf
    if forbid_unk and behind:
        log_probs[behind, UNK] = -torch.inf
    at_rows = [row for row, steps in zip(rows, wanted, strict=True) for _ in steps]
    at_tokens = [token for steps in wanted for token in steps]
    values = iter(log_probs[at_rows, at_tokens].tolist() if at_rows else [])
    return [dict(zip(steps, values, strict=False)) for steps in wanted]


def choose(
    candidates: list[Candidate], width: int, levels: int, shrinking: bool
) -> list[Candidate]:
    """Return the expansions of a sentence to keep: finished ones first, then the others.

    :param width: maximum number of active hypotheses.
    :param levels: numbers of terms that a hypothesis may have.
    :param shrinking: each finished hypothesis makes the beam one narrower.
    """
    candidates.sort()
    finished = []
    for level in range(levels):
        rivals = [one for one in candidates if one.level == level][:width]
        finished += [one for one in rivals if one.token == EOS]
    finished = sorted(finished)[:width]
    if shrinking:
        width -= len(finished)
    active = [one for one in candidates if one.token != EOS]
    return [*finished, *_allocate(active, width, levels)]


def _allocate(candidates: list[Candidate], width: int, levels: int) -> list[Candidate]:
    """Divide the beam among hypotheses by their number of terms; return those kept, best first."""
    if width < levels:  # no place for each number of terms: prefer many
        candidates = sorted(candidates, key=lambda one: one.rank - LEVEL_BONUS * one.level)
        return sorted(candidates[:width])
    kept: list[Candidate] = []
    others: list[Candidate] = []
    filled = [0] * levels
    for one in candidates:
        is_kept = filled[one.level] < width // levels
        (kept if is_kept else others).append(one)
        filled[one.level] += is_kept
    return sorted(kept + others[: width - len(kept)])


def _expansions(chosen: list[list[Candidate]], count: int, scores: Tensor) -> Expansions:
    """Return tensors of the expansions of some sentences, `count` of each. Shapes: [B, c]."""
    missing = Candidate(math.inf, 0, EOS, -math.inf, 0, Progress())
    padded = [row[:count] + [missing] * (count - len(row)) for row in chosen]
    values, parents, tokens, credits = (
        torch.tensor([[column(one) for one in row] for row in padded], dtype=dtype)
        for column, dtype in COLUMNS
    )
    places = (parents.to(scores.device), tokens.to(scores.device))
    return Expansions(values.to(scores), *places, credits.to(scores))


COLUMNS: tuple[tuple[Callable[[Candidate], float], torch.dtype], ...] = (
    (lambda one: one.score, torch.float64),
    (lambda one: one.parent, torch.int64),
    (lambda one: one.token, torch.int64),
    (lambda one: one.progress.credit, torch.float64),
)
