"""Learning curves show the points that training logged."""

import json
import math

import numpy as np
import pytest

from nmtkit.errors import DataError, ModelError, OutputError
from nmtkit.report.curves import draw_curves, format_table, plot_curves, read_curves
from nmtkit.training.learning_curve import Curve, TrainingPoint, ValidationPoint

TRAINED = (TrainingPoint(100, 0.5, 60.0, 5.5, 900.0), TrainingPoint(200, 1.0, 130.0, 4.25, 800.0))
VALIDATED = (
    ValidationPoint(150, 0.75, 90.0, 4.75, 60.5, 3.25, True),
    ValidationPoint(200, 1.0, 131.0, 4.5, 58.0, None, False),
)
WITH_BLEU = Curve(TRAINED, VALIDATED)
WITHOUT = Curve(TRAINED, VALIDATED[1:])
YOUNG = Curve(TRAINED[:1], ())


def points(line):
    return np.asarray(line.get_xydata()).tolist()


def told(points):
    lines = []
    for point in points:
        if isinstance(point, TrainingPoint):
            figures = {"cost_per_token": point.cost_per_token, "words_per_second": 1}
        else:
            figures = {
                "dev_cost_per_token": point.cost_per_token,
                "dev_cost_per_sentence": point.cost_per_sentence,
                "dev_bleu": point.bleu,
                "best": point.best,
            }
        kind = "training" if isinstance(point, TrainingPoint) else "validation"
        common = {"update": point.update, "epoch": point.epoch, "seconds": point.seconds}
        lines.append(json.dumps({"kind": kind, **common, **figures}) + "\n")
    return "".join(lines)


def folder(path, curve):
    path.mkdir(parents=True)
    (path / "metrics.jsonl").write_text(told([*curve.training, *curve.validation]))
    return path


def test_cost_is_above_bleu():
    pytest.importorskip("matplotlib")
    cost, bleu = draw_curves({"a": WITH_BLEU}, "updates").axes
    dev, training = cost.lines
    assert points(dev) == [[150, 4.75], [200, 4.5]]
    assert points(training) == [[100, 5.5], [200, 4.25]]
    assert points(bleu.lines[0]) == [[150, 3.25]]
    assert cost.get_ylabel() == "cost per token\n(marked: dev, thin: training)"
    assert bleu.get_ylabel() == "dev BLEU, %" and bleu.get_xlabel() == "updates"
    assert dev.get_marker() != "" and training.get_marker() == ""
    assert dev.get_linewidth() > 2 * training.get_linewidth()
    assert cost.get_legend() is None  # of one model there is nothing to tell apart


def test_chrf_is_drawn_if_all_measured_models_have_it():
    pytest.importorskip("matplotlib")
    chinese = Curve(TRAINED, (ValidationPoint(150, 0.75, 90.0, 4.75, 60.5, 3.25, True, 21.5),))
    below = draw_curves({"a": chinese, "b": WITHOUT}, "updates").axes[1]
    assert (below.get_ylabel(), points(below.lines[0])) == ("dev chrF, %", [[150, 21.5]])
    both = draw_curves({"a": chinese, "b": WITH_BLEU}, "updates").axes[1]
    assert (both.get_ylabel(), points(both.lines[0])) == ("dev BLEU, %", [[150, 3.25]])


@pytest.mark.parametrize(
    ("along", "longest", "xs", "name"),
    [
        ("epochs", 131.0, [0.75, 1.0], "epochs"),
        ("seconds", 119.0, [90.0, 119.0], "time of the training (seconds)"),
        ("seconds", 131.0, [1.5, 131 / 60], "time of the training (minutes)"),
        ("seconds", 7200.0, [0.025, 2.0], "time of the training (hours)"),
    ],
)
def test_units_of_the_x_axis(along, longest, xs, name):
    pytest.importorskip("matplotlib")
    last = ValidationPoint(200, 1.0, longest, 4.5, 58.0, 7.0, False)
    figure = draw_curves({"a": Curve((), (VALIDATED[0], last))}, along)
    cost, bleu = figure.axes
    assert [x for x, _ in points(cost.lines[0])] == pytest.approx(xs)
    assert [x for x, _ in points(bleu.lines[0])] == pytest.approx(xs)
    assert bleu.get_xlabel() == name


def test_models_differ_in_line_style_marker_and_colour():
    pytest.importorskip("matplotlib")
    names = ["rnn", "été", "$x$_<b>"]
    figure = draw_curves(dict.fromkeys(names, WITH_BLEU), "updates")
    cost, bleu = figure.axes
    legend = cost.get_legend()
    assert legend is not None and [text.get_text() for text in legend.get_texts()] == names
    for kind in ("get_color", "get_linestyle", "get_marker"):
        styles = [getattr(line, kind)() for line in cost.lines[::2]]
        assert len(set(map(str, styles))) == 3
        assert [getattr(line, kind)() for line in bleu.lines] == styles
    for dev, training in zip(cost.lines[::2], cost.lines[1::2], strict=True):
        assert dev.get_color() == training.get_color()
        assert dev.get_linestyle() == training.get_linestyle()


def test_without_bleu_there_is_one_panel_and_the_legend_names_new_models():
    pytest.importorskip("matplotlib")
    figure = draw_curves({"a": WITHOUT, "young": YOUNG}, "updates")
    [cost] = figure.axes
    assert cost.get_xlabel() == "updates"
    legend = cost.get_legend()
    assert legend is not None and [t.get_text() for t in legend.get_texts()] == ["a", "young"]
    assert points(cost.lines[3]) == [[100, 5.5]]


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_files_are_reproducible_and_not_overwritten(tmp_path, kind):
    pytest.importorskip("matplotlib")
    diverged = Curve((TrainingPoint(300, 1.0, 9.0, math.nan, 1.0),), ())
    paths = [tmp_path / f"{name}.{kind}" for name in "ab"]
    for path in paths:
        plot_curves(path, {"a": WITH_BLEU, "b": diverged}, "updates")
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with pytest.raises(OutputError, match="exists already"):
        plot_curves(paths[0], {"a": WITH_BLEU}, "updates")


def test_the_table_lists_every_point_by_update():
    assert list(format_table({"a\tb": WITH_BLEU, "c": YOUNG})) == [
        "model\tkind\tupdate\tepoch\tseconds\tcost_per_token\tbleu\tbest\tchrf",
        "a b\ttraining\t100\t0.5\t60\t5.5\t\t\t",
        "a b\tvalidation\t150\t0.75\t90\t4.75\t3.25\t1\t",
        "a b\ttraining\t200\t1\t130\t4.25\t\t\t",
        "a b\tvalidation\t200\t1\t131\t4.5\t\t0\t",
        "c\ttraining\t100\t0.5\t60\t5.5\t\t\t",
    ]


def test_the_table_does_not_round():
    point = TrainingPoint(1234567, 12.345, 98765.4, 3.14159, 1.0)
    row = list(format_table({"a": Curve((point,), ())}))[1]
    assert row == "a\ttraining\t1234567\t12.345\t98765.4\t3.14159\t\t\t"


def test_curves_are_named_after_their_folders(tmp_path):
    first, second = folder(tmp_path / "x" / "m", WITH_BLEU), folder(tmp_path / "n", YOUNG)
    curves = read_curves([first, f"{second}/"])
    assert list(curves) == ["m", "n"]
    assert curves["m"].validation == VALIDATED
    same_name = folder(tmp_path / "y" / "m", YOUNG)
    assert list(read_curves([first, same_name])) == [str(first), str(same_name)]


def test_folders_without_metrics_or_given_twice_are_refused(tmp_path):
    trained = folder(tmp_path / "m", WITH_BLEU)
    with pytest.raises(DataError, match="given twice"):
        read_curves([trained, trained])
    with pytest.raises(DataError, match="e: training has logged no metrics yet"):
        read_curves([trained, folder(tmp_path / "e", Curve((), ()))])
    with pytest.raises(ModelError, match=r"none/metrics.jsonl: no such file"):
        read_curves([tmp_path / "none"])
