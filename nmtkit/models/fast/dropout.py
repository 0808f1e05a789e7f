"""Dropout that draws 16 random bits for each value."""

import torch
from torch import Tensor
from torch.nn import functional


def dropout(values: Tensor, share: float) -> Tensor:
    """Set a random `share` of the values to 0, and scale the others by 1 / (1 - share).

    On a CPU torch draws a whole integer for each value, which takes a sixth of an update's time.
    Here 16 random bits decide on each value, which makes `share` exact to 1 in 65,536.
    """
    if share == 0:
        return values
    if values.device.type != "cpu":
        return functional.dropout(values, share)
    words = (values.numel() + 3) // 4  # four values for each 64 bits
    bits = torch.empty(words, dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
    kept = bits[: values.numel()].view(values.shape) >= round(share * 65536) - 32768
    return values * kept.to(values.dtype).mul_(1 / (1 - share))
