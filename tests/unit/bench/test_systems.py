"""How the systems are told what to do, and how their speed is read off."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from operations import Sizes
from systems import (
    TIMED,
    Data,
    Eole,
    JoeyNMT,
    Marian,
    Nmtkit,
    OpenNMT,
    Task,
    marian_reports,
    peers,
    rate_of,
)
from timing import BenchError

LOG = """\
[2026-11-21 11:33:45] Ep. 1 : Up. 5 : Sen. 400 : Cost 9.03 : Time 20.50s : 1,200.00 words/s : gNorm 0.7
[2026-11-21 11:33:46] [memory] Reserving 39 MB, device cpu0
[2026-11-21 11:34:21] Ep. 1 : Up. 1,000 : Sen. 80,000 : Cost 7.25 : Time 10.00s : 175.64 words/s : gNorm 1.5
"""  # noqa: E501


@pytest.fixture
def data(tmp_path: Path) -> Data:
    """Three pairs, and shortlists of three words."""
    prepared = tmp_path / "prepared"
    prepared.mkdir()
    for side, word in (("src", "a"), ("tgt", "b")):
        shortlist = f"</s>\t3\n<unk>\t0\n{word}\t5\n"
        (prepared / f"vocab.{side}").write_text(shortlist)
        (prepared / f"train.{side}").write_text(f"{word}\n{word} {word}\n{word} {word} {word}\n")
    return Data.open(prepared, tmp_path / "work")


@pytest.fixture
def task(data: Data, tmp_path: Path) -> Task:
    """A training of 7 updates."""
    return Task(data, tmp_path / "task", Sizes(3, 4, 5, 6), 7, threads=2)


def test_special_words_are_left_to_the_systems(data: Data) -> None:
    assert (data.words / "src").read_text() == "a\n"
    assert data.target_words() == 3


def test_lengths_count_the_end_of_the_sentence(data: Data) -> None:
    assert data.mean_lengths() == (3.0, 3.0)


def test_the_rate_leaves_out_the_first_updates() -> None:
    readings = [(10.0, 5.0, 100), (20.0, 9.0, 300), (22.0, 10.0, 400), (24.0, 13.0, 500)]
    rate = rate_of(readings, warmup=2, peak=9)
    assert (rate.words, rate.by_cpu, rate.peak) == (50.0, 50.0, 9)


def test_marians_lines() -> None:
    assert marian_reports(LOG) == [(5, 20.5, 24600.0), (1000, 10.0, pytest.approx(1756.4))]
    assert marian_reports("nothing of the kind") == []


@pytest.mark.parametrize("cls", [OpenNMT, Eole, JoeyNMT])
def test_peers_are_given_the_same_work(cls: type[OpenNMT], task: Task) -> None:
    arguments = cls(Path("python")).write_training(task)
    named = next(word for word in arguments if word.endswith(".yaml"))
    text = json.dumps(json.loads(Path(named).read_text()))
    for setting in ('"batch_size": 80', '"learning_rate": 0.001', '"dropout": '):
        assert setting in text
    assert str(task.data.words / "src") in text
    assert any(f'"{name}": {task.updates}' in text for name in ("train_steps", "updates"))


def test_nmtkit_accepts_its_settings(task: Task) -> None:
    from nmtkit.trainer import make_config

    arguments = Nmtkit(extra=["training.seed=5"]).write_training(task)
    config = make_config(config_file=arguments[arguments.index("--config") + 1])
    sizes = config.model
    assert (sizes.embedding, sizes.hidden, sizes.align, sizes.maxout) == (3, 4, 5, 6)
    assert (config.data.batch_size, config.training.max_updates) == (80, 7)
    assert arguments[-2:] == ["--set", "training.seed=5"]


def test_marian_starts_anew(task: Task) -> None:
    marian = Marian(Path("python"), Path("/there/marian"))
    command = marian.train(task)
    assert command[:2] == [Path("/there/marian"), "train"]
    assert (task.folder / "tgt.txt").read_text() == "</s>\n<unk>\nb\n"
    assert marian.translate(task, Path("s"), Path("o"), 5)[1] == "decode"


def test_only_what_is_installed_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    python = tmp_path / "eole" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    found = peers(tmp_path, marian=tmp_path / "marian-binary")
    assert [system.name for system in found] == ["eole 0.6.4", "Marian"]
    said = capsys.readouterr().err
    assert "JoeyNMT 2.3.0 is left out" in said and "eole" not in said
    assert peers(None) == []


@pytest.fixture
def launcher() -> ModuleType:
    """bench/peers/timed.py."""
    spec = importlib.util.spec_from_file_location("timed", TIMED)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_words_are_counted_where_they_are_not_ignored(launcher: ModuleType) -> None:
    import torch

    recorder = launcher.Recorder("", 99)
    counted = recorder.counting(torch.nn.functional.cross_entropy)
    scores, target = torch.zeros(4, 3), torch.tensor([1, 0, 2, 0])
    assert float(counted(scores, target, ignore_index=0)) == pytest.approx(1.0986, abs=1e-4)
    assert recorder.words == 2
    counted(scores, target)
    assert recorder.words == 6


PROGRAM = """
import torch
def main():
    weights = torch.zeros(4, 3, requires_grad=True)
    adam = torch.optim.Adam([weights])
    cost = torch.nn.NLLLoss(ignore_index=0, reduction="sum")
    for number in range(100):
        cost(weights.log_softmax(-1), torch.tensor([1, 0, 2, 1])).backward()
        adam.step()
    print("the end is never reached")
"""


def test_the_launcher_stops_after_the_updates_wanted(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    record = tmp_path / "record.json"
    command = [sys.executable, str(TIMED), str(record), "5", "program:main"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert done.stdout == b""
    found = json.loads(record.read_text())
    assert [words for _, _, words in found["updates"]] == [3, 6, 9, 12, 15]
    assert found["peak"] > 1e7


def test_marian_that_tells_nothing_is_an_error(task: Task, tmp_path: Path) -> None:
    binary = tmp_path / "marian"
    binary.write_text("#!/bin/sh\necho done\n")
    binary.chmod(0o755)
    with pytest.raises(BenchError, match="tells nothing of the updates after 3"):
        Marian(Path("python"), binary).time_training(task, warmup=3)
