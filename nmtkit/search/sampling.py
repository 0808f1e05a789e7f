"""Ancestral sampling: each token is drawn from the model's own next-token distribution.

The samples of a sentence depend only on its seed, not on the other sentences of the batch or its
row there. The restrictions are the same as in beam search: `</s>` is not drawn while a translation
is shorter than `min_lengths`, `<unk>` is left out on request, and the longest translation is
max(10, max_length_ratio * T_x). Scores are the model's log p, without renormalising.

What is drawn from may be made less random: by a temperature, and by leaving out all but the most
probable tokens (top-k, Fan et al. 2018; nucleus, Holtzman et al. 2020).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nmtkit.config import SearchConfig
from nmtkit.errors import ConfigError, ModelError
from nmtkit.models.base import TranslationModel
from nmtkit.search.alignments import with_alignments
from nmtkit.search.batch_queue import EncodedBatch, source_lengths
from nmtkit.search.candidates import CandidateScorer
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.search.model_averaging import EQUAL_WEIGHTS, ModelAveraging
from nmtkit.search.next_token import NextTokenScorer, initial_states, predict, scorer_of
from nmtkit.search.search_settings import TokenMask, mask_tokens, step_limits
from nmtkit.special_symbols import BOS, EOS


class SamplingConfig(NamedTuple):
    """The distribution from which tokens are drawn, made from the model's.

    temperature: T in p^(1/T), normalised; below 1 probable tokens become more probable.
    top_k: draw from the k most probable tokens, and those as probable as the last; 0: from all.
    top_p: then draw from the fewest most probable tokens whose p sum to this share or more.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0

    def check(self) -> None:
        """Raise ConfigError for a value that is out of range."""
        if not 0 < self.temperature < math.inf:
            raise ConfigError(f"the temperature must be above 0, not {self.temperature}")
        if self.top_k < 0:
            raise ConfigError(f"top-k must be at least 0, not {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ConfigError(f"top-p must be above 0 and at most 1, not {self.top_p}")

    def reshape(self, log_probs: Tensor) -> Tensor:
        """Return log-probabilities, not normalised, of the distribution that is drawn from.

        :param log_probs: log p, -inf if forbidden, not normalised. Shape: [N, K].
        """
        if self == MODEL_DISTRIBUTION:
            return log_probs
        best = log_probs.max(-1, keepdim=True).values  # [N, 1]
        log_probs = (log_probs.double() - best) / self.temperature  # exp never underflows for all
        if 0 < self.top_k < log_probs.size(-1):
            least = log_probs.topk(self.top_k, -1).values[:, -1:]  # [N, 1]
            log_probs = log_probs.masked_fill(log_probs < least, -math.inf)
        if self.top_p < 1:
            p, order = log_probs.softmax(-1).sort(dim=-1, descending=True, stable=True)  # [N, K]
            before = p.cumsum(-1) - p  # of the more probable tokens
            left_out = torch.zeros_like(order, dtype=torch.bool)
            left_out.scatter_(-1, order, before >= self.top_p)
            log_probs = log_probs.masked_fill(left_out, -math.inf)
        return log_probs


MODEL_DISTRIBUTION = SamplingConfig()
"""The model's own distribution."""


class Samples(NamedTuple):
    """The samples drawn so far, for the sentences with unfinished ones.

    sentences: row of each in the batch. Shape: [B].
    limits: maximum tokens of a sample, `</s>` counted. Shape: [B].
    tokens: the last token. Shape: [B, n].
    finished: True after `</s>`. Shape: [B, n].
    """

    sentences: Tensor
    limits: Tensor
    tokens: Tensor
    finished: Tensor

    def select(self, rows: Tensor) -> "Samples":
        """Keep the sentences `rows`. Shape: [n], int64."""
        return Samples(*(value.index_select(0, rows) for value in self))


def sample(
    models: Sequence[TranslationModel],
    src: Tensor,
    src_mask: Tensor,
    settings: SearchConfig,
    n: int,
    seeds: Sequence[int],
    alignments: bool = False,
) -> list[list[Hypothesis]]:
    """Sample translations of a batch of sentences.

    :param models, src, src_mask: see `beam_search`.
    :param settings: `forbid_unk`, `no_repeat_ngram`, `min_length_ratio` and `max_length_ratio` are
        used.
    :param n: samples of each sentence; a translation may occur more than once.
    :param seeds: one for each sentence.
    :param alignments: add the first model's alignments.
    :return: n samples of each sentence in the order drawn, unfinished if they reached the limit.
    :raises ConfigError: n is below 1.
    :raises ModelError: a model gives log-probabilities that are not numbers, or it has no
        alignment.
    """
    with torch.inference_mode():
        encoded = [model.encode(src, src_mask) for model in models]
        batch = EncodedBatch(encoded, source_lengths(src, src_mask))
        return sample_batch(models, batch, settings, n, seeds, alignments)


def sample_batch(
    models: Sequence[TranslationModel],
    batch: EncodedBatch,
    settings: SearchConfig,
    n: int,
    seeds: Sequence[int],
    alignments: bool = False,
    averaging: ModelAveraging = EQUAL_WEIGHTS,
    sampling: SamplingConfig = MODEL_DISTRIBUTION,
) -> list[list[Hypothesis]]:
    """Sample translations of an encoded batch; see `sample`.

    :param averaging: how the models' probabilities are averaged.
    :param sampling: what is drawn from; scores are the models' in any case.
    """
    if n < 1:
        raise ConfigError(f"at least 1 sample must be drawn, not {n}")
    if batch.lengths.device.type == "mps":
        raise ConfigError("sampling needs float64, which mps does not have; use --device cpu")
    with torch.inference_mode():
        lengths = batch.lengths
        limits = step_limits(lengths, settings.max_length_ratio)
        counts = zip(seeds, limits.tolist(), strict=True)
        uniforms = torch.nn.utils.rnn.pad_sequence(
            [uniform_numbers(seed, n, limit) for seed, limit in counts]
        ).to(lengths.device, non_blocking=True)  # [steps, B, n]
        samples = Samples(
            sentences=torch.arange(len(lengths), device=lengths.device),
            limits=limits,
            tokens=torch.full((len(lengths), n), BOS, device=lengths.device),
            finished=torch.zeros(len(lengths), n, dtype=torch.bool, device=lengths.device),
        )
        hypotheses = _draw_all(models, batch, samples, uniforms, settings, averaging, sampling)
        if not alignments:
            return hypotheses
        return with_alignments(models[:1], batch.encoded[:1], lengths, hypotheses)


def uniform_numbers(seed: int, n: int, limit: int) -> Tensor:
    """Draw the random numbers for a sentence's samples. Shape: [limit, n], float64."""
    random = torch.Generator().manual_seed(seed)
    return torch.rand(limit, n, generator=random, dtype=torch.float64)


def draw_tokens(
    scorer: NextTokenScorer | CandidateScorer,
    readouts: list[Tensor],
    mask: TokenMask,
    uniforms: Tensor,
    sampling: SamplingConfig,
) -> tuple[Tensor, Tensor]:
    """Draw the next token of every sample.

    :param readouts: of each model. Shape: [B, n, l].
    :param uniforms: a number in [0, 1) for each sample. Shape: [B, n].
    :return: the tokens, and log p of each. Shapes: [B, n].
    """
    parts, mask = [], scorer.mask_of_columns(mask)
    for rows, log_probs in scorer.distributions(readouts):
        mask.select(rows).apply(log_probs)
        drawn = draw(sampling.reshape(log_probs), uniforms.flatten()[rows])
        parts.append((drawn, log_probs.gather(1, drawn.unsqueeze(1)).squeeze(1).double()))
    columns, scores = (torch.cat(field).view_as(uniforms) for field in zip(*parts, strict=True))
    return scorer.tokens_at(columns), scores


def draw(log_probs: Tensor, uniforms: Tensor) -> Tensor:
    """Draw from distributions by inverting their cumulative distribution functions.

    :param log_probs: log p, -inf if forbidden, not normalised. Shape: [..., K].
    :param uniforms: numbers in [0, 1). Shape: [...].
    :return: ids. Shape: [...].
    :raises ModelError: a distribution's sum is 0, infinite or not a number.
    """
    cumulative = log_probs.double().exp().cumsum(-1)  # [..., K]
    total = cumulative[..., -1]
    if not bool(((total > 0) & (total < torch.inf)).all()):
        raise ModelError(
            "the model gives log-probabilities that are not numbers, or every word is forbidden;"
            " use another checkpoint"
        )
    share = (uniforms * total).unsqueeze(-1)
    ids = torch.searchsorted(cumulative, share, right=True).squeeze(-1)
    return ids.clamp(max=log_probs.size(-1) - 1)


def _draw_all(
    models: Sequence[TranslationModel],
    batch: EncodedBatch,
    samples: Samples,
    uniforms: Tensor,
    settings: SearchConfig,
    averaging: ModelAveraging,
    sampling: SamplingConfig,
) -> list[list[Hypothesis]]:
    """Draw tokens until all samples are finished or have reached their limit.

    :param uniforms: random numbers in [0, 1), one for each token. Shape: [steps, B, n].
    """
    encoded, lengths = list(batch.encoded), batch.lengths
    layers = [model.output_layer() for model in models]
    scorer = scorer_of(layers, batch.candidates, averaging)
    states = initial_states(models, encoded)
    first = torch.zeros_like(samples.tokens)  # all samples start from their sentence's one state
    states = [state.select_hypotheses(first) for state in states]
    repeats = batch.repeats(settings, samples.tokens.size(1))
    drawn: list[tuple[Samples, Tensor]] = []
    for step, step_uniforms in enumerate(uniforms):
        readouts, states, _ = predict(models, samples.tokens, states, encoded)
        steps = torch.full_like(samples.sentences, step)
        mask = mask_tokens(steps, samples.tokens, lengths[samples.sentences], settings)
        if repeats is not None:
            mask = mask._replace(repeats=repeats.forbidden())
        numbers = step_uniforms[samples.sentences]
        tokens, scores = draw_tokens(scorer, readouts, mask, numbers, sampling)
        drawn.append((samples._replace(tokens=tokens), scores))
        if repeats is not None:
            repeats.advance(tokens)
        samples = samples._replace(tokens=tokens, finished=samples.finished | (tokens == EOS))
        active = (samples.limits > step + 1) & ~samples.finished.all(1)
        rows = active.nonzero().squeeze(1)
        if len(rows) == 0:
            return _hypotheses(drawn, len(lengths))
        if len(rows) < len(samples.sentences):
            samples = samples.select(rows)
            encoded = [source.select_sentences(rows) for source in encoded]
            scorer = scorer.select(rows)
            states = [state.select_sentences(rows) for state in states]
            if repeats is not None:
                repeats.select(rows)
    raise AssertionError("every sentence has a limit")


def _hypotheses(drawn: list[tuple[Samples, Tensor]], sentences: int) -> list[list[Hypothesis]]:
    """Join the tokens and scores of all steps; tokens drawn after `</s>` are left out."""
    n = drawn[0][1].size(1)
    tokens: list[list[list[int]]] = [[[] for _ in range(n)] for _ in range(sentences)]
    scores: list[list[list[float]]] = [[[] for _ in range(n)] for _ in range(sentences)]
    for samples, log_probs in drawn:
        columns = (samples.sentences, samples.tokens, log_probs, samples.finished)
        for sentence, ids, values, finished in zip(*(c.tolist() for c in columns), strict=True):
            for number in range(n):
                if not finished[number]:
                    tokens[sentence][number].append(ids[number])
                    scores[sentence][number].append(values[number])
    return [
        [
            Hypothesis(ids, sum(values), values, finished=ids[-1] == EOS)
            for ids, values in zip(*of_sentence, strict=True)
        ]
        for of_sentence in zip(tokens, scores, strict=True)
    ]
