"""Translation of long lines segment by segment (Pouget-Abadie et al. 2014); also from Python.

    from nmtkit import Segmenter
    segmenter = Segmenter.load("model", "reverse-model")
    for line in segmenter.segment(["A sentence that is much longer than those of training."]):
        print(line.translation.text, [segment.source for segment in line.segments])

Segments are cut between the words of the tokenised line; BPE splits the words of each afterwards.
Each is translated behind the tag of its line. The tokenised translations of the segments are joined
and detokenised as one line.

Departures and readings

- The paper does not say which candidate translation of a chosen segment is used. Here it is the
  f_k that gave the segment its confidence, argmax_k c(e_ij, f_k).
- The candidates are all hypotheses that beam search finds; the paper's beam is 10 wide.
- A candidate's confidence is its total log-probability, not divided by its length, however search
  ranks hypotheses; so in the authors' code.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import NamedTuple, Unpack

from nmtkit.config import SearchSettings, TextConfig
from nmtkit.errors import ModelError
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.scorer import Scorer
from nmtkit.inference.stream_batching import windows
from nmtkit.inference.translation import Translation, empty_translation
from nmtkit.inference.translator import Translator
from nmtkit.model_folder import shared_parameters
from nmtkit.parallel.process_group import SINGLE_PROCESS, ProcessGroup
from nmtkit.search.search_settings import length_divisor
from nmtkit.search.segmentation import Span, best_segmentation, confidence, spans
from nmtkit.value_types import PositiveInt, check_arguments

MAX_SEGMENT_WORDS = 20
"""Longest segment by default, in words."""

MAX_SPANS = 1 << 14
"""Spans whose best translations are kept in memory (about 2 KB each), unless one line has more."""

ConfidentTranslation = tuple[Translation, float]
"""A translation and its confidence c(e_ij, f_k)."""


class TaggedWords(NamedTuple):
    """The words of a line without its tag, and this tag with a blank after it, or ""."""

    tag: str
    words: list[str]

    def texts(self, parts: Sequence[Span]) -> list[str]:
        """Return the text of some parts, each behind the tag."""
        return [f"{self.tag}{' '.join(self.words[start:end])}" for start, end in parts]


@dataclass(frozen=True)
class Segment:
    """A part of a line that was translated by itself.

    source: the words of the segment, separated by spaces, without the tag of its line.
    translation: the translation, whose text is tokenised.
    confidence: c_ij; None in random segmentations.
    """

    source: str
    translation: Translation
    confidence: float | None = None


@dataclass(frozen=True)
class Segmented:
    """A line and its segments.

    translation: the translations of the segments joined. Its scores are sums over the segments, so
        `</s>` is counted once in each.
    """

    translation: Translation
    segments: list[Segment]


class Segmenter(ABC):
    """Cuts lines into segments and translates each segment by itself."""

    def __init__(self, translator: Translator) -> None:
        self._translator = translator

    @staticmethod
    @check_arguments
    def load(
        folder: str | Path,
        reverse_folder: str | Path | None,
        device: str = "auto",
        batch_size: PositiveInt = 64,
        max_words: PositiveInt = MAX_SEGMENT_WORDS,
        params: str = "best",
        segment_penalty: bool = True,
        **search: Unpack[SearchSettings],
    ) -> "ConfidentSegmenter":
        """Load a model and a reverse model, which translates back.

        :param folder: the model folder.
        :param reverse_folder: the folder of the reverse model; None: confidence from the model
            alone, which the paper found to be worse than no segmentation.
        :param device: "auto", "cpu", "cuda", "cuda:1" or "mps".
        :param batch_size: segments searched together.
        :param max_words: longest segment, in words.
        :param params: which parameters of both models: "best" or "last".
        :param segment_penalty: divide confidence by log(words + 2), against short segments.
        :param search: fields of `SearchConfig`, such as beam=10.
        :raises ModelError: a file is missing or does not fit, or the models do not fit each other.
        :raises ConfigError: `params` is a file, which belongs to one model.
        """
        params = shared_parameters(params)
        translator = Translator.load(folder, device=device, batch_size=batch_size, params=params)
        reverse = (
            Scorer.load(reverse_folder, device=device, batch_size=batch_size, params=params)
            if reverse_folder is not None
            else None
        )
        translator = translator.with_search(**search)
        return ConfidentSegmenter(translator, reverse, max_words, segment_penalty)

    @property
    def window(self) -> int:
        """Number of lines to translate together."""
        return self._translator.window

    @check_arguments
    def segment(
        self,
        lines: Iterable[str],
        tokenized: bool = False,
        process_group: ProcessGroup = SINGLE_PROCESS,
        first_line: int = 1,
    ) -> Iterator[Segmented]:
        """Translate lines in segments, in the order given.

        :param lines: source text; an empty line has no segments and an empty translation.
        :param tokenized: the lines are already tokenised, and the translations stay tokenised.
        :param process_group: shares the lines; rank 0 reads them and yields the results, the
            other ranks yield nothing.
        :param first_line: number of the first line; random segments depend on line numbers.
        :raises TypeError: `lines` is a single string.
        """
        text = self._translator.ensemble.first.src_text
        for shard in process_group.shards(windows(lines, self.window * process_group.size)):
            pairs = map(text.split_tag, shard.items)
            sentences = [TaggedWords(tag, text.words(s, tokenized).split()) for tag, s in pairs]
            segmented = self._choose_segments(sentences, first_line + shard.first - 1)
            yield from process_group.gather(
                [Segmented(self._join(segments, tokenized), segments) for segments in segmented]
            )

    @abstractmethod
    def _choose_segments(
        self, sentences: Sequence[TaggedWords], first: int
    ) -> Iterator[list[Segment]]:
        """Yield the translated segments of each sentence.

        :param first: number of the first line, from 1.
        """

    def _plain(self, text: str) -> str:
        """Return the words of a segment without the tag of its line."""
        return self._translator.ensemble.first.src_text.split_tag(text)[1]

    def _join(self, segments: list[Segment], tokenized: bool) -> Translation:
        """Join the translations of a line's segments."""
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
    """Chooses the segmentation with the highest confidence.

    :param translator: searches the candidates f_k, one per hypothesis of its beam, with log p.
    :param reverse: scores the candidates by a model that translates back: log q; None: use log p
        alone.
    :param max_words: longest segment, in words.
    :param segment_penalty: divide confidence by log(words + 2), against short segments.
    :raises ModelError: the models translate between other languages, or split lines into words
        differently.
    """

    def __init__(
        self,
        translator: Translator,
        reverse: Scorer | None,
        max_words: int = MAX_SEGMENT_WORDS,
        segment_penalty: bool = True,
    ) -> None:
        super().__init__(translator)
        if reverse is not None:
            _check_fit(translator.ensemble, reverse.ensemble)
        self._reverse, self._longest, self._penalty = reverse, max_words, segment_penalty

    @property
    def window(self) -> int:
        """Number of lines to translate together, fewer than usual as each has many spans."""
        return max(1, self._translator.window // self._longest)

    def _choose_segments(
        self, sentences: Sequence[TaggedWords], first: int
    ) -> Iterator[list[Segment]]:
        for group in _group_by_spans(sentences, self._longest):
            span_texts = [_span_texts(sentence, self._longest) for sentence in group]
            unique_texts = dict.fromkeys(text for texts in span_texts for text in texts.values())
            best = self._best_translations(list(unique_texts))
            for (_, words), texts in zip(group, span_texts, strict=True):
                confidences = {span: best[text][1] for span, text in texts.items()}
                best_spans = [texts[span] for span in best_segmentation(len(words), confidences)]
                yield [Segment(self._plain(text), *best[text]) for text in best_spans]

    def _best_translations(self, texts: list[str]) -> dict[str, ConfidentTranslation]:
        """Find the translation of each span with the highest confidence: eq. (3)."""
        best: dict[str, ConfidentTranslation] = {}
        by_length = sorted(texts, key=lambda text: -text.count(" "))  # for full batches
        for window in windows(by_length, self._translator.window):
            n_best_lists = list(
                self._translator.translate(window, self._translator.search.beam, tokenized=True)
            )
            best |= zip(window, self._most_confident(window, n_best_lists), strict=True)
        return best

    def _most_confident(
        self, texts: list[str], n_best_lists: list[list[Translation]]
    ) -> Iterator[ConfidentTranslation]:
        """Yield the candidate of each span with the highest confidence."""
        log_qs = self._reverse_scores(texts, n_best_lists)
        for text, candidates in zip(texts, n_best_lists, strict=True):
            words = len(self._plain(text).split())
            confidences = [
                confidence(candidate.score, words, next(log_qs), self._penalty)
                for candidate in candidates
            ]
            highest = max(confidences)
            yield candidates[confidences.index(highest)], highest

    def _reverse_scores(
        self, texts: list[str], n_best_lists: list[list[Translation]]
    ) -> Iterator[float | None]:
        """Yield log q of each span given each of its candidates; None without a reverse model."""
        if self._reverse is None:
            yield from repeat(None)
            return
        to_text = self._translator.ensemble.first.tgt_text.line
        pairs = [
            (to_text(candidate.named_tokens, tokenized=True), self._plain(text))
            for text, candidates in zip(texts, n_best_lists, strict=True)
            for candidate in candidates
        ]
        yield from (score.log_prob for score in self._reverse.score(pairs, tokenized=True))


def _group_by_spans(
    sentences: Sequence[TaggedWords], max_words: int
) -> Iterator[list[TaggedWords]]:
    """Yield consecutive sentences that have at most `MAX_SPANS` spans together, or one alone."""
    group: list[TaggedWords] = []
    room = MAX_SPANS
    for sentence in sentences:
        size = len(sentence.words) * max_words
        room -= size
        if group and room < 0:
            yield group
            group, room = [], MAX_SPANS - size
        group.append(sentence)
    yield group


def _span_texts(sentence: TaggedWords, max_words: int) -> dict[Span, str]:
    """Return the text of every span of at most `max_words` words."""
    sentence_spans = spans(len(sentence.words), max_words)
    return dict(zip(sentence_spans, sentence.texts(sentence_spans), strict=True))


def _check_fit(forward: Ensemble, reverse: Ensemble) -> None:
    """Raise ModelError if the reverse model does not translate the same text back."""
    text, reverse_text = forward.first.config.text, reverse.first.config.text
    languages = text.tgt_language, text.src_language
    if (reverse_text.src_language, reverse_text.tgt_language) != languages:
        raise ModelError(
            f"the reverse model translates {reverse_text.src_language}-{reverse_text.tgt_language};"
            f" it must translate {'-'.join(languages)}; train one with 'nmtkit train --reverse' on"
            " the same prepared folder"
        )
    for member in (*forward.members, *reverse.members):
        if _word_settings(member.config.text) != _word_settings(text):
            raise ModelError(
                "the models and the reverse model split lines into words differently (tokenized,"
                " hyphens, escape, joiners, case or the like differ in their config.toml); train"
                " them on the same prepared folder"
            )


def _word_settings(text: TextConfig) -> tuple[bool | str, ...]:
    """Return the settings that determine how lines are split into words."""
    switches = text.nfc, text.punctuation, text.protected, text.combining, text.joiners, text.case
    return text.tokenized, text.hyphens, text.escape, *switches
