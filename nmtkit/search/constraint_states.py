"""The states of constrained hypotheses, and what may follow from them."""

from typing import NamedTuple

import torch

from nmtkit.search.forced_prefix import PrefixNode
from nmtkit.search.token_trees import TokenNode, Tokens


class ConstraintState(NamedTuple):
    """What a hypothesis has.

    met: bit j is 1 if it has term j. begun: nodes and terms that it is in the middle of. bad: nodes
    of forbidden sequences likewise. is_open: its last token may be continued to a longer word.
    ended: the bit of a term that it has just ended, so that the word must end: if it goes on, the
    term is not met; else 0. must_go_on: it has just ended a forbidden sequence, so that the word
    must not end. spelled: where it is in terms that count in any tokens, and these terms. prefix:
    where in the prefix it is; None behind.
    """

    met: int = 0
    begun: tuple[tuple[TokenNode, int], ...] = ()
    bad: tuple[TokenNode, ...] = ()
    is_open: bool = False
    ended: int = 0
    must_go_on: bool = False
    spelled: tuple[tuple[TokenNode, int], ...] = ()
    prefix: PrefixNode | None = None


class Move(NamedTuple):
    """The state after a token, and what the token means for a term.

    rivals: the token and those that could as well begin the term or go on with it; empty if the
    token belongs to no term. term: the term. is_first: whether the token begins it, or goes on with
    a later beginning than before, so that what the earlier one has won is lost.
    """

    state: ConstraintState
    rivals: tuple[int, ...] = ()
    term: int = 0
    is_first: bool = False


class TermStep(NamedTuple):
    """A token that begins a term or goes on with it.

    term: the term. group: equal for tokens that would do as well as each other. is_first: as in
    `Move`. is_last: it ends the term. is_urgent: it is one of those to which a hypothesis is
    restricted that may go on with nothing but its terms. rest: log p of the tokens of the term that
    come behind it, as far as it is known.
    """

    token: int
    term: int
    group: int
    is_first: bool
    is_last: bool
    is_urgent: bool
    rest: float = 0.0


class AllowedTokens(NamedTuple):
    """What may follow a hypothesis.

    only: these tokens; None for all. Shape: [n], int64. banned: none of these. goes_on: only tokens
    that go on with the word (True), or only others (False); None for all. may_end: whether `</s>`
    may follow.
    """

    only: torch.Tensor | None = None
    banned: frozenset[int] = frozenset()
    goes_on: bool | None = None
    may_end: bool = True


class StateView(NamedTuple):
    """What follows from a state; computed once, as looking up a state takes time.

    unmet: the terms that a hypothesis lacks. level: how many it has or has begun. idle: the states
    after a token of no sequence whose word is closed, and whose word is open. idle_level: their
    level. sequences: tokens that begin a sequence or go on with one, in dictionaries. rule: what
    may follow, as long as there are more tokens left than `needed`. moves: those known, by order
    and token.
    """

    unmet: Tokens
    level: int
    idle: tuple[ConstraintState, ConstraintState]
    idle_level: int
    sequences: tuple[dict[int, TokenNode], ...]
    rule: AllowedTokens
    needed: int
    moves: dict[tuple[Tokens, int], Move]
