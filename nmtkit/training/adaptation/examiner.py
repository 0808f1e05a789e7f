"""Test sets of an adaptation: what is won on the corrections, and lost on the guards."""

import dataclasses
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from torch import nn

from nmtkit.config import TextConfig
from nmtkit.evaluation.bleu_tokenizer import choose_tokenizer
from nmtkit.evaluation.buckets import EvaluationSet
from nmtkit.evaluation.comparison import ComparisonConfig, SubsetResult, compare
from nmtkit.evaluation.metrics import evaluate
from nmtkit.evaluation.significance import SAMPLES
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.translator import Translator
from nmtkit.io.parameters import Parameters, copy_parameters
from nmtkit.model_folder import LoadedModel
from nmtkit.progress_bar import ProgressBar
from nmtkit.training.adaptation.corrections import Pair

PROBE_LINES = 32
"""Lines that are translated to find out how long the others take."""

MIN_LINES = 40
"""Minimum number of lines of a set, however short the time is."""

MAX_LINES = 1000
"""Maximum number of lines of a set."""

BEFORE, AFTER = "before", "after"
"""Names of the two models in a comparison."""


class Purpose(Enum):
    """What a test set is for."""

    CORRECTIONS = "corrections"
    HELD_OUT = "held-out corrections"
    GUARD = "guard"


@dataclass(frozen=True)
class TestSet:
    """Sources with their references.

    name: its files, for messages. available: number of lines that it was chosen from.
    """

    __test__ = False  # not a test of pytest

    purpose: Purpose
    name: str
    sources: tuple[str, ...]
    references: tuple[str, ...]
    available: int

    @classmethod
    def of(cls, purpose: Purpose, name: str, pairs: Iterable[Pair]) -> "TestSet":
        """Return the test set of some pairs."""
        pairs = list(pairs)
        sources, references = (tuple(pair.src for pair in pairs), tuple(p.tgt for p in pairs))
        return cls(purpose, name, sources, references, len(pairs))

    def sample(self, lines: int) -> "TestSet":
        """Return at most this number of lines, spread evenly."""
        chosen = np.linspace(0, len(self.sources) - 1, min(lines, len(self.sources)))
        indices = chosen.astype(int).tolist()
        return dataclasses.replace(
            self,
            sources=tuple(self.sources[i] for i in indices),
            references=tuple(self.references[i] for i in indices),
        )


Translations = Mapping[TestSet, Sequence[str]]
"""The translations of each set."""


class Examiner:
    """Translates test sets with a model that has the parameters that are given.

    seconds: that translating all sets took the last time.
    """

    def __init__(self, model: LoadedModel, sets: Sequence[TestSet], tag: str = "") -> None:
        """Take a model, whose parameters will be overwritten.

        :param tag: word to put before each source line; "" for none.
        """
        assert isinstance(model.model, nn.Module)
        self._model = model
        self._tag = tag
        self.sets = tuple(sets)
        self.seconds = 0.0

    def fit(self, seconds: float, parameters: Parameters) -> None:
        """Sample the guards and held-out corrections, so that translating all takes so long.

        :param seconds: aim; small sets are not sampled.
        :param parameters: of the model by which the time is measured.
        """
        rate = math.inf if seconds == math.inf else self._rate(parameters)
        lines = sum(len(test_set.sources) for test_set in self.sets)
        share = min(1.0, rate * seconds / lines) if seconds else 0.0
        self.sets = tuple(
            s
            if s.purpose is Purpose.CORRECTIONS
            else s.sample(min(MAX_LINES, max(MIN_LINES, int(share * len(s.sources)))))
            for s in self.sets
        )

    def _rate(self, parameters: Parameters) -> float:
        """Return how many lines are translated in a second."""
        lines = [line for test_set in self.sets for line in test_set.sources]
        chosen = np.linspace(0, len(lines) - 1, min(PROBE_LINES, len(lines))).astype(int)
        start = time.monotonic()
        self._translate([lines[i] for i in chosen.tolist()], self._translator(parameters))
        return len(chosen) / max(time.monotonic() - start, 1e-3)

    def translate(self, parameters: Parameters) -> Translations:
        """Translate all sets with these parameters."""
        start = time.monotonic()
        translator = self._translator(parameters)
        lines = [line for test_set in self.sets for line in test_set.sources]
        texts = iter(self._translate(lines, translator))
        translations = {s: [next(texts) for _ in s.sources] for s in self.sets}
        self.seconds = time.monotonic() - start
        return translations

    def translate_lines(self, lines: Sequence[str], parameters: Parameters) -> list[str]:
        """Translate some lines with these parameters."""
        return self._translate(lines, self._translator(parameters))

    def _translator(self, parameters: Parameters) -> Translator:
        assert isinstance(self._model.model, nn.Module)
        copy_parameters(self._model.model, parameters)
        translator = Translator(Ensemble((self._model,)))
        return translator.with_tag(self._tag) if self._tag else translator

    @staticmethod
    def _translate(lines: Sequence[str], translator: Translator) -> list[str]:
        bar = ProgressBar("translate the test sets", "lines", len(lines))
        results = bar.run(translator.translate(lines), translator.lines_done.count)
        return [best[0].text for best in results]


class Judge:
    """Measures translations of a language by the metrics that suit it."""

    def __init__(self, text: TextConfig) -> None:
        """Choose the metrics: BLEU and chrF; BLEU counts the given words of tokenised text."""
        self._bleu = "bleu" if text.tokenized else "sacrebleu"
        self._tokenizer = choose_tokenizer(text.tgt_language)

    def metric(self, test_set: TestSet) -> str:
        """Return the title of the metric by which points are chosen and losses refused.

        It is BLEU, or chrF where spaces do not separate words, or where no reference has the four
        words without which BLEU is 0 whatever the translations are.
        """
        has_bleu = self._tokenizer.has_four_words(test_set.references)
        return "BLEU" if self._tokenizer.spaced and has_bleu else "chrF"

    def score(self, test_set: TestSet, translations: Sequence[str]) -> float:
        """Return the figure of the set's metric in percent."""
        scores = evaluate(
            translations,
            test_set.references,
            metrics=[self._bleu if self.metric(test_set) == "BLEU" else "chrf"],
            tokenizer=self._tokenizer,
        )
        return scores[0].value

    def compare(
        self, test_set: TestSet, before: Sequence[str], after: Sequence[str]
    ) -> SubsetResult:
        """Compare the translations of the old and the new model, with intervals."""
        has_bleu = self._tokenizer.has_four_words(test_set.references)
        config = ComparisonConfig(
            metrics=(self._bleu, "chrf") if has_bleu else ("chrf",),
            tokenizer=self._tokenizer,
            samples=SAMPLES,
        )
        systems = {BEFORE: before, AFTER: after}
        return compare(systems, EvaluationSet(test_set.references), config).whole
