"""Beam search over the rows of a batch, which waiting sentences refill; see `beam.py`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from nmtkit.config import SearchConfig
from nmtkit.models.base import TranslationModel
from nmtkit.models.search_state import (
    EncodedSource,
    Refillable,
    SearchState,
    replace_rows,
    upload,
)
from nmtkit.search.batch_queue import BatchQueue, EncodedBatch, replace_sentences
from nmtkit.search.beam_history import BeamHistory
from nmtkit.search.beam_step import (
    Beam,
    advance,
    begin,
    find_done,
    finish,
    initial_beam,
    prune,
    retire,
)
from nmtkit.search.candidates import PADDING, CandidateScorer
from nmtkit.search.expansions import Expansions, join_expansions
from nmtkit.search.model_averaging import ModelAveraging
from nmtkit.search.next_token import NextTokenScorer, initial_states, predict
from nmtkit.search.search_settings import (
    TokenMask,
    beam_shrinks,
    expansions_per_sentence,
    mask_tokens,
)

if TYPE_CHECKING:
    from nmtkit.search.constrained_beam import ConstrainedRows
    from nmtkit.search.repeats import RepeatedNgrams
    from nmtkit.search.word_boundaries import WordBoundaries

REFILL_DIVISOR = 8
"""Rows are refilled or dropped once one in 8 is free, because this copies all tensors."""


class BatchedSearch:
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
        self._repeats: RepeatedNgrams | None = None

    def step(self) -> None:
        """Expand every sentence by one token."""
        beam, settings = self._beam, self._settings
        parts = (self._models, beam.tokens, self._states, self._encoded)
        readouts, self._states, alignment = predict(*parts)
        mask = mask_tokens(beam.steps, beam.scores, beam.src_lengths, settings)
        if self._repeats is not None:
            mask = mask._replace(repeats=self._repeats.forbidden())
        expansions = self._expand(readouts, alignment, mask)
        pruned = prune(expansions, beam.widths, beam_shrinks(settings))
        beam = finish(beam, expansions, pruned, self.history, settings)
        done, slots = find_done(beam, expansions, pruned, settings)
        self._beam, parents = advance(beam, expansions, pruned.active, self.history, slots)
        self._states = [state.select_hypotheses(parents) for state in self._states]
        if self._repeats is not None:
            self._repeats.advance(self._beam.tokens, parents)
        if self._constrained is not None:
            self._constrained.advance(parents, self._beam.tokens)
        newly_done = sorted(set(done) - self._free_rows)
        if newly_done:
            rows = upload(newly_done, parents.device)
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
        rows = upload(self._constrained.rows, device)
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
        free = upload(self._constrained.free_rows, device)
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
        self._repeats = batch.repeats(self._settings)
        parts = (*self._encoded, *self._states)
        self._refillable = all(isinstance(part, Refillable) for part in parts)
        self._set_candidates(batch.candidates)
        return True

    def _fill_free_rows(self) -> None:
        """Put waiting sentences into free rows."""
        batch = self._queue.take(len(self._free_rows))
        free = [self._free_rows.pop() for _ in range(len(batch.lengths))]
        rows = upload(free, batch.lengths.device)
        states, beam, constrained = self._initial(batch)
        self._encoded = replace_sentences(self._encoded, rows, batch.encoded)
        self._states = replace_sentences(self._states, rows, states)
        if self._candidates is not None and batch.candidates is not None:
            self._set_candidates(replace_rows(self._candidates, rows, batch.candidates, PADDING))
        self._beam = self._beam.replace_sentences(rows, beam)
        newcomers = batch.repeats(self._settings)
        if self._repeats is not None and newcomers is not None:
            self._repeats.replace(rows, newcomers)
        if self._constrained is not None and constrained is not None:
            self._constrained.replace(free, constrained)

    def _drop_free_rows(self) -> None:
        """Remove the rows of sentences that are done."""
        kept = [row for row in range(self._rows) if row not in self._free_rows]
        rows = upload(kept, self._beam.sentences.device)
        self._free_rows.clear()
        self._rows = len(kept)
        self._beam = self._beam.select(rows)
        if self._repeats is not None:
            self._repeats.select(rows)
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
        states = initial_states(self._models, batch.encoded)
        beam = initial_beam(batch.lengths, self.history, self._settings, self._n_best)
        if batch.begun is not None:
            beam = begin(beam, batch.begun, self.history)
            rows = torch.zeros_like(batch.lengths)
            states = [state.select_sentences(rows) for state in batch.begun.states]
        if self._boundaries is None:
            return states, beam, None
        from nmtkit.search.constrained_beam import ConstrainedRows  # rarely needed: start-up

        constrained = ConstrainedRows.of(batch.constraints, self._boundaries, beam.scores.device)
        limits = constrained.limits(beam.limits, beam.steps)
        return states, beam._replace(limits=limits), constrained
