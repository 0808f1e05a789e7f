"""The page of a training says how far it is, and is never half written or in the way."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from nmtkit.config import Config
from nmtkit.errors import OutputError
from nmtkit.model_folder import read_config
from nmtkit.report.training_page import TrainingPage, render_training_page, training_status
from nmtkit.training.learning_curve import Curve
from nmtkit.training.watcher import DevSample
from tests.unit.report.reports import CURVE

HOSTILE = "</p><script>boom()</script>"


def config(**limits: Any) -> Config:
    folder = Path(__file__).parents[2] / "data/0.2.0/rnnsearch"
    read = read_config(folder)
    none: dict[str, Any] = {"max_updates": 0, "max_epochs": 0, "time_limit": 0.0}
    return dataclasses.replace(read, training=dataclasses.replace(read.training, **(none | limits)))


@pytest.mark.parametrize(
    ("limits", "share"),
    [
        ({"max_updates": 800}, 0.5),  # the last point has 400 updates, 2 epochs, 240 seconds
        ({"max_updates": 800, "time_limit": 300.0}, 0.8),
        ({"max_epochs": 1}, 1.0),
        ({}, None),
    ],
)
def test_the_share_is_that_of_the_limit_reached_first(limits, share):
    assert training_status(config(**limits), CURVE, "running")[0] == share


def test_the_time_left_follows_from_the_share():
    assert "at most 4m left" in training_status(config(max_updates=800), CURVE, "running")[1]
    assert training_status(config(), Curve((), ()), "running")[0] is None


def test_a_training_that_ended_early_is_not_shown_as_unfinished():
    settings = config(max_updates=800)
    assert training_status(settings, CURVE, "ended") == (
        None,
        "The training has ended after 400 updates, 2.00 epochs in 4m.",
    )
    ended, interrupted = (
        render_training_page("m", settings, CURVE, [], state) for state in ("ended", "interrupted")
    )
    assert "<title>m · training ended</title>" in ended and "<progress" not in ended
    assert "<title>50 % · m · training interrupted</title>" in interrupted
    assert "The same command resumes it." in interrupted and "<progress" in interrupted


def test_the_page_reloads_itself_until_the_end_and_escapes_all_text():
    samples = [(100, [DevSample(HOSTILE, "b", "")]), (200, [DevSample(HOSTILE, "b", HOSTILE)])]
    running, ended = (
        render_training_page("<m>", config(max_updates=800), CURVE, samples, end)
        for end in ("running", "ended")
    )
    assert 'http-equiv="refresh"' in running and 'http-equiv="refresh"' not in ended
    assert "<script" not in running and "<m>" not in running
    assert "&lt;script&gt;" in running and "50 %" in running and "(empty)" in running


@pytest.mark.parametrize(
    ("limits", "end", "interval"),
    [
        ({"max_updates": 800}, "800 updates", "every 1,000 updates"),
        ({"validate_epochs": 0.5}, "early stopping alone", "every 0.5 epochs"),
        ({"schedule": ("60:1.0", "99:0.0")}, "99 updates", "every 1,000 updates"),
        ({"schedule": ("60:1.0", "99:0.0"), "time_limit": 60.0}, "1m of training", "every 1,000"),
    ],
)
def test_limits_and_validations_are_named(limits, end, interval):
    page = render_training_page("m", config(validate_every=1000, **limits), CURVE, [], "running")
    assert f"<dt>Ends after</dt><dd>{end}" in page
    assert f"<dt>Validation</dt><dd>{interval}" in page


def test_the_plan_stands_on_the_page_once():
    plan = ["plan for 30m: 96 units & batches", "twice the time: more"]
    planned, given = (
        render_training_page("m", config(), CURVE, [], "running", sentences)
        for sentences in (plan, [])
    )
    assert "<p>Plan for 30m: 96 units &amp; batches.</p><p>Twice the time: more.</p>" in planned
    for label in ("Model", "Languages", "Validation"):
        assert planned.count(f"<dt>{label}</dt>") == given.count(f"<dt>{label}</dt>") == 1
    for label in ("Ends after", "Batches", "Learning rate"):
        assert f"<dt>{label}</dt>" not in planned and given.count(f"<dt>{label}</dt>") == 1


def test_a_page_replaces_only_pages(tmp_path):
    path = tmp_path / "page.html"
    page = TrainingPage(path)
    page.start(tmp_path / "model", config())
    page.validated(1, [DevSample("a", "b", "c")])
    page.finish(interrupted=False)
    assert "Update 1" in path.read_text(encoding="utf-8")
    TrainingPage(path)  # a resumed training
    path.write_text("mine")
    with pytest.raises(OutputError, match="no page of 'nmtkit train'"):
        TrainingPage(path)
    assert path.read_text() == "mine"


def test_the_folder_of_a_page_must_be_there_or_be_the_models(tmp_path):
    with pytest.raises(OutputError, match="its folder does not exist; make it first"):
        TrainingPage(tmp_path / "none" / "page.html", tmp_path / "model")
    TrainingPage(tmp_path / "page.html", tmp_path / "model")
    TrainingPage(tmp_path / "model" / "page.html", tmp_path / "model")


def test_a_page_does_not_take_the_place_of_a_file_of_the_model(tmp_path):
    model = tmp_path / "model"
    (tmp_path / "link").symlink_to(model)
    for name in ("config.toml", "metrics.jsonl", "params.best.safetensors", ".lock", "checkpoints"):
        for folder in (model, tmp_path / "link"):
            with pytest.raises(OutputError, match="needs a name that ends in .html"):
                TrainingPage(folder / name, model)
        TrainingPage(tmp_path / name, model)  # elsewhere it may have any name
    TrainingPage(model / "PAGE.HTML", model)


def test_a_file_that_takes_the_place_of_a_page_is_kept(tmp_path, caplog):
    path = tmp_path / "page.html"
    page = TrainingPage(path)
    page.start(tmp_path / "model", config())
    path.write_text("mine")
    page.metrics_written()
    page.finish(interrupted=False)
    assert path.read_text() == "mine"
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_page_that_cannot_be_written_is_reported_once(tmp_path, caplog):
    page = TrainingPage(tmp_path / "folder" / "page.html")
    with pytest.raises(OutputError):
        page.start(tmp_path, config())
    page.metrics_written()
    page.metrics_written()
    assert sum("goes on without" in record.message for record in caplog.records) == 1
