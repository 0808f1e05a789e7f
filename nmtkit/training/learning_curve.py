"""Learning curves, read from the `metrics.jsonl` that a `MetricsLogger` wrote."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmtkit.errors import DataError, ModelError
from nmtkit.io.folder_files import check_file, read_regular
from nmtkit.io.lines import decode_line
from nmtkit.io.safe_json import parse_json

METRICS_FILE = "metrics.jsonl"

MAX_METRICS_BYTES = 1 << 28
"""Maximum size of the file: a line has about 200 bytes, and there is one every 100 updates."""


MAX_NUMBER = 1e30
"""Maximum absolute value of a figure that can be drawn."""


@dataclass(frozen=True)
class TrainingPoint:
    """Means over the updates since the previous point.

    epoch: number of epochs so far, as a float. seconds: training time so far, over all runs.
    cost_per_token: natural log, with label smoothing, drawn words and guided attention if training
        uses them.
    words_per_second: target tokens per second, `</s>` counted.
    """

    update: int
    epoch: float
    seconds: float
    cost_per_token: float
    words_per_second: float


@dataclass(frozen=True)
class ValidationPoint:
    """Figures of one validation.

    epoch, seconds: as in `TrainingPoint`. cost_per_token, cost_per_sentence: natural log, without
    label smoothing.
    bleu, chrf: in percent, or None if not measured.
    best: True if the validation was the best so far.
    """

    update: int
    epoch: float
    seconds: float
    cost_per_token: float
    cost_per_sentence: float
    bleu: float | None
    best: bool
    chrf: float | None = None


@dataclass(frozen=True)
class Curve:
    """Learning curve: points in the order of updates."""

    training: tuple[TrainingPoint, ...]
    validation: tuple[ValidationPoint, ...]


def read_curve(folder: str | Path) -> Curve:
    """Read the learning curve of a model folder, also while training continues.

    A last line without a newline is ignored: it is being written, or was cut short.

    :raises ModelError: the folder has no metrics, or is not a model folder.
    :raises DataError: a line was not written by training.
    """
    path = Path(folder) / METRICS_FILE
    if not path.exists():
        raise ModelError(
            f"{path}: no such file; 'nmtkit train' writes it, first after 100 updates or at its"
            " first validation"
        )
    training, validation = [], []
    for number, line in enumerate(read_metrics(path).split(b"\n")[:-1], start=1):
        point = parse_point(decode_line(line, path, number), f"{path}:{number}")
        if isinstance(point, TrainingPoint):
            training.append(point)
        else:
            validation.append(point)
    return Curve(tuple(training), tuple(validation))


def read_metrics(path: Path) -> bytes:
    """Return the content of a `metrics.jsonl`, read at once, as it may grow.

    :raises ModelError: the file is not a regular file in its folder.
    :raises DataError: it cannot be read, or is too large.
    """
    check_file(path.parent, path)
    try:
        return read_regular(path, MAX_METRICS_BYTES)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error


def parse_point(line: str, where: str) -> TrainingPoint | ValidationPoint:
    """Parse a line of `metrics.jsonl`.

    :param where: file and line, for messages.
    :raises DataError: the line was not written by training.
    """
    try:
        row = parse_json(line)
        common = int(row["update"]), _number(row, "epoch"), _number(row, "seconds")
        if not all(map(math.isfinite, common)):
            raise ValueError("not the time of a training")
        if row["kind"] == "training":
            cost, speed = _number(row, "cost_per_token"), _number(row, "words_per_second")
            return TrainingPoint(*common, cost, speed)
        if row["kind"] == "validation":
            costs = _number(row, "dev_cost_per_token"), _number(row, "dev_cost_per_sentence")
            bleu = None if row["dev_bleu"] is None else _number(row, "dev_bleu")
            chrf = None if row.get("dev_chrf") is None else _number(row, "dev_chrf")
            return ValidationPoint(*common, *costs, bleu, bool(row["best"]), chrf)
        raise ValueError(f"unknown kind {row['kind']!r}")
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise DataError(
            f"{where}: not a metrics line of 'nmtkit train'; remove it, or restore the file"
        ) from error


def _number(row: Any, name: str) -> float:
    """Return a figure of a line; NaN if it is not finite or huge, as when training diverges."""
    value = row[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} is {value!r}")
    return float(value) if abs(value) <= MAX_NUMBER else math.nan
