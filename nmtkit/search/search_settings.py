"""Check the settings of a search, and derive what its loops need: limits, and forbidden tokens."""

import math
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from nmtkit.config import SearchConfig
from nmtkit.config_ranges import MAX_BEAM, MAX_LENGTH_PENALTY, MAX_LENGTH_RATIO
from nmtkit.errors import ConfigError
from nmtkit.special_symbols import BOS, EOS, UNK

Lengths = TypeVar("Lengths", bound=Any)

MIN_STEP_LIMIT = 10
"""Smallest step limit, for the shortest sentences."""

MIN_GROWTH = 2
"""Tokens by which an active hypothesis may grow and still win."""

GROWTH = 0.7
"""Further tokens by which it may grow, times the square root of its length. With 2 and 0.7, 1 of
7,562 searches (beams 5 and 12, two corpora, sentences and paragraphs of up to 190 tokens) ended
before its result; with 2 and 0.5, 2 of them."""

MAX_LOG_PROB = 1e-3
"""Upper limit of log-probabilities, which rounding may lift above 0."""

NOT_A_NUMBER = (
    "the model gives log-probabilities that are not numbers: its parameters are damaged, or its"
    " training diverged; use another checkpoint"
)
"""Message for log-probabilities above `MAX_LOG_PROB`, or that are not numbers."""

NO_ALIGNMENT = (
    "the model has no alignment, which --alignments, --replace-unk and --coverage-penalty need;"
    " leave them out"
)
"""Message for models without attention where alignments are needed."""


class TokenMask(NamedTuple):
    """Tokens that must not be chosen. The others are not renormalised.

    eos: True for hypotheses whose next token must not be `</s>`. Shape: [B, k], bool.
    unk: True if `<unk>` is forbidden everywhere.
    repeats: other tokens that are forbidden, padded with `BOS`. Shape: [B, k, m].
    """

    eos: Tensor
    unk: bool
    repeats: Tensor | None = None

    def select(self, rows: Tensor | slice) -> "TokenMask":
        """Keep some of the B * k hypotheses. Shape of `eos`: [number of rows]."""
        repeats = None if self.repeats is None else self.repeats.flatten(0, -2)[rows]
        return TokenMask(self.eos.flatten()[rows], self.unk, repeats)

    def of_sentences(self, rows: Tensor) -> "TokenMask":
        """Keep some of the B sentences."""
        return TokenMask(
            self.eos[rows], self.unk, None if self.repeats is None else self.repeats[rows]
        )

    def allowing(self, repeats: Tensor) -> "TokenMask":
        """Allow some of `repeats`, where this is True. Shape: [B, k, m] or [B, k, 1]."""
        if self.repeats is None:
            return self
        return self._replace(repeats=self.repeats.masked_fill(repeats, BOS))

    def apply(self, log_probs: Tensor) -> Tensor:
        """Set forbidden tokens to -inf, in place.

        :param log_probs: of `</s>`, `<unk>` and other tokens. Shape: [r, K].
        """
        log_probs[:, EOS].masked_fill_(self.eos.flatten(), -torch.inf)
        if self.unk:
            log_probs[:, UNK] = -torch.inf
        return self.apply_repeats(log_probs)

    def apply_repeats(self, log_probs: Tensor, first: int = 0) -> Tensor:
        """Set `repeats` to -inf, in place.

        :param log_probs: of consecutive tokens, which begin with `first`. Shape: [r, w].
        """
        if self.repeats is None:
            return log_probs
        columns = self.repeats.flatten(0, -2) - first  # [r, m]
        inside = (columns >= 0) & (columns < log_probs.size(1))
        added = log_probs.new_zeros(()).where(~inside, -torch.inf)  # not assigned: NaN stays NaN
        return log_probs.scatter_add_(1, columns.where(inside, 0), added)

    def apply_at(self, log_probs: Tensor, tokens: Tensor) -> None:
        """Set forbidden ones of some tokens to -inf, in place.

        :param log_probs, tokens: of each hypothesis. Shape of each: [r, w].
        """
        log_probs.masked_fill_((tokens == EOS) & self.eos.flatten().unsqueeze(1), -torch.inf)
        if self.unk:
            log_probs.masked_fill_(tokens == UNK, -torch.inf)
        if self.repeats is not None:
            repeated = (tokens.unsqueeze(2) == self.repeats.flatten(0, -2).unsqueeze(1)).any(2)
            log_probs.masked_fill_(repeated, -torch.inf)


NO_HYPOTHESIS = "every word is forbidden or has probability 0; check the vocabulary"
"""Message for a sentence without any hypothesis, finished or not."""


def check_settings(settings: SearchConfig, n_best: int) -> None:
    """Raise an error if a setting is out of range.

    :raises ConfigError: a setting is out of range, or n_best is larger than the beam.
    """
    if not 1 <= settings.beam <= MAX_BEAM:
        raise ConfigError(f"the beam must be from 1 to {MAX_BEAM:,}, not {settings.beam}")
    if not 1 <= n_best <= settings.beam:
        raise ConfigError(
            f"{n_best} translations of each line cannot come from a beam of {settings.beam}, which"
            " keeps as many as it is wide; give a beam of at least that number, or fewer"
            " translations"
            if n_best > 0
            else f"the number of translations of each line must be at least 1, not {n_best}"
        )
    if not 0 <= settings.length_penalty <= MAX_LENGTH_PENALTY:
        raise ConfigError(
            f"the length penalty must be from 0 to {MAX_LENGTH_PENALTY:g}, not"
            f" {settings.length_penalty}"
        )
    if not 0 <= settings.coverage_penalty < float("inf"):
        raise ConfigError(
            f"the coverage penalty must be 0 or more, not {settings.coverage_penalty}"
        )
    if settings.no_repeat_ngram < 0:
        raise ConfigError(
            "the length of n-grams that must not be repeated must be at least 0, not"
            f" {settings.no_repeat_ngram}"
        )
    if not 0 < settings.max_length_ratio <= MAX_LENGTH_RATIO:
        raise ConfigError(
            f"the maximum length ratio must be above 0 and at most {MAX_LENGTH_RATIO:g}, not"
            f" {settings.max_length_ratio}"
        )
    if not 0 <= settings.min_length_ratio <= settings.max_length_ratio:
        raise ConfigError(
            f"the minimum length ratio must be from 0 to the maximum, {settings.max_length_ratio},"
            f" not {settings.min_length_ratio}"
        )


def length_divisor(settings: SearchConfig, lengths: Lengths) -> Lengths:
    """Return the length penalty: n^a, or ((5 + n) / 6)^a of Wu et al. 2016, eq. (14).

    A hypothesis is ranked by its score divided by this number.

    :param lengths: lengths of hypotheses, `</s>` counted: a number or a tensor.
    """
    base: Any = (5 + lengths) / 6 if settings.penalty == "wu" else lengths
    divisor: Lengths = base**settings.length_penalty
    return divisor


def hypotheses_to_rerank(settings: SearchConfig, n_best: int) -> int:
    """Return how many hypotheses to search for before the n best are selected."""
    return settings.beam if settings.coverage_penalty else n_best


def beam_shrinks(settings: SearchConfig) -> bool:
    """Return True if each finished hypothesis makes the beam one narrower."""
    return settings.beam_mode == "shrinking" or settings.beam == 1


def expansions_per_sentence(settings: SearchConfig) -> int:
    """Return how many expansions of a sentence the next step needs.

    Each hypothesis has one expansion by `</s>`, so a beam that keeps its width needs twice as many
    expansions.
    """
    return settings.beam if beam_shrinks(settings) else 2 * settings.beam


def step_limits(src_lengths: Tensor, max_length_ratio: float) -> Tensor:
    """Compute the longest translations, `</s>` counted: max(10, ratio * T_x). [B] to [B], int64."""
    return (src_lengths * max_length_ratio).long().clamp(min=MIN_STEP_LIMIT)


def reachable_lengths(
    steps: Tensor, limits: Tensor, src_lengths: Tensor, settings: SearchConfig
) -> Tensor:
    """Return the length up to which an active hypothesis may still grow and win.

    Its score at that length, if all further tokens cost nothing, bounds what search expects of it.
    With `stop` "exact" that is the step limit. With "early" it is not much longer than now, because
    further tokens do cost something: the scores of a sentence's hypotheses differ by sums over
    tokens, whose spread grows with the square root of the length. But it is at least T_x, so that
    a translation that ends too early does not end search.

    :param steps: t, length of the hypotheses in tokens. Shape: [B].
    :param limits: maximum tokens of a translation. Shape: [B].
    :param src_lengths: T_x, `</s>` counted. Shape: [B].
    :return: Shape: [B], int64 or float.
    """
    if settings.stop == "exact":
        return limits
    near = steps + MIN_GROWTH + GROWTH * steps.sqrt()
    return near.maximum(src_lengths).minimum(limits)


def reachable_length(steps: int, limit: int, src_length: int, settings: SearchConfig) -> float:
    """Compute `reachable_lengths` of one sentence."""
    if settings.stop == "exact":
        return limit
    return min(max(steps + MIN_GROWTH + GROWTH * math.sqrt(steps), src_length), limit)


def min_lengths(src_lengths: Tensor, settings: SearchConfig) -> Tensor:
    """Return the shortest translations, `</s>` counted. [B] to [B], int64.

    A translation is longer than `min_length_ratio` times the source, `</s>` counted in both. With
    0.5 that is the search of RNNsearch's authors (GroundHog, `sample()`), where `</s>` comes after
    floor(T_x / 2) words at the earliest. `</s>` cannot be the first token either, unless the source
    is empty.

    :param src_lengths: T_x, 1 for an empty source. Shape: [B].
    """
    shortest = (src_lengths * settings.min_length_ratio).long() + 1
    limits = step_limits(src_lengths, settings.max_length_ratio)  # reached even if ratios are equal
    return shortest.minimum(limits).clamp(min=2).where(src_lengths > 1, 1)


def mask_tokens(
    steps: Tensor, hypotheses: Tensor, src_lengths: Tensor, settings: SearchConfig
) -> TokenMask:
    """Forbid `</s>` in translations that would be too short, and `<unk>` if the settings say so.

    :param steps: length of the hypotheses in tokens. Shape: [B].
    :param hypotheses: any tensor with their shape. Shape: [B, k].
    :param src_lengths: T_x, 1 for an empty source. Shape: [B].
    """
    too_short = steps + 1 < min_lengths(src_lengths, settings)
    return TokenMask(too_short.unsqueeze(1).expand(hypotheses.shape), settings.forbid_unk)
