"""Comparison of the parameters of two models."""

import torch


def same(model, other):
    return all(
        torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True)
    )
