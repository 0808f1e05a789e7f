"""How several models' probabilities of the next word become one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

import torch
from torch import Tensor


@dataclass(frozen=True)
class ModelAveraging:
    """A mean over models.

    weights: of each model, above 0; only their ratios count; equal ones where none are given.
    log_linear: average log-probabilities (the geometric mean, not normalised: what comes out is a
        score, still 0 or less), instead of probabilities (Sutskever et al. 2014, section 3.6).
    """

    weights: tuple[float, ...] = ()
    log_linear: bool = False

    def __call__(self, log_probs: Sequence[Tensor]) -> Tensor:
        """The mean of log-probabilities of the same shape, natural log."""
        if len(log_probs) == 1:
            return log_probs[0]
        weights = self.weights or (1.0,) * len(log_probs)
        shares = [weight / sum(weights) for weight in weights]
        pairs = list(zip(log_probs, shares, strict=True))
        if self.log_linear:
            return torch.stack([values * share for values, share in pairs]).sum(0)
        return torch.stack([values + math.log(share) for values, share in pairs]).logsumexp(0)


EQUAL = ModelAveraging()
"""The mean of probabilities."""

FIRST = itemgetter(0)
"""The mean over a single model."""
