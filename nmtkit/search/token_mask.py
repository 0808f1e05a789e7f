"""Tokens that must not come next: `</s>` in short hypotheses, `<unk>`, and repeated tokens."""

from typing import NamedTuple

import torch
from torch import Tensor

from nmtkit.special_symbols import BOS, EOS, UNK


class TokenMask(NamedTuple):
    """Tokens that must not be chosen. The others are not renormalised.

    eos: True for hypotheses whose next token must not be `</s>`. Shape: [B, k], bool.
    unk: True if `<unk>` is forbidden everywhere.
    repeats: other tokens that are forbidden, padded with `BOS`. Shape: [B, k, m].
    """

    eos: Tensor
    unk: bool
    repeats: Tensor | None = None

    def select(self, rows: Tensor | slice) -> "TokenMask":
        """Keep some of the B * k hypotheses. Shape of `eos`: [number of rows]."""
        repeats = None if self.repeats is None else self.repeats.flatten(0, -2)[rows]
        return TokenMask(self.eos.flatten()[rows], self.unk, repeats)

    def of_sentences(self, rows: Tensor) -> "TokenMask":
        """Keep some of the B sentences."""
        return TokenMask(
            self.eos[rows], self.unk, None if self.repeats is None else self.repeats[rows]
        )

    def allowing(self, repeats: Tensor) -> "TokenMask":
        """Allow some of `repeats`, where this is True. Shape: [B, k, m] or [B, k, 1]."""
        if self.repeats is None:
            return self
        return self._replace(repeats=self.repeats.masked_fill(repeats, BOS))

    def apply(self, log_probs: Tensor) -> Tensor:
        """Set forbidden tokens to -inf, in place.

        :param log_probs: of `</s>`, `<unk>` and other tokens. Shape: [r, K].
        """
        log_probs[:, EOS].masked_fill_(self.eos.flatten(), -torch.inf)
        if self.unk:
            log_probs[:, UNK] = -torch.inf
        return self.apply_repeats(log_probs)

    def apply_repeats(self, log_probs: Tensor, first: int = 0) -> Tensor:
        """Set `repeats` to -inf, in place.

        :param log_probs: of consecutive tokens, which begin with `first`. Shape: [r, w].
        """
        if self.repeats is None:
            return log_probs
        columns = self.repeats.flatten(0, -2) - first  # [r, m]
        inside = (columns >= 0) & (columns < log_probs.size(1))
        added = log_probs.new_zeros(()).where(~inside, -torch.inf)  # not assigned: NaN stays NaN
        return log_probs.scatter_add_(1, columns.where(inside, 0), added)

    def apply_at(self, log_probs: Tensor, tokens: Tensor) -> None:
        """Set forbidden ones of some tokens to -inf, in place.

        :param log_probs, tokens: of each hypothesis. Shape of each: [r, w].
        """
        log_probs.masked_fill_((tokens == EOS) & self.eos.flatten().unsqueeze(1), -torch.inf)
        if self.unk:
            log_probs.masked_fill_(tokens == UNK, -torch.inf)
        if self.repeats is not None:
            repeated = (tokens.unsqueeze(2) == self.repeats.flatten(0, -2).unsqueeze(1)).any(2)
            log_probs.masked_fill_(repeated, -torch.inf)
