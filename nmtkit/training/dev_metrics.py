"""BLEU and chrF of the dev set, in words that suit the target language.

Where the prepared text is words separated by spaces, BLEU counts those words, as in the papers.
Elsewhere translations and references are brought back to raw text, and BLEU counts the words of the
tokeniser for the language, as `nmtkit evaluate -t` does. In languages written without spaces chrF
is measured, too, and is logged before BLEU.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from nmtkit.config import Config, TextConfig, TrainingConfig
from nmtkit.evaluation.bleu_tokenizer import choose_tokenizer, is_spaced
from nmtkit.evaluation.metrics import METRICS, tokenized_bleu
from nmtkit.evaluation.retokenize import Retokenizer, word_tokenizer
from nmtkit.io.inputs import VerbatimFile
from nmtkit.io.lines import read_lines
from nmtkit.text.pipeline import TextPipeline

log = logging.getLogger("nmtkit")


@dataclass(frozen=True)
class DevScores:
    """Figures of the translated dev set in percent, or None if not measured."""

    bleu: float | None = None
    chrf: float | None = None


class DevMetrics:
    """Measures translations of the dev set.

    :param pipeline: of the target language.
    :param references: tokens of each reference, as in the prepared folder.
    """

    def __init__(
        self,
        pipeline: TextPipeline,
        references: Iterable[Sequence[str]],
        text: TextConfig,
        training: TrainingConfig,
    ) -> None:
        self._pipeline = pipeline
        self._measures_bleu = training.dev_bleu
        self._measures_chrf = measures_chrf(text, training)
        self._tokenizer = None if counts_prepared_words(text) else _tokenizer(text)
        tokens = list(references) if self.needed else []
        self._words = self._to_words(tokens) if self._measures_bleu else []
        self._lines = self._to_lines(tokens) if self._measures_chrf else []

    @classmethod
    def load(cls, data: Path, config: Config) -> Self:
        """Load the references of a prepared folder.

        :raises DataError: a file cannot be read.
        """
        side, text = config.data.sides[1], config.text
        lines = read_lines(VerbatimFile(data / f"dev.{side}"))
        references = ([token for token in line.split(" ") if token] for line in lines)
        pipeline = TextPipeline.load(data, side, text, text.tgt_language)
        return cls(pipeline, references, text, config.training)

    @property
    def needed(self) -> bool:
        """Return whether the dev set has to be translated."""
        return self._measures_bleu or self._measures_chrf

    def scores(self, translations: Sequence[Sequence[str]]) -> DevScores:
        """Measure translations.

        :param translations: tokens of each sentence, in the order of the references.
        """
        bleu = chrf = None
        if self._measures_bleu:
            bleu = tokenized_bleu(self._to_words(translations), self._words).value
        if self._measures_chrf:
            chrf = METRICS["chrf"].corpus_score(self._to_lines(translations), self._lines).value
        return DevScores(bleu, chrf)

    def _to_words(self, sentences: Sequence[Sequence[str]]) -> list[str]:
        """Return the words of each sentence that BLEU counts, separated by blanks."""
        if self._tokenizer is None:
            return [self._pipeline.line(tokens, tokenized=True) for tokens in sentences]
        return [self._tokenizer.convert(line) for line in self._to_lines(sentences)]

    def _to_lines(self, sentences: Sequence[Sequence[str]]) -> list[str]:
        return [self._pipeline.line(tokens) for tokens in sentences]


def counts_prepared_words(text: TextConfig) -> bool:
    """Return whether the words of the prepared text are those that BLEU should count.

    Pieces of raw text are no words, and marks of spacing and case would count as words.
    """
    has_marks = text.raw or text.joiners or text.case == "markers"
    return text.tokenized or (is_spaced(text.tgt_language) and not has_marks)


def measures_chrf(text: TextConfig, training: TrainingConfig) -> bool:
    """Return whether a training measures chrF on the dev set."""
    leads = training.dev_bleu and not is_spaced(text.tgt_language)
    return leads or training.early_stopping_metric == "chrf"


def _tokenizer(text: TextConfig) -> Retokenizer | None:
    chosen = choose_tokenizer(text.tgt_language)
    if chosen.note:
        log.info("%s; dev chrF is measured, too", chosen.note)
    return word_tokenizer(text.tgt_language, text.hyphens, chosen)
