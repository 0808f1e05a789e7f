"""Random segments of long lines: the controls of Pouget-Abadie et al. 2014.

The paper does not say which of its translations a segment has here. It is the best of search, by
mean log p: no reverse model is used.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from nmtkit.errors import ConfigError, DataError
from nmtkit.inference.segmenter import MAX_SEGMENT_WORDS, Segment, Segmenter, TaggedWords
from nmtkit.inference.segments_file import read_lengths
from nmtkit.inference.translator import Translator
from nmtkit.search.segment_lengths import SegmentLengths
from nmtkit.search.segmentation import Span, best_segmentation, random_confidences
from nmtkit.seeds import derive_seed

DrawSegments = Callable[[int, int], list[Span]]
"""Function of a line's number of words and a seed that draws its segments."""


class RandomSegmenter(Segmenter):
    """Cuts lines at random: the controls of the paper.

    :param draw: draws segments; see `random_lengths` and `with_random_confidences`.
    :param seed: the segments of a line depend on the seed and the line's number alone.
    """

    def __init__(self, translator: Translator, draw: DrawSegments, seed: int = 1) -> None:
        super().__init__(translator)
        self._draw, self._seed = draw, seed

    def _choose_segments(
        self, sentences: Sequence[TaggedWords], first: int
    ) -> Iterator[list[Segment]]:
        texts = [
            sentence.texts(self._draw(len(sentence.words), derive_seed(self._seed, number)))
            for number, sentence in enumerate(sentences, start=first)
        ]
        unique_texts = list(dict.fromkeys(text for line_texts in texts for text in line_texts))
        translations = self._translator.translate(unique_texts, tokenized=True)
        segments = {
            text: Segment(self._plain(text), best)
            for text, [best] in zip(unique_texts, translations, strict=True)
        }
        for line_texts in texts:
            yield [segments[text] for text in line_texts]


def with_random_confidences(max_words: int = MAX_SEGMENT_WORDS) -> DrawSegments:
    """Return a function that draws the segmentation with the highest sum of random confidences."""

    def draw(words: int, seed: int) -> list[Span]:
        return best_segmentation(words, random_confidences(words, max_words, seed))

    return draw


def random_lengths(path: str | Path, max_words: int = MAX_SEGMENT_WORDS) -> DrawSegments:
    """Return a function that draws segments with the mean and variance of lengths in a file.

    :param path: a file whose lines `segments_line` formatted.
    :raises DataError: the file cannot be read, is malformed, or has no segments.
    :raises ConfigError: the file has a segment of more than `max_words` words.
    """
    lines = read_lengths(path)
    longest = max((length for line in lines for length in line), default=0)
    if not longest:
        raise DataError(f"{path}: has no segments; write some with --segments")
    if longest > max_words:
        raise ConfigError(
            f"{path}: has a segment of {longest} words, more than the {max_words} allowed;"
            f" give --max-segment {longest}"
        )
    return SegmentLengths.fit(lines, max_words).draw
