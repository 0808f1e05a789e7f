"""Types of the matrix products, and what a processor multiplies itself."""

import os
from typing import Literal, TypeAlias

import torch

from nmtkit.models.fast.torch_private import processor_capabilities

Precision: TypeAlias = Literal["float32", "bfloat16", "int8"]
"""Type of matrix products in search; states, attention and log-probabilities are float32."""

BFLOAT16_SIZE = 512
"""Smallest n that trains and translates in bfloat16, where the processor multiplies it: smaller
matrices gain nothing."""

BFLOAT16_INSTRUCTIONS = ("avx512_bf16", "amx_bf16", "bf16")
"""Names of the instructions that multiply bfloat16, x86's and ARM's."""


def multiplies_bfloat16(device: torch.device) -> bool:
    """Return True if the device multiplies bfloat16 itself."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    capabilities = processor_capabilities() if device.type == "cpu" else {}
    return any(capabilities.get(name, False) for name in BFLOAT16_INSTRUCTIONS)


def limit_bfloat16_memory() -> None:
    """Have oneDNN keep fewer products ready; call it before the first of a training.

    It keeps one for each shape that it meets, by default up to 1,024, which took gigabytes. The
    products of an update have some 200 shapes (`models/fast/matmul.py`): with 64 of them kept, the
    updates of n = 512 took 1.4 times as long.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "256")
