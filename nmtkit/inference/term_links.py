"""Links of the tokens of terms: a glossary says which source words they translate.

Attention says it badly of words that the model would not have written, so that an element around a
source term would lose its words.
"""

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from nmtkit.search.constraints import Constraints
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.search.token_trees import places_of


def with_term_links(hypothesis: Hypothesis, constraints: Constraints) -> Hypothesis:
    """Return a hypothesis whose tokens of terms are aligned with those of their sources, evenly.

    Where a term may stand in several places, the one that looks most at its source counts.

    :param constraints: the terms of the line, with the positions of their source tokens.
    """
    if hypothesis.alignment is None or not constraints.terms:
        return hypothesis
    alignment, taken = hypothesis.alignment, set[int]()
    matrix = alignment.clone()
    for span, alternatives in zip(constraints.spans, constraints.terms, strict=True):
        found = places_of(alternatives, hypothesis.ids)
        places = [place for place in found if taken.isdisjoint(place)]
        if not span or not places:
            continue
        place = max(places, key=lambda rows: _weight(alignment, rows, span))
        taken.update(place)
        matrix[place.start : place.stop] = 0.0
        matrix[place.start : place.stop, list(span)] = 1 / len(span)
    return replace(hypothesis, alignment=matrix)


def _weight(alignment: Tensor, rows: range, span: Sequence[int]) -> tuple[float, int]:
    """Return how much some rows look at a span, and their number."""
    looked = alignment[rows.start : rows.stop, list(span)].sum() / len(rows)
    return float(looked), len(rows)
