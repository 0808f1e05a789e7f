"""The next words: the softmax that every model ends in, or the mean of several, and its best.

The logits of a step are the largest tensors of search by far, and the product that makes them is
most of its work. So they exist for a few hypotheses at a time, in buffers that stay in a
processor's cache; only hypotheses that live have any; and they are never sorted. Of each row the
largest of every `BLOCK` words is taken, which is one quick pass. Whatever is among the best c
continuations of a sentence lies in one of its c best blocks: each better block holds a better
word. So only those c blocks are looked at closely.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from nmtkit.models.base import OutputLayer
from nmtkit.search.hypothesis import EOS, UNK

BLOCK = 32
"""Words of which the largest log-probability is taken first."""

CHUNK = 1 << 20
"""Logits held at a time on a processor: 4 MB in float32."""

DEVICE_CHUNK = 1 << 28
"""The same on other devices, which have memory but no such cache."""


class Continuations(NamedTuple):
    """Hypotheses longer by one word, best first.

    scores: log p, the new word's included; -inf where there are too few. Shape: [B, c].
    parents: the slot of the hypothesis that is continued. Shape: [B, c].
    words: the new word, `</s>` where there is none. Shape: [B, c].
    """

    scores: Tensor
    parents: Tensor
    words: Tensor


class Forbidden(NamedTuple):
    """Words that are not to be chosen. What is left is not renormalised.

    eos: whose next word must not be `</s>`. Shape: [B, k], bool.
    unk: whether `<unk>` is forbidden everywhere.
    """

    eos: Tensor
    unk: bool

    def apply(self, log_probs: Tensor, rows: Tensor | slice) -> None:
        """Give the forbidden words -inf, in place.

        :param log_probs: Shape: [r, K].
        :param rows: the hypotheses, of B * k, that these are.
        """
        log_probs[:, EOS].masked_fill_(self.eos.flatten()[rows], -torch.inf)
        if self.unk:
            log_probs[:, UNK] = -torch.inf


class NextWords:
    """The distribution of the next word, of one model or the mean of several.

    :param layers: the output layer of each model.
    """

    def __init__(self, layers: Sequence[OutputLayer]) -> None:
        self.size = len(layers[0].bias)
        self._layers = [_padded(layer) for layer in layers]
        device = layers[0].bias.device
        self._room = CHUNK if device.type == "cpu" else DEVICE_CHUNK
        self._buffers: list[Tensor] = []

    def chunks(self, hypotheses: int, sentences: int) -> Iterator[slice]:
        """The sentences in parts of which all logits fit in a buffer.

        :param hypotheses: of each sentence.
        """
        step = max(1, self._room // (hypotheses * len(self._layers[0].bias)))
        for start in range(0, sentences, step):
            yield slice(start, min(start + step, sentences))

    def log_probs(self, hidden: Sequence[Tensor]) -> Tensor:
        """The log of the mean of the models' probabilities, -inf beyond the last word.

        It is overwritten by the next call.

        :param hidden: readouts of each model. Shape: [r, l].
        :return: Shape: [r, K rounded up to whole blocks].
        """
        found = []
        for number, (layer, values) in enumerate(zip(self._layers, hidden, strict=True)):
            logits = self._buffer(0, len(values), values)
            torch.addmm(layer.bias, values, layer.W.t(), out=logits)
            log_probs = self._buffer(1 + number, len(values), values)
            found.append(torch.log_softmax(logits, dim=-1, out=log_probs))
        return average(found)

    def best(
        self, hidden: Sequence[Tensor], scores: Tensor, count: int, forbidden: Forbidden
    ) -> Continuations:
        """The best continuations of each sentence's hypotheses.

        Equals are in the order of hypotheses in the beam, then of words in the vocabulary.

        :param hidden: readouts of each model. Shape: [B, k, l].
        :param scores: log p of the hypotheses, -inf in slots that hold none. Shape: [B, k].
        :param count: c; fewer come back only where there are fewer words altogether.
        """
        parts = [
            self._best(
                [values[part] for values in hidden],
                scores[part],
                count,
                forbidden._replace(eos=forbidden.eos[part]),
            )
            for part in self.chunks(scores.size(1), scores.size(0))
        ]
        if len(parts) == 1:
            return parts[0]
        return Continuations(*(torch.cat(field) for field in zip(*parts, strict=True)))

    def _best(
        self, hidden: list[Tensor], scores: Tensor, count: int, forbidden: Forbidden
    ) -> Continuations:
        live = (scores > -torch.inf).flatten()
        rows: Tensor | slice = slice(None)
        places = torch.arange(live.numel(), device=live.device)
        if live.device.type == "cpu" and not bool(live.all()):
            rows, places = live.nonzero().squeeze(1), live.cumsum(0) - 1
        log_probs = self.log_probs([values.flatten(0, 1)[rows] for values in hidden])
        forbidden.apply(log_probs, rows)
        blocks = log_probs.view(len(log_probs), BLOCK, -1)  # word i is in block i mod blocks
        largest = scores.new_full((scores.numel(), blocks.size(2)), -torch.inf)
        largest[rows] = blocks.amax(1).to(scores.dtype)
        largest = (largest.view(*scores.shape, -1) + scores.unsqueeze(-1)).flatten(1)
        chosen = largest.topk(min(count, largest.size(1)), dim=1, sorted=False).indices
        parents = chosen.div(blocks.size(2), rounding_mode="floor")  # [B, c]
        numbers = chosen - parents * blocks.size(2)
        first = torch.arange(len(scores), device=live.device).unsqueeze(1) * scores.size(1)
        values = blocks[places[first + parents].clamp(min=0), :, numbers]  # [B, c, BLOCK]
        totals = values.to(scores.dtype) + scores.gather(1, parents).unsqueeze(-1)
        inside = torch.arange(BLOCK, device=live.device) * blocks.size(2)
        words = numbers.unsqueeze(-1) + inside
        parents = parents.unsqueeze(-1).expand_as(words)
        return _largest(Continuations(totals, parents, words), count)

    def _buffer(self, number: int, rows: int, like: Tensor) -> Tensor:
        while len(self._buffers) <= number:
            self._buffers.append(like.new_empty(0, len(self._layers[0].bias)))
        if len(self._buffers[number]) < rows:
            self._buffers[number] = like.new_empty(rows, len(self._layers[0].bias))
        return self._buffers[number][:rows]


def average(log_probs: Sequence[Tensor]) -> Tensor:
    """The log of the mean of probabilities whose logs are given (Sutskever et al. 2014)."""
    if len(log_probs) == 1:
        return log_probs[0]
    return torch.logsumexp(torch.stack(list(log_probs)), dim=0) - math.log(len(log_probs))


def _largest(found: Continuations, count: int) -> Continuations:
    """The `count` best, in order. Shape of the fields: [B, c, BLOCK]."""
    scores, parents, words = (field.flatten(1) for field in found)
    best = scores.topk(min(count, scores.size(1)), dim=1)
    scores, chosen = best.values, best.indices
    parents, words = parents.gather(1, chosen), words.gather(1, chosen)
    if scores.size(1) > 1:  # equals into their order
        order = (parents * (1 << 32) + words).argsort(dim=1)
        order = order.gather(
            1, scores.gather(1, order).argsort(dim=1, descending=True, stable=True)
        )
        scores, parents, words = (field.gather(1, order) for field in (scores, parents, words))
    return Continuations(scores, parents, words.masked_fill(scores == -torch.inf, EOS))


def _padded(layer: OutputLayer) -> OutputLayer:
    """The layer with words of probability 0 up to a whole number of blocks."""
    more = -len(layer.bias) % BLOCK
    if not more:
        return layer
    bias = functional.pad(layer.bias, (0, more), value=-torch.inf)
    return OutputLayer(functional.pad(layer.W, (0, 0, 0, more)), bias)
