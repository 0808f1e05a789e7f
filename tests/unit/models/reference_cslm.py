"""The CSLM of Cho et al. 2014, section 4.1.2, one number at a time.

A slow reference in NumPy float64; matrices are as in the paper, one row per output.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.unit.models.reference_rnnsearch import Array, parameters, softmax


@dataclass(frozen=True)
class Network:
    """E has a row for each word; W_1 [n, c m], W_2 [l, n], W_o [K, l]."""

    E: Array
    W_1: Array
    b_1: Array
    W_2: Array
    b_2: Array
    W_o: Array
    b_o: Array


def rectified(W: Array, x: Array, b: Array) -> Array:
    """max(0, W x + b), unit by unit."""
    sums = [sum(w * value for w, value in zip(row, x, strict=True)) for row in W]
    return np.array([max(0.0, total + b[unit]) for unit, total in enumerate(sums)])


def next_word(network: Network, history: list[int], context: int) -> Array:
    """Return the probability of every next word after the last `context` words of `history`.

    A position before the beginning of the sentence is a vector of zeros.
    """
    size = network.E.shape[1]
    projected: list[float] = []
    for back in range(context, 0, -1):
        known = back <= len(history)
        projected += list(network.E[history[-back]]) if known else [0.0] * size
    h = rectified(network.W_1, np.array(projected), network.b_1)
    t = rectified(network.W_2, h, network.b_2)
    return softmax(network.W_o @ t + network.b_o)


def network_of(model: Any) -> Network:
    p = parameters(model)
    return Network(p["E_y"], p["W_1"].T, p["b_1"], p["W_2"].T, p["b_2"], p["W_o"], p["b_y"])
