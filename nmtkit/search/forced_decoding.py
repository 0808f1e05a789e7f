"""Tokens that are given, decoded once: several searches of one sentence may begin behind them."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nmtkit.models.base import TranslationModel
from nmtkit.models.search_state import SearchState, upload
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.candidates import CandidateScorer
from nmtkit.search.next_token import NextTokenScorer, initial_states, predict
from nmtkit.special_symbols import BOS


class Begun(NamedTuple):
    """The beginning of the translation of one sentence.

    tokens: ids. scores: log p of each part of them, from the first token on. states: of each model,
    before it reads the last token.
    """

    tokens: tuple[int, ...]
    scores: tuple[float, ...]
    states: Sequence[SearchState]

    @property
    def last(self) -> int:
        """The last token."""
        return self.tokens[-1] if self.tokens else BOS


def decode_forced(
    models: Sequence[TranslationModel],
    batch: EncodedBatch,
    scorer: NextTokenScorer | CandidateScorer,
    tokens: Sequence[int],
    before: Begun | None = None,
) -> Begun:
    """Decode given tokens; their probabilities are computed together, after the last one.

    :param batch: one sentence.
    :param before: a beginning of the tokens that has been decoded, with the same candidates.
    """
    if before is None:
        before = Begun((), (), initial_states(models, batch.encoded))
    states, read = before.states, [before.last, *tokens[len(before.tokens) : -1]]
    new = tokens[len(before.tokens) :]
    if not new:
        return before
    steps: list[list[Tensor]] = []
    for token in read:
        last = upload([[token]], batch.lengths.device)
        readouts, states, _ = predict(models, last, states, batch.encoded)
        steps.append(readouts)
    joined = [torch.cat(parts, dim=1) for parts in zip(*steps, strict=True)]  # [1, n, l]
    log_probs: list[float] = []
    for chunk, values in scorer.log_probs(joined):
        wanted = upload(new[chunk], values.device).unsqueeze(1)
        log_probs += values.gather(1, wanted).squeeze(1).tolist()
    scores, total = [], before.scores[-1] if before.scores else 0.0
    for log_prob in log_probs:
        scores.append(total := total + log_prob)
    return Begun(tuple(tokens), (*before.scores, *scores), states)
