"""Start-up times are those of a model that exists."""

from pathlib import Path

import cold_start
import pytest
from timing import BenchError, CommandCost


def test_without_a_model_nothing_is_measured(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"nowhere: not a model folder$"):
        cold_start.main([str(tmp_path / "nowhere"), "--rounds", "1"])


def test_without_the_baseline_nothing_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "params.best.safetensors").touch()
    costs = {"nmtkit translate": [CommandCost(1, 1, 1)]}
    monkeypatch.setattr(cold_start, "measure", lambda *_: costs)
    with pytest.raises(BenchError, match="'import torch, load' failed"):
        cold_start.main([str(tmp_path)])
