"""Features of sentences and words, from which their confidence is computed.

Blatz et al. 2004 ("Confidence Estimation for Machine Translation") and Specia et al. 2013 (QuEst)
compare many; those of the model itself carry most, as Fomicheva et al. 2020 ("Unsupervised Quality
Estimation for Neural Machine Translation") find. All of these come from one pass of the model over
its translation.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtkit.special_symbols import UNK

Floats = NDArray[np.float64]

SENTENCE_FEATURES = (
    *("mean_log_prob", "rms_log_prob", "min_log_prob", "total_log_prob"),
    *("mean_prob", "share_below_half", "share_below_fifth"),
    *("mean_entropy", "max_entropy", "mean_margin", "min_margin"),
    *("log_length", "log_source_length", "log_ratio", "ratio_distance", "inverse_length"),
    *("coverage", "log_coverage", "excess_coverage", "attention_entropy", "attention_peak"),
    *("unknown_source", "source_rank", "max_source_rank", "target_rank"),
    *("log_characters", "log_character_ratio"),
    *("repeated_bigrams", "tokens_per_word", "copied_words", "changed_numbers", "finished"),
    *("mean_spread", "max_spread", "reverse_log_prob", "min_reverse_log_prob"),
)
"""Names of `sentence_features`, in order; those of what is not there are 0."""

WORD_FEATURES = (
    *("mean_log_prob", "min_log_prob", "mean_prob", "entropy", "margin", "spread"),
    *("attention_entropy", "attention_peak", "attention_to_end", "linked_source_rank"),
    *("previous_log_prob", "next_log_prob", "rank", "tokens", "position", "log_length"),
    *("is_punctuation", "has_digit", "in_source", "is_repeated"),
    *("sentence_log_prob", "sentence_entropy", "coverage", "reverse_log_prob"),
)
"""Names of `word_features`, in order."""

MIN_LOG_PROB = -12.0
"""Smaller log-probabilities count as this one."""

MAX_MARGIN = 10.0

MIN_COVERAGE = 1e-3

MAX_WEIGHTS = 2**22
"""Weights of attention to compute with at a time; a line of 10,000 words has 10^8."""

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class AttentionSummary:
    """What features say of attention alpha_ij; N tokens, and T_x of the source with `</s>`.

    sums: sum_i alpha_ij of each source token. Shape: [T_x].
    entropies: of the weights of each token, in nats. peaks: the largest of them. to_end: that of
        the source's `</s>`. linked: index of the source word with the largest one; 0 if the source
        has no words. Shape of each: [N].
    """

    sums: Floats
    entropies: Floats
    peaks: Floats
    to_end: Floats
    linked: NDArray[np.intp]

    @classmethod
    def of(cls, attention: NDArray[np.floating[Any]]) -> "AttentionSummary":
        """Summarise alpha_ij. Shape: [N, T_x]."""
        rows = max(1, MAX_WEIGHTS // attention.shape[1])
        starts = range(0, len(attention), rows)
        parts = [_attention_statistics(attention[first : first + rows]) for first in starts]
        sums, *by_token = zip(*parts, strict=True)
        return cls(np.sum(sums, 0), *map(np.concatenate, by_token))


def _attention_statistics(
    attention: NDArray[np.floating[Any]],
) -> tuple[Floats, Floats, Floats, Floats, NDArray[np.intp]]:
    """Return the fields of `AttentionSummary` for some of the tokens."""
    weights = attention.astype(np.float64)
    return (
        weights.sum(0),
        -(weights * np.log(np.maximum(weights, 1e-12))).sum(1),
        weights.max(1),
        weights[:, -1].copy(),  # a view would keep all weights
        weights[:, : max(1, weights.shape[1] - 1)].argmax(1),
    )


@dataclass(frozen=True)
class Observation:
    """What models predict where the tokens of a translation stand; N tokens, `</s>` counted.

    log_probs: log p of each token. rivals: log p of the best other token. entropies: in nats.
        Shape of each: [N].
    spread: standard deviation of log p between the models of an ensemble; 0 for one. Shape: [N].
    attention: of the first model; None without attention.
    """

    log_probs: Floats
    rivals: Floats
    entropies: Floats
    spread: Floats
    attention: AttentionSummary | None


@dataclass(frozen=True)
class Text:
    """The tokens and words of a translation and its source.

    src_ids, tgt_ids: ids of tokens, without `</s>`; their order is that of frequency.
    src_words, tgt_words: their words. word_of_token: index of the word of each target token.
    finished: whether the translation has `</s>`.
    """

    src_ids: Sequence[int]
    tgt_ids: Sequence[int]
    src_words: Sequence[str]
    tgt_words: Sequence[str]
    word_of_token: Sequence[int]
    finished: bool


def sentence_features(seen: Observation, text: Text, reverse: Sequence[float] = ()) -> list[float]:
    """Return the features `SENTENCE_FEATURES` of a translation of at least one token.

    :param reverse: log p of each source token given the translation, by a reverse model.
    """
    log_probs = np.maximum(seen.log_probs, MIN_LOG_PROB)
    margins = np.clip(seen.log_probs - seen.rivals, -MAX_MARGIN, MAX_MARGIN)
    length, src_length = len(log_probs), len(text.src_ids) + 1
    ratio = float(np.log(length / src_length))
    back = np.maximum(np.asarray(reverse, float), MIN_LOG_PROB) if len(reverse) else np.zeros(1)
    return [
        log_probs.mean(),
        -float(np.sqrt((log_probs**2).mean())),
        log_probs.min(),
        -float(np.log1p(-log_probs.sum())),
        np.exp(log_probs).mean(),
        (log_probs < np.log(0.5)).mean(),
        (log_probs < np.log(0.2)).mean(),
        seen.entropies.mean(),
        seen.entropies.max(),
        margins.mean(),
        margins.min(),
        float(np.log(length)),
        float(np.log(src_length)),
        ratio,
        abs(ratio),
        1 / length,
        *_attention_features(seen.attention),
        *_frequency_features(text),
        *_character_features(text),
        *_text_features(text),
        seen.spread.mean(),
        seen.spread.max(),
        back.mean(),
        back.min(),
    ]


def word_features(seen: Observation, text: Text, reverse: Sequence[float] = ()) -> Floats:
    """Return the features `WORD_FEATURES` of each word. Shape: [words, features].

    :param reverse: see `sentence_features`.
    """
    n_words, n_tokens = len(text.tgt_words), len(text.tgt_ids)
    if not n_words:
        return np.zeros((0, len(WORD_FEATURES)))
    index = np.asarray(text.word_of_token, np.intp)
    counts = np.maximum(np.bincount(index, minlength=n_words), 1)

    def mean(values: Floats) -> Floats:
        return np.bincount(index, values[:n_tokens], minlength=n_words) / counts

    log_probs = np.maximum(seen.log_probs, MIN_LOG_PROB)
    margins = np.clip(seen.log_probs - seen.rivals, -MAX_MARGIN, MAX_MARGIN)
    lowest = np.zeros(n_words)
    np.minimum.at(lowest, index, log_probs[:n_tokens])
    means = mean(log_probs)
    words = text.tgt_words
    source, before = set(text.src_words), set[str]()
    repeated = []
    for word in words:
        repeated.append(word in before)
        before.add(word)
    columns = [
        means,
        lowest,
        mean(np.exp(log_probs)),
        mean(seen.entropies),
        mean(margins),
        mean(seen.spread),
        *(mean(column) for column in _token_attention(seen, text)),
        np.concatenate([[0.0], means[:-1]]),
        np.concatenate([means[1:], log_probs[n_tokens:][:1], [0.0]])[:n_words],
        mean(np.log1p(np.asarray(text.tgt_ids, float))),
        counts,
        np.arange(n_words) / n_words,
        np.full(n_words, np.log(n_words)),
        [not any(map(str.isalnum, word)) for word in words],
        [any(map(str.isdigit, word)) for word in words],
        [word in source for word in words],
        repeated,
        np.full(n_words, log_probs.mean()),
        np.full(n_words, seen.entropies.mean()),
        np.full(n_words, _attention_features(seen.attention)[0]),
        np.full(n_words, np.mean(np.maximum(reverse, MIN_LOG_PROB)) if len(reverse) else 0.0),
    ]
    return np.column_stack([np.asarray(column, float) for column in columns])


def _attention_features(attention: AttentionSummary | None) -> list[float]:
    """Return coverage, its logarithm, its excess, and the entropy and the peak of attention.

    Coverage is the mean over source tokens of min(1, sum_i alpha_ij): untranslated tokens lower it.
    """
    if attention is None:
        return [0.0] * 5
    sums = attention.sums[:-1] if len(attention.sums) > 1 else np.ones(1)
    return [
        np.minimum(sums, 1).mean(),
        np.log(np.clip(sums, MIN_COVERAGE, 1)).mean(),
        np.maximum(sums - 1, 0).mean(),
        attention.entropies.mean(),
        attention.peaks.mean(),
    ]


def _token_attention(seen: Observation, text: Text) -> list[Floats]:
    """Return entropy and peak of each token's attention, and two properties of the source.

    They are the weight of the source's end, and the rank of the token with the largest weight.
    """
    attention = seen.attention
    if attention is None or len(attention.sums) < 2:
        return [np.zeros(len(seen.log_probs))] * 4
    ranks = np.log1p(np.asarray(text.src_ids, float))
    return [attention.entropies, attention.peaks, attention.to_end, ranks[attention.linked]]


def _frequency_features(text: Text) -> list[float]:
    """Return the share of unknown source tokens, and the ranks of tokens by frequency."""
    src = np.asarray(text.src_ids, float) if text.src_ids else np.zeros(1)
    tgt = np.asarray(text.tgt_ids, float) if text.tgt_ids else np.zeros(1)
    src_ranks = np.log1p(src)
    return [(src == UNK).mean(), src_ranks.mean(), src_ranks.max(), np.log1p(tgt).mean()]


def _character_features(text: Text) -> list[float]:
    """Return log characters of the source's words, and log of the target's by the source's."""
    src, tgt = (1 + sum(map(len, words)) for words in (text.src_words, text.tgt_words))
    return [float(np.log(src)), float(np.log(tgt / src))]


def _text_features(text: Text) -> list[float]:
    """Return repetition, tokens per word, copied words, changed numbers, and whether it ends."""
    pairs = list(zip(text.tgt_ids, text.tgt_ids[1:], strict=False))
    source = set(text.src_words)
    copied = sum(word in source for word in text.tgt_words if any(map(str.isalpha, word)))
    numbers = [
        sorted(_NUMBER.findall(" ".join(words))) for words in (text.src_words, text.tgt_words)
    ]
    return [
        1 - len(set(pairs)) / len(pairs) if pairs else 0.0,
        len(text.tgt_ids) / max(len(text.tgt_words), 1),
        copied / max(len(text.tgt_words), 1),
        float(numbers[0] != numbers[1]),
        float(text.finished),
    ]
