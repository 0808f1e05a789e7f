"""Trees of sequences of tokens: terms, and what is forbidden."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

Tokens = tuple[int, ...]


@dataclass(eq=False)
class TokenNode:
    """A node of the tree of sequences.

    following: the nodes of the next tokens. ends: terms that end here. below: those that end
    further on. is_end: a forbidden sequence ends here. is_inside: it is within the bytes of a
    character. rests: by term log p of the tokens that lead on to an end of it, as far as it is
    known. steps: by term what `steps_of` has found.
    """

    following: dict[int, "TokenNode"] = field(default_factory=dict)
    ends: set[int] = field(default_factory=set)
    below: set[int] = field(default_factory=set)
    is_end: bool = False
    is_inside: bool = False
    rests: dict[int, float] = field(default_factory=dict)
    steps: dict[int, Tokens] = field(default_factory=dict)

    def steps_of(self, term: int) -> Tokens:
        """Return the tokens that lead on to the end of a term, the same object each time."""
        if term not in self.steps:
            nodes = self.following.items()
            found = (token for token, node in nodes if term in node.ends or term in node.below)
            self.steps[term] = tuple(found)
        return self.steps[term]


@lru_cache(maxsize=64)
def forbidden_tree(forbidden: tuple[Tokens, ...]) -> TokenNode:
    """Return the tree of forbidden sequences, which many sentences share."""
    root = TokenNode()
    for tokens in forbidden:
        add_sequence(root, tokens)[-1].is_end = True
    return root


def add_sequence(root: TokenNode, tokens: Sequence[int]) -> list[TokenNode]:
    """Add a sequence to a tree; return its nodes."""
    nodes = []
    for token in tokens:
        root = root.following.setdefault(token, TokenNode())
        nodes.append(root)
    return nodes


def places_of(phrases: Iterable[Tokens], tokens: Sequence[int]) -> Iterator[range]:
    """Yield where one of some sequences stands among tokens."""
    for phrase in phrases:
        for start in range(len(tokens) - len(phrase) + 1):
            if tuple(tokens[start : start + len(phrase)]) == phrase:
                yield range(start, start + len(phrase))


def follow(
    begun: Iterable[tuple[TokenNode, int]], token: int
) -> list[tuple[TokenNode, int, TokenNode]]:
    """Return the nodes that a token leads to, with their terms and the nodes before."""
    followed = ((node.following.get(token), term, node) for node, term in begun)
    return [
        (after, term, node)
        for after, term, node in followed
        if after is not None and (term in after.ends or term in after.below)
    ]
