"""The record of how confidences follow from what a model predicts: `calibration.json`.

`nmtkit calibrate` writes it into the model folder. It holds the checksums of the parameters for
which it was fitted, so that it is stale once they change, and it takes a few kilobytes.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nmtkit.errors import ModelError
from nmtkit.io.checksums import with_checksum
from nmtkit.io.folder_files import CALIBRATION_FILE, MIB
from nmtkit.io.json_record import read_record
from nmtkit.io.lines import open_output

FORMAT = 1

MAX_CALIBRATION_BYTES = MIB

MAX_VALUES = 10_000
"""Maximum length of a list in the file."""

REMEDY = "run 'nmtkit calibrate' again"


@dataclass(frozen=True)
class LogisticRecord:
    """Logistic regression on standardised features: p = 1 / (1 + exp(-(w z + b))).

    features: their names. means, scales: z = (x - mean) / scale. weights: w. bias: b.
    """

    features: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float


@dataclass(frozen=True)
class CalibrationRecord:
    """What was fitted on the dev set.

    parameters: checksums of the parameters of the model, or of each model of an ensemble.
    reverse: those of the reverse model or models; empty without.
    pairs: pairs of the dev set that were used. beam: beam size of their translations.
    metric, threshold: a translation is good if its figure is at least the threshold.
    is_median: whether the threshold is the median of the dev set.
    sentences, words: the models of good sentences and of right words.
    figures: expected calibration error and area under the ROC curve, by cross-validation.
    scores, levels: quantiles of log p per token: the share `levels[i]` of the lines of the dev set
        has at most `scores[i]`. Both ascend.
    """

    parameters: tuple[str, ...]
    reverse: tuple[str, ...]
    pairs: int
    beam: int
    metric: str
    threshold: float
    is_median: bool
    sentences: LogisticRecord
    words: LogisticRecord
    figures: dict[str, float]
    scores: tuple[float, ...]
    levels: tuple[float, ...]

    @property
    def good(self) -> str:
        """Say when a translation is good, for messages."""
        median = ", the median of the dev set" if self.is_median else ""
        return f"{self.metric} of at least {self.threshold:g}{median}"

    def check_models(self, path: Path, parameters: tuple[object, ...]) -> None:
        """Compare the checksums of models with those of the calibration.

        :raises ModelError: they are others.
        """
        if len(parameters) != len(self.parameters):
            raise ModelError(
                f"{path}: is for {_models(self.parameters)}, not for {_models(parameters)};"
                f" {REMEDY} with the same models"
            )
        if parameters != self.parameters:
            raise ModelError(f"{path}: stale: the parameters have changed since; {REMEDY}")

    def check_reverse(self, path: Path, parameters: tuple[object, ...] | None) -> None:
        """Compare the reverse model with that of the calibration.

        :param parameters: checksums of its parameters; None without a reverse model.
        :raises ModelError: it is another, or there is one and should be none, or the other way.
        """
        if parameters is None and self.reverse:
            raise ModelError(f"{path}: was fitted with a reverse model; give it: --reverse-model")
        if parameters is not None and not self.reverse:
            raise ModelError(
                f"{path}: was fitted without a reverse model; leave --reverse-model out, or"
                " run 'nmtkit calibrate' with it"
            )
        if parameters is not None and parameters != self.reverse:
            raise ModelError(f"{path}: was fitted with another reverse model; {REMEDY}")


def write_calibration(folder: Path, record: CalibrationRecord) -> None:
    """Write the record of a model folder, replacing an existing one."""
    table = with_checksum({"format": FORMAT, **json.loads(json.dumps(asdict(record)))})
    with open_output(folder / CALIBRATION_FILE, force=True) as file:
        file.write(json.dumps(table, indent=1) + "\n")


def read_calibration(folder: Path) -> CalibrationRecord | None:
    """Read the record of a model folder; return None if there is none.

    :raises ModelError: the file is damaged, has an unknown format, or is not a regular file in the
        folder.
    """
    return read_record(folder / CALIBRATION_FILE, MAX_CALIBRATION_BYTES, FORMAT, _record_of, REMEDY)


def _models(parameters: tuple[object, ...]) -> str:
    return "1 model" if len(parameters) == 1 else f"an ensemble of {len(parameters)}"


def _record_of(table: Mapping[str, Any]) -> CalibrationRecord:
    """Return the record in a JSON object.

    :raises ValueError: a value is missing, or not of the right type.
    """
    figures = _value(table, "figures", dict)
    scores, levels = _numbers(table, "scores"), _numbers(table, "levels")
    if len(scores) != len(levels) or not scores:
        raise ValueError("scores and levels differ in length, or are empty")
    if sorted(scores) != list(scores) or sorted(levels) != list(levels):
        raise ValueError("scores or levels do not ascend")
    parameters = _texts(table, "parameters")
    if not parameters:
        raise ValueError("parameters is empty")
    return CalibrationRecord(
        parameters=parameters,
        reverse=_texts(table, "reverse"),
        pairs=_count(table, "pairs"),
        beam=_count(table, "beam"),
        metric=_value(table, "metric", str),
        threshold=_number(table, "threshold"),
        is_median=_value(table, "is_median", bool),
        sentences=_logistic(_value(table, "sentences", dict)),
        words=_logistic(_value(table, "words", dict)),
        figures={name: _number(figures, name) for name in figures},
        scores=scores,
        levels=levels,
    )


def _logistic(table: Mapping[str, Any]) -> LogisticRecord:
    """Return the logistic regression in a JSON object.

    :raises ValueError: a value is missing, or not of the right type, or lengths differ.
    """
    record = LogisticRecord(
        features=_texts(table, "features"),
        means=_numbers(table, "means"),
        scales=_numbers(table, "scales"),
        weights=_numbers(table, "weights"),
        bias=_number(table, "bias"),
    )
    if len({len(record.features), *map(len, (record.means, record.scales, record.weights))}) > 1:
        raise ValueError("features, means, scales and weights differ in length")
    if any(scale <= 0 for scale in record.scales):
        raise ValueError("a scale is not above 0")
    return record


def _value(table: Mapping[str, Any], name: str, type_: type) -> Any:
    """Return a value of a JSON object.

    :raises ValueError: it is missing, or not of the type.
    """
    value = table.get(name)
    if type(value) is not type_:
        raise ValueError(f"{name} is missing, or not of the right type")
    return value


def _number(table: Mapping[str, Any], name: str) -> float:
    value: Any = table.get(name)
    if type(value) not in (int, float) or not math.isfinite(value) or abs(value) > 1e12:
        raise ValueError(f"{name} is missing, or not a number")
    return float(value)


def _count(table: Mapping[str, Any], name: str) -> int:
    value: int = _value(table, name, int)
    if not 0 < value < 10**12:
        raise ValueError(f"{name} is not a number above 0")
    return value


def _numbers(table: Mapping[str, Any], name: str) -> tuple[float, ...]:
    values = _value(table, name, list)
    if len(values) > MAX_VALUES:
        raise ValueError(f"{name} has more than {MAX_VALUES:,} values")
    return tuple(_number({name: value}, name) for value in values)


def _texts(table: Mapping[str, Any], name: str) -> tuple[str, ...]:
    values = _value(table, name, list)
    if len(values) > MAX_VALUES or any(type(value) is not str for value in values):
        raise ValueError(f"{name} is not a list of texts")
    return tuple(values)
