"""The states of constrained hypotheses as numbers, and what follows from them as tensors.

A search meets a state many times. What may follow it is written into tensors once, so that a step
of search looks up the states of all its hypotheses at the same time.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from nmtkit.models.search_state import upload
from nmtkit.search.constraint_states import ConstraintState, TermStep
from nmtkit.search.constraints import ConstrainedSentence
from nmtkit.search.token_trees import Tokens

MIN_STATES = 256
"""States for which a table has room at first; the room is doubled when it is full."""

NO_STEP = TermStep(-1, 0, 0, False, False, False)
"""What stands in place of a step where a state has fewer."""

INTEGERS = len(NO_STEP) - 1
"""Fields of a step but the last, `rest`."""


class States(NamedTuple):
    """What follows from states. Shape of the first four: [n, k]; of those of steps: [n, k, M].

    level: how many terms hypotheses have or have begun. idle_level: the same after a token of no
    term; it is one more after a step. needed: how many tokens the terms that they lack take, -1 if
    they need no care. may_end: `</s>` may follow. is_step: False where there are fewer steps;
    for the others see `TermStep`. rests: None if no state has any.
    """

    level: Tensor
    idle_level: Tensor
    needed: Tensor
    may_end: Tensor
    tokens: Tensor
    terms: Tensor
    groups: Tensor
    is_first: Tensor
    is_last: Tensor
    is_urgent: Tensor
    is_step: Tensor
    rests: Tensor | None


class KnownState:
    """A state with a number.

    first: of terms that a token could begin alike, those that it begins. shared: sets of such
    terms. has_rule: tokens are forbidden after it. after, idle: numbers of the states after tokens,
    and after a token of no sequence that closes or opens a word.
    """

    __slots__ = (
        "after",
        "first",
        "has_rule",
        "idle",
        "rule",
        "sentence",
        "shared",
        "state",
        "view",
    )

    def __init__(
        self, sentence: ConstrainedSentence, state: ConstraintState, first: Tokens
    ) -> None:
        self.sentence, self.state, self.first = sentence, state, first
        self.view = sentence.view(state)
        self.rule = rule = self.view.rule
        self.has_rule = bool(rule.only is not None or rule.banned or rule.goes_on is not None)
        self.shared = sentence.shared(state)
        self.after: dict[int, int] = {}
        self.idle: list[int | None] = [None, None]

    @property
    def order(self) -> Tokens:
        """The terms that are not met, those first that tokens should begin."""
        if not self.first:
            return self.view.unmet
        return (*self.first, *(term for term in self.view.unmet if term not in self.first))


class ConstraintTable:
    """Numbers of states, and tensors of what follows from them.

    has_rules: whether a state has a rule that `States` does not tell. has_shared: whether one has
    terms that a token could begin alike.
    """

    def __init__(self, device: torch.device) -> None:
        """Make an empty table, whose tensors are on a device."""
        self._numbers: dict[tuple[int, ConstraintState, Tokens], int] = {}
        self._known: list[KnownState] = []
        self._written = 0
        self._fields = torch.zeros(MIN_STATES, 4, dtype=torch.int64, device=device)
        self._steps = torch.full((MIN_STATES, 1, INTEGERS), -1, device=device)
        self._rests = torch.zeros(MIN_STATES, 1, device=device)
        self._has_rests = False
        self.has_rules = self.has_shared = False

    def __len__(self) -> int:
        return len(self._known)

    def __getitem__(self, number: int) -> KnownState:
        return self._known[number]

    def number(
        self, sentence: ConstrainedSentence, state: ConstraintState, first: Tokens = ()
    ) -> int:
        """Return the number of a state.

        :param first: of terms that a token could begin alike, those that it begins.
        """
        key = id(sentence), state, first
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._known)
            known = KnownState(sentence, state, first)
            self._known.append(known)
            self.has_rules |= known.has_rule
            self.has_shared |= bool(known.shared)
        return number

    def after(self, number: int, token: int) -> int:
        """Return the number of the state after one more token."""
        known = self._known[number]
        found = known.after.get(token)
        if found is not None:
            return found
        sentence, state = known.sentence, known.state
        if state.prefix is None and not any(token in nodes for nodes in known.view.sequences):
            opens = sentence.opens[token]
            found = known.idle[opens]
            if found is None:
                found = known.idle[opens] = self.number(sentence, known.view.idle[opens])
            return found
        move = sentence.move(state, token, known.order)
        found = known.after[token] = self.number(sentence, move.state)
        return found

    def look_up(self, numbers: Tensor) -> States:
        """Return what follows from some states.

        :param numbers: Shape: [n, k].
        """
        self._write()
        level, idle_level, needed, may_end = self._fields[numbers].unbind(-1)
        found = self._steps[numbers]  # [n, k, M, fields of a step]
        tokens, terms, groups, *flags = found.clamp(min=0).unbind(-1)
        is_first, is_last, is_urgent = (flag.bool() for flag in flags)
        steps = tokens, terms, groups, is_first, is_last, is_urgent, found[..., 0] >= 0
        rests = self._rests[numbers] if self._has_rests else None
        return States(level, idle_level, needed, may_end.bool(), *steps, rests)

    def _write(self) -> None:
        """Write the states into the tensors that are not there yet."""
        new = self._known[self._written :]
        if not new:
            return
        steps = [known.sentence.steps(known.state, known.order) for known in new]
        self._make_room(max(map(len, steps)))
        rows, count = slice(self._written, len(self._known)), self._steps.size(1)
        self._written = len(self._known)
        fields = [
            (known.view.level, known.view.idle_level, _needed(known, found), known.rule.may_end)
            for known, found in zip(new, steps, strict=True)
        ]
        self._fields[rows] = upload(fields, self._fields.device)
        padded = [(*found, *[NO_STEP] * (count - len(found))) for found in steps]
        flat = [value for found in padded for step in found for value in step[:INTEGERS]]
        self._steps[rows] = upload(flat, self._steps.device).view(len(new), count, -1)
        rests = [[step.rest for step in found] for found in padded]
        self._has_rests = self._has_rests or any(map(any, rests))
        if self._has_rests:
            self._rests[rows] = upload(rests, self._rests.device, self._rests.dtype)

    def _make_room(self, steps: int) -> None:
        """Enlarge the tensors where they are too small.

        :param steps: of a state, at most.
        """
        states, known_steps, _ = self._steps.shape
        while states < len(self._known):
            states *= 2
        self._fields = _enlarged(self._fields, states)
        self._steps = _enlarged(self._steps, states, max(steps, known_steps))
        self._rests = _enlarged(self._rests, states, max(steps, known_steps), fill=0.0)


def _needed(known: KnownState, steps: list[TermStep]) -> int:
    """Return how many tokens the terms take that are not met; -1 if nothing can be forced."""
    can_force = any([step.is_urgent for step in steps]) or known.sentence.must_close(known.state)
    return known.view.needed if can_force else -1


def _enlarged(values: Tensor, *sizes: int, fill: float = -1) -> Tensor:
    """Return values with these sizes of the first axes."""
    if values.shape[: len(sizes)] == sizes:
        return values
    enlarged = values.new_full((*sizes, *values.shape[len(sizes) :]), fill)
    enlarged[tuple(map(slice, values.shape))] = values
    return enlarged
