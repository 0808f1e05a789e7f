"""The report of an adaptation, and the refusal of a loss."""

import json
from pathlib import Path

import pytest

from nmtkit.evaluation.comparison import Figure
from nmtkit.evaluation.significance import Interval
from nmtkit.training.adaptation.report import (
    AdaptationReport,
    Change,
    LossRefused,
    SetChange,
    refuse_loss,
)


def change(before, after):
    old, new = (Figure(v, Interval(v, v - 1, v + 1)) for v in (before, after))
    return Change(old, new, 0.01)


def report(guard_after, right=(1, 9)):
    sets = (
        SetChange("corrections", "c.tsv", 9, 9, {"BLEU": change(10.0, 90.0)}),
        SetChange("guard", "g.en", 40, 400, {"BLEU": change(30.0, guard_after)}),
    )
    return AdaptationReport(9, right[0], right[1], sets, "prepared", 50, 0.75, 61.0)


def test_the_text_names_what_was_won_and_lost():
    text = "\n".join(report(29.5).lines())
    assert "9 of 9 corrections come out right, before 1" in text
    assert "guard, g.en, 40 of 400 lines:" in text
    assert "BLEU: 30.00 [29.00, 31.00] -> 29.50 [28.50, 30.50], -0.50 (p = 0.010)" in text
    assert "+0.00 (p = 0.010)" in "\n".join(report(30.0 - 1e-9).lines())
    assert "50 updates, replayed prepared, point 0.75" in text and "1m 1s" in text


def test_corrections_that_are_too_many_are_not_counted_as_right():
    assert "come out right" not in "\n".join(report(30.0, (None, None)).lines())


def test_json_has_the_differences():
    table = json.loads(json.dumps(report(29.5).as_dict()))
    assert table["sets"][1]["changes"]["BLEU"]["difference"] == -0.5
    assert table["sets"][0]["changes"]["BLEU"]["after"]["value"] == 90.0


@pytest.mark.parametrize(("allowed", "is_refused"), [(0.4, True), (0.5, False), (2, False)])
def test_only_a_larger_loss_than_allowed_is_refused(allowed, is_refused):
    found = report(29.5)
    if not is_refused:
        refuse_loss(found, allowed, Path("new"))
        return
    with pytest.raises(LossRefused, match=r"new: not written: g.en has lost 0.50 BLEU") as refusal:
        refuse_loss(found, allowed, Path("new"))
    assert refusal.value.report == found


def test_a_loss_on_the_corrections_is_not_a_loss_of_a_guard():
    sets = (SetChange("corrections", "c.tsv", 9, 9, {"BLEU": change(90.0, 10.0)}),)
    refuse_loss(AdaptationReport(9, 0, 0, sets, None, 1, 1.0, 1.0), 0.0, Path("new"))
