"""Fixtures for tests of models."""

from typing import Any

import pytest
import torch

from nmtkit.models.fast import matmul


@pytest.fixture
def onednn_calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The operands of each product that oneDNN computes."""
    operand_lists: list[tuple[Any, ...]] = []
    multiply = matmul._onednn_linear

    def record(*operands: Any) -> torch.Tensor:
        operand_lists.append(operands)
        return multiply(*operands)

    monkeypatch.setattr(matmul, "_onednn_linear", record)
    return operand_lists


@pytest.fixture
def always_onednn(monkeypatch):
    """Multiply matrices of every size by oneDNN."""
    for name in ("MIN_ONEDNN_SIZE", "LARGE_SIZE"):
        monkeypatch.setattr(f"nmtkit.models.fast.matmul.{name}", 1)
