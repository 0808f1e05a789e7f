"""Links of one sentence pair that take the target word itself into account.

Attention looks at the source before the target word is known (Bahdanau et al. 2015, eq. (6)), so
that alone it links poorly. A table says how likely each translation is. As in the models of Brown
et al. 1993, with the attention in place of their prior, the weight of source word j for target word
i becomes

    w_ij = alpha_ij^a t(y_i | x_j) / sum_j' alpha_ij'^a t(y_i | x_j')

`link_learning.py` does without a table, but with many pairs.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nmtkit.model_folder import LoadedModel
from nmtkit.special_symbols import EOS
from nmtkit.text.pair_cells import ATTENTION_EXPONENT, MIN_TRANSLATION, Ids, Weights, diagonal_logs
from nmtkit.text.translation_table import TranslationTable


class PairIds(NamedTuple):
    """Ids of the tokens of a pair; `</s>` is the last of the source, and is not in the target."""

    src: Ids
    tgt: Ids

    @classmethod
    def of(cls, src: Sequence[str], tgt: Sequence[str], model: LoadedModel) -> "PairIds":
        """Return the ids of tokens."""
        src_ids, tgt_ids = [*model.src_vocab.ids(src), EOS], model.tgt_vocab.ids(tgt)
        return cls(np.array(src_ids, np.int64), np.array(tgt_ids, np.int64))


def diagonal(target: int, source: int, finished: bool) -> Tensor:
    """Return an alignment of a model without attention: tokens in the same order.

    Weights are those of `diagonal_logs`, as nothing else is known.

    :param target, source: numbers of tokens, without `</s>`.
    :param finished: whether the target has `</s>`.
    :return: rows that sum to 1, shape [target + finished, source + 1]; `</s>` belongs to `</s>`.
    """
    matrix = torch.zeros(target + finished, source + 1)
    logs = torch.from_numpy(diagonal_logs(target, source))
    matrix[:target, :source] = torch.softmax(logs, dim=1)
    matrix[target:, source:] = 1.0
    if not source:
        matrix[:, 0] = 1.0
    return matrix


def with_translations(
    matrix: Tensor,
    src: Sequence[str],
    tgt: Sequence[str],
    model: LoadedModel,
    table: TranslationTable,
) -> Tensor:
    """Return an alignment of tokens whose rows of target tokens are w_ij.

    :param matrix: alpha_ij, `</s>` the last column and, if the target is finished, the last row.
    """
    weights = matrix.clone()
    attention = matrix[: len(tgt)].numpy()
    ids = PairIds.of(src, tgt, model)
    weights[: len(tgt)] = torch.from_numpy(link_weights(attention, ids, table))
    return weights


def link_weights(attention: Weights, ids: PairIds, table: TranslationTable) -> Weights:
    """Return w_ij of a pair; rows sum to 1. Shape: [T_y, T_x], `</s>` of the target left out."""
    known = np.maximum(table.matrix(*ids), MIN_TRANSLATION).astype(np.float32)
    weights = np.power(attention, ATTENTION_EXPONENT) * known
    normalized: Weights = weights / weights.sum(1, keepdims=True)
    return normalized
