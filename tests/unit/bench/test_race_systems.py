"""Settings of the peers in the race against the clock."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from opennmt_systems import OpenNMTRecurrent, OpenNMTTransformer
from race_systems import (
    JoeyNMTRecurrent,
    JoeyNMTTransformer,
    MarianRecurrent,
    MarianTransformer,
    peers,
)
from systems import Task


@pytest.mark.parametrize("cls", [JoeyNMTRecurrent, JoeyNMTTransformer])
def test_joeynmt_counts_batches_in_tokens(cls: type[JoeyNMTRecurrent], task: Task) -> None:
    system = cls(Path("python"))
    settings = json.loads(Path(system.write_training(task)[1]).read_text())
    assert settings["training"]["batch_type"] == "token"
    assert settings["training"]["updates"] == task.updates
    assert settings["training"]["learning_rate_warmup"] > 0
    n = task.sizes.hidden
    assert settings["model"]["decoder"]["hidden_size"] == n
    system.translate(task, Path("s"), Path("o"), 5)
    search = json.loads((task.folder / "translate-5.yaml").read_text())
    assert search["model"] == settings["model"] and search["testing"]["beam_size"] == 5


@pytest.mark.parametrize("cls", [MarianRecurrent, MarianTransformer])
def test_marian_counts_batches_in_tokens(cls: type[MarianRecurrent], task: Task) -> None:
    words = cls(Path("python"), Path("marian")).write_training(task)
    assert int(words[words.index("--mini-batch-words") + 1]) >= task.batch_tokens
    assert words[words.index("--after") + 1] == f"{task.updates}u"
    assert words.count("--mini-batch") == words.count("--learn-rate") == 1


def test_the_learning_rate_of_each_peer_can_be_multiplied(task: Task) -> None:
    """Of OpenNMT-py's models, too: the best of some rates counts."""
    twice = replace(task, rate_factor=2.0)
    for cls in (JoeyNMTRecurrent, JoeyNMTTransformer):
        system = cls(Path("python"))
        once, other = (system.settings(t)["training"]["learning_rate"] for t in (task, twice))
        assert other == 2 * once
    for flat in (MarianRecurrent, MarianTransformer, OpenNMTRecurrent, OpenNMTTransformer):
        rates = [flat(Path("python")).settings(t) for t in (task, twice)]
        [once, other] = [rate.get("learn-rate") or rate["learning_rate"] for rate in rates]
        assert other == pytest.approx(2 * once)


def test_systems_are_those_that_are_installed(tmp_path: Path, task: Task) -> None:
    python = tmp_path / "marian" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    assert [system.name for system in peers(tmp_path)] == ["Marian, RNN", "Marian, Transformer"]
    binary = tmp_path / "marian-binary"
    native = [system.train(task)[0] for system in peers(None, binary)]
    assert native == [binary, binary] and peers(None) == []


def test_missing_systems_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert peers(tmp_path, tmp_path / "marian") and not peers(None)
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2 + 3
    assert all("skipped: see bench/peers/build.sh" in line for line in errors)
    assert "JoeyNMT 2.3.0, RNN and JoeyNMT 2.3.0, Transformer" in errors[1]
