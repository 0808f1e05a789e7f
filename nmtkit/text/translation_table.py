"""Probabilities of word translations, p(target | source), by ids."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nmtkit.text.lexicon import read_columns
from nmtkit.text.vocabulary import Vocabulary


class TranslationTable(NamedTuple):
    """A sparse table of probabilities.

    keys: source id * tgt_words + target id, ascending. probabilities: p(target | source).
    Shape of both: [entries]. tgt_words: size of the target vocabulary.
    """

    keys: npt.NDArray[np.int64]
    probabilities: npt.NDArray[np.float64]
    tgt_words: int

    @classmethod
    def load(
        cls, path: str | Path, src_vocab: Vocabulary, tgt_vocab: Vocabulary
    ) -> "TranslationTable":
        """Load a lexical table, in one of the formats of `nmtkit.text.lexicon`.

        :raises DataError: the file cannot be read, or a line is malformed.
        """
        sources, targets = (
            {word.encode(): number for number, word in enumerate(words)}
            for words in (src_vocab, tgt_vocab)
        )
        keys: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)]
        values: list[npt.NDArray[np.float64]] = [np.empty(0)]
        for src, tgt, numbers, are_logs in read_columns(path, None):
            src_ids = np.array([sources.get(word, -1) for word in src], np.int64)
            tgt_ids = np.array([targets.get(word, -1) for word in tgt], np.int64)
            known = (src_ids >= 0) & (tgt_ids >= 0)
            keys.append(src_ids[known] * len(tgt_vocab) + tgt_ids[known])
            probabilities = numbers[known].astype(np.float64)
            values.append(np.exp(probabilities) if are_logs else probabilities)
        unique, first = np.unique(np.concatenate(keys), return_index=True)
        return cls(unique, np.concatenate(values)[first], len(tgt_vocab))

    def matrix(
        self, src: npt.NDArray[np.int64], tgt: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """Return p(y_i | x_j) of two sentences, 0 where there is no entry. Shape: [T_y, T_x]."""
        wanted = src * self.tgt_words + tgt[:, None]
        if not len(self.keys):
            return np.zeros(wanted.shape)
        found = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[found] == wanted, self.probabilities[found], 0.0)
