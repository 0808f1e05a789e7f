"""Average the next-token probabilities of several models.

Sutskever et al. 2014, section 3.6, translate with ensembles and do not say how their models are
combined. Both means are readings: that of the probabilities, which is again a distribution and the
default, and that of their logarithms.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

import torch
from torch import Tensor


@dataclass(frozen=True)
class ModelAveraging:
    """A weighted mean over the models of an ensemble.

    weights: one per model, above 0; only their ratios matter; equal weights if empty.
    log_linear: average log-probabilities instead of probabilities. This geometric mean is not
        normalised: it gives scores, still 0 or less.
    """

    weights: tuple[float, ...] = ()
    log_linear: bool = False

    def __call__(self, log_probs: Sequence[Tensor]) -> Tensor:
        """Average log-probabilities of equal shape, one per model; natural log."""
        if len(log_probs) == 1:
            return log_probs[0]
        weights = self.weights or (1.0,) * len(log_probs)
        shares = [weight / sum(weights) for weight in weights]
        pairs = list(zip(log_probs, shares, strict=True))
        if self.log_linear:
            return torch.stack([values * share for values, share in pairs]).sum(0)
        return torch.stack([values + math.log(share) for values, share in pairs]).logsumexp(0)


EQUAL_WEIGHTS = ModelAveraging()
"""The mean of probabilities with equal weights."""

FIRST = itemgetter(0)
"""The mean over a single model."""
