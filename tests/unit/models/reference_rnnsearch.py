"""RNNsearch as Bahdanau et al. 2015 write it: one sentence, one position, one number at a time.

A slow reference in NumPy float64, in the paper's notation: vectors are columns, each gate has
a matrix of its own, and every equation of appendix A.2 is a function. It shares nothing with
`nmtkit`; only `weights_of` knows how a model joins its matrices side by side.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Unit:
    """A gated unit: W, W_z, W_r for the input, U, U_z, U_r for the state, biases b, b_z, b_r."""

    W: Array
    W_z: Array
    W_r: Array
    U: Array
    U_z: Array
    U_r: Array
    b: Array
    b_z: Array
    b_r: Array


@dataclass(frozen=True)
class Weights:
    """The parameters in the paper's names. The rows of E_x, E_y [K, m] are word embeddings."""

    E_x: Array
    E_y: Array
    forward: Unit
    backward: Unit
    decoder: Unit
    C: Array
    C_z: Array
    C_r: Array
    W_s: Array
    b_s: Array
    v_a: Array
    W_a: Array
    U_a: Array
    b_a: Array
    U_o: Array
    V_o: Array
    C_o: Array
    b_o: Array
    W_o: Array
    b_y: Array
    lexical: Array
    """What a source embedding adds to the logits, E_y L [K, m]; 0 without a lexical module."""


@dataclass(frozen=True)
class Position:
    """The values computed for one target word y_i."""

    query: Array
    energies: Array
    alignment: Array
    context: Array
    readout: Array
    maxout: Array
    probabilities: Array


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(x: Array) -> Array:
    return np.exp(x) / sum(float(np.exp(value)) for value in x)


def gates(unit: Unit, x: Array, h: Array, extra: tuple[Array, Array]) -> tuple[Array, Array]:
    """z and r; `extra` is what the decoder adds to them, C_z c and C_r c."""
    z = sigmoid(unit.W_z @ x + unit.U_z @ h + extra[0] + unit.b_z)
    r = sigmoid(unit.W_r @ x + unit.U_r @ h + extra[1] + unit.b_r)
    return z, r


def gru_step(unit: Unit, x: Array, h: Array, extra: tuple[Array, Array, Array]) -> Array:
    """h' = (1 - z) * h + z * tanh(W x + U (r * h)): reset before the matrix, z replaces."""
    z, r = gates(unit, x, h, extra[:2])
    candidate = np.tanh(unit.W @ x + unit.U @ (r * h) + extra[2] + unit.b)
    return (1 - z) * h + z * candidate


def annotations(weights: Weights, source: list[int]) -> list[Array]:
    """Return h_j = [->h_j ; <-h_j] for every source word, including the final `</s>`."""
    none = np.zeros_like(weights.b_s)
    nothing = (none, none, none)
    forwards: list[Array] = []
    h = none
    for word in source:
        h = gru_step(weights.forward, weights.E_x[word], h, nothing)
        forwards.append(h)
    backwards: list[Array] = []
    h = none
    for word in reversed(source):
        h = gru_step(weights.backward, weights.E_x[word], h, nothing)
        backwards.insert(0, h)
    return [np.concatenate(both) for both in zip(forwards, backwards, strict=True)]


def start(weights: Weights, h: list[Array]) -> Array:
    """s_0 = tanh(W_s <-h_1)."""
    size = len(weights.b_s)
    return np.tanh(weights.W_s @ h[0][size:] + weights.b_s)


def energies(weights: Weights, s: Array, h: list[Array]) -> Array:
    """e_ij = v_a . tanh(W_a s + U_a h_j) for every j."""
    result = [
        weights.v_a @ np.tanh(weights.W_a @ s + weights.U_a @ annotation + weights.b_a)
        for annotation in h
    ]
    return np.array(result)


def next_state(weights: Weights, embedded: Array, s: Array, context: Array) -> Array:
    """Compute s_i from a word's embedding, s_{i-1} and a context vector."""
    extra = (weights.C_z @ context, weights.C_r @ context, weights.C @ context)
    return gru_step(weights.decoder, embedded, s, extra)


def readout(weights: Weights, s: Array, embedded: Array, context: Array) -> Array:
    """t~_i = U_o s + V_o E_y y_{i-1} + C_o c_i."""
    return weights.U_o @ s + weights.V_o @ embedded + weights.C_o @ context + weights.b_o


def paired_maxima(values: Array) -> Array:
    return np.array([max(values[2 * k], values[2 * k + 1]) for k in range(len(values) // 2)])


def teacher_forced(
    weights: Weights, source: list[int], target: list[int], variant: str
) -> list[Position]:
    """Compute every position of a target sentence by teacher forcing."""
    h = annotations(weights, source)
    s = start(weights, h)  # s_{i-1}; with "groundhog" the state of the query
    embedded = np.zeros(weights.E_y.shape[1])  # E_y y_{i-1}; 0 for y_0
    positions = []
    for word in target:
        energy = energies(weights, s, h)
        alpha = softmax(energy)
        context = np.zeros_like(h[0])
        for weight, annotation in zip(alpha, h, strict=True):
            context = context + weight * annotation
        following = next_state(weights, embedded, s, context)
        readout_state = following if variant == "paper-v1" else s
        t = readout(weights, readout_state, embedded, context)
        pooled = paired_maxima(t)
        looked_at = sum(a * weights.E_x[x] for a, x in zip(alpha, source, strict=True))
        p = softmax(weights.W_o @ pooled + weights.lexical @ looked_at + weights.b_y)
        positions.append(Position(s, energy, alpha, context, t, pooled, p))
        embedded = weights.E_y[word]
        s = next_state(weights, embedded, s, context) if variant == "groundhog" else following
    return positions


def parameters(model: Any) -> dict[str, Array]:
    """Return a model's parameters by name."""
    return {name: value.detach().double().numpy() for name, value in model.named_parameters()}


def assert_close(actual: Any, expected: Any) -> None:
    """Assert that a tensor is what the reference says, apart from rounding in float64."""
    np.testing.assert_allclose(actual.detach().numpy(), expected, rtol=1e-10, atol=1e-12)


def split_unit(W: Array, U_zr: Array, U: Array, b: Array) -> Unit:
    """Split a unit's joined matrices; the model has row vectors, so they are transposed."""
    z, r, candidate = (slice(k * len(U), (k + 1) * len(U)) for k in range(3))
    return Unit(
        W=W[:, candidate].T,
        W_z=W[:, z].T,
        W_r=W[:, r].T,
        U=U.T,
        U_z=U_zr[:, z].T,
        U_r=U_zr[:, r].T,
        b=b[candidate],
        b_z=b[z],
        b_r=b[r],
    )


def output_matrix_of(p: dict[str, Array]) -> Array:
    """Multiply the factors of W_o [K, l]: F_o P or, if it is tied, E_y P."""
    return p.get("F_o", p["E_y"]) @ p["P"].T if "P" in p else p["W_o"]


def lexical_matrix_of(p: dict[str, Array]) -> Array:
    """Multiply E_y, or what stands in its place, by L."""
    if "L" not in p:
        return np.zeros((len(p["E_y"]), p["E_x"].shape[1]))
    words = p.get("F_o", p["E_y"]) if "P" in p else p["W_o"]
    return words @ p["L"].T


def weights_of(model: Any) -> Weights:
    """Split the joined parameters of `nmtkit.models.rnnsearch.RNNsearch`.

    The model has row vectors, so every matrix is transposed; its gates are [z | r | candidate].
    """
    p = parameters(model)
    n = len(p["b_s"])
    third = [slice(0, n), slice(n, 2 * n), slice(2 * n, 3 * n)]
    both = [
        split_unit(W, U_zr, U, b)
        for W, U_zr, U, b in zip(
            np.split(p["W_enc"], 2, axis=1),
            p["U_zr_enc"],
            p["U_enc"],
            np.split(p["b_enc"], 2),
            strict=True,
        )
    ]
    names = ["E_x", "E_y", "b_s", "v_a", "b_a", "b_o", "b_y"]
    transposed = ["W_s", "W_a", "U_a", "U_o", "V_o", "C_o"]
    return Weights(
        forward=both[0],
        backward=both[1],
        decoder=split_unit(p["W_dec"], p["U_zr_dec"], p["U_dec"], p["b_dec"]),
        C=p["C"][:, third[2]].T,
        C_z=p["C"][:, third[0]].T,
        C_r=p["C"][:, third[1]].T,
        W_o=output_matrix_of(p),
        lexical=lexical_matrix_of(p),
        **{name: p[name] for name in names},
        **{name: p[name].T for name in transposed},
    )
