"""Fit on a dev set how probable it is that a translation is good, and that its words are right.

The dev set is translated, and two logistic regressions are fitted to features of the translations:
whether the chrF of the sentence reaches a threshold, and whether a word is in the reference. The
figures that are reported come from cross-validation.
"""

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtkit.errors import ConfigError, DataError, counted
from nmtkit.evaluation.bleu_tokenizer import is_spaced
from nmtkit.evaluation.calibration_metrics import expected_calibration_error, roc_auc
from nmtkit.evaluation.right_words import right_pieces, right_words
from nmtkit.evaluation.sufficient_statistics import sentence_chrf
from nmtkit.inference.confidence.estimator import FeatureReader, Features, parameter_checksums
from nmtkit.inference.confidence.familiarity import score_levels
from nmtkit.inference.confidence.features import SENTENCE_FEATURES, WORD_FEATURES
from nmtkit.inference.confidence.logistic import CrossValidated, cross_validate
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.scorer import Scorer
from nmtkit.inference.side_check import refuse_swapped
from nmtkit.inference.translation import Translation
from nmtkit.inference.translator import Translator
from nmtkit.io.calibration_record import CalibrationRecord, write_calibration
from nmtkit.io.lines import read_parallel
from nmtkit.model_folder import LoadedModel, shared_parameters
from nmtkit.progress_bar import ProgressBar
from nmtkit.value_types import PositiveInt, check_arguments

log = logging.getLogger("nmtkit")

METRIC = "chrF"

MEDIAN = "median"
"""A translation is good if its chrF is at least the median of the dev set."""

MIN_PAIRS = 2
"""Fewer pairs are refused."""

FEW_PAIRS = 300
"""Fewer pairs are warned of."""

MAX_CHARACTERS = 2000
"""Longest line of a pair whose words are judged, which takes time with the square of the length."""

MAX_SOURCE_CHARACTERS = 5000
"""Longest source line that is translated. Longer ones are no sentences, and one of them takes
minutes, or hours, and gigabytes for its attention."""

_THRESHOLD = re.compile(r"(?i)chrf\s*>=\s*([0-9]{1,3}(?:\.[0-9]{1,6})?)")


class Rated(NamedTuple):
    """A line of the dev set.

    quality: chrF of its translation in percent. score: log p per token.
    right: whether each word of the translation is right; empty if they are not judged.
    """

    features: Features
    quality: float
    score: float
    right: list[bool]


@check_arguments
def calibrate(
    folders: Sequence[str | Path],
    dev: tuple[str | Path, str | Path],
    good: str = MEDIAN,
    reverse_models: Sequence[str | Path] = (),
    beam: PositiveInt | None = None,
    device: str = "auto",
    batch_size: PositiveInt = 64,
    params: str | Path = "best",
) -> CalibrationRecord:
    """Write the calibration of a model or an ensemble into the folder of the first model.

    :param folders: one model folder, or several of an ensemble.
    :param dev: source and target file, raw; not text that the model was trained on.
    :param good: "median", or a threshold such as "chrF>=60".
    :param reverse_models: model folders of the other direction, whose scores become features.
    :param beam: beam size; by default that of the model.
    :param device: "auto", "cpu", "cuda", "cuda:1" or "mps".
    :param batch_size: sentences searched together.
    :param params: which parameters: "best", "last", or a file; those that will translate. Reverse
        models have the same, "best" or "last".
    :raises ConfigError: `good` is neither, or `params` is a file, and there are several models.
    :raises DataError: a file cannot be read, files differ in length, too few lines have words, or
        source and target look swapped.
    :raises ModelError: a model cannot be loaded.
    """
    threshold = parse_good(good)
    params = shared_parameters(params) if reverse_models else params
    ensemble = Ensemble.load(folders, device, params)
    checksums = _checksums(ensemble)
    refuse_swapped(ensemble.first, *dev)
    pairs = _usable_pairs(dev)
    if len(pairs) < MIN_PAIRS:
        raise DataError(
            f"{dev[0]}: {counted(len(pairs), 'line')} with words; a calibration needs {MIN_PAIRS},"
            " and better a thousand"
        )
    if len(pairs) < FEW_PAIRS:
        log.warning("%s: %d lines are few for a calibration; give more", dev[0], len(pairs))
    reverse = None
    if reverse_models:
        reverse = Scorer.load(*reverse_models, device=device, batch_size=batch_size, params=params)
    translator = Translator(ensemble, batch_size=batch_size)
    if beam is not None:
        translator = translator.with_search(beam=beam)
    log.info("translating %d lines", len(pairs))
    lines = rate_lines(translator, pairs, reverse)
    record = fit(lines, threshold, checksums, translator.search.beam)
    if reverse is not None:
        record = replace(record, reverse=_checksums(reverse.ensemble))
    write_calibration(Path(folders[0]), record)
    return record


def _usable_pairs(dev: tuple[str | Path, str | Path]) -> list[tuple[str, str]]:
    """Read the pairs with words on both sides; leave out overlong source lines with a warning."""
    pairs = [(src, tgt) for src, tgt in read_parallel(*dev) if src.strip() and tgt.strip()]
    usable = [pair for pair in pairs if len(pair[0]) <= MAX_SOURCE_CHARACTERS]
    if left_out := len(pairs) - len(usable):
        log.warning(
            "%s: %s of more than %s characters left out, as long lines take very long; give one"
            " sentence a line",
            dev[0],
            counted(left_out, "line"),
            f"{MAX_SOURCE_CHARACTERS:,}",
        )
    return usable


def parse_good(good: str) -> float | None:
    """Return the threshold of "chrF>=60" in percent, or None for "median".

    :raises ConfigError: it is neither.
    """
    if good == MEDIAN:
        return None
    match = _THRESHOLD.fullmatch(good.strip())
    if match is None or float(match[1]) > 100:
        raise ConfigError(
            f"--good {good}: neither 'median' nor a threshold up to 100 such as 'chrF>=60'"
        )
    return float(match[1])


def rate_lines(
    translator: Translator, pairs: Sequence[tuple[str, ...]], reverse: Scorer | None = None
) -> list[Rated]:
    """Translate lines, and return what is known about the translations and how good they are."""
    collector = FeatureCollector(reverse)
    translator = translator.with_features(collector)
    bar = ProgressBar("translate the dev set", "lines", len(pairs))
    results = translator.translate([src for src, _ in pairs])
    found = bar.run(results, translator.lines_done.count)
    best = [translations[0] for translations in found]
    qualities = sentence_chrf([t.text for t in best], [tgt for _, tgt in pairs])
    model = translator.ensemble.first
    return [
        Rated(features, quality, t.score / len(t.word_scores), _right(model, features, tgt))
        for features, quality, t, (_, tgt) in zip(
            collector.collected, qualities, best, pairs, strict=True
        )
        if features is not None
    ]


def fit(
    lines: Sequence[Rated], threshold: float | None, parameters: tuple[str, ...], beam: int
) -> CalibrationRecord:
    """Fit both regressions.

    :param lines: in their order; cross-validation divides them by their number.
    :param threshold: chrF in percent; None: the median.
    :param parameters: checksums of the models' parameters.
    """
    qualities = np.array([line.quality for line in lines])
    limit = float(f"{np.median(qualities) if threshold is None else threshold:.6g}")
    good = qualities >= limit
    if threshold is not None and not 0 < good.sum() < len(good):
        which = "all" if good.all() else "none"
        raise DataError(
            f"{which} of the translations of the dev set have a chrF of at least {threshold:g};"
            " choose another --good"
        )
    rows = np.array([line.features.sentence for line in lines])
    sentences = cross_validate(SENTENCE_FEATURES, rows, good, np.arange(len(lines)))
    judged = [(n, line) for n, line in enumerate(lines) if line.right]
    if not judged:
        raise DataError("no line of the dev set has a translation with words that can be judged")
    word_rows = np.concatenate([line.features.words for _, line in judged])
    right = np.concatenate([np.array(line.right) for _, line in judged])
    numbers = np.repeat([n for n, _ in judged], [len(line.right) for _, line in judged])
    words = cross_validate(WORD_FEATURES, word_rows, right, numbers)
    scores, levels = score_levels([line.score for line in lines])
    return CalibrationRecord(
        parameters=parameters,
        reverse=(),
        pairs=len(lines),
        beam=beam,
        metric=METRIC,
        threshold=limit,
        is_median=threshold is None,
        sentences=sentences.model,
        words=words.model,
        figures=_figures(sentences, good, words, right),
        scores=tuple(scores),
        levels=tuple(levels),
    )


class FeatureCollector(FeatureReader):
    """Collects the features of the best translation of each line.

    collected: one for each line; None for a line without words.
    """

    def __init__(self, reverse: Scorer | None = None) -> None:
        super().__init__(reverse)
        self.collected: list[Features | None] = []

    def _use(
        self, translations: list[list[Translation]], features: Iterator[list[Features]]
    ) -> list[list[Translation]]:
        """Collect the features, and return the translations as they are."""
        for of_line in features:
            self.collected.append(of_line[0] if of_line else None)
        return translations


def _right(model: LoadedModel, features: Features, reference: str) -> list[bool]:
    """Return for each word of a translation whether it is right; empty for very long lines."""
    if max(len(reference), sum(map(len, features.tgt_words))) > MAX_CHARACTERS:
        return []
    if not is_spaced(model.config.text.tgt_language):
        return right_pieces(features.tgt_words, reference)
    words, _ = model.tgt_text.join(model.tgt_text.tokens(reference, names=()))
    return right_words(features.tgt_words, words)


def _figures(
    sentences: CrossValidated,
    good: NDArray[np.bool_],
    words: CrossValidated,
    right: NDArray[np.bool_],
) -> dict[str, float]:
    """Return the figures of cross-validation."""
    figures = {
        "sentence_ece": expected_calibration_error(sentences.probabilities, good),
        "sentence_auc": roc_auc(sentences.probabilities, good),
        "word_ece": expected_calibration_error(words.probabilities, right),
        "word_auc": roc_auc(words.probabilities, right),
        "right_words": float(right.mean()),
    }
    return {name: round(value, 4) for name, value in figures.items()}


def _checksums(ensemble: Ensemble) -> tuple[str, ...]:
    """Return the checksums of parameters that have been read from files."""
    return tuple(filter(None, parameter_checksums(ensemble)))
