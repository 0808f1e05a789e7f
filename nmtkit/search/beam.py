"""Beam search over many sentences at once, with one model or the average of several.

One step goes on by a word in every live hypothesis (`predict`), takes the best continuations of
each sentence (`NextTokenScorer.best`), parts them into those that end and those that go on
(`prune`), and reorders the models' states to match. A sentence whose search is over gives its place
to one that waits, so that the products stay large; once none waits, the others close up. Sentences
never influence each other: a sentence alone and in a batch gives the same translations but for
float rounding, and all limits are the sentence's own.

Rules (`SearchConfig.beam_mode`):

- "shrinking" (Sutskever et al. 2014, section 3.2; Bahdanau et al. 2015): a hypothesis whose `</s>`
  is among the best k continuations leaves the beam, which is one narrower from then on.
- "bounded": it leaves likewise, but the beam keeps its width. A beam of 1 shrinks all the same:
  it is greedy search under either rule.

Under both, search ends as soon as it cannot change the n best any more. With scores s <= 0, a
length penalty and a longest length L, an unfinished hypothesis can at best reach what its score is
worth at that length, s / L^penalty; when the n-th best finished one has that much, the list is
final. The bound is exact: search is never cut short by it, and with penalty 1 it therefore often
runs on for some steps after the translation that it gives was found.

Departures and readings: the translation of a sentence that has words is never empty (`</s>`
cannot be its first word); the score is still the model's log p, as nothing is renormalised.
Search takes at most max(10, max_length_ratio * T_x) steps, `</s>` counted in both; GroundHog
doubles the beam when nothing is finished by then, here the best unfinished ones are given and
say so. Ties are broken by the order of hypotheses in the beam, then of words in the vocabulary.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from nmtkit.config import SearchConfig
from nmtkit.errors import ModelError
from nmtkit.models.base import TranslationModel
from nmtkit.models.search_state import EncodedSource, Refillable, SearchState, replace_rows
from nmtkit.search.alignments import with_alignments
from nmtkit.search.batch_queue import BatchQueue, EncodedBatch
from nmtkit.search.beam_history import BeamHistory
from nmtkit.search.candidates import NONE, CandidateScorer
from nmtkit.search.coverage import best_covering
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.search.model_averaging import EQUAL, ModelAveraging
from nmtkit.search.next_token import Expansions, NextTokenScorer, TokenMask
from nmtkit.search.search_settings import (
    check_settings,
    continuations,
    hypotheses_to_find,
    length_divisor,
    shrinks,
)
from nmtkit.special_symbols import BOS, EOS

SHORTEST_LIMIT = 10
"""Steps that even the shortest sentence is granted."""

TOLERANCE = 1e-3
"""How far above 0 rounding may lift a log-probability."""

CHANGE = 8
"""Places are given away once one in so many is free: each time costs some copying."""


class Beam(NamedTuple):
    """The live hypotheses of the sentences that are searched.

    sentences: number of each among all that were handed in. Shape: [B].
    lengths: T_x. Shape: [B].
    steps: words that its hypotheses have. Shape: [B].
    limits: words that a translation may have, `</s>` counted. Shape: [B].
    widths: hypotheses that may live. Shape: [B].
    best: ranking scores of the n best finished ones, -inf where there are fewer. Shape: [B, n].
    words: the word chosen last. Shape: [B, k].
    places: of that word in the history. Shape: [B, k].
    scores: log p so far, -inf in slots that hold no hypothesis, best first. Shape: [B, k].
    """

    sentences: Tensor
    lengths: Tensor
    steps: Tensor
    limits: Tensor
    widths: Tensor
    best: Tensor
    words: Tensor
    places: Tensor
    scores: Tensor

    def select(self, rows: Tensor) -> "Beam":
        """Keep these sentences."""
        return Beam(*(value.index_select(0, rows) for value in self))

    def replace(self, rows: Tensor, newcomers: "Beam") -> "Beam":
        """Put other sentences into some rows, as many hypotheses each."""
        pairs = zip(self, newcomers, strict=True)
        return Beam(*(value.index_copy(0, rows, new) for value, new in pairs))


class Pruned(NamedTuple):
    """What becomes of the continuations.

    ending: those that end with `</s>` and are kept. Shape: [B, c], bool.
    living: those that go on. Shape: [B, c], bool.
    widths: how many may go on. Shape: [B].
    """

    ending: Tensor
    living: Tensor
    widths: Tensor


def beam_search(
    models: Sequence[TranslationModel],
    src: Tensor,
    src_mask: Tensor,
    settings: SearchConfig,
    n_best: int = 1,
    alignments: bool = False,
    averaging: ModelAveraging = EQUAL,
) -> list[list[Hypothesis]]:
    """Translate a batch of sentences.

    :param models: one, or several whose next-word probabilities are averaged.
    :param averaging: how they are.
    :param src: word ids, each sentence ending with `</s>`. Shape: [B, T_x], int64.
    :param src_mask: True at words and `</s>`. Shape: [B, T_x], bool.
    :param n_best: translations wanted of each sentence, at most `settings.beam`.
    :param alignments: give the first model's alignments.
    :return: for each sentence at least one and at most n_best translations, best first, no two
        the same; either all finished or, where nothing was finished, none.
    :raises ConfigError: a setting out of range.
    :raises ModelError: a model gives log-probabilities that are not numbers, or it has no
        alignment to give.
    """
    with torch.inference_mode():
        encoded = [model.encode(src, src_mask) for model in models]
        lengths = src_mask.sum(1)
        check_settings(settings, n_best)
        width = hypotheses_to_find(settings, n_best)
        found = search_batches(models, [EncodedBatch(encoded, lengths)], settings, width, averaging)
        if alignments or settings.coverage_penalty:
            found = with_alignments(models[:1], encoded[:1], lengths, found)
        return [best_covering(of_sentence, settings, n_best) for of_sentence in found]


def search_batches(
    models: Sequence[TranslationModel],
    batches: Iterable[EncodedBatch],
    settings: SearchConfig,
    n_best: int = 1,
    averaging: ModelAveraging = EQUAL,
) -> list[list[Hypothesis]]:
    """Translate the sentences of many batches, as many together as the batches have.

    :param batches: each is asked for when it is due; best longest sentences first.
    :return: for each sentence its translations, in the order of the batches; other parameters
        and errors: see `beam_search`.
    """
    check_settings(settings, n_best)
    with torch.inference_mode():
        search = _Search(models, batches, settings, n_best, averaging)
        while search.is_under_way():
            search.step()
        return search.history.n_best(settings, n_best)


class _Search:
    """Beams of the sentences that are searched, and the sentences that wait for their places."""

    def __init__(
        self,
        models: Sequence[TranslationModel],
        batches: Iterable[EncodedBatch],
        settings: SearchConfig,
        n_best: int,
        averaging: ModelAveraging,
    ) -> None:
        self.history = BeamHistory()
        self._models, self._settings, self._n_best = models, settings, n_best
        self._averaging = averaging
        self._layers = [model.output_layer() for model in models]
        self._next_words: NextTokenScorer | CandidateScorer
        self._arrivals = BatchQueue(batches)
        self._encoded: list[EncodedSource] = []
        self._lists: Tensor | None = None  # of candidates [B, C]; none where all words are
        self._states: list[SearchState] = []
        self._refillable = False
        self._beam: Beam
        self._places, self._width = 0, 0  # sentences searched together; their longest T_x
        self._free: set[int] = set()  # places whose sentence is done

    def is_under_way(self) -> bool:
        """Whether there is another step to take; sees to it that all who can take part do."""
        if len(self._free) == self._places:
            return self._start()
        if len(self._free) * CHANGE >= self._places:
            while (
                self._free and self._refillable and self._arrivals.suit(self._width, self._places)
            ):
                self._fill_places()
            self._close_up()
            self._encoded = [read.trim_padding() for read in self._encoded]
            self._width = int(self._beam.lengths.max())
        return True

    def step(self) -> None:
        """Go on by a word in every sentence."""
        beam, settings = self._beam, self._settings
        hidden, self._states = predict(self._models, beam.words, self._states, self._encoded)
        forbidden = forbidden_words(beam.steps, beam.scores, beam.lengths, settings)
        found = self._next_words.best(hidden, beam.scores, continuations(settings), forbidden)
        pruned = prune(found, beam.widths, shrinks(settings))
        beam = finish(beam, found, pruned, self.history, settings)
        over, slots = finished_sentences(beam, found, pruned, settings)
        self._beam, parents = advance(beam, found, pruned.living, self.history, slots)
        self._states = [state.select_hypotheses(parents) for state in self._states]
        leaving = sorted(set(over) - self._free)
        if leaving:
            rows = torch.tensor(leaving, device=parents.device)
            self._beam = leave(self._beam, rows, self.history)
            self._free.update(leaving)

    def _start(self) -> bool:
        """Begin with the sentences of a new batch, if there is one."""
        if not self._arrivals.size:
            return False
        self._free.clear()
        taken = self._arrivals.take(self._arrivals.size)
        self._places, self._width = len(taken.lengths), int(taken.lengths.max())
        self._encoded = list(taken.encoded)
        self._states, self._beam = self._beginning(taken)
        carried = (*self._encoded, *self._states)
        self._refillable = all(isinstance(part, Refillable) for part in carried)
        self._choose_from(taken.lists)
        return True

    def _may_refill(self) -> bool:
        return self._refillable and self._arrivals.suit(self._width, self._places)

    def _fill_places(self) -> None:
        """Give free places to sentences that wait."""
        taken = self._arrivals.take(len(self._free))
        slots = [self._free.pop() for _ in range(len(taken.lengths))]
        rows = torch.tensor(slots, device=taken.lengths.device)
        states, beam = self._beginning(taken)
        self._encoded = _replace_sentences(self._encoded, rows, taken.encoded)
        self._states = _replace_sentences(self._states, rows, states)
        if self._lists is not None and taken.lists is not None:
            self._choose_from(replace_rows(self._lists, rows, taken.lists, NONE))
        self._beam = self._beam.replace(rows, with_slots(beam, self._beam.scores.size(1)))

    def _close_up(self) -> None:
        """Leave out the free places."""
        if not self._free:
            return
        kept = [row for row in range(self._places) if row not in self._free]
        rows = torch.tensor(kept, device=self._beam.sentences.device)
        self._free.clear()
        self._places = len(kept)
        self._beam = self._beam.select(rows)
        self._encoded = [read.select_sentences(rows) for read in self._encoded]
        self._next_words = self._next_words.select(rows)
        self._lists = None if self._lists is None else self._lists[rows]
        self._states = [state.select_sentences(rows) for state in self._states]

    def _choose_from(self, lists: Tensor | None) -> None:
        """Let sentences choose from these words [B, C], or from all."""
        if lists is not None:
            self._next_words = CandidateScorer(self._layers, lists, self._averaging)
        elif not hasattr(self, "_next_words"):
            rows = self._places * self._settings.beam
            self._next_words = NextTokenScorer(self._layers, self._averaging, rows)
        self._lists = lists

    def _beginning(self, reading: EncodedBatch) -> tuple[list[SearchState], Beam]:
        """The models' first states of sentences, and a beam of each."""
        pairs = zip(self._models, reading.encoded, strict=True)
        states = [model.initial_state(read) for model, read in pairs]
        beam = first_beam(reading.lengths, self.history, self._settings, self._n_best)
        return states, beam


def _replace_sentences(carried: Sequence[Any], rows: Tensor, newcomers: Sequence[Any]) -> list[Any]:
    """Put newcomers into some rows of each model's encoded source or state."""
    pairs = zip(carried, newcomers, strict=True)
    return [value.replace_sentences(rows, new) for value, new in pairs]


def first_beam(lengths: Tensor, history: BeamHistory, settings: SearchConfig, n_best: int) -> Beam:
    """One hypothesis a sentence, of no words, which the history is told of.

    :param lengths: T_x. Shape: [B].
    """
    sentences, places = history.begin(len(lengths), lengths.device)
    scores = torch.zeros(places.shape, dtype=torch.float64, device=lengths.device)
    return Beam(
        sentences=sentences,
        lengths=lengths.clone(),
        steps=torch.zeros_like(lengths),
        limits=step_limits(lengths, settings.max_length_ratio),
        widths=torch.full_like(lengths, settings.beam),
        best=scores.new_full((len(lengths), n_best), -torch.inf),
        words=torch.full_like(places, BOS),
        places=places,
        scores=scores,
    )


def with_slots(beam: Beam, slots: int) -> Beam:
    """The same hypotheses, and slots that hold none up to so many of each sentence."""
    edge = [0, slots - beam.scores.size(1)]
    return beam._replace(
        words=functional.pad(beam.words, edge),
        places=functional.pad(beam.places, edge),
        scores=functional.pad(beam.scores, edge, value=-torch.inf),
    )


def step_limits(lengths: Tensor, max_length_ratio: float) -> Tensor:
    """The longest translations, `</s>` counted: max(10, ratio * T_x). Shape: [B], int64."""
    return (lengths * max_length_ratio).long().clamp(min=SHORTEST_LIMIT)


def predict(
    models: Sequence[TranslationModel],
    words: Tensor,
    states: Sequence[SearchState],
    encoded: Sequence[EncodedSource],
) -> tuple[list[Tensor], list[SearchState]]:
    """Let every model go on by a word.

    :param words: the words chosen last. Shape: [B, k].
    :return: the models' readouts [B, k, l], from which the next word follows; their states.
    """
    steps = [
        model.step(words, state, read)
        for model, state, read in zip(models, states, encoded, strict=True)
    ]
    return [step.readout for step in steps], [step.state for step in steps]


def forbidden_words(
    steps: Tensor, scores: Tensor, lengths: Tensor, settings: SearchConfig
) -> TokenMask:
    """What may not come next: `</s>` where the translation would be too short, and as the first
    word, but where the source is empty, too.

    :param steps: words that the hypotheses have. Shape: [B].
    :param scores: any of their values. Shape: [B, k].
    :param lengths: T_x, 1 for an empty source. Shape: [B].
    """
    least = (lengths * settings.min_length_ratio).ceil().clamp(min=2)  # `</s>` counted
    early = (steps + 1 < least) & (lengths > 1)
    return TokenMask(early.unsqueeze(1).expand(scores.shape), settings.forbid_unk)


def prune(found: Expansions, widths: Tensor, shrinking: bool) -> Pruned:
    """Choose the continuations that end and those that go on.

    Those that end are the `</s>` among the best `width` of all; as many of the best others go on
    as the beam has room for afterwards.
    """
    ranks = torch.arange(found.words.size(1), device=widths.device)
    real, eos = found.scores > -torch.inf, found.words == EOS
    ending = real & eos & (ranks < widths.unsqueeze(1))
    if shrinking:
        widths = widths - ending.sum(1)
    others = real & ~eos
    return Pruned(ending, others & (others.cumsum(1) <= widths.unsqueeze(1)), widths)


def finish(
    beam: Beam, found: Expansions, pruned: Pruned, history: BeamHistory, settings: SearchConfig
) -> Beam:
    """Note the hypotheses that end, and keep the ranking scores of the n best so far."""
    beam = beam._replace(steps=beam.steps + 1, widths=pruned.widths)
    scores = found.scores.masked_fill(~pruned.ending, -torch.inf)
    history.end(beam.sentences, beam.places.gather(1, found.parents), scores, beam.steps)
    ranking = scores / length_divisor(settings, beam.steps.double()).unsqueeze(1)
    best = torch.cat([beam.best, ranking], dim=1).topk(beam.best.size(1), dim=1).values
    return beam._replace(best=best)


def finished_sentences(
    beam: Beam, found: Expansions, pruned: Pruned, settings: SearchConfig
) -> tuple[list[int], int]:
    """Find the sentences whose n best translations cannot change any more.

    This is where the host waits for the device, once a step.

    :return: their rows; the most hypotheses that go on in any sentence, at least 1.
    :raises ModelError: a log-probability is not a number or above 0.
    """
    reachable = found.scores.masked_fill(~pruned.living, -torch.inf).amax(1)
    reachable = reachable / length_divisor(settings, beam.limits.double())
    counts = pruned.living.sum(1)
    done = (counts == 0) | (beam.limits <= beam.steps) | (beam.best[:, -1] >= reachable)
    broken = ~(found.scores[:, 0] <= TOLERANCE)
    facts: list[list[int]] = torch.stack([done.long(), counts, broken.long()]).tolist()
    if any(facts[2]):
        raise ModelError(
            "the model gives log-probabilities that are not numbers: its parameters are damaged,"
            " or its training diverged; use another checkpoint"
        )
    return [row for row, over in enumerate(facts[0]) if over], max(1, *facts[1])


def advance(
    beam: Beam, found: Expansions, living: Tensor, history: BeamHistory, width: int
) -> tuple[Beam, Tensor]:
    """Put the hypotheses that go on into the beam, and into the history.

    :param width: slots of the new beam.
    :return: the beam, and the old slots from which its hypotheses come [B, width].
    """
    chosen = (~living).to(torch.int8).argsort(dim=1, stable=True)[:, :width]
    scores = found.scores.masked_fill(~living, -torch.inf).gather(1, chosen)
    parents, words = found.parents.gather(1, chosen), found.words.gather(1, chosen)
    places = history.add(words, beam.places.gather(1, parents), scores)
    return beam._replace(words=words, places=places, scores=scores), parents


def leave(beam: Beam, rows: Tensor, history: BeamHistory) -> Beam:
    """End the search for some sentences; what is unfinished is noted for those without an end."""
    gone = beam.select(rows)
    history.add_unfinished(gone.sentences, gone.places, gone.scores, gone.steps)
    return beam._replace(scores=beam.scores.index_fill(0, rows, -torch.inf))
