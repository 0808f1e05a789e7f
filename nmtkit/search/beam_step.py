"""The step of beam search on tensors: hypotheses of many sentences, without models.

`beam.py` describes the algorithm whose parts these functions are.
"""

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from nmtkit.config import SearchConfig
from nmtkit.errors import ModelError
from nmtkit.search.beam_history import BeamHistory, score_dtype
from nmtkit.search.expansions import Expansions
from nmtkit.search.search_settings import (
    MAX_LOG_PROB,
    NOT_A_NUMBER,
    length_divisor,
    reachable_lengths,
    step_limits,
)
from nmtkit.special_symbols import BOS, EOS

if TYPE_CHECKING:
    from nmtkit.search.forced_decoding import Begun


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
