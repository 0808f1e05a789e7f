"""A report on a language without spaces shows chrF first, also of the dev set."""

from types import SimpleNamespace
from typing import Any

import pytest

from nmtkit.config import TextConfig
from nmtkit.report.metric_texts import bucket_metric
from nmtkit.report.page_curves import learning_curve_charts
from nmtkit.training.learning_curve import Curve, TrainingPoint, ValidationPoint


@pytest.mark.parametrize(
    ("language", "metric"), [("fr", "bleu"), ("zh-TW", "chrf"), ("th", "chrf")]
)
def test_parts_are_measured_by_words_only_where_there_are_words(language: str, metric: str) -> None:
    assert bucket_metric(TextConfig("en", language)) == metric


@pytest.mark.parametrize("measured", [False, True])
def test_dev_chrf_is_shown_if_it_was_measured(measured: bool) -> None:
    chrf = [31.25, 32.5] if measured else [None, None]
    training = tuple(TrainingPoint(n, n / 2, 1.0, 5.0, 9.0) for n in (1, 2))
    points = (ValidationPoint(n, 1.0 * n, 1.0, 4.0, 40.0, 9.5, True, chrf[n - 1]) for n in (1, 2))
    card: Any = SimpleNamespace(name="m", curve=Curve(training, tuple(points)))
    page = "".join(learning_curve_charts([card]))
    assert "BLEU on the dev set" in page and "9.50" in page
    assert ("chrF" in page, "31.25" in page) == (measured, measured)
