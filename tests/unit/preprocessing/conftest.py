"""Training data of a few pairs, blocks so small that it has several, and a pool to select from."""

from pathlib import Path

import pytest

from nmtkit.preprocessing import folder_writer
from tests.unit.preprocessing.bitexts import PAIRS, Files, bitext, write


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_writer, "BLOCK_LINES", 3)


@pytest.fixture
def train(tmp_path: Path) -> Files:
    return write(tmp_path, "train", PAIRS)


@pytest.fixture
def pool(tmp_path: Path) -> tuple[Path, Path]:
    return bitext(tmp_path, "pool", ["a b c", "d", "a b", "d d d", "e a b"])
