"""The next-token distribution of a model or an ensemble, and the best expansions by it.

The logits of a step are by far the largest tensors of search, and computing them is most of its
work. So they are computed for a shard of the vocabulary at a time, which stays in the CPU's cache,
and only for active hypotheses. Two results are kept of each shard: its part of the normaliser, and
the maximum of every block of `BLOCK_TOKENS` tokens. The best c expansions of a sentence lie in its
c best blocks, because each better block holds a better token. So only the tokens of those blocks
are scored again, and the vocabulary is never sorted.

For a line that is translated alone all this saves nothing: its few rows of logits fit in the cache,
and each of the many small operations costs more than its arithmetic. There the logits are computed
at once, and each hypothesis keeps its c best tokens.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from nmtkit.models.base import LogitLayer, OutputLayer, TranslationModel
from nmtkit.models.search_state import EncodedSource, SearchState
from nmtkit.search.expansions import Expansions, sort_ties, top_expansions
from nmtkit.search.model_averaging import EQUAL_WEIGHTS, FIRST, ModelAveraging
from nmtkit.search.search_settings import TokenMask
from nmtkit.search.token_blocks import GROUP_TOKENS, block_tokens, maxima_of_blocks
from nmtkit.special_symbols import EOS

if TYPE_CHECKING:
    from nmtkit.search.candidates import CandidateScorer

SHARD_TOKENS = GROUP_TOKENS
"""Tokens of a shard on a CPU; shards are whole groups."""

MAX_ROWS_OF_WIDE_SHARDS = 256
"""Number of hypotheses up to which shards of twice the width stay in the CPU's cache."""

FEW_ROWS = 16
"""Number of hypotheses up to which the whole vocabulary is scored at once."""

ROW_MULTIPLE = 32
"""The number of hypotheses is rounded up to a multiple of this, because oneDNN prepares a kernel
for each new number of rows, which takes as long as the product."""

MAX_LOGITS = 1 << 20
"""Logits held at a time on a CPU where shards cannot be used: 4 MB in float32."""

MAX_LOGITS_ON_DEVICE = 1 << 28
"""Logits held at a time on a GPU, which has memory but no such cache."""


def scorer_of(
    layers: Sequence[OutputLayer], candidates: Tensor | None, averaging: ModelAveraging
) -> "NextTokenScorer | CandidateScorer":
    """Return a scorer over the candidates of each sentence, or the whole vocabulary without any."""
    if candidates is None:
        return NextTokenScorer(layers, averaging)
    from nmtkit.search.candidates import CandidateScorer  # rarely needed: start-up

    return CandidateScorer(layers, candidates, averaging)


def initial_states(
    models: Sequence[TranslationModel], encoded: Sequence[EncodedSource]
) -> list[SearchState]:
    """Return each model's state before the first target position."""
    return [model.initial_state(source) for model, source in zip(models, encoded, strict=True)]


def predict(
    models: Sequence[TranslationModel],
    tokens: Tensor,
    states: Sequence[SearchState],
    encoded: Sequence[EncodedSource],
) -> tuple[list[Tensor], list[SearchState], Tensor | None]:
    """Decode one target position with every model.

    :param tokens: the last token of each hypothesis. Shape: [B, k].
    :return: each model's readouts [B, k, l], which predict the next token, and its state; the first
        model's alignment [B, k, T_x], or None.
    """
    steps = [
        model.step(tokens, state, source)
        for model, state, source in zip(models, states, encoded, strict=True)
    ]
    alignment = steps[0].alignment
    return [step.readout for step in steps], [step.state for step in steps], alignment


class NextTokenScorer:
    """The next-token distribution of one model, or the mean of several.

    vocabulary_size: K.

    :param layers: the output layer of each model.
    :param averaging: how the models' probabilities are averaged.
    :param rows: typical number of hypotheses.
    """

    def __init__(
        self,
        layers: Sequence[OutputLayer],
        averaging: ModelAveraging = EQUAL_WEIGHTS,
        rows: int = MAX_ROWS_OF_WIDE_SHARDS,
    ) -> None:
        self._layers, self._average = layers, averaging if len(layers) > 1 else FIRST
        self.vocabulary_size = len(layers[0].bias)
        on_cpu = layers[0].bias.device.type == "cpu"
        self._max_logits = MAX_LOGITS if on_cpu else MAX_LOGITS_ON_DEVICE
        width = SHARD_TOKENS * (1 if rows > MAX_ROWS_OF_WIDE_SHARDS else 2)
        self._width = width if on_cpu else self.vocabulary_size
        self._shards_by_width: dict[tuple[int, bool], list[Sequence[LogitLayer]]] = {}

    def best(
        self, readouts: Sequence[Tensor], scores: Tensor, count: int, mask: TokenMask
    ) -> Expansions:
        """Find the best expansions of each sentence's hypotheses.

        Ties are broken by the order of hypotheses in the beam, then by token id.

        :param readouts: of each model. Shape: [B, k, l].
        :param scores: log p of the hypotheses, -inf in unused slots. Shape: [B, k].
        :param count: c; fewer are returned only if fewer exist.
        """
        if scores.numel() <= FEW_ROWS:
            return self._best_of_few(readouts, scores, count, mask)
        rows = _active_rows(scores)
        active = [values.flatten(0, 1).index_select(0, rows) for values in readouts]  # [r, l]
        allowed = mask.select(rows)
        maxima, log_z = self._block_maxima(active, allowed)
        if count == 1 and scores.size(1) == 1 and len(rows) == len(scores):
            return self._best_one(active, scores, maxima, log_z, allowed)
        blocks = scores.new_full((scores.numel(), maxima.size(1)), -torch.inf)
        blocks[rows] = maxima.to(scores.dtype) + scores.flatten()[rows].unsqueeze(1)
        blocks = blocks.view(len(scores), -1)  # [B, k * blocks]
        chosen = blocks.topk(min(count, blocks.size(1)), dim=1, sorted=False).indices
        parents = chosen.div(maxima.size(1), rounding_mode="floor")  # [B, c]
        tokens = block_tokens(chosen % maxima.size(1))  # [B, c, BLOCK_TOKENS]
        positions = _positions(rows, scores).gather(1, parents).flatten()  # among active rows
        flat = tokens.flatten(0, 1)  # [B * c, BLOCK_TOKENS]
        log_probs = self._token_log_probs(flat, active, log_z, positions)
        allowed.select(positions).apply_at(log_probs, flat)
        values = log_probs.view_as(tokens).to(scores.dtype)
        values = values + scores.gather(1, parents).unsqueeze(2)
        return top_expansions(values, parents.unsqueeze(2).expand_as(tokens), tokens, count)

    def _best_of_few(
        self, readouts: Sequence[Tensor], scores: Tensor, count: int, mask: TokenMask
    ) -> Expansions:
        """Find the best expansions of few hypotheses: the best of each one's best tokens."""
        best, best_tokens = self.best_tokens(readouts, count, mask)
        totals = best.view(*scores.shape, -1).to(scores.dtype) + scores.unsqueeze(2)
        tokens = best_tokens.view(len(scores), -1)  # [B, k * c]
        top = totals.flatten(1).topk(min(count, tokens.size(1)), dim=1)
        parents = top.indices.div(totals.size(2), rounding_mode="floor")
        return sort_ties(top.values, parents, tokens.gather(1, top.indices))

    def best_tokens(
        self, readouts: Sequence[Tensor], count: int, mask: TokenMask
    ) -> tuple[Tensor, Tensor]:
        """Return the best tokens after each hypothesis, for few hypotheses.

        :param readouts: of each model. Shape: [B, k, l].
        :return: log p and ids of the c best tokens, best first. Shape of each: [B * k, c].
        """
        softmaxes = [
            self._softmax(number, readout.flatten(0, 1), self.vocabulary_size)[0]
            for number, readout in enumerate(readouts)
        ]
        log_probs = mask.apply(self._average(softmaxes))  # [B * k, K]
        values, tokens = log_probs.topk(min(count, log_probs.size(1)), dim=1)
        return values, tokens

    def _best_one(
        self,
        readouts: list[Tensor],
        scores: Tensor,
        maxima: Tensor,
        log_z: list[Tensor],
        mask: TokenMask,
    ) -> Expansions:
        """Find the one best expansion in a beam of 1: the first best token of its best block."""
        tokens = block_tokens(maxima.argmax(1))  # [B, BLOCK_TOKENS]
        log_probs = self._token_log_probs(tokens, readouts, log_z, None)
        mask.apply_at(log_probs, tokens)
        values, columns = log_probs.max(1, keepdim=True)
        values = values.to(scores.dtype) + scores
        tokens = tokens.gather(1, columns).masked_fill_(values == -torch.inf, EOS)
        return Expansions(values, torch.zeros_like(tokens), tokens)

    def distributions(self, readouts: Sequence[Tensor]) -> Iterator[tuple[slice, Tensor]]:
        """Yield the models' mean log-probabilities for some hypotheses at a time.

        :param readouts: of each model. Shape: [B, k, l].
        :return: rows of B * k and their log-probabilities [r, K], -inf beyond the last token.
        """
        rows = [values.flatten(0, 1) for values in readouts]
        width = self.vocabulary_size if len(rows[0]) <= FEW_ROWS else None
        for chunk in self._chunks(len(rows[0])):
            softmaxes = [self._softmax(n, values[chunk], width)[0] for n, values in enumerate(rows)]
            yield chunk, self._average(softmaxes)

    def log_probs(self, readouts: Sequence[Tensor]) -> Iterator[tuple[slice, Tensor]]:
        """Yield `distributions` over the whole vocabulary, [r, K]."""
        for chunk, log_probs in self.distributions(readouts):
            yield chunk, log_probs[:, : self.vocabulary_size]

    def active_log_probs(
        self, readouts: Sequence[Tensor], scores: Tensor
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the log-probabilities of active hypotheses over the whole vocabulary.

        :param readouts, scores: see `best`.
        :return: numbers of some of the B * k hypotheses [r], and their log-probabilities [r, w],
            which may be overwritten; -inf beyond the last token. Each active one comes once;
            others may come, too.
        """
        rows = _active_rows(scores)
        active = [values.flatten(0, 1).index_select(0, rows) for values in readouts]  # [r, l]
        for chunk in self._chunks(len(rows), 2 * self._max_logits):
            parts = (values[chunk] for values in active)
            softmaxes = [
                self._softmax(number, part, self.vocabulary_size)[0]
                for number, part in enumerate(parts)
            ]
            yield rows[chunk], self._average(softmaxes)

    def select(self, rows: Tensor) -> "NextTokenScorer":
        """Return the scorer itself: all sentences share the vocabulary."""
        return self

    def tokens_at(self, columns: Tensor) -> Tensor:
        """Return the tokens in these columns of a distribution. Shape: [B, k]."""
        return columns

    def mask_of_columns(self, mask: TokenMask) -> TokenMask:
        """Return a mask whose `repeats` are columns of a distribution."""
        return mask

    def _chunks(self, rows: int, max_logits: int | None = None) -> Iterator[slice]:
        """Yield slices of the rows whose log-probabilities fit in memory together."""
        step = max(1, (max_logits or self._max_logits) // self.vocabulary_size)
        step = step - step % ROW_MULTIPLE or step
        for start in range(0, rows, step):
            yield slice(start, min(start + step, rows))

    def _block_maxima(self, readouts: list[Tensor], mask: TokenMask) -> tuple[Tensor, list[Tensor]]:
        """Compute the largest log p of each block [r, blocks]; each model's log normalisers [r]."""
        if len(readouts) == 1:
            return self._block_maxima_by_shard(readouts[0], mask)
        parts = []
        for chunk in self._chunks(len(readouts[0])):
            softmaxes = [self._softmax(n, values[chunk]) for n, values in enumerate(readouts)]
            mean = self._average([log_probs for log_probs, _ in softmaxes])
            maxima = maxima_of_blocks(mask.select(chunk).apply(mean))
            parts.append((maxima, *(log_z for _, log_z in softmaxes)))
        maxima, *all_log_z = (torch.cat(column) for column in zip(*parts, strict=True))
        return maxima, all_log_z

    def _block_maxima_by_shard(
        self, readout: Tensor, mask: TokenMask
    ) -> tuple[Tensor, list[Tensor]]:
        """Compute `_block_maxima` of one model, whose normaliser is known only after all shards."""
        maxima, normalizers = [], []
        for number, shard in enumerate(self._shards(self._width, rounded=True)[0]):
            log_probs, shard_log_z = _log_softmax(shard.logits(readout))
            if number == 0:
                mask.apply(log_probs)
            else:
                mask.apply_repeats(log_probs, number * self._width)
            maxima.append(maxima_of_blocks(log_probs).add_(shard_log_z.unsqueeze(1)))
            normalizers.append(shard_log_z)
        log_z = torch.stack(normalizers).logsumexp(0)
        best = torch.cat(maxima, dim=1)
        if self._layers[0].rounds_shards:
            log_z = self._exact_normalizer(log_z, best, readout, mask)
        return best.sub_(log_z.unsqueeze(1)), [log_z]

    def _exact_normalizer(
        self, log_z: Tensor, maxima: Tensor, readout: Tensor, mask: TokenMask
    ) -> Tensor:
        """Put the exact logit of the likeliest token into the normaliser of rounded logits.

        The errors of the others cancel out in the sum. Without it, a logit of 12 in bfloat16 would
        change log p by up to 0.03, and could make it positive.

        :param log_z: of rounded logits. Shape: [r].
        :param maxima: largest rounded logit of each block. Shape: [r, blocks].
        """
        best, blocks = maxima.max(1)
        tokens = block_tokens(blocks)  # [r, BLOCK_TOKENS]
        logits = self._layers[0].logits_of(readout, tokens.clamp(max=self.vocabulary_size - 1))
        logits.masked_fill_(tokens >= self.vocabulary_size, -torch.inf)
        mask.apply_at(logits, tokens)
        share = (best - log_z).exp()  # of the likeliest token, as rounded
        return log_z + torch.log1p(share * torch.expm1(logits.amax(1) - best))

    def _softmax(
        self, model: int, readout: Tensor, width: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Compute one model's log-probabilities of all tokens, and its log normalisers."""
        shards = self._shards(width or self._width)[model]
        logits = [shard.logits(readout) for shard in shards]
        return _log_softmax(torch.cat(logits, dim=1) if len(logits) > 1 else logits[0])

    def _shards(self, width: int, rounded: bool = False) -> list[Sequence[LogitLayer]]:
        """Return each model's output layer, cut into shards of `width` tokens at its first use.

        :param rounded: logits may be rounded, where a layer then computes them faster.
        """
        key = width, rounded and any(layer.rounds_shards for layer in self._layers)
        if key not in self._shards_by_width:
            cut = [layer.shards(width, GROUP_TOKENS, rounded) for layer in self._layers]
            self._shards_by_width[key] = cut
        return self._shards_by_width[key]

    def _token_log_probs(
        self, tokens: Tensor, readouts: list[Tensor], log_z: list[Tensor], rows: Tensor | None
    ) -> Tensor:
        """Compute log p of selected tokens.

        :param tokens: Shape: [n, w].
        :param readouts: of each model. Shape: [r, l].
        :param log_z: log normalisers of each model. Shape: [r].
        :param rows: index of the readout of each row of tokens; None for the same index.
            Shape: [n].
        :return: Shape: [n, w].
        """
        by_model = []
        in_vocabulary = tokens.clamp(max=self.vocabulary_size - 1)
        for layer, readout, normalizer in zip(self._layers, readouts, log_z, strict=True):
            if rows is not None:
                readout, normalizer = readout[rows], normalizer[rows]
            logits = layer.logits_of(readout, in_vocabulary)
            by_model.append(logits - normalizer.unsqueeze(1))
        log_probs = self._average(by_model)
        # -inf is added, not assigned, so that NaN stays NaN.
        beyond = torch.zeros_like(log_probs).masked_fill_(
            tokens >= self.vocabulary_size, -torch.inf
        )
        return log_probs.add_(beyond)


def _log_softmax(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Compute log-probabilities [r, w], overwriting the logits, and log normalisers [r]."""
    first = logits[:, 0].clone()
    log_probs = torch.log_softmax(logits, dim=1, out=logits)
    return log_probs, first - log_probs[:, 0]


def _active_rows(scores: Tensor) -> Tensor:
    """Return the used ones of the B * k slots, rounded up to a multiple of `ROW_MULTIPLE`.

    Unused slots fill the rest. On a GPU all slots are returned, because counting would make the
    host wait.
    """
    active = (scores > -torch.inf).flatten()
    size = active.numel()
    if active.device.type == "cpu":
        size = min(size, -(-int(active.sum()) // ROW_MULTIPLE) * ROW_MULTIPLE)
    if size == active.numel():
        return torch.arange(size, device=active.device)
    return active.to(torch.uint8).argsort(descending=True, stable=True)[:size].sort().values


def _positions(rows: Tensor, scores: Tensor) -> Tensor:
    """Return the position of each slot in `rows`, 0 if it is not in it. Shape: [B, k]."""
    positions = rows.new_zeros(scores.numel())
    positions[rows] = torch.arange(len(rows), device=rows.device)
    return positions.view_as(scores)
