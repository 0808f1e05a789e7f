"""Words of a source vocabulary that stand for target words: what a term must become.

A model that has them was trained with pairs in which they stand instead of terms, as in

    the <term>maison is small

(Dinu et al. 2019, "replace"). Each word of the target vocabulary has such a source word, which
begins with a mark, so that it is another word than a source word that is spelt alike; Dinu et al.
tell them apart by factors.
"""

from collections.abc import Iterable
from typing import NamedTuple

from nmtkit.text.vocabulary import Vocabulary

TERM_MARK = "<term>"
"""Beginning of these words."""


class TermWords(NamedTuple):
    """Ids of these words in a source vocabulary: the word of target word y has id `first` + y."""

    first: int

    @classmethod
    def of(cls, src: Vocabulary, tgt: Vocabulary) -> "TermWords | None":
        """Find them in a source vocabulary; return None if it has none.

        :param tgt: the target vocabulary of the same model.
        """
        first = len(src) - len(tgt)
        if first <= 0 or src.words[first:] != _term_words(tgt):
            return None
        return cls(first)

    def of_target(self, tokens: Iterable[int]) -> list[int]:
        """Return the source ids that stand for target tokens."""
        return [self.first + token for token in tokens]


def with_term_words(src: Vocabulary, tgt: Vocabulary) -> Vocabulary:
    """Return a source vocabulary that has these words, too, after all others.

    :raises DataError: a word of the text is spelt like one of them.
    """
    added = _term_words(tgt)
    return Vocabulary(src.words + added, src.counts + (0,) * len(added))


def _term_words(tgt: Vocabulary) -> tuple[str, ...]:
    return tuple(TERM_MARK + word for word in tgt.words)
