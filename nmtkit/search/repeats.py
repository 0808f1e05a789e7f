"""Tokens that would repeat an n-gram of a hypothesis (`SearchConfig.no_repeat_ngram`).

Paulus et al. 2018, section 2.5, for N = 3: a token that would end an n-gram which the hypothesis
already has is given probability 0. Nothing is renormalised, so scores stay the models' log p; and
as hypotheses are only removed, what `stop` knows of the others stays true.

N-grams are of tokens, that is subwords, and `<unk>` is a token like others. Never forbidden are
`</s>`, the tokens that a translation has as often as its source (`EncodedBatch.repeatable`), and
the tokens of a required prefix or term where they are due (`constrained_beam.py`).
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from nmtkit.models.search_state import upload
from nmtkit.special_symbols import BOS, EOS


class RepeatedNgrams:
    """The tokens of hypotheses, and those that would repeat an n-gram.

    :param size: N.
    :param repeatable: tokens that are never forbidden.
    :param tokens: what each hypothesis has so far, `BOS` before its first token where others are
        longer. Shape: [B, k, t].
    """

    def __init__(self, size: int, repeatable: Sequence[int], tokens: Tensor) -> None:
        self._size, self._tokens = size, tokens
        self._repeatable = upload([BOS, EOS, *repeatable], tokens.device)

    def forbidden(self) -> Tensor | None:
        """Return the tokens that must not be next, padded with `BOS`; None: there are none.

        On a CPU as many as one hypothesis has at most; on a GPU, where counting would make the host
        wait, one for each n-gram. Shape: [B, k, m].
        """
        count = self._tokens.size(2) - self._size + 1  # n-grams of the longest hypothesis
        if count < 1:
            return None
        last = self._tokens[:, :, self._size - 1 :]  # of each n-gram. Shape: [B, k, count]
        repeats = ~torch.isin(last, self._repeatable)
        for place in range(self._size - 1):
            latest = self._tokens[:, :, count + place, None]
            repeats &= self._tokens[:, :, place : count + place] == latest
        found = last.masked_fill(~repeats, BOS)
        if found.device.type != "cpu":
            return found
        most = int(repeats.sum(2).max())
        return found.topk(most, dim=2, sorted=False).values if most else None

    def advance(self, tokens: Tensor, parents: Tensor | None = None) -> None:
        """Add a token to each hypothesis.

        :param tokens: Shape: [B, k'].
        :param parents: the old slot of each new hypothesis; None: the same. Shape: [B, k'].
        """
        before = self._tokens
        if parents is not None:
            before = before.gather(1, parents.unsqueeze(2).expand(-1, -1, before.size(2)))
        self._tokens = torch.cat([before, tokens.unsqueeze(2)], dim=2)

    def select(self, rows: Tensor) -> None:
        """Keep the sentences `rows`. Shape: [n], int64."""
        self._tokens = _trimmed(self._tokens[rows])

    def replace(self, rows: Tensor, newcomers: "RepeatedNgrams") -> None:
        """Replace the sentences of some rows."""
        k, t = (max(self._tokens.size(dim), newcomers._tokens.size(dim)) for dim in (1, 2))
        old, new = (
            functional.pad(one, [t - one.size(2), 0, 0, k - one.size(1)], value=BOS)
            for one in (self._tokens, newcomers._tokens)
        )
        self._tokens = _trimmed(old.index_copy(0, rows, new))


def _trimmed(tokens: Tensor) -> Tensor:
    """Leave out what stands before the first tokens of all hypotheses."""
    used = int((tokens != BOS).any(0).any(0).sum())
    return tokens[:, :, tokens.size(2) - used :]
