"""Words of a source vocabulary by which a sentence says what its terms must become.

A model that has them was trained with annotated terms (Dinu et al. 2019): behind a term stand the
words of its translation, and a marker before it,

    the <term> red house <term>vermeille is small

Each word of the target vocabulary has such a source word, which begins with the marker, so that it
is another word than a source word that is spelt alike. Dinu et al. tell them apart by factors.
"""

from collections.abc import Iterable
from typing import NamedTuple

from nmtkit.text.vocabulary import Vocabulary

TERM_MARKER = "<term>"
"""Stands before a term that is annotated, and begins the words of its translation."""


class TermWords(NamedTuple):
    """Ids of these words in a source vocabulary.

    marker: id of the marker. The word of target word y has the id `first` + y.
    """

    marker: int

    @property
    def first(self) -> int:
        """Return the id that belongs to target word 0."""
        return self.marker + 1

    @classmethod
    def of(cls, src: Vocabulary, tgt: Vocabulary) -> "TermWords | None":
        """Find them in a source vocabulary; return None if it has none.

        :param tgt: the target vocabulary of the same model.
        """
        marker = len(src) - len(tgt) - 1
        if marker <= 0 or src.words[marker:] != _term_words(tgt):
            return None
        return cls(marker)

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
    return (TERM_MARKER, *(TERM_MARKER + word for word in tgt.words))
