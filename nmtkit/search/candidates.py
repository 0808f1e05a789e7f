"""The next words where each sentence chooses from a list of its own (Jean et al. 2015).

The probabilities are those of a softmax over the list: what the other words would have had is
shared out among the candidates.
"""

import copy
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from nmtkit.models.base import OutputLayer
from nmtkit.search.model_averaging import EQUAL, FIRST, ModelAveraging
from nmtkit.search.next_token import Expansions, TokenMask, ordered

NONE = -1
"""Stands in a list behind its last word."""


class CandidateScorer:
    """The distribution of the next word over candidates; it is used as `NextTokenScorer` is.

    :param layers: the output layer of each model.
    :param lists: words of each sentence in rising order, `</s>` and `<unk>` the first of them,
        `NONE` behind the last. Shape: [B, C].
    :param averaging: how the models are averaged.
    """

    def __init__(
        self, layers: Sequence[OutputLayer], lists: Tensor, averaging: ModelAveraging = EQUAL
    ) -> None:
        self._average = averaging if len(layers) > 1 else FIRST
        self._words = lists.clamp(min=0)
        self._layers = [layer.for_candidates(lists) for layer in layers]

    def select(self, rows: Tensor) -> "CandidateScorer":
        """The same for some of the sentences."""
        some = copy.copy(self)
        some._words = self._words[rows]
        some._layers = [layer.select(rows) for layer in self._layers]
        return some

    def best(
        self, hidden: Sequence[Tensor], scores: Tensor, count: int, forbidden: TokenMask
    ) -> Expansions:
        """The best continuations of each sentence's hypotheses; see `NextTokenScorer.best`."""
        log_probs = self._log_probs(hidden)
        forbidden.apply(log_probs)
        totals = log_probs.view(*scores.shape, -1).to(scores.dtype) + scores.unsqueeze(2)
        best = totals.flatten(1).topk(min(count, totals[0].numel()), dim=1)
        parents = best.indices.div(totals.size(2), rounding_mode="floor")
        words = self.words_at(best.indices - parents * totals.size(2))
        return ordered(best.values, parents, words)

    def distributions(self, hidden: Sequence[Tensor]) -> Iterator[tuple[slice, Tensor]]:
        """The distributions over lists, all at once; see `NextTokenScorer.distributions`."""
        log_probs = self._log_probs(hidden)
        yield slice(0, len(log_probs)), log_probs

    def words_at(self, columns: Tensor) -> Tensor:
        """The words that these columns of a distribution stand for. Shape: [B, k]."""
        return self._words.gather(1, columns)

    def _log_probs(self, hidden: Sequence[Tensor]) -> Tensor:
        """The mean of the models' log-probabilities, -inf behind the last candidate.

        :param hidden: readouts of each model. Shape: [B, k, l].
        :return: Shape: [B * k, C].
        """
        logits = [layer.logits(of) for layer, of in zip(self._layers, hidden, strict=True)]
        return self._average([torch.log_softmax(of, dim=2).flatten(0, 1) for of in logits])
