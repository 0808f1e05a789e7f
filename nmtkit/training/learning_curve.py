"""The course of a training, read from the `metrics.jsonl` that its `MetricsLogger` wrote."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmtkit.errors import DataError, ModelError
from nmtkit.io.lines import decode_line
from nmtkit.io.safe_json import parse_json

METRICS = "metrics.jsonl"


@dataclass(frozen=True)
class TrainingPoint:
    """The mean of the updates since the point before.

    epoch: epochs done, as a fraction. seconds: spent in updates since the very beginning.
    cost_per_token: natural log; smoothed where training is.
    words_per_second: target tokens, `</s>` counted.
    """

    update: int
    epoch: float
    seconds: float
    cost_per_token: float
    words_per_second: float


@dataclass(frozen=True)
class ValidationPoint:
    """What the dev set said.

    epoch, seconds: as above. cost_per_token, cost_per_sentence: natural log, no smoothing.
    bleu: in percent, or None where it was not measured.
    best: whether it was better than all before.
    """

    update: int
    epoch: float
    seconds: float
    cost_per_token: float
    cost_per_sentence: float
    bleu: float | None
    best: bool


@dataclass(frozen=True)
class Curve:
    """Both in the order of updates."""

    training: tuple[TrainingPoint, ...]
    validation: tuple[ValidationPoint, ...]


def read_curve(folder: str | Path) -> Curve:
    """The learning curve of a model folder, also while something trains there.

    A last line without its newline is left out: it is being written, or was cut short.

    :raises ModelError: nothing was written there yet, or the folder is none of a training.
    :raises DataError: a line is not what training writes.
    """
    path = Path(folder) / METRICS
    if not path.is_file():
        raise ModelError(
            f"{path}: no such file; 'nmtkit train' writes it, first after 100 updates or at its"
            " first validation"
        )
    training, validation = [], []
    for number, line in enumerate(_whole_lines(path), start=1):
        point = _point(decode_line(line, path, number), f"{path}:{number}")
        if isinstance(point, TrainingPoint):
            training.append(point)
        else:
            validation.append(point)
    return Curve(tuple(training), tuple(validation))


def _whole_lines(path: Path) -> list[bytes]:
    """The lines that end; one reading, for the file may grow."""
    try:
        return path.read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error


def _point(line: str, where: str) -> TrainingPoint | ValidationPoint:
    try:
        told = parse_json(line)
        common = int(told["update"]), _number(told, "epoch"), _number(told, "seconds")
        if told["kind"] == "training":
            cost, speed = _number(told, "cost_per_token"), _number(told, "words_per_second")
            return TrainingPoint(*common, cost, speed)
        if told["kind"] == "validation":
            costs = _number(told, "dev_cost_per_token"), _number(told, "dev_cost_per_sentence")
            bleu = None if told["dev_bleu"] is None else _number(told, "dev_bleu")
            return ValidationPoint(*common, *costs, bleu, bool(told["best"]))
        raise ValueError(f"unknown kind {told['kind']!r}")
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{where}: not what 'nmtkit train' writes; remove the line, or restore the file"
        ) from error


def _number(told: Any, name: str) -> float:
    """A figure of a line; one that is not finite, of a training that diverged, becomes NaN."""
    value = told[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} is {value!r}")
    return float(value) if math.isfinite(value) else math.nan
