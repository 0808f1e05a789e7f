"""Learning curves are read as the metrics logger wrote them."""

import json
import math

import pytest

from nmtkit.config import TrainingConfig
from nmtkit.errors import DataError, ModelError
from nmtkit.training.learning_curve import ValidationPoint, read_curve
from nmtkit.training.metrics_logger import LOG_EVERY, MetricsLogger
from nmtkit.training.progress import Progress
from nmtkit.training.validation import Validation


@pytest.fixture
def written(tmp_path):
    """Write a folder with two training lines and two validation lines."""
    metrics_logger = MetricsLogger(tmp_path, TrainingConfig(), lambda: 0.25)
    for update in range(1, 2 * LOG_EVERY + 1):
        metrics_logger.log_update(Progress(updates=update, seconds=update / 2), 30.0, 10, 1.0)
    metrics_logger.log_validation(
        Progress(updates=200, seconds=101.5), Validation(2.5, 30.25, 12.5), True
    )
    metrics_logger.log_validation(
        Progress(updates=200, seconds=102.0), Validation(2.75, 31.5, None), False
    )
    metrics_logger.log_validation(
        Progress(updates=201, seconds=102.0), Validation(2.75, 31.5, 9.5, 28.25), True
    )
    metrics_logger.close()
    return tmp_path


def test_the_curve_is_what_the_metrics_logger_wrote(written):
    curve = read_curve(written)
    assert [(p.update, p.epoch, p.seconds) for p in curve.training] == [
        (100, 0.25, 50.0),
        (200, 0.25, 100.0),
    ]
    assert [p.cost_per_token for p in curve.training] == [3.0, 3.0]
    assert all(p.words_per_second > 0 for p in curve.training)
    assert curve.validation == (
        ValidationPoint(200, 0.25, 101.5, 2.5, 30.25, 12.5, True),
        ValidationPoint(200, 0.25, 102.0, 2.75, 31.5, None, False),
        ValidationPoint(201, 0.25, 102.0, 2.75, 31.5, 9.5, True, 28.25),
    )


def test_a_truncated_last_line_is_ignored(written):
    complete = read_curve(written)
    path = written / "metrics.jsonl"
    text = path.read_bytes()
    last = text.rindex(b"\n", 0, -1) + 1
    for end in range(last, len(text)):
        path.write_bytes(text[:end])
        curve = read_curve(written)
        assert curve.training == complete.training
        assert curve.validation == complete.validation[:-1]


@pytest.mark.parametrize("cost", [math.inf, 1e308])
def test_costs_that_cannot_be_drawn_are_nan(written, cost):
    path = written / "metrics.jsonl"
    line = json.loads(path.read_text().splitlines()[0]) | {"cost_per_token": cost}
    path.write_text(json.dumps(line) + "\n")
    assert math.isnan(read_curve(written).training[0].cost_per_token)


def test_an_empty_file_is_an_empty_curve(tmp_path):
    (tmp_path / "metrics.jsonl").write_text("")
    assert read_curve(tmp_path).training == () and read_curve(tmp_path).validation == ()


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b"7",
        b'{"kind": "training", "update": 1}',
        b'{"kind": "other", "update": 1, "epoch": 1, "seconds": 1}',
        b'{"kind": "training", "update": 1, "epoch": "x", "seconds": 1}',
        b'{"kind": "training", "update": Infinity, "epoch": 1, "seconds": 1}',
        b'{"kind": "training", "update": 1, "epoch": 1, "seconds": 1e999, "cost_per_token": 1,'
        b' "words_per_second": 1}',
        b'{"kind": "training", "update": 1, "epoch": NaN, "seconds": 1, "cost_per_token": 1,'
        b' "words_per_second": 1}',
        b"\xff",
    ],
)
def test_an_invalid_line_is_reported_with_its_position(written, line):
    path = written / "metrics.jsonl"
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(DataError, match=r"metrics\.jsonl:6: not "):
        read_curve(written)


def test_a_folder_without_metrics_is_refused(tmp_path):
    with pytest.raises(ModelError, match="no such file; 'nmtkit train' writes it"):
        read_curve(tmp_path)
