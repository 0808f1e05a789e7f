"""An endless stream of sentence pairs: raw lines and their gold alignments."""

from collections.abc import Iterator
from dataclasses import dataclass

from .draw import Draw
from .sentences import Sentences
from .surface import english_text, french_text, links


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence and its translation.

    :param english: the raw line; `french` likewise.
    :param english_tokens: the line as Moses tokenises it; `french_tokens` likewise.
    :param alignment: sure links (English position, French position) between tokens, in order.
    """

    english: str
    french: str
    english_tokens: tuple[str, ...]
    french_tokens: tuple[str, ...]
    alignment: tuple[tuple[int, int], ...]

    @property
    def links(self) -> str:
        """The alignment as Moses writes it: `0-0 1-2`."""
        return " ".join(f"{i}-{j}" for i, j in self.alignment)


def pairs(seed: int, min_words: int = 3, max_words: int = 60) -> Iterator[Pair]:
    """Yield endless pairs without repeated English sentences; the seed determines them.

    :param min_words: the smallest number of tokens, punctuation included, on either side.
    :param max_words: the greatest.
    """
    sentences = Sentences(Draw(seed))
    used_sentences: set[str] = set()
    while True:
        english, french = sentences.sentence()
        if min(len(english), len(french)) < min_words or max(len(english), len(french)) > max_words:
            continue
        line = english_text(english)
        if line in used_sentences:
            continue
        used_sentences.add(line)
        yield Pair(
            line,
            french_text(french),
            tuple(word.text for word in english),
            tuple(word.text for word in french),
            tuple(links(english, french)),
        )
