"""Beam search over many sentences at once, with one model or an ensemble.

A step of `BatchedSearch` is the algorithm:

1. predict: every model decodes one position after the last token of each hypothesis (`predict`);
2. expand: find the best expansions of each sentence by one token (`NextTokenScorer.best`);
3. prune: divide them into finished and active hypotheses (`prune`);
4. finish: record the finished ones, and find the sentences that are done (`finish`, `find_done`);
5. advance: the active ones become the new beam, and the models' states follow them (`advance`).

The row of a sentence that is done is given to a waiting sentence, which keeps matrix products
large; when none waits, the row is dropped. Sentences never influence each other: alone and in any
batch their translations are the same up to float rounding.

Beam modes (`SearchConfig.beam_mode`):

- "shrinking" (Cho et al. 2014b, section 4.2.1; GroundHog): a hypothesis whose `</s>` is among the
  best k expansions leaves the beam, which is one narrower from then on.
- "bounded": it leaves the beam, too, but the beam keeps its width unless that is 1 (greedy).

In both modes, search of a sentence ends once its n best are not expected to change any more. With
scores s <= 0, a length penalty and a length L, an active hypothesis reaches at most s / L^penalty;
when the n-th best finished one has that, search ends (`SearchConfig.stop`):

- "exact": L is the step limit. The list is final, but with penalty 1 search continues for long
  after finding its result, which on lines of 100 words takes up to half of the time.
- "early": L is a length that active hypotheses may soon reach (`reachable_lengths`). This rule is
  heuristic. Without a length penalty, L does not matter, and both are the same.

Sutskever et al. 2014, section 3.2, take finished hypotheses out of the beam and do not say whether
others take their place; Bahdanau et al. 2015 say only that they use beam search.

Departures and readings: the translation of a non-empty sentence is never empty (`</s>` cannot be
its first token); the score is still the model's log p, as nothing is renormalised. Search takes at
most max(10, max_length_ratio * T_x) steps, `</s>` counted in both. If nothing is finished by then,
GroundHog doubles the beam; here the best unfinished hypotheses are returned and marked as such.
Ties are broken by the order of hypotheses in the beam, then by token id.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from nmtkit.config import SearchConfig
from nmtkit.models.base import TranslationModel
from nmtkit.search.batch_queue import BatchQueue, EncodedBatch, source_lengths
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.search.model_averaging import EQUAL_WEIGHTS, ModelAveraging
from nmtkit.search.search_settings import check_settings, hypotheses_to_rerank
from nmtkit.search.sentence import search_sentence

if TYPE_CHECKING:
    from nmtkit.search.word_boundaries import WordBoundaries


def beam_search(
    models: Sequence[TranslationModel],
    src: Tensor,
    src_mask: Tensor,
    settings: SearchConfig,
    n_best: int = 1,
    alignments: bool = False,
    averaging: ModelAveraging = EQUAL_WEIGHTS,
) -> list[list[Hypothesis]]:
    """Translate a batch of sentences.

    :param models: one model, or an ensemble, whose probabilities `averaging` combines.
    :param src: token ids, each sentence ending with `</s>`. Shape: [B, T_x], int64.
    :param src_mask: True at tokens and `</s>`. Shape: [B, T_x], bool.
    :param n_best: translations per sentence, at most `settings.beam`.
    :param alignments: add the first model's alignments.
    :return: 1 to n_best different translations of each sentence, best first; all are finished or,
        if search finished none, all are unfinished.
    :raises ConfigError: a setting is out of range.
    :raises ModelError: a model gives log-probabilities that are not numbers, or it has no
        alignment.
    """
    with torch.inference_mode():
        encoded = [model.encode(src, src_mask) for model in models]
        batch = EncodedBatch(encoded, source_lengths(src, src_mask))
        check_settings(settings, n_best)
        n_candidates = hypotheses_to_rerank(settings, n_best)
        hypotheses = search_batches(models, [batch], settings, n_candidates, averaging)
        if alignments or settings.coverage_penalty:
            from nmtkit.search.alignments import with_alignments  # rarely needed: start-up

            hypotheses = with_alignments(models[:1], encoded[:1], batch.lengths, hypotheses)
        if not settings.coverage_penalty:
            return hypotheses
        from nmtkit.search.coverage import rerank_by_coverage  # rarely needed: start-up

        return [rerank_by_coverage(sentence, settings, n_best) for sentence in hypotheses]


def search_batches(
    models: Sequence[TranslationModel],
    batches: Iterable[EncodedBatch],
    settings: SearchConfig,
    n_best: int = 1,
    averaging: ModelAveraging = EQUAL_WEIGHTS,
    boundaries: "WordBoundaries | None" = None,
) -> list[list[Hypothesis]]:
    """Translate the sentences of many batches, about one batch at a time.

    :param batches: read lazily; longest sentences first is fastest.
    :param boundaries: where target words end; given if, and only if, batches have constraints.
    :return: the translations of each sentence, in the order of the batches; for the other
        parameters and errors see `beam_search`.
    """
    check_settings(settings, n_best)
    with torch.inference_mode():
        queue = BatchQueue(batches)
        if queue.holds_one_sentence and boundaries is None:
            sentence = queue.take(1)
            return [search_sentence(models, sentence, settings, n_best, averaging)]
        from nmtkit.search.batched_beam import BatchedSearch  # no line alone needs it: start-up

        search = BatchedSearch(models, queue, settings, n_best, averaging, boundaries)
        while search.refill():
            search.step()
        return search.history.n_best(settings, n_best)
