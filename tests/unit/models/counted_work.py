"""Counts of multiplications, kernel calls and bytes."""

import weakref
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

PRODUCTS = ("mm", "addmm", "bmm", "baddbmm", "mv", "addmv")


@pytest.fixture(autouse=True)
def never_onednn(monkeypatch):
    """Count torch's own products on every processor."""
    monkeypatch.setattr("nmtkit.models.fast.matmul.MIN_ONEDNN_SIZE", 1 << 60)


class Work(TorchDispatchMode):
    """Counts multiplications, kernel calls, and the peak of allocated bytes."""

    def __init__(self):
        super().__init__()
        self.products = self.calls = self.bytes = self.peak = 0
        self.known: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        actual = function(*args, **(kwargs or {}))
        self.calls += 1
        name = function.__name__.split(".")[0].rstrip("_")
        if name in PRODUCTS:
            a, b = args[-2:]
            self.products += a.numel() * (b.size(-1) if b.dim() > 1 else 1)
        for value in actual if isinstance(actual, (tuple, list)) else [actual]:
            if isinstance(value, torch.Tensor):
                self._hold(value.untyped_storage())
        return actual

    def _hold(self, storage):
        if storage._cdata in self.known:
            return
        self.known[storage._cdata] = storage
        self.bytes += storage.nbytes()
        self.peak = max(self.peak, self.bytes)
        weakref.finalize(storage, self._release, storage.nbytes())

    def _release(self, size):
        self.bytes -= size
