"""Packings of sentences of given lengths."""

import torch

from nmtkit.models.packing import Packing


def packing_of(lengths):
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return Packing.of(mask, torch.device("cpu"))
