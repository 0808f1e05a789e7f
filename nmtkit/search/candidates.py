"""Next tokens from a candidate list for each sentence (Jean et al. 2015).

The softmax is over the list, so the candidates share the probability of all other tokens.
"""

import copy
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from nmtkit.models.base import OutputLayer
from nmtkit.search.expansions import Expansions, sort_ties
from nmtkit.search.model_averaging import EQUAL_WEIGHTS, FIRST, ModelAveraging
from nmtkit.search.search_settings import TokenMask
from nmtkit.search.token_blocks import GROUP_TOKENS
from nmtkit.special_symbols import BOS

PADDING = -1
"""Value that pads candidate lists to the length of the longest."""


class CandidateScorer:
    """The next-token distribution over candidate lists; used like `NextTokenScorer`.

    vocabulary_size: K.

    :param layers: the output layer of each model.
    :param candidates: tokens of each sentence in ascending order, `</s>` and `<unk>` first, padded
        with `PADDING`. Shape: [B, C].
    :param averaging: how the models' probabilities are averaged.
    """

    def __init__(
        self,
        layers: Sequence[OutputLayer],
        candidates: Tensor,
        averaging: ModelAveraging = EQUAL_WEIGHTS,
    ) -> None:
        self._average = averaging if len(layers) > 1 else FIRST
        self._tokens = candidates.clamp(min=0)
        self.vocabulary_size = len(layers[0].bias)
        self._layers = [layer.for_candidates(candidates) for layer in layers]

    def select(self, rows: Tensor) -> "CandidateScorer":
        """Keep the candidate lists of some sentences."""
        selected = copy.copy(self)
        selected._tokens = self._tokens[rows]
        selected._layers = [layer.select(rows) for layer in self._layers]
        return selected

    def best(
        self, readouts: Sequence[Tensor], scores: Tensor, count: int, mask: TokenMask
    ) -> Expansions:
        """Find the best expansions of each sentence; see `NextTokenScorer.best`."""
        log_probs = self.mask_of_columns(mask).apply(self._log_probs(readouts))
        totals = log_probs.view(*scores.shape, -1).to(scores.dtype) + scores.unsqueeze(2)
        best = totals.flatten(1).topk(min(count, totals[0].numel()), dim=1)  # [B, c]
        parents = best.indices.div(totals.size(2), rounding_mode="floor")
        tokens = self.tokens_at(best.indices - parents * totals.size(2))
        return sort_ties(best.values, parents, tokens)

    def best_tokens(
        self, readouts: Sequence[Tensor], count: int, mask: TokenMask
    ) -> tuple[Tensor, Tensor]:
        """Return the best tokens after each hypothesis; see `NextTokenScorer.best_tokens`."""
        log_probs = self.mask_of_columns(mask).apply(self._log_probs(readouts))  # [B * k, C]
        values, columns = log_probs.topk(min(count, log_probs.size(1)), dim=1)
        by_sentence = columns.view(len(self._tokens), -1)
        return values, self.tokens_at(by_sentence).view_as(columns)

    def distributions(self, readouts: Sequence[Tensor]) -> Iterator[tuple[slice, Tensor]]:
        """Yield all distributions at once; see `NextTokenScorer.distributions`."""
        log_probs = self._log_probs(readouts)
        yield slice(0, len(log_probs)), log_probs

    def log_probs(self, readouts: Sequence[Tensor]) -> Iterator[tuple[slice, Tensor]]:
        """Yield `distributions` over the whole vocabulary, -inf for other tokens. [r, K]."""
        log_probs = self._over_tokens(readouts, self.vocabulary_size)
        yield slice(0, len(log_probs)), log_probs

    def active_log_probs(
        self, readouts: Sequence[Tensor], scores: Tensor
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield those of all hypotheses; see `NextTokenScorer.active_log_probs`."""
        width = -(-self.vocabulary_size // GROUP_TOKENS) * GROUP_TOKENS
        yield (
            torch.arange(scores.numel(), device=scores.device),
            self._over_tokens(readouts, width),
        )

    def _over_tokens(self, readouts: Sequence[Tensor], width: int) -> Tensor:
        """Return log p of tokens below `width`, -inf for all but candidates. [B * k, width]."""
        values = self._log_probs(readouts)
        columns = self._tokens.repeat_interleave(readouts[0].size(1), dim=0)  # [B * k, C]
        log_probs = values.new_full((len(values), width), -torch.inf)
        return log_probs.scatter_reduce_(1, columns, values, "amax")

    def tokens_at(self, columns: Tensor) -> Tensor:
        """Return the tokens in these columns of a distribution. Shape: [B, k]."""
        return self._tokens.gather(1, columns)

    def mask_of_columns(self, mask: TokenMask) -> TokenMask:
        """Return a mask whose `repeats` are columns; see `NextTokenScorer.mask_of_columns`."""
        if mask.repeats is None:
            return mask
        repeats = mask.repeats.flatten(1)  # [B, k * m]
        known = self._tokens.cummax(1).values  # ascending, also where padding is 0
        columns = torch.searchsorted(known, repeats).clamp(max=known.size(1) - 1)
        columns = columns.where(known.gather(1, columns) == repeats, BOS)
        return mask._replace(repeats=columns.view_as(mask.repeats))

    def _log_probs(self, readouts: Sequence[Tensor]) -> Tensor:
        """Compute the models' mean log-probabilities, -inf at padding.

        :param readouts: of each model. Shape: [B, k, l].
        :return: Shape: [B * k, C].
        """
        pairs = zip(self._layers, readouts, strict=True)
        logits = [layer.logits(readout) for layer, readout in pairs]  # [B, k, C]
        return self._average([torch.log_softmax(values, dim=2).flatten(0, 1) for values in logits])
