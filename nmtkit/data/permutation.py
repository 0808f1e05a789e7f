"""A pseudo-random permutation that is computed, not stored."""

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

FEISTEL_ROUNDS = 6
"""Rounds of the Feistel network that computes the permutation."""


def permute(indices: Ids, size: int, key: int) -> Ids:
    """Return the elements at some indices of a pseudo-random permutation of 0 to size - 1.

    A Feistel network permutes the numbers below the smallest power of four that is at least `size`;
    it is applied again until the value is below `size` (cycle walking; Black and Rogaway 2002).

    :param indices: values in [0, size). Shape: [n].
    :param key: chooses the permutation.
    :return: values in [0, size). Shape: [n].
    """
    half = max(1, (max(size - 1, 1).bit_length() + 1) // 2)
    keys = np.random.SeedSequence(key).generate_state(FEISTEL_ROUNDS, np.uint64).astype(np.uint64)
    values = _feistel(indices.astype(np.uint64), half, keys)
    outside = values >= size
    while outside.any():
        values[outside] = _feistel(values[outside], half, keys)
        outside = values >= size
    return values.astype(np.int64)


def _feistel(values: Words, half: int, keys: Words) -> Words:
    """Permute numbers of 2 * half bits by a Feistel network with a round for each key."""
    mask = np.uint64((1 << half) - 1)
    left, right = values >> np.uint64(half), values & mask
    for key in keys:
        left, right = right, left ^ (_splitmix64(right ^ key) & mask)
    return (left << np.uint64(half)) | right


def _splitmix64(values: Words) -> Words:
    """Hash numbers by the finaliser of SplitMix64 (Steele et al. 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
