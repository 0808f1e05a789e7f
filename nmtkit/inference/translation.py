"""One translation of one line; counts of equal samples, and replacement of unknown words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nmtkit.inference.word_alignment import Alignment, best_sources
from nmtkit.special_symbols import UNK_WORD


@dataclass(frozen=True)
class Translation:
    """One translation of one line.

    text: detokenised, unless the model's corpus was tokenised or tokenised text was requested;
        unknown words may have been replaced.
    tokens: the model's tokens (with BPE: subwords), without `</s>`.
    score: log p of the tokens and `</s>` together, natural log, as `Scorer` computes it.
    ranking_score: the score normalised for length, by which the best translation was chosen.
    word_scores: log p of each token, and of `</s>`.
    finished: False if the translation reached the maximum length before `</s>`.
    src_tokens: source tokens of the (first) model, without `</s>`.
    alignment: alpha_ij, if requested; for an ensemble the mean over the models with the same
        source tokens as the first. The last row and column are those of `</s>`.
        Shape: [len(tokens) + 1, len(src_tokens) + 1], one row fewer if unfinished.
    word_alignment: the same between words.
    """

    text: str
    tokens: list[str]
    score: float
    ranking_score: float
    word_scores: list[float]
    finished: bool
    src_tokens: list[str]
    alignment: Tensor | None = None
    word_alignment: Alignment | None = None


def empty_translation() -> Translation:
    """Return the translation of a line without words, with score 0; no model is run for it."""
    matrix = torch.ones(1, 1)
    return Translation("", [], 0.0, 0.0, [0.0], True, [], matrix, Alignment([], [], matrix))


def count_duplicates(samples: Sequence[Translation]) -> list[tuple[Translation, int]]:
    """Count how often each translation of a line was drawn (Cho et al. 2014, table 3).

    :return: each distinct translation once, the most frequent first; ties by score.
    """
    groups: dict[tuple[str, ...], list[Translation]] = {}
    for translation in samples:
        key = (*translation.tokens, str(translation.finished))
        groups.setdefault(key, []).append(translation)
    pairs = [(group[0], len(group)) for group in groups.values()]
    return sorted(pairs, key=lambda pair: (-pair[1], -pair[0].score))


def replace_unknown(
    tokens: Sequence[str],
    source: tuple[Sequence[str], Sequence[int]],
    matrix: Tensor,
    table: Mapping[str, str],
) -> list[str]:
    """Replace each `<unk>` by the source word with the highest weight, or its table entry.

    :param tokens: tokens of the translation, without `</s>`.
    :param source: source words, and for each source token the index of its word.
    :param matrix: alpha_ij. Shape: [len(tokens) or one more, source tokens + 1].
    """
    words, word_of_token = source
    attended = [words[word_of_token[token]] for token in best_sources(matrix, len(tokens))]
    return [
        table.get(word, word) if token == UNK_WORD else token
        for token, word in zip(tokens, attended, strict=True)
    ]
