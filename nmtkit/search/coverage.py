"""The coverage penalty of Wu et al. 2016, eq. (14).

    s(Y, X) = log p(Y | X) / lp(Y) + beta cp,   cp = sum_j log min(sum_i alpha_ij, 1)

over source positions j and target positions i. It lowers the score of a translation for each source
word whose attention sums to less than 1.

That is `penalty` "wu", with lp(Y) = ((5 + |Y|) / 6)^a. With an exponent as small as Wu et al.'s,
0.2, lp(Y) stays near 1 (1.3 for 20 words): log p / lp(Y) is nearly a sum over the words of the
sentence, as cp is. With the exponent 1 it is nearly a mean, which cp, still a sum, outweighs. So
with `penalty` "power", whose exponent is 1 by default, both sums are divided:

    s(Y, X) = (log p(Y | X) + beta cp) / |Y|^a

Translations of one length then rank alike with any exponent, and without a length penalty both
formulas are the same.

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
    return sorted(hypotheses, key=lambda h: -h.ranking_score(settings))[:n_best]
