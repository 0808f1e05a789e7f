"""The deep LSTM of Sutskever et al. 2014, its unit that of Graves 2013, one number at a time.

A slow reference in NumPy float64; only `side_of` knows how a model joins its matrices.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.unit.models.reference_rnnsearch import Array, parameters, sigmoid, softmax


@dataclass(frozen=True)
class Unit:
    """A layer by gate: W multiplies the input, U the state, p (peepholes) the cells."""

    W: dict[str, Array]
    U: dict[str, Array]
    b: dict[str, Array]
    p: dict[str, Array]


Cells = tuple[Array, Array]
"""h and c."""


def next_state(unit: Unit, x: Array, h: Array, c: Array) -> Cells:
    """Graves 2013, eqs. (7) to (11)."""

    def requested(gate: str) -> Array:
        return unit.W[gate] @ x + unit.U[gate] @ h + unit.b[gate]

    i = sigmoid(requested("i") + unit.p["i"] * c)
    f = sigmoid(requested("f") + unit.p["f"] * c)
    cells = f * c + i * np.tanh(requested("g"))
    o = sigmoid(requested("o") + unit.p["o"] * cells)
    return o * np.tanh(cells), cells


def layers_step(units: list[Unit], x: Array, states: list[Cells]) -> list[Cells]:
    """Compute one position of every layer, from the lowest."""
    after = []
    for unit, (h, c) in zip(units, states, strict=True):
        h, c = next_state(unit, x, h, c)
        after.append((h, c))
        x = h
    return after


def encoded(E_x: Array, units: list[Unit], source: list[int], reverse: bool) -> list[Cells]:
    """Return the layers' states after the source, whose last word is `</s>`."""
    zeros = np.zeros_like(units[0].b["i"])
    states: list[Cells] = [(zeros, zeros) for _ in units]
    words = [*source[:-1][::-1], source[-1]] if reverse else source
    for word in words:
        states = layers_step(units, E_x[word], states)
    return states


def probabilities(
    units: list[Unit],
    E_y: Array,
    output: tuple[Array, Array],
    states: list[Cells],
    target: list[int],
) -> list[Array]:
    """Return p(y_i | y_<i, x) at every position of a target sentence, by teacher forcing."""
    W_o, b_y = output
    embedded, result = np.zeros(E_y.shape[1]), []
    for word in target:
        states = layers_step(units, embedded, states)
        result.append(softmax(W_o @ states[-1][0] + b_y))
        embedded = E_y[word]
    return result


def side_of(model: Any, side: str) -> list[Unit]:
    """Return the layers of "encoder" or "decoder"; the model has row vectors, gates [i|f|o|g]."""
    p, n = parameters(model), model.config.hidden
    parts = {gate: slice(k * n, (k + 1) * n) for k, gate in enumerate("ifog")}

    def peepholes(layer: int) -> dict[str, Array]:
        values = p.get(f"{side}.p.{layer}", np.zeros((3, n)))
        return dict(zip("ifo", values, strict=True))

    return [
        Unit(
            W={gate: p[f"{side}.W.{layer}"][:, part].T for gate, part in parts.items()},
            U={gate: p[f"{side}.U.{layer}"][:, part].T for gate, part in parts.items()},
            b={gate: p[f"{side}.b.{layer}"][part] for gate, part in parts.items()},
            p=peepholes(layer),
        )
        for layer in range(model.config.layers)
    ]
