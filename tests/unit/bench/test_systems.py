"""Settings of the systems, and speeds computed from the launcher's record."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from systems import TIMED, Data, Nmtkit, Task, rate_of


def test_shortlists_are_written_without_special_words(data: Data) -> None:
    assert (data.words / "src").read_text() == "a\n"
    assert data.target_words() == 3


def test_lengths_include_the_end_of_sentence(data: Data) -> None:
    assert data.mean_lengths() == (3.0, 3.0)


def test_the_rate_excludes_the_first_updates() -> None:
    readings = [(10.0, 5.0, 100), (20.0, 9.0, 300), (22.0, 10.0, 400), (24.0, 13.0, 500)]
    rate = rate_of(readings, warmup=2, peak=9)
    assert (rate.words, rate.by_cpu, rate.peak) == (50.0, 50.0, 9)


def test_nmtkit_accepts_its_settings(task: Task) -> None:
    from nmtkit.training.settings import make_config

    arguments = Nmtkit(extra=["training.seed=5"]).write_training(task)
    config = make_config(config_file=arguments[arguments.index("--config") + 1])
    sizes = config.model
    assert (sizes.embedding, sizes.hidden, sizes.align, sizes.maxout) == (3, 4, 5, 6)
    assert (config.data.batch_size, config.training.max_updates) == (80, 7)
    assert arguments[-2:] == ["--set", "training.seed=5"]


@pytest.fixture
def launcher() -> ModuleType:
    """Import bench/peers/timed.py."""
    spec = importlib.util.spec_from_file_location("timed", TIMED)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_ignored_targets_are_not_counted(launcher: ModuleType) -> None:
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


def test_the_launcher_stops_after_the_given_updates(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    record = tmp_path / "record.json"
    command = [sys.executable, str(TIMED), str(record), "5", "program:main"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1"}
    completed = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert completed.stdout == b""
    recorded = json.loads(record.read_text())
    assert [words for _, _, words in recorded["updates"]] == [3, 6, 9, 12, 15]
    assert recorded["peak"] > 1e7
