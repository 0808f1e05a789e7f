"""The next words: the softmax that every model ends in, or the mean of several, and its best.

The logits of a step are the largest tensors of search by far, and the product that makes them is
most of its work. So they are made for some words at a time, a tile that stays in a processor's
cache, and only for hypotheses that live. Of a tile remain its share of the normaliser and the
largest of every `BLOCK` words. Whatever is among the best c continuations of a sentence lies in
one of its c best blocks: each better block holds a better word. So of those blocks alone the words
are looked at, and nothing is ever sorted.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nmtkit.models.base import OutputLayer
from nmtkit.search.model_averaging import EQUAL, FIRST, ModelAveraging
from nmtkit.special_symbols import EOS, UNK

BLOCK = 16
"""Words of which the largest log-probability is kept."""

GROUP = 1024
"""Words, and so GROUP / BLOCK blocks, that lie together: block j of a group has its words j,
j + 64, j + 128, ... which makes the maxima element-wise over long rows. Tiles are whole groups."""

TILE = GROUP
"""Words of a tile on a processor."""

FEW_ROWS = 256
"""Hypotheses for which tiles twice as wide stay in a processor's cache."""

ROUND = 32
"""Hypotheses are looked at by so many, as a product of a number of rows that is new is prepared
first, which takes as long as the product."""

ROOM = 1 << 20
"""Logits held at a time on a processor where no tiles can be made: 4 MB in float32."""

DEVICE_ROOM = 1 << 28
"""The same on other devices, which have memory but no such cache."""


class Expansions(NamedTuple):
    """Hypotheses longer by one word, best first.

    scores: log p, the new word's included; -inf where there are too few. Shape: [B, c].
    parents: the slot of the hypothesis that is continued. Shape: [B, c].
    words: the new word, `</s>` where there is none. Shape: [B, c].
    """

    scores: Tensor
    parents: Tensor
    words: Tensor


class TokenMask(NamedTuple):
    """Words that are not to be chosen. What is left is not renormalised.

    eos: whose next word must not be `</s>`. Shape: [B, k], bool.
    unk: whether `<unk>` is forbidden everywhere.
    """

    eos: Tensor
    unk: bool

    def of(self, rows: Tensor | slice) -> "TokenMask":
        """The same for some of the B * k hypotheses. Shape of `eos`: [number of rows]."""
        return TokenMask(self.eos.flatten()[rows], self.unk)

    def apply(self, log_probs: Tensor) -> Tensor:
        """Give the forbidden words -inf, in place.

        :param log_probs: of `</s>`, `<unk>` and other words. Shape: [r, K].
        """
        log_probs[:, EOS].masked_fill_(self.eos.flatten(), -torch.inf)
        if self.unk:
            log_probs[:, UNK] = -torch.inf
        return log_probs


class NextTokenScorer:
    """The distribution of the next word, of one model or the mean of several.

    :param layers: the output layer of each model.
    :param averaging: how the models are averaged.
    :param rows: hypotheses that are usually asked for together.
    """

    def __init__(
        self, layers: Sequence[OutputLayer], averaging: ModelAveraging = EQUAL, rows: int = FEW_ROWS
    ) -> None:
        self._layers, self._average = layers, averaging if len(layers) > 1 else FIRST
        self._words = len(layers[0].bias)
        on_cpu = layers[0].bias.device.type == "cpu"
        self._room = ROOM if on_cpu else DEVICE_ROOM
        width = TILE * (1 if rows > FEW_ROWS else 2) if on_cpu else self._words
        self._tiles = [layer.shards(width, GROUP) for layer in layers]

    def best(
        self, hidden: Sequence[Tensor], scores: Tensor, count: int, forbidden: TokenMask
    ) -> Expansions:
        """The best continuations of each sentence's hypotheses.

        Equals are in the order of hypotheses in the beam, then of words in the vocabulary.

        :param hidden: readouts of each model. Shape: [B, k, l].
        :param scores: log p of the hypotheses, -inf in slots that hold none. Shape: [B, k].
        :param count: c; fewer come back only where there are fewer words altogether.
        """
        rows = _live_rows(scores)
        live = [values.flatten(0, 1).index_select(0, rows) for values in hidden]
        allowed = forbidden.of(rows)
        maxima, totals = self._maxima(live, allowed)
        if count == 1 and scores.size(1) == 1 and len(rows) == len(scores):
            return self._best_one(live, scores, maxima, totals, allowed)
        blocks = scores.new_full((scores.numel(), maxima.size(1)), -torch.inf)
        blocks[rows] = maxima.to(scores.dtype) + scores.flatten()[rows].unsqueeze(1)
        blocks = blocks.view(len(scores), -1)
        chosen = blocks.topk(min(count, blocks.size(1)), dim=1, sorted=False).indices
        parents = chosen.div(maxima.size(1), rounding_mode="floor")  # [B, c]
        words = _words_of(chosen % maxima.size(1))  # [B, c, BLOCK]
        places = _places(rows, scores).gather(1, parents).flatten()  # among the live
        log_probs = self._log_probs_of(words.flatten(0, 1), live, totals, places)
        _forbid(log_probs, words.flatten(0, 1), allowed.of(places))
        values = log_probs.view_as(words).to(scores.dtype)
        values = values + scores.gather(1, parents).unsqueeze(2)
        return _best_of(values, parents.unsqueeze(2).expand_as(words), words, count)

    def _best_one(
        self,
        hidden: list[Tensor],
        scores: Tensor,
        maxima: Tensor,
        totals: list[Tensor],
        forbidden: TokenMask,
    ) -> Expansions:
        """`best`, of one hypothesis a sentence the one continuation: of its best block the first
        best word."""
        words = _words_of(maxima.argmax(1))  # [B, BLOCK]
        log_probs = self._log_probs_of(words, hidden, totals, None)
        _forbid(log_probs, words, forbidden)
        values, columns = log_probs.max(1, keepdim=True)
        values = values.to(scores.dtype) + scores
        words = words.gather(1, columns).masked_fill_(values == -torch.inf, EOS)
        return Expansions(values, torch.zeros_like(words), words)

    def distributions(self, hidden: Sequence[Tensor]) -> Iterator[tuple[slice, Tensor]]:
        """The mean of the models' log-probabilities, for some rows after the others.

        :param hidden: readouts of each model. Shape: [B, k, l].
        :return: rows of B * k and their log-probabilities [r, K], -inf beyond the last word.
        """
        rows = [values.flatten(0, 1) for values in hidden]
        for part in self._parts(len(rows[0])):
            found = [self._whole_softmax(n, values[part])[0] for n, values in enumerate(rows)]
            yield part, self._average(found)

    def select(self, rows: Tensor) -> "NextTokenScorer":
        """The same for some of the sentences: all have the same words."""
        return self

    def words_at(self, columns: Tensor) -> Tensor:
        """The words that these columns of a distribution stand for. Shape: [B, k]."""
        return columns

    def _parts(self, rows: int) -> Iterator[slice]:
        """So many rows in parts, each of which has room for all its log-probabilities."""
        step = max(1, self._room // self._words)
        for start in range(0, rows, step):
            yield slice(start, min(start + step, rows))

    def _maxima(self, hidden: list[Tensor], forbidden: TokenMask) -> tuple[Tensor, list[Tensor]]:
        """The largest log p of each block [r, K / BLOCK]; each model's log normalisers [r]."""
        if len(hidden) == 1:
            return self._maxima_by_tiles(hidden[0], forbidden)
        parts = []
        for part in self._parts(len(hidden[0])):
            found = [self._whole_softmax(n, values[part]) for n, values in enumerate(hidden)]
            log_probs = forbidden.of(part).apply(self._average([values for values, _ in found]))
            parts.append((_largest_of_blocks(log_probs), *(total for _, total in found)))
        maxima, *totals = (torch.cat(column) for column in zip(*parts, strict=True))
        return maxima, totals

    def _maxima_by_tiles(self, hidden: Tensor, forbidden: TokenMask) -> tuple[Tensor, list[Tensor]]:
        """`_maxima` of one model, whose normaliser may be known last."""
        maxima, totals = [], []
        for number, tile in enumerate(self._tiles[0]):
            log_probs, total = _softmax(tile.logits(hidden))
            if number == 0:
                forbidden.apply(log_probs)
            maxima.append(_largest_of_blocks(log_probs).add_(total.unsqueeze(1)))
            totals.append(total)
        whole = torch.stack(totals).logsumexp(0)
        return torch.cat(maxima, dim=1).sub_(whole.unsqueeze(1)), [whole]

    def _whole_softmax(self, model: int, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """One model's log-probabilities of all words, and its log normalisers."""
        logits = [tile.logits(hidden) for tile in self._tiles[model]]
        return _softmax(torch.cat(logits, dim=1) if len(logits) > 1 else logits[0])

    def _log_probs_of(
        self, words: Tensor, hidden: list[Tensor], totals: list[Tensor], places: Tensor | None
    ) -> Tensor:
        """Log p of single words.

        :param words: Shape: [n, w].
        :param hidden: readouts of each model. Shape: [r, l].
        :param totals: log normalisers of each model. Shape: [r].
        :param places: whose next words these may be, of r. Shape: [n].
        :return: Shape: [n, w].
        """
        found = []
        some = words.clamp(max=self._words - 1)
        for layer, values, total in zip(self._layers, hidden, totals, strict=True):
            if places is not None:
                values, total = values[places], total[places]
            logits = layer.logits_of(values, some)
            found.append(logits - total.unsqueeze(1))
        log_probs = self._average(found)
        # Added, so that what is no number stays none.
        beyond = torch.zeros_like(log_probs).masked_fill_(words >= self._words, -torch.inf)
        return log_probs.add_(beyond)


def _softmax(logits: Tensor) -> tuple[Tensor, Tensor]:
    """The log-probabilities [r, w], in the place of the logits, and the log normalisers [r]."""
    first = logits[:, 0].clone()
    log_probs = torch.log_softmax(logits, dim=1, out=logits)
    return log_probs, first - log_probs[:, 0]


def _live_rows(scores: Tensor) -> Tensor:
    """Which of the B * k slots to look at: those that hold a hypothesis, and as many others as make
    the number round. On other devices all, as asking would wait."""
    live = (scores > -torch.inf).flatten()
    size = live.numel()
    if live.device.type == "cpu":
        size = min(size, -(-int(live.sum()) // ROUND) * ROUND)
    if size == live.numel():
        return torch.arange(size, device=live.device)
    return live.to(torch.uint8).argsort(descending=True, stable=True)[:size].sort().values


def _places(rows: Tensor, scores: Tensor) -> Tensor:
    """For each slot the number among `rows` that it has, 0 where it has none. Shape: [B, k]."""
    places = rows.new_zeros(scores.numel())
    places[rows] = torch.arange(len(rows), device=rows.device)
    return places.view_as(scores)


def _largest_of_blocks(values: Tensor) -> Tensor:
    """The maximum of each block of words. [r, words] to [r, words / BLOCK]."""
    return values.view(len(values), -1, BLOCK, GROUP // BLOCK).amax(2).flatten(1)


def _words_of(blocks: Tensor) -> Tensor:
    """The words of blocks. [...] to [..., BLOCK]."""
    apart = GROUP // BLOCK
    group = blocks.div(apart, rounding_mode="floor")
    inside = torch.arange(0, GROUP, apart, device=blocks.device)
    return (blocks + group * (GROUP - apart)).unsqueeze(-1) + inside


def _forbid(log_probs: Tensor, words: Tensor, forbidden: TokenMask) -> None:
    """Give forbidden words -inf, in place. Shape of words and values: [n, w]; of `eos`: [n]."""
    log_probs.masked_fill_((words == EOS) & forbidden.eos.unsqueeze(1), -torch.inf)
    if forbidden.unk:
        log_probs.masked_fill_(words == UNK, -torch.inf)


def _best_of(scores: Tensor, parents: Tensor, words: Tensor, count: int) -> Expansions:
    """The `count` best, in order. Shapes: [B, c, BLOCK]."""
    best = scores.flatten(1).topk(min(count, words.size(1) * BLOCK), dim=1)
    parents, words = (field.flatten(1).gather(1, best.indices) for field in (parents, words))
    return ordered(best.values, parents, words)


def ordered(scores: Tensor, parents: Tensor, words: Tensor) -> Expansions:
    """Continuations, best first already, with equals brought into order. Shapes: [B, c]."""
    if scores.size(1) > 1:
        order = (parents * (1 << 32) + words).argsort(dim=1)
        ranks = scores.gather(1, order).argsort(dim=1, descending=True, stable=True)
        order = order.gather(1, ranks)
        scores, parents, words = (field.gather(1, order) for field in (scores, parents, words))
    return Expansions(scores, parents, words.masked_fill(scores == -torch.inf, EOS))
