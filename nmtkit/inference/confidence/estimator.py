"""Confidences of translations and of their words, by the calibration in a model folder."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from nmtkit.errors import ModelError
from nmtkit.inference.confidence.features import (
    SENTENCE_FEATURES,
    WORD_FEATURES,
    Floats,
    Text,
    sentence_features,
    word_features,
)
from nmtkit.inference.confidence.logistic import probabilities
from nmtkit.inference.confidence.observation import observation_of, with_evidence
from nmtkit.inference.ensemble import Ensemble, SourceTokens
from nmtkit.inference.scorer import Scorer
from nmtkit.inference.stream_batching import Batches
from nmtkit.inference.translation import Translation
from nmtkit.io.calibration_record import REMEDY, CalibrationRecord, LogisticRecord, read_calibration
from nmtkit.io.folder_files import CALIBRATION_FILE
from nmtkit.model_folder import LoadedModel
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.text.names import unmask

log = logging.getLogger("nmtkit")

NBest = list[Hypothesis]


@dataclass(frozen=True)
class Features:
    """What is known about one translation.

    sentence: `SENTENCE_FEATURES`. words: `WORD_FEATURES` of each word. Shape: [words, features].
    tgt_words: the words.
    """

    sentence: list[float]
    words: Floats
    tgt_words: list[str]


class FeatureReader:
    """Reads features off the translations that a translator finds.

    :param reverse: scorer of the other direction; None: without.
    """

    def __init__(self, reverse: Scorer | None = None) -> None:
        self._reverse = reverse

    def observe(
        self,
        ensemble: Ensemble,
        sources: Sequence[SourceTokens],
        batches: Batches,
        found: Sequence[NBest],
    ) -> list[NBest]:
        """Add to hypotheses what the models predict where their tokens stand."""
        return with_evidence(ensemble, sources, batches, found)

    def rate(
        self,
        model: LoadedModel,
        lines: Sequence[str],
        found: Sequence[Sequence[Hypothesis]],
        translations: list[list[Translation]],
        tokenized: bool,
    ) -> list[list[Translation]]:
        """Return the translations of some lines with what follows from their features.

        :param found: the hypotheses of each line; none for a line without words.
        """
        kept = [of_line[: len(n)] for n, of_line in zip(found, translations, strict=True)]
        plain = (model.src_text.split_tag(line)[1] for line in lines)  # what is translated back
        pairs = [(one.text, line) for line, n in zip(plain, kept, strict=True) for one in n]
        reverse = self._reverse_scores(pairs, tokenized)
        features = (
            [
                _features(model, hypothesis, one, next(reverse))
                for hypothesis, one in zip(hypotheses, of_line, strict=True)
            ]
            for hypotheses, of_line in zip(found, kept, strict=True)
        )
        return self._use(translations, features)

    def _use(
        self, translations: list[list[Translation]], features: Iterator[list[Features]]
    ) -> list[list[Translation]]:
        """Return translations with what follows from their features.

        :param features: those of the translations of each line; none for a line without words.
        """
        raise NotImplementedError

    def _reverse_scores(
        self, pairs: Sequence[tuple[str, str]], tokenized: bool
    ) -> Iterator[Sequence[float]]:
        """Yield log p of each source token given its translation; nothing without a model.

        :param pairs: a translation and its line.
        """
        if self._reverse is None:
            return iter([()] * len(pairs))
        return (score.word_scores for score in self._reverse.score(pairs, tokenized))


class ConfidenceEstimator(FeatureReader):
    """Adds `Translation.confidence` and `Translation.word_confidences`.

    :param record: the calibration.
    """

    def __init__(self, record: CalibrationRecord, reverse: Scorer | None = None) -> None:
        super().__init__(reverse)
        self.record = record

    @classmethod
    def load(
        cls, ensemble: Ensemble, reverse: Scorer | None = None, folder: Path | None = None
    ) -> "ConfidenceEstimator":
        """Read the calibration of models from the folder of the first.

        :param folder: by default that of the first model's parameters.
        :raises ModelError: there is none, it is damaged, or it is for other models.
        """
        folder = folder or calibration_folder(ensemble)
        path = folder / CALIBRATION_FILE
        record = read_calibration(folder)
        if record is None:
            raise ModelError(
                f"{folder}: no {CALIBRATION_FILE}, which confidences need; run 'nmtkit calibrate'"
            )
        record.check_models(path, parameter_checksums(ensemble))
        record.check_reverse(
            path, None if reverse is None else parameter_checksums(reverse.ensemble)
        )
        for model, names in ((record.sentences, SENTENCE_FEATURES), (record.words, WORD_FEATURES)):
            if model.features != names:
                raise ModelError(f"{path}: was written by another version of nmtkit; {REMEDY}")
        return cls(record, reverse)

    def _use(
        self, translations: list[list[Translation]], features: Iterator[list[Features]]
    ) -> list[list[Translation]]:
        """Return translations with confidences.

        The empty translation of a line without words has the confidence 1.
        """
        rated = []
        for of_line, of_translations in zip(translations, features, strict=True):
            if of_translations:
                rated.append(list(map(self._rated, of_line, of_translations)))
            else:
                rated.append([replace(t, confidence=1.0, word_confidences=[]) for t in of_line])
        return rated

    def _rated(self, translation: Translation, features: Features) -> Translation:
        sentence = _probabilities(self.record.sentences, [features.sentence])[0]
        words = _probabilities(self.record.words, features.words)
        return replace(translation, confidence=sentence, word_confidences=words)


def calibration_folder(ensemble: Ensemble) -> Path:
    """Return the folder in which the calibration of models is: that of the first.

    :raises ModelError: the first is a model in memory.
    """
    path = ensemble.first.path
    if path is None:
        raise ModelError("a model in memory has no calibration; load it from its folder")
    return path.parent


def usable_calibration(ensemble: Ensemble, folder: str | Path) -> CalibrationRecord | None:
    """Return the calibration of models, or None if there is none for them; warn of a damaged one.

    :param folder: model folder with the calibration.
    """
    try:
        record = read_calibration(Path(folder))
    except ModelError as error:
        log.warning("%s", error)
        return None
    if record is None or record.parameters != parameter_checksums(ensemble):
        return None
    return record


def parameter_checksums(ensemble: Ensemble) -> tuple[str | None, ...]:
    """Return the checksum of each model's parameters, None for those in memory."""
    return tuple(member.metadata.sha256 for member in ensemble.members)


def _probabilities(record: LogisticRecord, features: "Floats | list[list[float]]") -> list[float]:
    if not len(features):
        return []
    values: list[float] = probabilities(record, np.asarray(features, float)).tolist()
    return values


def _features(
    model: LoadedModel, hypothesis: Hypothesis, translation: Translation, reverse: Sequence[float]
) -> Features:
    """Return the features of a translation."""
    tgt_words, word_of_token = model.tgt_text.join(translation.tokens)
    src_words, _ = model.src_text.join(translation.src_tokens)
    names = translation.names
    text = Text(
        src_ids=model.src_vocab.ids(translation.src_tokens),
        tgt_ids=hypothesis.words,
        src_words=unmask(src_words, names),
        tgt_words=unmask(tgt_words, names),
        word_of_token=word_of_token,
        finished=hypothesis.finished,
    )
    seen = observation_of(hypothesis)
    sentence = list(map(float, sentence_features(seen, text, reverse)))
    return Features(sentence, word_features(seen, text, reverse), list(text.tgt_words))
