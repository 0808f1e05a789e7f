"""The benchmarks time nmtkit's real updates."""

import json
from pathlib import Path

import pytest
from operations import Sizes
from systems import Data, Nmtkit, Task


@pytest.fixture
def task(prepared: Path, tmp_path: Path) -> Task:
    """Return a task of three one-epoch updates of a tiny model."""
    return Task(Data.open(prepared, tmp_path), tmp_path / "task", Sizes(6, 8, 5, 4), 3, 1)


def test_training_is_timed_update_by_update(task: Task) -> None:
    rate = Nmtkit().time_training(task, warmup=1)
    record = json.loads((task.folder / "record.json").read_text())
    text = (task.data.text("train", "tgt")).read_text(encoding="utf-8")
    words = len(text.split()) + len(text.splitlines())  # with </s>
    assert [count for _, _, count in record["updates"]] == [words, 2 * words, 3 * words]
    assert rate.words > 0 and rate.by_cpu > 0
    assert rate.peak == record["peak"] > 5e7
