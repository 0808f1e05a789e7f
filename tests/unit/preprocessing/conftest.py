"""Training data of a few pairs, and blocks so small that it has several."""

from pathlib import Path

import pytest

from nmtkit.preprocessing import folder_writer
from tests.unit.preprocessing.bitexts import PAIRS, Files, write


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_writer, "BLOCK_LINES", 3)


@pytest.fixture
def train(tmp_path: Path) -> Files:
    return write(tmp_path, "train", PAIRS)
