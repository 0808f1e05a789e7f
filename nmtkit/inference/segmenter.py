"""Translates lines in segments, each apart (Pouget-Abadie et al. 2014); also from Python.

    from nmtkit import Scorer, Translator
    from nmtkit.inference.segmenter import ConfidentSegmenter
    segmenter = ConfidentSegmenter(Translator.load("model"), Scorer.load("reverse-model"))
    for line in segmenter.segment(["A sentence that is much longer than those of training."]):
        print(line.translation.text, [segment.source for segment in line.segments])

Segments are cut between the words of the tokenised line; BPE splits the words of each afterwards.
Their translations are put one behind the other, tokenised, and detokenised as one line.

Departures and readings

- The paper translates the chosen segments without saying which of the candidates is taken. Here it
  is the f_k that gave the segment its confidence, argmax_k c(e_ij, f_k).
- The candidates are all that search finds with its beam; the paper's is 10 wide.
- In the controls no model reads backwards; the translation of a segment is search's best.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmtkit.config import TextConfig
from nmtkit.errors import ConfigError, DataError, ModelError, refuse_string
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.scorer import Scorer
from nmtkit.inference.stream_batching import windows
from nmtkit.inference.translation import Translation, empty_translation
from nmtkit.inference.translator import Translator
from nmtkit.io.lines import read_lines
from nmtkit.io.safe_json import parse_json
from nmtkit.parallel.process_group import SINGLE_PROCESS, ProcessGroup
from nmtkit.search.search_settings import length_divisor
from nmtkit.search.segment_lengths import SegmentLengths
from nmtkit.search.segmentation import (
    Span,
    best_segmentation,
    confidence,
    random_confidences,
    spans,
)
from nmtkit.seeds import derive_seed

MAX_SEGMENT_WORDS = 20
"""Words of a segment at most, by default."""

MAX_SPANS = 1 << 14
"""Spans whose best translations are held at a time, some 2 KB each; those of one line at least."""

Weighed = tuple[Translation, float]
"""A translation and the confidence in it."""

Draw = Callable[[int, int], list[Span]]
"""The number of words of a line and a seed in; the line's segments out."""


@dataclass(frozen=True)
class Segment:
    """A part of a line that was translated by itself.

    source: its words, with blanks between.
    translation: its text is tokenised.
    confidence: c_ij; None where none was asked for.
    """

    source: str
    translation: Translation
    confidence: float | None = None


@dataclass(frozen=True)
class Segmented:
    """A line and what it was cut into.

    translation: those of the segments put together. Its scores are sums over them, so that `</s>`
        is counted once in each.
    """

    translation: Translation
    segments: list[Segment]


class Segmenter(ABC):
    """Cuts lines into segments and translates these."""

    def __init__(self, translator: Translator) -> None:
        self._translator = translator

    @property
    def window(self) -> int:
        """Lines that are worth translating together."""
        return self._translator.window

    def segment(
        self,
        lines: Iterable[str],
        tokenized: bool = False,
        process_group: ProcessGroup = SINGLE_PROCESS,
        first_line: int = 1,
    ) -> Iterator[Segmented]:
        """Translate lines in segments, in the order given.

        :param lines: source text; an empty line has no segments and an empty translation.
        :param tokenized: the lines are tokenised already, and the translations stay tokenised.
        :param process_group: shares the lines; rank 0 reads them and yields the results, the
            other ranks yield nothing.
        :param first_line: number of the first line, which random segments depend on.
        :raises TypeError: `lines` is a single string.
        """
        refuse_string(lines, "lines")
        return self._segment(lines, tokenized, process_group, first_line)

    def _segment(
        self,
        lines: Iterable[str],
        tokenized: bool,
        process_group: ProcessGroup,
        first_line: int,
    ) -> Iterator[Segmented]:
        text = self._translator.ensemble.first.src_text
        for shard in process_group.shards(windows(lines, self.window * process_group.size)):
            sentences = [text.words(line, tokenized).split() for line in shard.items]
            chosen = self._choose_segments(sentences, first_line + shard.first - 1)
            yield from process_group.gather(
                [Segmented(self._joined(segments, tokenized), segments) for segments in chosen]
            )

    @abstractmethod
    def _choose_segments(self, sentences: list[list[str]], first: int) -> Iterator[list[Segment]]:
        """The segments of each sentence, translated."""

    def _joined(self, segments: list[Segment], tokenized: bool) -> Translation:
        """The translation of a line from those of its segments."""
        if not segments:
            return empty_translation()
        parts = [segment.translation for segment in segments]
        words = [word for part in parts for word in part.text.split()]
        score = sum(part.score for part in parts)
        word_scores = [score for part in parts for score in part.word_scores]
        return Translation(
            text=self._translator.ensemble.first.tgt_text.sentence(words, tokenized),
            tokens=[token for part in parts for token in part.tokens],
            score=score,
            ranking_score=score / length_divisor(self._translator.search, len(word_scores)),
            word_scores=word_scores,
            finished=all(part.finished for part in parts),
            src_tokens=[token for part in parts for token in part.src_tokens],
        )


class ConfidentSegmenter(Segmenter):
    """Chooses the segmentation of the largest confidence, of two directions.

    :param translator: gives the candidates, as many as its beam is wide, and log p.
    :param reverse: translates back; gives log q.
    :param longest: words of a segment at most.
    :raises ModelError: the models do not translate between the same languages, or part lines into
        words otherwise.
    """

    def __init__(
        self, translator: Translator, reverse: Scorer, longest: int = MAX_SEGMENT_WORDS
    ) -> None:
        super().__init__(translator)
        _check_fit(translator.ensemble, reverse.ensemble)
        self._reverse, self._longest = reverse, longest

    @property
    def window(self) -> int:
        """Lines that are worth translating together; each has many spans."""
        return max(1, self._translator.window // self._longest)

    def _choose_segments(self, sentences: list[list[str]], first: int) -> Iterator[list[Segment]]:
        for group in _groups(sentences, self._longest):
            texts = [_spans_of(words, self._longest) for words in group]
            best = self._best(list(dict.fromkeys(t for of_one in texts for t in of_one.values())))
            for words, of_one in zip(group, texts, strict=True):
                confidences = {span: best[text][1] for span, text in of_one.items()}
                chosen = [of_one[span] for span in best_segmentation(len(words), confidences)]
                yield [Segment(text, *best[text]) for text in chosen]

    def _best(self, texts: list[str]) -> dict[str, Weighed]:
        """The translation of each span that has the largest confidence: eq. (3)."""
        best: dict[str, Weighed] = {}
        alike = sorted(texts, key=lambda text: -text.count(" "))  # in length, for full batches
        for chunk in windows(alike, self._translator.window):
            found = list(
                self._translator.translate(chunk, self._translator.search.beam, tokenized=True)
            )
            best |= zip(chunk, self._weighed(chunk, found), strict=True)
        return best

    def _weighed(self, texts: list[str], found: list[list[Translation]]) -> Iterator[Weighed]:
        """The best of the candidates of each span."""
        write = self._translator.ensemble.first.tgt_text.line
        pairs = [
            (write(candidate.tokens, tokenized=True), text)
            for text, candidates in zip(texts, found, strict=True)
            for candidate in candidates
        ]
        scores = self._reverse.score(pairs, tokenized=True)
        for text, candidates in zip(texts, found, strict=True):
            words = len(text.split())
            values = [
                confidence(candidate.score, next(scores).log_prob, words)
                for candidate in candidates
            ]
            highest = max(values)
            yield candidates[values.index(highest)], highest


class RandomSegmenter(Segmenter):
    """Cuts lines at random: the controls of the paper.

    :param draw: see `random_lengths` and `with_random_confidences`.
    :param seed: with a line's number, decides its segments, whatever the other lines are.
    """

    def __init__(self, translator: Translator, draw: Draw, seed: int = 1) -> None:
        super().__init__(translator)
        self._draw, self._seed = draw, seed

    def _choose_segments(self, sentences: list[list[str]], first: int) -> Iterator[list[Segment]]:
        texts = [
            _texts(words, self._draw(len(words), derive_seed(self._seed, number)))
            for number, words in enumerate(sentences, start=first)
        ]
        different = list(dict.fromkeys(text for of_one in texts for text in of_one))
        found = self._translator.translate(different, tokenized=True)
        told = {text: Segment(text, best) for text, [best] in zip(different, found, strict=True)}
        for of_one in texts:
            yield [told[text] for text in of_one]


def with_random_confidences(longest: int = MAX_SEGMENT_WORDS) -> Draw:
    """Segments of the largest total of random confidences."""

    def draw(words: int, seed: int) -> list[Span]:
        return best_segmentation(words, random_confidences(words, longest, seed))

    return draw


def random_lengths(path: str | Path, longest: int = MAX_SEGMENT_WORDS) -> Draw:
    """Random segments whose lengths have the mean and variance of those in a file.

    :param path: what `segments_line` made of each line.
    :raises DataError: it cannot be read, is no such file, or has no segments.
    :raises ConfigError: it has a segment of more than `longest` words.
    """
    lines = [_lengths(line, f"{path}:{n}") for n, line in enumerate(read_lines(path), 1)]
    most = max((length for line in lines for length in line), default=0)
    if not most:
        raise DataError(f"{path}: has no segments; write some with --segments")
    if most > longest:
        raise ConfigError(
            f"{path}: has a segment of {most} words, where the longest may have {longest};"
            f" give --max-segment {most}"
        )
    return SegmentLengths.fitted(lines, longest).draw


def segments_line(segments: Sequence[Segment]) -> str:
    """The segments of a line as JSON: a list of objects with `source`, `target` and numbers."""
    return json.dumps([_entry(segment) for segment in segments], ensure_ascii=False)


def _entry(segment: Segment) -> dict[str, str | float]:
    best = segment.translation
    entry: dict[str, str | float] = {"source": segment.source, "target": best.text}
    entry["score"] = round(best.score, 6)
    if segment.confidence is not None:
        entry["confidence"] = round(segment.confidence, 6)
    return entry


def _lengths(line: str, where: str) -> list[int]:
    """Words of each segment of a line."""
    try:
        lengths = [len(entry["source"].split()) for entry in parse_json(line)]
    except (ValueError, KeyError, TypeError, AttributeError):
        lengths = [0]
    if 0 in lengths:
        raise DataError(
            f"{where}: not the segments of a line, as 'nmtkit translate --segment --segments'"
            " writes them"
        )
    return lengths


def _groups(sentences: list[list[str]], longest: int) -> Iterator[list[list[str]]]:
    """Sentences that follow upon each other and have at most `MAX_SPANS` spans, or one alone."""
    group: list[list[str]] = []
    room = MAX_SPANS
    for words in sentences:
        room -= len(words) * longest
        if group and room < 0:
            yield group
            group, room = [], MAX_SPANS - len(words) * longest
        group.append(words)
    yield group


def _spans_of(words: list[str], longest: int) -> dict[Span, str]:
    """Every span of a sentence and its words."""
    found = spans(len(words), longest)
    return dict(zip(found, _texts(words, found), strict=True))


def _texts(words: list[str], parts: Sequence[Span]) -> list[str]:
    return [" ".join(words[start:end]) for start, end in parts]


def _check_fit(forward: Ensemble, reverse: Ensemble) -> None:
    """Refuse a reverse model that cannot read what the other writes, or write what it reads."""
    ours = forward.first.config.text
    theirs = reverse.first.config.text
    if (ours.src_language, ours.tgt_language) != (theirs.tgt_language, theirs.src_language):
        raise ModelError(
            f"the reverse model translates {theirs.src_language}-{theirs.tgt_language}; it must"
            f" translate {ours.tgt_language}-{ours.src_language}, as one trained with"
            " 'nmtkit train --reverse' on the same prepared folder does"
        )
    for part in (*forward.members, *reverse.members):
        if _words(part.config.text) != _words(ours):
            raise ModelError(
                "the models and the reverse model part lines into words otherwise (tokenized,"
                " hyphens or escape differ in their config.toml); train them on the same prepared"
                " folder"
            )


def _words(text: TextConfig) -> tuple[bool, bool, bool]:
    """The settings that decide what is a word."""
    return text.tokenized, text.hyphens, text.escape
