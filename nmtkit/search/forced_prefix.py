"""The prefix of a translation as a graph of tokens: each path through it spells the prefix.

Up to the last word there is one path. If that word may go on, any tokens that spell it are paths,
and so are tokens that spell more.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Optional, TypeAlias

import torch

MAX_CANDIDATES = 200
"""Tokens of a node that become candidates, the most frequent ones."""


Following: TypeAlias = Mapping[int, Optional["PrefixNode"]]
"""By token, the node after it; None at the end of the prefix."""


class PrefixNode:
    """What may follow a part of a prefix.

    length: tokens of the longest path.

    """

    def __init__(self, following: Following) -> None:
        self.following = following
        self.length: int = 1 + max((node.length for node in following.values() if node), default=0)

    @cached_property
    def tokens(self) -> torch.Tensor:
        """The tokens that may follow, ascending. Shape: [n], int64."""
        return torch.tensor(sorted(self.following))

    def candidates(self) -> Iterator[int]:
        """Yield the most frequent tokens of each node on the paths."""
        waiting, known = [self], {id(self)}
        while waiting:
            node = waiting.pop()
            yield from sorted(node.following)[:MAX_CANDIDATES]
            after = [one for one in node.following.values() if one and id(one) not in known]
            known.update(map(id, after))
            waiting += after


def chain(tokens: Sequence[int], end: PrefixNode | None = None) -> PrefixNode | None:
    """Return the node before some tokens.

    :param end: the node after them.
    """
    for token in reversed(tokens):
        end = PrefixNode({token: end})
    return end


def joined(nodes: Sequence[PrefixNode]) -> PrefixNode:
    """Return a node that goes on as any of some nodes; of equal tokens the first node's counts."""
    following: dict[int, PrefixNode | None] = {}
    for node in reversed(nodes):
        following.update(node.following)
    return PrefixNode(following)
