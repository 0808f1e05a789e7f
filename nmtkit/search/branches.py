"""The most probable ways in which a translation goes on after its prefix, each with another token.

A way ends at the first token that shows text: markers of case and spacing, and bytes that are no
whole character, are followed further.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from nmtkit.config import SearchConfig
from nmtkit.models.base import TranslationModel
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.candidates import CandidateScorer
from nmtkit.search.forced_prefix import PrefixNode
from nmtkit.search.model_averaging import EQUAL_WEIGHTS, ModelAveraging
from nmtkit.search.next_token import NextTokenScorer, predict
from nmtkit.search.search_settings import mask_tokens
from nmtkit.special_symbols import BOS, EOS, UNK

MAX_INVISIBLE = 8
"""Tokens without text that a way may have."""


class Prefix(NamedTuple):
    """The prefix of a translation.

    node: its beginning; None: there is none. is_open: its last word may go on.
    """

    node: PrefixNode | None = None
    is_open: bool = False


class Branch(NamedTuple):
    """A way to go on; the best come first when they are sorted.

    cost: - log p. tokens: all tokens from the beginning on. node: where in the prefix it is; None
    behind. spelling: bytes of the tokens behind the prefix. parent: slot of the branch before.
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
    settings: SearchConfig,
    prefix: Prefix,
    count: int,
    spellings: Sequence[bytes],
    averaging: ModelAveraging = EQUAL_WEIGHTS,
) -> list[Branch]:
    """Return at most `count` branches, the most probable first.

    :param batch: one sentence.
    :param prefix: what all begin with.
    :param spellings: text of each token; empty for markers.
    """
    layers = [model.output_layer() for model in models]
    if batch.candidates is None:
        scorer: NextTokenScorer | CandidateScorer = NextTokenScorer(layers, averaging, count)
    else:
        scorer = CandidateScorer(layers, batch.candidates, averaging)
    pairs = zip(models, batch.encoded, strict=True)
    states = [model.initial_state(source) for model, source in pairs]
    active, found = [Branch(0.0, (), prefix.node)], list[Branch]()
    limit = MAX_INVISIBLE + (prefix.node.length if prefix.node else 0)
    while active and len(active[0].tokens) < limit:
        last = [one.tokens[-1] if one.tokens else BOS for one in active]
        tokens = batch.lengths.new_tensor([last])  # [1, k]
        readouts, states, _ = predict(models, tokens, states, batch.encoded)
        best = _best_tokens(active, scorer, readouts, batch.lengths, settings, count)
        expanded = [_after(active, *one, prefix.is_open, spellings) for one in best]
        found = sorted(found + [one for one in expanded if one.is_whole])[:count]
        bound = found[-1].cost if len(found) == count else float("inf")
        others = sorted(one for one in expanded if not one.is_whole and one.cost < bound)
        active = others[:count]
        parents = batch.lengths.new_tensor([[one.parent for one in active]])
        if active:
            states = [state.select_hypotheses(parents) for state in states]
    return found


def _best_tokens(
    branches: Sequence[Branch],
    scorer: NextTokenScorer | CandidateScorer,
    readouts: Sequence[torch.Tensor],
    lengths: torch.Tensor,
    settings: SearchConfig,
    count: int,
) -> list[tuple[int, int, float]]:
    """Return the best tokens after each branch: its slot, the token, log p."""
    if len(branches) == 1 and branches[0].node and len(branches[0].node.following) == 1:
        (token,) = branches[0].node.following  # its probability changes no order
        return [(0, token, 0.0)]
    steps = torch.full_like(lengths, len(branches[0].tokens))
    mask = mask_tokens(steps, readouts[0][:, :, 0], lengths, settings)
    found = []
    for chunk, log_probs in scorer.log_probs(readouts):
        mask.select(chunk)._replace(unk=False).apply(log_probs)
        for slot, row in enumerate(log_probs, chunk.start):
            node = branches[slot].node
            tokens = None if node is None else node.tokens.to(row.device)
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
    is_open: bool,
    spellings: Sequence[bytes],
) -> Branch:
    """Return a branch with one more token."""
    before = branches[slot]
    node = before.node and before.node.following[token]
    is_shown = before.node is None or (node is None and is_open)
    spelling = before.spelling + (spellings[token] if is_shown else b"")
    return Branch(before.cost - log_prob, (*before.tokens, token), node, spelling, slot)
