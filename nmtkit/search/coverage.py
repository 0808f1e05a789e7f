"""The coverage penalty of Wu et al. 2016, eq. (14): what is missing of the source in a translation.

    s(Y, X) = log p(Y | X) / lp(Y) + beta cp,   cp = sum_j log min(sum_i alpha_ij, 1)

over source positions j and target positions i. A source word that the translation has looked at
less than once in all makes it worse.

Departures and readings:

- Search itself, which keeps no alignments, goes by the score and the length. The penalty chooses
  among the finished hypotheses that it finds for a sentence, as many as the beam is wide.
- The source's `</s>` is no word that has to be translated; the target's `</s>` is a position that
  looks at the source like others.
"""

from nmtkit.config import SearchConfig
from nmtkit.search.hypothesis import Hypothesis


def best_covering(found: list[Hypothesis], settings: SearchConfig, n_best: int) -> list[Hypothesis]:
    """The n best of a sentence's hypotheses, as the settings rank them."""
    if not settings.coverage_penalty:
        return found
    return sorted(found, key=lambda hypothesis: -hypothesis.ranking_score(settings))[:n_best]
