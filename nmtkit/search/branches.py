"""The most probable ways in which a translation goes on after its prefix, each with another token.

A way ends at the first token that shows text: markers of case and spacing, and bytes that are no
whole character, are followed further.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from nmtkit.config import SearchConfig
from nmtkit.models.base import TranslationModel
from nmtkit.models.search_state import upload
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.candidates import CandidateScorer
from nmtkit.search.forced_decoding import Begun
from nmtkit.search.forced_prefix import PrefixNode
from nmtkit.search.next_token import NextTokenScorer, predict
from nmtkit.search.search_settings import TokenMask, mask_tokens
from nmtkit.special_symbols import EOS, UNK

MAX_INVISIBLE = 8
"""Tokens without text that a way may have."""


class Branch(NamedTuple):
    """A way to go on; the best come first when they are sorted.

    cost: - log p. tokens: those behind the prefix's whole words. node: where in the rest of the
    prefix it is; None behind. spelling: text of the tokens behind the whole words, or of the token
    that ends the prefix and those after it. parent: slot of the branch before.
    """

    cost: float
    tokens: tuple[int, ...]
    node: PrefixNode | None
    spelling: bytes = b""
    parent: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether it ends, or shows text behind the prefix."""
        if self.node is not None or not self.tokens:
            return False
        text = self.spelling.decode("utf-8", errors="ignore")
        return self.tokens[-1] == EOS or bool(text.strip())


def find_branches(
    models: Sequence[TranslationModel],
    batch: EncodedBatch,
    scorer: NextTokenScorer | CandidateScorer,
    settings: SearchConfig,
    begun: Begun,
    rest: PrefixNode | None,
    count: int,
    spellings: Sequence[bytes],
) -> list[Branch]:
    """Return at most `count` branches, the most probable first.

    :param batch: one sentence.
    :param begun: the whole words of the prefix, decoded.
    :param rest: what follows them; None: anything.
    :param spellings: text of each token; empty for markers.
    """
    states, active, found = begun.states, [Branch(0.0, (), rest)], list[Branch]()
    device = batch.lengths.device
    repeats = batch._replace(begun=begun).repeats(settings)
    steps = torch.full_like(batch.lengths, len(begun.tokens))
    for _ in range(MAX_INVISIBLE + (rest.length if rest else 0)):
        last = [one.tokens[-1] if one.tokens else begun.last for one in active]
        tokens = upload([last], device)  # [1, k]
        readouts, states, _ = predict(models, tokens, states, batch.encoded)
        mask = mask_tokens(steps, tokens, batch.lengths, settings)
        if repeats is not None:
            in_prefix = upload([[[one.node is not None] for one in active]], device, torch.bool)
            mask = mask._replace(repeats=repeats.forbidden()).allowing(in_prefix)
        best = _best_tokens(active, scorer, readouts, mask, count)
        expanded = [_after(active, *one, spellings) for one in best]
        found = sorted(found + [one for one in expanded if one.is_whole])[:count]
        bound = found[-1].cost if len(found) == count else float("inf")
        active = sorted(one for one in expanded if not one.is_whole and one.cost < bound)[:count]
        if not active:
            break
        parents = upload([[one.parent for one in active]], device)
        states = [state.select_hypotheses(parents) for state in states]
        if repeats is not None:
            latest = upload([[one.tokens[-1] for one in active]], device)
            repeats.advance(latest, parents)
        steps = steps + 1
    return found


def _best_tokens(
    branches: Sequence[Branch],
    scorer: NextTokenScorer | CandidateScorer,
    readouts: Sequence[torch.Tensor],
    mask: TokenMask,
    count: int,
) -> list[tuple[int, int, float]]:
    """Return the best tokens after each branch: its slot, the token, log p."""
    found = []
    for chunk, log_probs in scorer.log_probs(readouts):
        mask.select(chunk)._replace(unk=False).apply(log_probs)
        for slot, row in enumerate(log_probs, chunk.start):
            node = branches[slot].node
            tokens = None if node is None else node.tokens.to(row.device, non_blocking=True)
            if tokens is None:
                row[UNK] = -torch.inf  # it suggests nothing
            values = row if tokens is None else row[tokens]
            best = values.topk(min(count, len(values)))
            chosen = best.indices if tokens is None else tokens[best.indices]
            pairs = zip(chosen.tolist(), best.values.tolist(), strict=True)
            found += [(slot, token, value) for token, value in pairs if value > -torch.inf]
    return found


def _after(
    branches: Sequence[Branch],
    slot: int,
    token: int,
    log_prob: float,
    spellings: Sequence[bytes],
) -> Branch:
    """Return a branch with one more token."""
    before = branches[slot]
    node = before.node and before.node.following[token]
    spelling = before.spelling + (spellings[token] if node is None else b"")
    return Branch(before.cost - log_prob, (*before.tokens, token), node, spelling, slot)
