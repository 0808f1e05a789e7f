"""Prefixes of translations as constraints on their tokens."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from nmtkit.model_folder import LoadedModel
from nmtkit.search.constraints import Constraints
from nmtkit.search.forced_prefix import PrefixNode, chain, joined
from nmtkit.search.word_boundaries import WordBoundaries
from nmtkit.special_symbols import SPECIAL_WORDS
from nmtkit.text.prefix import TextPrefix

AFTER_ALL = b"\xff"
"""Sorts behind all UTF-8 text."""

MAX_SPELLINGS = 1000
"""Unfinished words whose tokens are remembered."""


class LinePrefix(NamedTuple):
    """The prefix of a line's translations.

    text: its tokens. ids: those of its whole words, by which translations begin. rest: what
    follows them; None: anything.
    """

    text: TextPrefix
    ids: tuple[int, ...]
    rest: PrefixNode | None

    @property
    def constraints(self) -> Constraints:
        """Constraints on the translations."""
        return Constraints(prefix=self.node)

    @property
    def open_word(self) -> str:
        """The last word, if it may go on."""
        return "" if self.rest is None else self.text.last_word

    @property
    def node(self) -> PrefixNode | None:
        """Return what translations begin with, or None for anything."""
        return chain(self.ids, self.rest)


class PrefixFinder:
    """Finds the tokens that translations with a prefix begin with.

    texts: what each token shows; nothing for markers.

    :param model: the model whose target text and vocabulary count.
    """

    def __init__(self, model: LoadedModel) -> None:
        self._text, self._vocabulary = model.tgt_text, model.tgt_vocab
        self.boundaries = WordBoundaries.none(len(model.tgt_vocab))
        words = self._vocabulary.words
        spellings = self._text.spellings(words)
        self.texts = [
            b"" if self._text.marks(word) else text
            for word, (text, _) in zip(words, spellings, strict=True)
        ]
        numbered = list(enumerate(spellings))[len(SPECIAL_WORDS) :]
        self._sorted = sorted((spelling, token) for token, (spelling, _) in numbered)
        self._open: dict[bytes, list[int]] = {}  # tokens that others of the word may follow
        for token, (spelling, is_open) in numbered:
            if is_open:
                self._open.setdefault(spelling, []).append(token)
        self._longest = max(map(len, self._open), default=0)
        self._nodes = lru_cache(MAX_SPELLINGS)(self._node)

    def find(self, text: str, tokenized: bool = False, names: Sequence[str] = ()) -> LinePrefix:
        """Return the prefix of a line's translations.

        A last word that the vocabulary cannot spell does not go on; unknown tokens are `<unk>`.

        :param tokenized: the text is already tokenised.
        :param names: names of the source line, for which placeholders stand.
        """
        prefix = self._text.prefix(text, tokenized, names)
        ids = self._vocabulary.ids(prefix.tokens)
        nodes = []
        for tokens, spelling in prefix.endings:
            node = self._nodes(spelling) if spelling else None
            if node is not None or not spelling:
                found = chain(self._vocabulary.ids(tokens), node)
                nodes += [found] if found is not None else []
        if not nodes:
            ids += self._vocabulary.ids(prefix.split)
        return LinePrefix(prefix, tuple(ids), joined(nodes) if nodes else None)

    def _node(self, spelling: bytes) -> PrefixNode | None:
        """Return the node before tokens that spell a text, or more; None if no tokens do."""
        nodes: dict[int, PrefixNode] = {}  # by the bytes that are spelled before
        for start in range(len(spelling) - 1, -1, -1):
            rest = spelling[start:]
            following: dict[int, PrefixNode | None] = dict.fromkeys(self._beginning_with(rest))
            for length in range(1, min(len(rest) - 1, self._longest) + 1):
                node = nodes.get(start + length)
                if node is not None:
                    following.update(dict.fromkeys(self._open.get(rest[:length], ()), node))
            if following:
                nodes[start] = PrefixNode(following)
        return nodes.get(0)

    def _beginning_with(self, spelling: bytes) -> Iterator[int]:
        """Yield the tokens that begin with a text."""
        first = bisect_left(self._sorted, (spelling, -1))
        last = bisect_left(self._sorted, (spelling + AFTER_ALL, -1))
        return (token for _, token in self._sorted[first:last])
