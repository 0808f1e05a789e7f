"""`nmtkit train --time` and `--updates`: planned trainings on the command line."""

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

from nmtkit.config_io import recipe_names
from nmtkit.model_folder import read_config

Nmtkit = Callable[..., Result]


def test_a_planned_training_says_its_plan_and_can_be_repeated(
    nmtkit: Nmtkit, prepared: Path, tmp_path: Path
) -> None:
    first, again = tmp_path / "first", tmp_path / "again"
    planned = nmtkit("train", prepared, "-o", first, "--time", "3s", "--threads", 1)
    lines = planned.stderr.splitlines()
    config = read_config(first)
    size = config.model.hidden
    assert lines[0].startswith(f"nmtkit: plan for 3s: {size} units, about ")
    assert lines[1].startswith("nmtkit: this machine trains ") and " updates, " in lines[1]
    assert lines[2].startswith("nmtkit: twice the time: ")
    assert config.training.time_limit == 3 and config.training.schedule
    origin = json.loads((first / "origin.json").read_text())
    assert "--time 3s" in origin["command"] and "--recipe" not in origin["command"]
    translated = nmtkit("translate", "--model", first, input="two four\n\nsix\n")
    assert len(translated.stdout.splitlines()) == 3

    end = config.training.schedule[-1].partition(":")[0]
    options = ["--config", first / "config.toml", "--updates", end, "--threads", 1]
    nmtkit("train", prepared, "-o", again, *options)
    name = "params.last.safetensors"
    assert (again / name).read_bytes() == (first / name).read_bytes()
    repeated = json.loads((again / "origin.json").read_text())["command"]
    assert f"--updates {end}" in repeated


def test_a_size_that_is_asked_for_is_planned_with(
    nmtkit: Nmtkit, prepared: Path, tmp_path: Path
) -> None:
    options = ["--time", "3s", "--set", "model.hidden=24", "--set", "model.embedding=20"]
    planned = nmtkit("train", prepared, "-o", tmp_path / "model", *options, "--threads", 1)
    assert "plan for 3s: 24 units" in planned.stderr
    assert "twice the time: 24 units" in planned.stderr
    model = read_config(tmp_path / "model").model
    assert (model.hidden, model.embedding) == (24, 20)


def test_time_and_updates_exclude_each_other(
    nmtkit: Nmtkit, prepared: Path, tmp_path: Path
) -> None:
    options = ["--time", "3s", "--updates", "3"]
    result = nmtkit("train", prepared, "-o", tmp_path / "model", *options, status=2)
    assert "--time" in result.stderr and "--updates" in result.stderr
    result = nmtkit("train", prepared, "-o", tmp_path / "model", "--time", "soon", status=2)
    assert "'soon' is no time; write it as 90s, 30m, 1h30m or 2d." in result.stderr
    assert not (tmp_path / "model").exists()


def test_recipes_are_listed_with_their_times(nmtkit: Nmtkit, prepared: Path) -> None:
    sizes = ["--set", "model.hidden=8"]
    listed = nmtkit("train", prepared, "--list-recipes", "--threads", 1, *sizes)
    rows = [line.split("\t") for line in listed.stdout.splitlines()]
    assert [row[0] for row in rows] == recipe_names()
    limits = {name: (time, limit) for name, time, limit in rows}
    assert limits["rnnsearch-50"][1] == "288,000 updates"
    assert limits["seq2seq-lstm"][1] == "7.5 epochs"
    assert limits["rnnsearch-modern"][1].startswith("an epoch; ")
    assert all(time[-1] in "dhms" for time, _ in limits.values())
