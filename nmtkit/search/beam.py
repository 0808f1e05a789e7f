"""Beam search over many sentences at once, with one model or an ensemble.

A step of `_BeamSearch` is the algorithm:

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
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from nmtkit.config import SearchConfig
from nmtkit.errors import ModelError
from nmtkit.models.base import TranslationModel
from nmtkit.models.search_state import (
    EncodedSource,
    Refillable,
    SearchState,
    replace_rows,
    row_numbers,
)
from nmtkit.search.batch_queue import (
    BatchQueue,
    EncodedBatch,
    replace_sentences,
    source_lengths,
)
from nmtkit.search.beam_history import BeamHistory, score_dtype
from nmtkit.search.candidates import PADDING, CandidateScorer
from nmtkit.search.coverage import rerank_by_coverage
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.search.model_averaging import EQUAL_WEIGHTS, ModelAveraging
from nmtkit.search.next_token import (
    Expansions,
    NextTokenScorer,
    TokenMask,
    join_expansions,
    predict,
)
from nmtkit.search.search_settings import (
    MAX_LOG_PROB,
    NOT_A_NUMBER,
    beam_shrinks,
    check_settings,
    expansions_per_sentence,
    hypotheses_to_rerank,
    length_divisor,
    mask_tokens,
    reachable_lengths,
    step_limits,
)
from nmtkit.search.sentence import search_sentence
from nmtkit.special_symbols import BOS, EOS

if TYPE_CHECKING:
    from nmtkit.search.constrained_beam import ConstrainedRows
    from nmtkit.search.constraints import WordBoundaries
    from nmtkit.search.forced_decoding import Begun

REFILL_DIVISOR = 8
"""Rows are refilled or dropped once one in 8 is free, because this copies all tensors."""


class Beam(NamedTuple):
    """The active hypotheses of the sentences under search.

    sentences: index of each among all sentences. Shape: [B].
    src_lengths: T_x. Shape: [B].
    steps: length of its hypotheses in tokens. Shape: [B].
    limits: maximum tokens of a translation, `</s>` counted. Shape: [B].
    widths: maximum number of active hypotheses. Shape: [B].
    best_finished: ranking scores of the n best finished ones, padded with -inf. Shape: [B, n].
    tokens: the last token. Shape: [B, k].
    nodes: its node in the history. Shape: [B, k].
    scores: log p so far, best first, -inf in unused slots. Shape: [B, k].
    """

    sentences: Tensor
    src_lengths: Tensor
    steps: Tensor
    limits: Tensor
    widths: Tensor
    best_finished: Tensor
    tokens: Tensor
    nodes: Tensor
    scores: Tensor

    def select(self, rows: Tensor) -> "Beam":
        """Keep the sentences `rows`. Shape: [n], int64."""
        return Beam(*(value.index_select(0, rows) for value in self))

    def replace_sentences(self, rows: Tensor, newcomers: "Beam") -> "Beam":
        """Replace the sentences of some rows; slots beyond the newcomers' width are unused."""
        unused = [0, self.scores.size(1) - newcomers.scores.size(1)]
        newcomers = newcomers._replace(
            tokens=functional.pad(newcomers.tokens, unused),
            nodes=functional.pad(newcomers.nodes, unused),
            scores=functional.pad(newcomers.scores, unused, value=-torch.inf),
        )
        pairs = zip(self, newcomers, strict=True)
        return Beam(*(value.index_copy(0, rows, new) for value, new in pairs))


class Pruned(NamedTuple):
    """Masks of the expansions that are kept.

    finished: True for those that end with `</s>`. Shape: [B, c], bool.
    active: True for those to be expanded further. Shape: [B, c], bool.
    widths: maximum number of active hypotheses from now on. Shape: [B].
    """

    finished: Tensor
    active: Tensor
    widths: Tensor


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
        search = _BeamSearch(models, queue, settings, n_best, averaging, boundaries)
        while search.refill():
            search.step()
        return search.history.n_best(settings, n_best)


class _BeamSearch:
    """State of the search: the current sentences, one per row, and the queue of the others."""

    def __init__(
        self,
        models: Sequence[TranslationModel],
        queue: BatchQueue,
        settings: SearchConfig,
        n_best: int,
        averaging: ModelAveraging,
        boundaries: "WordBoundaries | None",
    ) -> None:
        self.history = BeamHistory()
        self._models, self._settings, self._n_best = models, settings, n_best
        self._averaging, self._boundaries = averaging, boundaries
        self._layers = [model.output_layer() for model in models]
        self._queue = queue
        self._rows, self._max_src_length = 0, 0
        self._free_rows: set[int] = set()  # rows whose sentence is done
        self._encoded: list[EncodedSource] = []
        self._states: list[SearchState] = []
        self._refillable = False
        self._beam: Beam
        self._scorer: NextTokenScorer | CandidateScorer
        self._candidates: Tensor | None = None  # [B, C]; None for the whole vocabulary
        self._constrained: ConstrainedRows | None = None

    def step(self) -> None:
        """Expand every sentence by one token."""
        beam, settings = self._beam, self._settings
        parts = (self._models, beam.tokens, self._states, self._encoded)
        readouts, self._states, alignment = predict(*parts)
        mask = mask_tokens(beam.steps, beam.scores, beam.src_lengths, settings)
        expansions = self._expand(readouts, alignment, mask)
        pruned = prune(expansions, beam.widths, beam_shrinks(settings))
        beam = finish(beam, expansions, pruned, self.history, settings)
        done, slots = find_done(beam, expansions, pruned, settings)
        self._beam, parents = advance(beam, expansions, pruned.active, self.history, slots)
        self._states = [state.select_hypotheses(parents) for state in self._states]
        if self._constrained is not None:
            self._constrained.advance(parents, self._beam.tokens)
        newly_done = sorted(set(done) - self._free_rows)
        if newly_done:
            rows = row_numbers(newly_done, parents.device)
            self._beam = retire(self._beam, rows, self.history)
            self._free_rows.update(newly_done)

    def _expand(
        self, readouts: list[Tensor], alignment: Tensor | None, mask: TokenMask
    ) -> Expansions:
        """Find the best expansions of each sentence."""
        beam, settings = self._beam, self._settings
        count = expansions_per_sentence(settings)
        if self._constrained is None or not self._constrained.rows:
            return self._scorer.best(readouts, beam.scores, count, mask)
        device = beam.scores.device
        rows = row_numbers(self._constrained.rows, device)
        constrained = self._constrained.best(
            self._scorer.select(rows),
            [readout[rows] for readout in readouts],
            None if alignment is None else alignment[rows],
            beam.scores[rows],
            count,
            mask.of_sentences(rows),
            (beam.steps[rows], beam.limits[rows], beam.widths[rows]),
            beam_shrinks(settings),
        )
        if len(rows) == self._rows:
            return constrained
        free = row_numbers(self._constrained.free_rows, device)
        expansions = self._scorer.select(free).best(
            [readout[free] for readout in readouts],
            beam.scores[free],
            count,
            mask.of_sentences(free),
        )
        return join_expansions((rows, constrained), (free, expansions))

    def refill(self) -> bool:
        """Refill free rows with waiting sentences; return False when all sentences are done."""
        if len(self._free_rows) == self._rows:
            return self._start_batch()
        if len(self._free_rows) * REFILL_DIVISOR >= self._rows:
            while self._free_rows and self._can_refill():
                self._fill_free_rows()
            if self._free_rows:
                self._drop_free_rows()
            self._encoded = [source.trim_padding() for source in self._encoded]
            self._max_src_length = int(self._beam.src_lengths.max())
        return True

    def _can_refill(self) -> bool:
        return self._refillable and self._queue.fits(self._max_src_length, self._rows)

    def _start_batch(self) -> bool:
        """Start the next batch; return False if there is none."""
        if not self._queue.batch_size:
            return False
        self._free_rows.clear()
        batch = self._queue.take(self._queue.batch_size)
        self._rows, self._max_src_length = len(batch.lengths), int(batch.lengths.max())
        self._encoded = list(batch.encoded)
        self._states, self._beam, self._constrained = self._initial(batch)
        parts = (*self._encoded, *self._states)
        self._refillable = all(isinstance(part, Refillable) for part in parts)
        self._set_candidates(batch.candidates)
        return True

    def _fill_free_rows(self) -> None:
        """Put waiting sentences into free rows."""
        batch = self._queue.take(len(self._free_rows))
        free = [self._free_rows.pop() for _ in range(len(batch.lengths))]
        rows = row_numbers(free, batch.lengths.device)
        states, beam, constrained = self._initial(batch)
        self._encoded = replace_sentences(self._encoded, rows, batch.encoded)
        self._states = replace_sentences(self._states, rows, states)
        if self._candidates is not None and batch.candidates is not None:
            self._set_candidates(replace_rows(self._candidates, rows, batch.candidates, PADDING))
        self._beam = self._beam.replace_sentences(rows, beam)
        if self._constrained is not None and constrained is not None:
            self._constrained.replace(free, constrained)

    def _drop_free_rows(self) -> None:
        """Remove the rows of sentences that are done."""
        kept = [row for row in range(self._rows) if row not in self._free_rows]
        rows = row_numbers(kept, self._beam.sentences.device)
        self._free_rows.clear()
        self._rows = len(kept)
        self._beam = self._beam.select(rows)
        self._constrained = self._constrained and self._constrained.select(kept)
        self._encoded = [source.select_sentences(rows) for source in self._encoded]
        self._scorer = self._scorer.select(rows)
        self._candidates = None if self._candidates is None else self._candidates[rows]
        self._states = [state.select_sentences(rows) for state in self._states]

    def _set_candidates(self, tokens: Tensor | None) -> None:
        """Restrict sentences to these tokens [B, C]; None for the whole vocabulary."""
        if tokens is not None:
            self._scorer = CandidateScorer(self._layers, tokens, self._averaging)
        elif not hasattr(self, "_scorer"):
            rows = self._rows * self._settings.beam
            self._scorer = NextTokenScorer(self._layers, self._averaging, rows)
        self._candidates = tokens

    def _initial(
        self, batch: EncodedBatch
    ) -> tuple[list[SearchState], Beam, "ConstrainedRows | None"]:
        """Return each model's initial state, the initial beam, and the rows with constraints."""
        pairs = zip(self._models, batch.encoded, strict=True)
        states = [model.initial_state(source) for model, source in pairs]
        beam = initial_beam(batch.lengths, self.history, self._settings, self._n_best)
        if batch.begun is not None:
            beam = begin(beam, batch.begun, self.history)
            rows = torch.zeros_like(batch.lengths)
            states = [state.select_sentences(rows) for state in batch.begun.states]
        if self._boundaries is None:
            return states, beam, None
        from nmtkit.search.constrained_beam import ConstrainedRows  # rarely needed: start-up

        constrained = ConstrainedRows.of(batch.constraints, self._boundaries, beam.scores.device)
        return states, beam._replace(limits=constrained.limits(beam.limits)), constrained


def initial_beam(
    src_lengths: Tensor, history: BeamHistory, settings: SearchConfig, n_best: int
) -> Beam:
    """Return one empty hypothesis for each sentence, and add it to the history."""
    sentences, roots = history.add_sentences(len(src_lengths), src_lengths.device)
    scores = torch.zeros(
        roots.shape, dtype=score_dtype(src_lengths.device), device=src_lengths.device
    )
    return Beam(
        sentences=sentences,
        src_lengths=src_lengths.clone(),
        steps=torch.zeros_like(src_lengths),
        limits=step_limits(src_lengths, settings.max_length_ratio),
        widths=torch.full_like(src_lengths, settings.beam),
        best_finished=scores.new_full((len(src_lengths), n_best), -torch.inf),
        tokens=torch.full_like(roots, BOS),
        nodes=roots,
        scores=scores,
    )


def begin(beam: Beam, begun: "Begun", history: BeamHistory) -> Beam:
    """Return the beam after the given beginning of all translations."""
    nodes, scores = beam.nodes, beam.scores
    for token, score in zip(begun.tokens, begun.scores, strict=True):
        scores = torch.full_like(scores, score)
        nodes = history.add_nodes(torch.full_like(nodes, token), nodes, scores)
    last, steps = torch.full_like(beam.tokens, begun.last), beam.steps + len(begun.tokens)
    return beam._replace(tokens=last, nodes=nodes, scores=scores, steps=steps)


def prune(expansions: Expansions, widths: Tensor, shrinking: bool) -> Pruned:
    """Divide expansions into finished and active ones.

    An expansion by `</s>` is finished if it is among the best `width` expansions. Of the others,
    the best ones stay active, as many as the beam then has room for.
    """
    ranks = torch.arange(expansions.tokens.size(1), device=widths.device)
    real, eos = expansions.scores > -torch.inf, expansions.tokens == EOS
    finished = real & eos & (ranks < widths.unsqueeze(1))
    if shrinking:
        widths = widths - finished.sum(1)
    continuing = real & ~eos
    active = continuing & (continuing.cumsum(1) <= widths.unsqueeze(1))
    return Pruned(finished, active, widths)


def finish(
    beam: Beam, expansions: Expansions, pruned: Pruned, history: BeamHistory, settings: SearchConfig
) -> Beam:
    """Record the finished hypotheses, and update the n best ranking scores."""
    beam = beam._replace(steps=beam.steps + 1, widths=pruned.widths)
    scores = expansions.scores.masked_fill(~pruned.finished, -torch.inf)
    nodes = beam.nodes.gather(1, expansions.parents)
    history.add_finished(beam.sentences, nodes, scores, beam.steps, expansions.credits)
    ranks = expansions.ranks.masked_fill(~pruned.finished, -torch.inf)
    ranking = ranks / length_divisor(settings, beam.steps.to(scores.dtype)).unsqueeze(1)
    n_best = beam.best_finished.size(1)
    best = torch.cat([beam.best_finished, ranking], dim=1).topk(n_best, dim=1).values
    return beam._replace(best_finished=best)


def find_done(
    beam: Beam, expansions: Expansions, pruned: Pruned, settings: SearchConfig
) -> tuple[list[int], int]:
    """Find the sentences whose n best translations are final, as `settings.stop` says.

    This is the one point of a step at which the host waits for the device.

    :return: their rows; the largest number of active hypotheses of any sentence, at least 1.
    :raises ModelError: a log-probability is not a number or above 0.
    """
    reachable = expansions.ranks.masked_fill(~pruned.active, -torch.inf).amax(1)
    lengths = reachable_lengths(beam.steps, beam.limits, beam.src_lengths, settings)
    final = beam.best_finished[:, -1] >= reachable / length_divisor(
        settings, lengths.to(reachable.dtype)
    )
    active = pruned.active.sum(1)
    done = (active == 0) | (beam.limits <= beam.steps) | final
    invalid = ~(expansions.scores[:, 0] <= MAX_LOG_PROB)
    flags: list[list[int]] = torch.stack([done.long(), active, invalid.long()]).tolist()
    if any(flags[2]):
        raise ModelError(NOT_A_NUMBER)
    return [row for row, is_done in enumerate(flags[0]) if is_done], max(1, *flags[1])


def advance(
    beam: Beam, expansions: Expansions, active: Tensor, history: BeamHistory, slots: int
) -> tuple[Beam, Tensor]:
    """Put the active hypotheses into the new beam, and into the history.

    :param active: True for active expansions. Shape: [B, c], bool.
    :param slots: k' of the new beam.
    :return: the beam, and the old slot of each new hypothesis's parent [B, k'].
    """
    chosen = (~active).to(torch.int8).argsort(dim=1, stable=True)[:, :slots]
    scores = expansions.scores.masked_fill(~active, -torch.inf).gather(1, chosen)
    parents, tokens = expansions.parents.gather(1, chosen), expansions.tokens.gather(1, chosen)
    nodes = history.add_nodes(tokens, beam.nodes.gather(1, parents), scores)
    return beam._replace(tokens=tokens, nodes=nodes, scores=scores), parents


def retire(beam: Beam, rows: Tensor, history: BeamHistory) -> Beam:
    """End the search of some sentences; record their active hypotheses as unfinished."""
    retired = beam.select(rows)
    history.add_unfinished(retired.sentences, retired.nodes, retired.scores, retired.steps)
    return beam._replace(scores=beam.scores.index_fill(0, rows, -torch.inf))
