"""Tensors are so small here that several threads would only wait for each other."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from nmtkit.models.fast import matmul


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


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
