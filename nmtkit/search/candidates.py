"""The next words where each sentence chooses from a list of its own (Jean et al. 2015).

Of a sentence's candidates the rows of the output matrix are put together once, when its search
begins; a step then multiplies with these few rows alone. The probabilities are those of a softmax
over the list: what the other words would have had is shared out among the candidates.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nmtkit.models.base import OutputLayer
from nmtkit.search.words import Continuations, Forbidden, average, ordered

NONE = -1
"""Stands in a list behind its last word."""


class Choice(NamedTuple):
    """The candidates of each sentence, as one model's output layer has them.

    words: in rising order. Shape: [B, C].
    real: False behind the last word of a list. Shape: [B, C].
    W, bias: rows of the output layer. Shapes: [B, C, l], [B, C].
    """

    words: Tensor
    real: Tensor
    W: Tensor
    bias: Tensor

    @classmethod
    def of(cls, layer: OutputLayer, lists: Tensor) -> "Choice":
        """:param lists: words of each sentence, `NONE` behind the last. Shape: [B, C]."""
        words = lists.clamp(min=0)
        return cls(words, lists != NONE, layer.W[words], layer.bias[words])


def choices_of(layers: Sequence[OutputLayer], lists: Tensor | None) -> list[Choice]:
    """The candidates as each model has them; none where sentences may choose from all words."""
    return [] if lists is None else [Choice.of(layer, lists) for layer in layers]


class ListedWords:
    """The distribution of the next word over candidates; it is used as `NextWords` is.

    :param choices: of each model.
    """

    def __init__(self, choices: Sequence[Choice]) -> None:
        self._choices = choices

    def best(
        self, hidden: Sequence[Tensor], scores: Tensor, count: int, forbidden: Forbidden
    ) -> Continuations:
        """The best continuations of each sentence's hypotheses; see `NextWords.best`."""
        log_probs = self._log_probs(hidden)
        forbidden.apply(log_probs)
        totals = log_probs.view(*scores.shape, -1).to(scores.dtype) + scores.unsqueeze(2)
        best = totals.flatten(1).topk(min(count, totals[0].numel()), dim=1)
        parents = best.indices.div(totals.size(2), rounding_mode="floor")
        words = self.words_at(best.indices - parents * totals.size(2))
        return ordered(best.values, parents, words)

    def distributions(self, hidden: Sequence[Tensor]) -> Iterator[tuple[slice, Tensor]]:
        """The distributions over lists, all at once; see `NextWords.distributions`."""
        log_probs = self._log_probs(hidden)
        yield slice(0, len(log_probs)), log_probs

    def words_at(self, columns: Tensor) -> Tensor:
        """The words that these columns of a distribution stand for. Shape: [B, k]."""
        return self._choices[0].words.gather(1, columns)

    def _log_probs(self, hidden: Sequence[Tensor]) -> Tensor:
        """The log of the mean of the models' probabilities, -inf behind the last candidate.

        :param hidden: readouts of each model. Shape: [B, k, l].
        :return: Shape: [B * k, C].
        """
        found = []
        for choice, values in zip(self._choices, hidden, strict=True):
            bias = choice.bias.masked_fill(~choice.real, -torch.inf).unsqueeze(1)
            logits = torch.baddbmm(bias, values, choice.W.transpose(1, 2))
            found.append(torch.log_softmax(logits, dim=2).flatten(0, 1))
        return average(found)
