"""RNNenc, the phrase model and grConv as their papers write them, one number at a time.

A slow reference in NumPy float64, which shares the gated unit and functions with
that of RNNsearch; only the functions named `*_of` know how a model joins its matrices.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.unit.models.reference_rnnsearch import (
    Array,
    Unit,
    gru_step,
    output_matrix_of,
    paired_maxima,
    parameters,
    softmax,
    split_unit,
)


@dataclass(frozen=True)
class Decoder:
    """The decoder's parameters, in the papers' names."""

    E_y: Array
    unit: Unit
    C: Array
    C_z: Array
    C_r: Array
    W_s: Array
    b_s: Array
    U_o: Array
    V_o: Array
    C_o: Array
    b_o: Array
    W_o: Array
    b_y: Array


def last_state(E_x: Array, unit: Unit, source: list[int]) -> Array:
    """Return h_{T_x}, the state after the last word."""
    h = np.zeros(len(unit.b))
    for word in source:
        h = gru_step(unit, E_x[word], h, (np.zeros_like(h),) * 3)
    return h


def probabilities(decoder: Decoder, c: Array, target: list[int]) -> list[Array]:
    """Return p(y_i | y_<i, x) at every position of a target sentence, by teacher forcing."""
    s = np.tanh(decoder.W_s @ c + decoder.b_s)
    embedded = np.zeros(decoder.E_y.shape[1])
    result = []
    for word in target:
        extra = (decoder.C_z @ c, decoder.C_r @ c, decoder.C @ c)
        s = gru_step(decoder.unit, embedded, s, extra)
        readout = decoder.U_o @ s + decoder.V_o @ embedded + decoder.C_o @ c + decoder.b_o
        result.append(softmax(decoder.W_o @ paired_maxima(readout) + decoder.b_y))
        embedded = decoder.E_y[word]
    return result


def node(weights: dict[str, Array], left: Array, right: Array) -> tuple[Array, Array]:
    """Return a node from its two children, and its coefficients w_c, w_l, w_r."""
    new = np.maximum(0, weights["W_l"] @ left + weights["W_r"] @ right + weights["b_h"])
    w = softmax(weights["G_l"] @ left + weights["G_r"] @ right + weights["b_w"])
    return w[0] * new + w[1] * left + w[2] * right, w


def compose(weights: dict[str, Array], source: list[int]) -> tuple[Array, list[list[Array]]]:
    """Return the top node, and the coefficients of each level from 1 on."""
    level = [weights["U"] @ weights["E_x"][word] + weights["b_U"] for word in source]
    coefficients = []
    while len(level) > 1:
        nodes = [node(weights, a, b) for a, b in zip(level, level[1:], strict=False)]
        level = [vector for vector, _ in nodes]
        coefficients.append([w for _, w in nodes])
    return level[0], coefficients


def encoder_of(model: Any) -> Unit:
    p = parameters(model)
    return split_unit(p["W_enc"], p["U_zr_enc"], p["U_enc"], p["b_enc"])


def decoder_of(model: Any) -> Decoder:
    p = parameters(model)
    n = len(p["b_s"])
    return Decoder(
        E_y=p["E_y"],
        unit=split_unit(p["W_dec"], p["U_zr_dec"], p["U_dec"], p["b_dec"]),
        C=p["C"][:, 2 * n :].T,
        C_z=p["C"][:, :n].T,
        C_r=p["C"][:, n : 2 * n].T,
        W_o=output_matrix_of(p),
        **{name: p[name] for name in ("b_s", "b_o", "b_y")},
        **{name: p[name].T for name in ("W_s", "U_o", "V_o", "C_o")},
    )


def composition_of(model: Any) -> dict[str, Array]:
    p = parameters(model)
    transposed = {name: p[name].T for name in ("U", "W_l", "W_r", "G_l", "G_r")}
    return transposed | {name: p[name] for name in ("E_x", "b_U", "b_h", "b_w")}
