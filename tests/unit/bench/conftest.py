"""A small training task for the benchmarked systems."""

from pathlib import Path

import pytest
from operations import Sizes
from systems import Data, Task


@pytest.fixture
def data(tmp_path: Path) -> Data:
    """Return a prepared corpus of three pairs with shortlists of three words."""
    prepared = tmp_path / "prepared"
    prepared.mkdir()
    for side, word in (("src", "a"), ("tgt", "b")):
        shortlist = f"</s>\t3\n<unk>\t0\n{word}\t5\n"
        (prepared / f"vocab.{side}").write_text(shortlist)
        (prepared / f"train.{side}").write_text(f"{word}\n{word} {word}\n{word} {word} {word}\n")
    return Data.open(prepared, tmp_path / "work")


@pytest.fixture
def task(data: Data, tmp_path: Path) -> Task:
    """Return a training task of 7 updates."""
    return Task(data, tmp_path / "task", Sizes(3, 4, 5, 6), 7, threads=2)
