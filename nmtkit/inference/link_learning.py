"""Links that take the target word itself into account: attention beside word translations.

Attention looks at the source before the target word is known (Bahdanau et al. 2015, eq. (6)), so
that alone it links poorly. Over many pairs, the words that are linked to a source word say how
likely each translation is. As in the models of Brown et al. 1993, with the attention in place of
their prior, the weight of source word j for target word i becomes

    w_ij = alpha_ij^a t(y_i | x_j) / sum_j' alpha_ij'^a t(y_i | x_j')

where t(y | x) is the share of y among all weights of x, from the round before: at first from alpha
itself. `</s>` of the source takes the words that nothing translates.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nmtkit.inference.scorer import Score
from nmtkit.model_folder import LoadedModel
from nmtkit.special_symbols import EOS
from nmtkit.text.link_cells import Ids, LinkCells, PriorLinks, Weights, shares
from nmtkit.text.translation_table import TranslationTable

ROUNDS = 3
"""Default number of rounds of estimation."""

ATTENTION_EXPONENT = 0.5
"""a: attention is less certain than it seems."""

MIN_TRANSLATION = 1e-6
"""t(y | x) of words that have not been met together."""

MAX_CELLS = 20_000_000
"""Pairs of positions to learn from; each takes 20 bytes."""


class PairIds(NamedTuple):
    """Ids of the tokens of a pair; `</s>` is the last of the source, and is not in the target."""

    src: Ids
    tgt: Ids

    @classmethod
    def of(cls, src: Sequence[str], tgt: Sequence[str], model: LoadedModel) -> "PairIds":
        """Return the ids of tokens."""
        src_ids, tgt_ids = [*model.src_vocab.ids(src), EOS], model.tgt_vocab.ids(tgt)
        return cls(np.array(src_ids, np.int64), np.array(tgt_ids, np.int64))


def learn_links(
    scores: Iterable[Score], model: LoadedModel, rounds: int = ROUNDS
) -> tuple[TranslationTable, Iterator[Score]]:
    """Learn p(target | source) from scored pairs, and return it with all of them.

    :param scores: with alignments; read until they have `MAX_CELLS` pairs of positions.
    """
    scores = iter(scores)
    read = list(_until_full(scores))
    cells = LinkCells.of((_prior_links(score, model) for score in read), len(model.tgt_vocab))
    weights = np.power(cells.prior, 1 / ATTENTION_EXPONENT)  # alpha_ij
    for _ in range(rounds - 1):
        translations = shares(cells.counts(weights), cells.sources)
        weights = cells.weights(np.maximum(translations, MIN_TRANSLATION))
    translations = shares(cells.counts(weights), cells.sources)
    table = TranslationTable(cells.keys, translations, cells.tgt_words)
    return table, chain(read, scores)


def _prior_links(score: Score, model: LoadedModel) -> PriorLinks:
    """Return the ids of a pair, and alpha_ij^a."""
    assert score.alignment is not None
    ids = PairIds.of(score.src_tokens, score.tgt_tokens, model)
    attention = score.alignment[: len(ids.tgt)].numpy()
    return PriorLinks(*ids, np.power(attention, ATTENTION_EXPONENT))


def _until_full(scores: Iterable[Score]) -> Iterator[Score]:
    """Yield scores until they have `MAX_CELLS` pairs of positions."""
    number = 0
    for score in scores:
        yield score
        number += (len(score.src_tokens) + 1) * len(score.tgt_tokens)
        if number >= MAX_CELLS:
            return


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
