"""The coverage penalty of Wu et al. 2016, eq. (14).

    s(Y, X) = log p(Y | X) / lp(Y) + beta cp,   cp = sum_j log min(sum_i alpha_ij, 1)

over source positions j and target positions i. It lowers the score of a translation for each source
word whose attention sums to less than 1.

Departures and readings:

- Beam search keeps no alignments and ranks by score and length only. The penalty reranks the
  best finished hypotheses of a sentence, as many as the beam is wide.
- The source's `</s>` need not be translated, so it is left out; the target's `</s>` is a position
  like others.
"""

from nmtkit.config import SearchConfig
from nmtkit.search.hypothesis import Hypothesis


def rerank_by_coverage(
    hypotheses: list[Hypothesis], settings: SearchConfig, n_best: int
) -> list[Hypothesis]:
    """Return the n best of a sentence's hypotheses, as the settings rank them."""
    if not settings.coverage_penalty:
        return hypotheses
    return sorted(hypotheses, key=lambda h: -h.ranking_score(settings))[:n_best]
