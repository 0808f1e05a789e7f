"""Ancestral sampling: words drawn one after the other from the model's own distribution.

What a sentence is given depends on its own seed and on nothing else: neither on its neighbours in
the batch nor on its place there. The same restrictions hold as in beam search: `</s>` is not drawn
first for a source that has words, `<unk>` is left out on request, and the longest translation is
max(10, max_length_ratio * T_x). The scores are the model's log p, without renormalising.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nmtkit.config import SearchConfig
from nmtkit.errors import ConfigError, ModelError
from nmtkit.models.base import TranslationModel
from nmtkit.search.alignments import with_alignments
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.beam import forbidden_words, predict, step_limits
from nmtkit.search.candidates import CandidateScorer
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.search.model_averaging import EQUAL, ModelAveraging
from nmtkit.search.next_token import NextTokenScorer, TokenMask
from nmtkit.special_symbols import BOS, EOS


class Draws(NamedTuple):
    """Samples under way, for the sentences where some are unfinished.

    sentences: row of each in the batch that was handed in. Shape: [B].
    limits: words that a sample may have, `</s>` counted. Shape: [B].
    uniform: random numbers in [0, 1), one for each word. Shape: [B, n, steps].
    words: the word drawn last. Shape: [B, n].
    over: whether `</s>` was drawn. Shape: [B, n].
    """

    sentences: Tensor
    limits: Tensor
    uniform: Tensor
    words: Tensor
    over: Tensor

    def select(self, rows: Tensor) -> "Draws":
        """Keep these sentences."""
        return Draws(*(value.index_select(0, rows) for value in self))


def sample(
    models: Sequence[TranslationModel],
    src: Tensor,
    src_mask: Tensor,
    settings: SearchConfig,
    n: int,
    seeds: Sequence[int],
    alignments: bool = False,
) -> list[list[Hypothesis]]:
    """Draw translations of a batch of sentences.

    :param models, src, src_mask: see `beam_search`.
    :param settings: `forbid_unk` and `max_length_ratio` count.
    :param n: samples of each sentence; the same translation may come more than once.
    :param seeds: one for each sentence.
    :param alignments: give the first model's alignments.
    :return: n samples of each sentence in the order drawn, unfinished where the limit was met.
    :raises ConfigError: n is below 1.
    :raises ModelError: a model gives log-probabilities that are not numbers, or it has no
        alignment to give.
    """
    with torch.inference_mode():
        encoded = [model.encode(src, src_mask) for model in models]
        reading = EncodedBatch(encoded, src_mask.sum(1))
        return sample_read(models, reading, settings, n, seeds, alignments)


def sample_read(
    models: Sequence[TranslationModel],
    reading: EncodedBatch,
    settings: SearchConfig,
    n: int,
    seeds: Sequence[int],
    alignments: bool = False,
    averaging: ModelAveraging = EQUAL,
) -> list[list[Hypothesis]]:
    """Draw translations of sentences that each model has read already.

    :param reading: what they read, and from which words they may choose.
    :param averaging: how their probabilities are averaged.
    :return: and other parameters and errors: see `sample`.
    """
    if n < 1:
        raise ConfigError(f"at least 1 sample must be drawn, not {n}")
    with torch.inference_mode():
        lengths = reading.lengths
        limits = step_limits(lengths, settings.max_length_ratio)
        uniform = torch.nn.utils.rnn.pad_sequence(
            [random_numbers(seed, n, limit) for seed, limit in zip(seeds, limits, strict=True)],
            batch_first=True,
        ).transpose(1, 2)
        draws = Draws(
            sentences=torch.arange(len(lengths), device=lengths.device),
            limits=limits,
            uniform=uniform.to(lengths.device),
            words=torch.full((len(lengths), n), BOS, device=lengths.device),
            over=torch.zeros(len(lengths), n, dtype=torch.bool, device=lengths.device),
        )
        found = _drawn(models, reading, draws, settings, averaging)
        if not alignments:
            return found
        return with_alignments(models[:1], reading.encoded[:1], lengths, found)


def random_numbers(seed: int, n: int, limit: int | Tensor) -> Tensor:
    """The numbers that decide a sentence's samples. Shape: [limit, n], float64."""
    random = torch.Generator().manual_seed(seed)
    return torch.rand(int(limit), n, generator=random, dtype=torch.float64)


def draw_words(
    next_words: NextTokenScorer | CandidateScorer,
    hidden: list[Tensor],
    forbidden: TokenMask,
    uniform: Tensor,
) -> tuple[Tensor, Tensor]:
    """Draw the next word of every sample.

    :param hidden: readouts of each model. Shape: [B, n, l].
    :param uniform: a number in [0, 1) for each. Shape: [B, n].
    :return: the words, and log p of each. Shape: [B, n].
    """
    found = []
    for rows, log_probs in next_words.distributions(hidden):
        forbidden.of(rows).apply(log_probs)
        drawn = draw(log_probs, uniform.flatten()[rows])
        found.append((drawn, log_probs.gather(1, drawn.unsqueeze(1)).squeeze(1).double()))
    columns, scores = (torch.cat(field).view_as(uniform) for field in zip(*found, strict=True))
    return next_words.words_at(columns), scores


def draw(log_probs: Tensor, uniform: Tensor) -> Tensor:
    """The words at which the running total of probability passes the given share of all of it.

    :param log_probs: log p, -inf where forbidden. Shape: [B, n, K].
    :param uniform: shares in [0, 1). Shape: [B, n].
    :raises ModelError: the probabilities are no distribution.
    """
    total = log_probs.double().exp().cumsum(-1)
    if not bool(((total[..., -1] > 0) & (total[..., -1] < torch.inf)).all()):
        raise ModelError(
            "the model gives log-probabilities that are not numbers, or every word is forbidden;"
            " use another checkpoint"
        )
    share = (uniform * total[..., -1]).unsqueeze(-1)
    found = torch.searchsorted(total, share, right=True).squeeze(-1)
    return found.clamp(max=log_probs.size(-1) - 1)


def _drawn(
    models: Sequence[TranslationModel],
    reading: EncodedBatch,
    draws: Draws,
    settings: SearchConfig,
    averaging: ModelAveraging,
) -> list[list[Hypothesis]]:
    encoded, lengths = list(reading.encoded), reading.lengths
    layers = [model.output_layer() for model in models]
    next_words = (
        NextTokenScorer(layers, averaging)
        if reading.lists is None
        else CandidateScorer(layers, reading.lists, averaging)
    )
    states = [model.initial_state(read) for model, read in zip(models, encoded, strict=True)]
    first = torch.zeros_like(draws.words)  # all samples begin in the one state of their sentence
    states = [state.select_hypotheses(first) for state in states]
    generations: list[tuple[Draws, Tensor]] = []
    for step in itertools.count():
        hidden, states = predict(models, draws.words, states, encoded)
        taken = torch.full_like(draws.sentences, step)
        forbidden = forbidden_words(taken, draws.words, lengths[draws.sentences], settings)
        words, scores = draw_words(next_words, hidden, forbidden, draws.uniform[..., step])
        generations.append((draws._replace(words=words), scores))
        draws = draws._replace(words=words, over=draws.over | (words == EOS))
        rows = ((draws.limits > step + 1) & ~draws.over.all(1)).nonzero().squeeze(1)
        if len(rows) == 0:
            return _spelt_out(generations, len(lengths))
        if len(rows) < len(draws.sentences):
            draws = draws.select(rows)
            encoded = [read.select_sentences(rows) for read in encoded]
            next_words = next_words.select(rows)
            states = [state.select_sentences(rows) for state in states]
    raise AssertionError("every sentence has a limit")


def _spelt_out(generations: list[tuple[Draws, Tensor]], sentences: int) -> list[list[Hypothesis]]:
    """Hypotheses from the words drawn at each step; what came after `</s>` does not count."""
    samples = generations[0][1].size(1)
    words: list[list[list[int]]] = [[[] for _ in range(samples)] for _ in range(sentences)]
    scores: list[list[list[float]]] = [[[] for _ in range(samples)] for _ in range(sentences)]
    for draws, values in generations:
        columns = (draws.sentences, draws.words, values, draws.over)
        for sentence, drawn, logs, over in zip(*(c.tolist() for c in columns), strict=True):
            for number in range(samples):
                if not over[number]:
                    words[sentence][number].append(drawn[number])
                    scores[sentence][number].append(logs[number])
    return [
        [
            Hypothesis(ids, sum(logs), logs, finished=ids[-1] == EOS)
            for ids, logs in zip(*of_sentence, strict=True)
        ]
        for of_sentence in zip(words, scores, strict=True)
    ]
