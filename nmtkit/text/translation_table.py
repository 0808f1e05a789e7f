"""Probabilities of word translations, p(target | source), by ids."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class TranslationTable(NamedTuple):
    """A sparse table of probabilities.

    keys: source id * tgt_words + target id, ascending. probabilities: p(target | source).
    Shape of both: [entries]. tgt_words: size of the target vocabulary.
    """

    keys: npt.NDArray[np.int64]
    probabilities: npt.NDArray[np.float64]
    tgt_words: int

    def matrix(
        self, src: npt.NDArray[np.int64], tgt: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """Return p(y_i | x_j) of two sentences, 0 where there is no entry. Shape: [T_y, T_x]."""
        wanted = src * self.tgt_words + tgt[:, None]
        if not len(self.keys):
            return np.zeros(wanted.shape)
        found = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[found] == wanted, self.probabilities[found], 0.0)
