"""Trainings with a time limit, by a clock on which each update and validation takes a second."""

import contextlib
import json
import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nmtkit.errors import ConfigError, ModelError, OutputError
from nmtkit.io import atomic_folder
from nmtkit.model_folder import read_config
from nmtkit.training import train as train_module
from nmtkit.training import training_folder
from nmtkit.training.folder_lock import is_locked, lock_model_folder
from nmtkit.training.gradient import Gradient
from nmtkit.training.provenance import provenance_of
from nmtkit.training.schedule import Schedule
from nmtkit.training.train import TrainingResult, train
from nmtkit.training.trainer import Trainer

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon"]
SETTINGS = [
    "model.embedding=4",
    "model.hidden=5",
    "model.align=4",
    "model.maxout=3",
    "model.dropout=0.3",
    "data.batch_size=20",
    "training.max_updates=0",
    "training.cooldown=0",
    "training.cooldown_share=0.4",
    "training.validate_every=10",
    "training.dev_bleu=false",
]
LIMIT = 60


class Clock:
    """A stopwatch each of whose laps takes a second, unless it is told otherwise."""

    lap_seconds = 1.0

    def __init__(self, started: float | None = None) -> None:
        self.started = started

    def lap(self) -> float:
        return Clock.lap_seconds


Run = Callable[..., TrainingResult]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run("name", "key=value", ...)` trains with the clock above into a folder of that name."""
    prepared = tmp_path / "prepared"
    prepared.mkdir()
    for split, count in (("train", 30), ("dev", 5)):
        texts = [" ".join(WORDS[(n * 2 + i) % 5] for i in range(1 + n % 4)) for n in range(count)]
        (prepared / f"{split}.src").write_text("".join(f"{text}\n" for text in texts))
        (prepared / f"{split}.tgt").write_text("".join(f"{text.upper()}\n" for text in texts))
    text_settings = {"src_language": "en", "tgt_language": "fr", "tokenized": True}
    (prepared / "manifest.json").write_text(json.dumps({"format": 1, "text": text_settings}))
    for side, words in (("src", WORDS), ("tgt", [word.upper() for word in WORDS])):
        lines = "".join(f"{word}\t1\n" for word in ["</s>", "<unk>", *words])
        (prepared / f"vocab.{side}").write_text(lines)
    monkeypatch.setattr(train_module, "Stopwatch", Clock)
    monkeypatch.setattr(Clock, "lap_seconds", 1.0)

    def call(name: str, *overrides: str, **options: Any) -> TrainingResult:
        options = {"recipe": "toy", "device": "cpu", **options}
        return train(prepared, tmp_path / name, overrides=[*SETTINGS, *overrides], **options)

    return call


def parameters(folder: Path) -> bytes:
    return (folder / "params.last.safetensors").read_bytes()


def points_of(folder: Path) -> Schedule:
    return Schedule.of(read_config(folder).training)


def test_a_training_ends_with_its_cooldown_at_97_to_100_percent_of_the_time(run: Run) -> None:
    result = run("model", time=LIMIT)
    assert 0.97 * LIMIT <= result.seconds <= LIMIT
    schedule = points_of(result.folder)
    assert schedule.end == result.updates
    assert schedule.factor(schedule.end - 1) < 0.1
    cooled = next(u for u in range(schedule.end) if schedule.factor(u) < 1)
    assert 0.3 <= 1 - cooled / schedule.end <= 0.5  # the share that was asked for
    rows = (result.folder / "metrics.jsonl").read_text().splitlines()
    assert json.loads(rows[-1])["update"] == result.updates  # the last update is validated


def test_a_machine_that_becomes_slower_still_ends_in_time(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = Trainer.update

    def slower_after_20(self: Trainer) -> Any:
        Clock.lap_seconds = 1.0 if self.progress.updates < 20 else 2.5
        return update(self)

    monkeypatch.setattr(Trainer, "update", slower_after_20)
    result = run("model", time=2 * LIMIT)
    assert 0.95 * 2 * LIMIT <= result.seconds <= 2 * LIMIT
    assert points_of(result.folder).end == result.updates


def test_a_slow_first_update_does_not_begin_the_cooldown(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At its speed the first validation would have taken all of the time."""
    update = Trainer.update

    def slow_first(self: Trainer) -> Any:
        assert self.time_limit is not None
        self.time_limit.costs.validation_tokens = 200.0
        Clock.lap_seconds = 1.0 if self.progress.updates else 15.0
        return update(self)

    monkeypatch.setattr(Trainer, "update", slow_first)
    schedule = points_of(run("model", time=2 * LIMIT).folder)
    cooled = next(u for u in range(schedule.end) if schedule.factor(u) < 1)
    assert 0.3 <= 1 - cooled / schedule.end <= 0.5  # the share that was asked for


def test_the_settings_of_a_finished_training_repeat_it_without_a_clock(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run("first", time=LIMIT)
    monkeypatch.setattr(Clock, "lap_seconds", 77.0)
    config = first.folder / "config.toml"
    again = run("again", "training.time_limit=0", config_file=config, recipe=None)
    assert again.updates == first.updates
    assert parameters(again.folder) == parameters(first.folder)


@pytest.mark.parametrize("death", [15, 40])  # in the steady part, and in the cooldown
def test_a_training_that_is_killed_goes_on_as_planned(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, death: int
) -> None:
    whole = run("whole", time=LIMIT)
    update = Trainer.update

    def update_or_die(self: Trainer) -> Any:
        if self.progress.updates == death:
            raise KeyboardInterrupt
        return update(self)

    monkeypatch.setattr(Trainer, "update", update_or_die)
    with pytest.raises(KeyboardInterrupt):
        run("killed", time=LIMIT)
    monkeypatch.setattr(Trainer, "update", update)
    resumed = run("killed", time=LIMIT)
    assert 0.97 * LIMIT <= resumed.seconds <= LIMIT  # the time that was used counts
    assert resumed.updates == pytest.approx(whole.updates, abs=3)
    assert points_of(resumed.folder).end == resumed.updates


def test_with_a_longer_time_a_training_goes_on_from_before_its_cooldown(run: Run) -> None:
    factor = 4
    first = run("model", time=LIMIT)
    schedule = points_of(first.folder)
    steady = max(u for u in range(schedule.end) if schedule.factor(u) == 1)
    result = run("model", time=factor * LIMIT)
    assert result.updates > 2 * first.updates
    assert 0.97 * factor * LIMIT <= result.seconds <= factor * LIMIT
    new = points_of(result.folder)
    assert new.end == result.updates
    assert all(new.factor(u) == 1 for u in range(steady + 20))  # the old cooldown is gone
    rows = (result.folder / "metrics.jsonl").read_text().splitlines()
    updates = [json.loads(row)["update"] for row in rows]
    assert updates == sorted(updates)


def test_a_little_more_time_than_before_is_warned_of(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    run("model", time=LIMIT)
    run("model", time=1.1 * LIMIT)
    assert "so the model will hardly be better; give more, such as --time 1m" in caplog.text
    caplog.clear()
    run("model", time=4 * LIMIT)
    assert "hardly be better" not in caplog.text


def test_a_continued_training_that_is_killed_early_keeps_its_checkpoints(
    run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    averaging = "training.average_checkpoints=3"
    first = run("model", averaging, time=LIMIT)
    update = Trainer.update

    def die(self: Trainer) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "update", die)
    with pytest.raises(KeyboardInterrupt):
        run("model", averaging, time=4 * LIMIT)
    monkeypatch.setattr(Trainer, "update", update)
    names = {path.name for path in (first.folder / "checkpoints").iterdir()}
    (steady,) = (name.removesuffix(".steady") for name in names if name.endswith(".steady"))
    assert f"{steady}.interrupted" in names  # which no later validation averages
    assert steady not in names or int(steady) % 10 == 0
    result = run("model", averaging, time=3 * LIMIT)
    assert result.updates > first.updates
    assert "damaged" not in caplog.text and "cannot be resumed" not in caplog.text


def test_the_checkpoint_before_the_cooldown_knows_the_validation_of_its_update(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    often = "training.validate_every=1"
    first = run("model", often, time=LIMIT)
    (steady,) = (first.folder / "checkpoints").glob("*.steady")
    progress = json.loads((steady / "state.json").read_text())["progress"]
    rows = map(json.loads, (first.folder / "metrics.jsonl").read_text().splitlines())
    costs = [row["dev_cost_per_token"] for row in rows if row["update"] <= progress["updates"]]
    assert progress["best_cost"] == pytest.approx(min(costs), abs=1e-5)
    assert run("model", often, time=3 * LIMIT).updates > first.updates
    assert "has changed since" not in caplog.text


@pytest.mark.parametrize("limit", [{"updates": 1}, {"updates": 40}, {"time": LIMIT / 2}])
def test_with_a_lower_limit_a_finished_training_stays_as_it_is(
    run: Run, limit: dict[str, Any]
) -> None:
    first = run("model", time=LIMIT)
    checkpoints, metrics = first.folder / "checkpoints", first.folder / "metrics.jsonl"
    before = sorted(checkpoints.iterdir()), metrics.read_text()
    settings = read_config(first.folder)
    for again in (limit, {"time": LIMIT}):
        assert run("model", **again).updates == first.updates
    assert read_config(first.folder) == settings
    assert (sorted(checkpoints.iterdir()), metrics.read_text()) == before


@pytest.mark.parametrize("is_planned", [True, False])
def test_a_plan_that_is_too_small_for_the_time_is_named(
    run: Run, caplog: pytest.LogCaptureFixture, is_planned: bool
) -> None:
    warning = "dropout and batches that were planned for 1m"
    recipe = None if is_planned else "toy"
    run("model", time=LIMIT, recipe=recipe)
    run("model", time=3 * LIMIT, recipe=recipe)
    assert warning not in caplog.text
    run("model", time=4 * LIMIT, recipe=recipe)  # of the first plan, not of the last time
    assert (warning in caplog.text) == is_planned


def test_a_damaged_checkpoint_before_the_cooldown_is_set_aside(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    first = run("model", time=LIMIT)
    (steady,) = (first.folder / "checkpoints").glob("*.steady")
    (steady / "params.safetensors").write_bytes(b"damaged")
    result = run("model", time=2 * LIMIT)
    assert result.updates > first.updates
    assert f"{steady}" in caplog.text and "going on from the end instead" in caplog.text
    assert steady.with_name(f"{steady.name}.damaged").exists()


def test_the_softmax_is_over_drawn_words_until_the_learning_rate_is_low(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    samplers = []
    compute = Gradient.compute

    def record(self: Gradient, *arguments: Any) -> Any:
        samplers.append(self._cost.sampler if arguments[3] else None)
        return compute(self, *arguments)

    monkeypatch.setattr(Gradient, "compute", record)
    result = run("model", "training.softmax_samples=2", time=LIMIT)
    schedule = points_of(result.folder)
    high = sum(schedule.factor(updates) >= 0.25 for updates in range(schedule.end))
    assert all(samplers[:high]) and not any(samplers[high:])
    assert len(samplers) == schedule.end > high > 0
    run("whole softmax", time=LIMIT)
    assert not any(samplers[schedule.end :])


def test_the_same_time_again_changes_nothing(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    first = run("model", time=LIMIT)
    files = {path: path.read_bytes() for path in first.folder.rglob("*.*") if path.is_file()}
    with caplog.at_level(logging.INFO, "nmtkit"):
        assert run("model", time=LIMIT).updates == first.updates
    assert "raise --time to train further" in caplog.text
    assert {path: path.read_bytes() for path in files} == files


def test_a_limit_that_is_shorter_than_an_update_still_gives_a_model(run: Run) -> None:
    result = run("model", time=0.5)
    assert result.updates >= 1
    assert (result.folder / "params.best.safetensors").is_file()


def test_the_number_of_updates_repeats_a_planned_training_elsewhere(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run("first", time=LIMIT)
    monkeypatch.setattr(Clock, "lap_seconds", 77.0)
    config = first.folder / "config.toml"
    again = run("again", config_file=config, recipe=None, updates=first.updates)
    assert again.updates == first.updates
    assert parameters(again.folder) == parameters(first.folder)


def test_another_number_of_updates_has_a_cooldown_of_the_same_share(run: Run) -> None:
    first = run("first", time=LIMIT)
    other = run("other", config_file=first.folder / "config.toml", recipe=None, updates=30)
    assert other.updates == 30
    assert points_of(other.folder).points == ((18, 1.0), (30, 0.0))
    longer = run("other", config_file=first.folder / "config.toml", recipe=None, updates=40)
    assert longer.updates == 40  # it goes on from before its cooldown
    assert points_of(longer.folder).factor(23) == 1.0


def test_updates_of_a_recipe_without_a_cooldown_are_a_plain_limit(run: Run) -> None:
    result = run("model", "training.cooldown_share=0", updates=12)
    assert result.updates == 12
    assert not read_config(result.folder).training.schedule


def test_where_a_time_adds_nothing_to_a_plain_limit_the_message_names_that(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    folder = run("model", "training.cooldown_share=0", updates=12).folder
    with caplog.at_level(logging.INFO, "nmtkit"):
        train(folder.parent / "prepared", folder, device="cpu", time=LIMIT)
    assert "finished after 12 updates; raise --updates to train further" in caplog.text


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"time": "soon"}, "'soon' is no time; write it as 90s, 30m, 1h30m or 2d"),
        ({"time": 0.0}, "cannot take 0.0 seconds"),
        ({"time": float("inf")}, "cannot take inf seconds"),
        ({"time": 5, "updates": 5}, "ends after a time or after updates"),
        ({"updates": 0}, "updates must be at least 1, not 0"),
    ],
)
def test_impossible_limits_are_refused(run: Run, limits: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        run("model", **limits)


def test_without_a_time_a_training_goes_on_to_the_other_limits(run: Run) -> None:
    first = run("model", time=LIMIT)
    result = run("model", "training.max_updates=90")
    assert result.updates == 90 > first.updates
    assert not read_config(result.folder).training.schedule


def test_a_validation_shortly_before_the_last_one_is_left_out(run: Run) -> None:
    """The end moves while a machine becomes faster or slower, also past a planned validation."""
    every = run("first", "training.validate_every=1000", time=LIMIT).updates - 2
    folder = run("second", f"training.validate_every={every}", time=LIMIT).folder
    rows = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    validated = [row["update"] for row in rows if row["kind"] == "validation"]
    assert len(validated) == 1
    assert every < validated[0] <= every + 3


def test_nothing_is_measured_for_a_folder_that_cannot_be_made(run, tmp_path, monkeypatch):
    monkeypatch.setattr(training_folder, "Planner", None)
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full/notes").touch()
    with pytest.raises(OutputError, match="model: cannot be written: Not a directory"):
        run("file/model", recipe=None, time=LIMIT)
    for force in (False, True):
        with pytest.raises(ModelError, match="full: .*is not a model folder"):
            run("full", recipe=None, time=LIMIT, force=force)
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["notes"]


@pytest.mark.parametrize("other_trains", [True, False])
def test_a_folder_that_another_training_made_meanwhile_is_left_to_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other_trains: bool
) -> None:
    """The other one begins and comes first while this one plans and reads its data."""
    real, folder = provenance_of, tmp_path / "model"
    message = "process [0-9]+ is training there" if other_trains else "give the same command again"
    with contextlib.ExitStack() as stack:

        def late(*arguments: Any) -> Any:
            monkeypatch.setattr(training_folder, "provenance_of", real)
            run("model", time=LIMIT)
            if other_trains:
                stack.enter_context(lock_model_folder(folder))
            return real(*arguments)

        monkeypatch.setattr(training_folder, "provenance_of", late)
        with pytest.raises(ModelError, match=f"model: .*{message}"):
            run("model", "training.seed=9", time=LIMIT)
        assert read_config(folder).training.seed != 9
        assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "prepared"]
    assert not is_locked(folder)


def test_a_new_folder_is_locked_before_others_can_find_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, locked = atomic_folder._name_folder, list[bool]()

    def look(folder: Path, target: Path, *rest: Any) -> None:
        if target.name == "model":
            locked.append(is_locked(folder))
        real(folder, target, *rest)

    monkeypatch.setattr(atomic_folder, "_name_folder", look)
    assert not is_locked(run("model", time=LIMIT).folder)
    assert locked == [True]
