"""One translation of one line; counts of equal samples, and replacement of unknown words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from nmtkit.config import SearchConfig
from nmtkit.inference.word_alignment import Alignment, JoinedTokens, best_sources, word_alignment
from nmtkit.model_folder import LoadedModel
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.special_symbols import UNK_WORD
from nmtkit.text.names import PLACEHOLDERS, unmask

if TYPE_CHECKING:
    from nmtkit.inference.prefixes import LinePrefix

MAX_SYMBOL_LOSS = 3.0
"""Log p, natural, that a translation with all names and symbols of markup may have below the best
one and still be preferred to it."""


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
        Shape: [len(tokens) + 1, len(src_tokens) + 1], one row fewer if unfinished. `==` does
        not compare it.
    word_alignment: the same between words.
    names: names and numbers for which placeholders stand in the tokens of both sides.
    missing_terms: terms of the source line whose translation in the glossary it lacks.
    confidence: probability that it is good, by the model's calibration, if requested.
    word_confidences: probability that each word is right, likewise; the words are those of
        `tokens` joined, as in `word_alignment`.
    """

    text: str
    tokens: list[str]
    score: float
    ranking_score: float
    word_scores: list[float]
    finished: bool
    src_tokens: list[str]
    alignment: Tensor | None = field(default=None, compare=False)
    word_alignment: Alignment | None = None
    names: Sequence[str] = ()
    missing_terms: Sequence[str] = ()
    confidence: float | None = None
    word_confidences: list[float] | None = None

    @property
    def named_tokens(self) -> list[str]:
        """The tokens, with names in place of their placeholders."""
        return unmask(self.tokens, self.names)


class Source(NamedTuple):
    """A source line.

    tokens: of the (first) model.
    names: words for which placeholders stand in the tokens.
    """

    tokens: Sequence[str]
    names: Sequence[str]


def translation_of(
    model: LoadedModel,
    source: Source,
    hypothesis: Hypothesis,
    search: SearchConfig,
    tokenized: bool,
    replacements: Mapping[str, str] | None,
    missing_terms: Sequence[str] = (),
    prefix: "LinePrefix | None" = None,
) -> Translation:
    """Convert a hypothesis to a translation.

    :param replacements: translations of words for `replace_unknown`; None: leave `<unk>`.
    :param missing_terms: terms of a glossary that it lacks.
    :param prefix: with which its text begins.
    """
    tokens = model.tgt_vocab.tokens(hypothesis.words)
    matrix = None if hypothesis.alignment is None else hypothesis.alignment.cpu()
    alignment_of_words, output_tokens = None, tokens
    if matrix is not None:
        alignment_of_words = aligned_words(model, source, tokens, matrix)
        if replacements is not None:
            weights = matrix
            if source.tokens[0] in model.src_text.tags:  # which is no word of the source
                weights = matrix.clone()
                weights[:, 0] = 0
            src_words = _named(model.src_text.join(source.tokens), source.names)
            output_tokens = replace_unknown(tokens, src_words, weights, replacements)
    if model.config.text.copy_names:
        output_tokens = _with_names(output_tokens, source.names)
    if model.config.text.markup != "none":
        from nmtkit.text.markers import SYMBOLS  # rarely needed: start-up

        unwanted = SYMBOLS.difference(source.tokens)
        output_tokens = [token for token in output_tokens if token not in unwanted]
    text = model.tgt_text.line(output_tokens, tokenized)
    if prefix is not None:
        beginning = model.tgt_text.line(output_tokens[: len(prefix.ids)], tokenized)
        text = prefix.text.put_before(text, beginning + prefix.open_word)
    return Translation(
        text=text,
        tokens=tokens,
        score=hypothesis.score,
        ranking_score=hypothesis.ranking_score(search),
        word_scores=hypothesis.word_scores,
        finished=hypothesis.finished,
        src_tokens=list(source.tokens),
        alignment=matrix,
        word_alignment=alignment_of_words,
        names=source.names,
        missing_terms=missing_terms,
    )


def aligned_words(
    model: LoadedModel, source: Source, tokens: Sequence[str], matrix: Tensor
) -> Alignment:
    """Return the alignment of words by that of tokens.

    :param tokens: of the translation. matrix: see `Translation.alignment`.
    """
    src_words = _named(model.src_text.join(source.tokens), source.names)
    tgt_words = _named(model.tgt_text.join(tokens), source.names)
    return word_alignment(src_words, tgt_words, matrix)


def complete_first(
    hypotheses: Sequence[Hypothesis], source: Sequence[str], symbols: Mapping[str, int]
) -> list[Hypothesis]:
    """Put hypotheses first that have each of some symbols as often as the source, in their order.

    Hypotheses that are too unlikely stay behind the others: a model that is so sure has learned a
    translation without some of the symbols.

    :param hypotheses: the best one is the first.
    :param source: tokens of the source.
    :param symbols: placeholders of names, and symbols of markup, with their target ids.
    """
    wanted = {number: source.count(symbol) for symbol, number in symbols.items()}

    def rank(hypothesis: Hypothesis) -> tuple[bool, int]:
        is_unlikely = hypothesis.score < hypotheses[0].score - MAX_SYMBOL_LOSS
        return is_unlikely, sum(abs(hypothesis.ids.count(i) - n) for i, n in wanted.items())

    return sorted(hypotheses, key=rank)


def _with_names(tokens: Sequence[str], names: Sequence[str]) -> list[str]:
    """Put names in place of placeholders, and leave out placeholders without a name."""
    unused = PLACEHOLDERS[len(names) :]
    return unmask((token for token in tokens if token not in unused), names)


def _named(joined: JoinedTokens, names: Sequence[str]) -> JoinedTokens:
    """Put names in place of placeholders."""
    words, indices = joined
    return (unmask(words, names) if names else words), indices


def empty_translation(text: str = "") -> Translation:
    """Return the translation of a line without words, with score 0; no model is run for it.

    :param text: its prefix.
    """
    matrix = torch.ones(1, 1)
    return Translation(text, [], 0.0, 0.0, [0.0], True, [], matrix, Alignment([], [], matrix))


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
