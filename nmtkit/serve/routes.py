"""The ways from one language to another: by one model, or by two through a pivot language.

Translating through a third language is the sentence translation strategy of Utiyama and Isahara
2007 ("A comparison of pivot methods for phrase-based statistical machine translation") with one
translation in the third language.
"""

from collections.abc import Iterable, Mapping, Sequence

from nmtkit.errors import ConfigError
from nmtkit.text.languages import base_language

Pair = tuple[str, str]
"""Source and target language."""

Route = tuple[Pair, ...]
"""The pairs of the models that translate a text in turn."""

DISTINCT = 2
"""Distance of two tags of a language whose scripts or regions differ."""


def distance(one: str, other: str) -> int:
    """Return how far two tags of a language are from each other.

    0: they are the same. 1: one is the other with a script or region. DISTINCT: those differ.
    """
    first, second = (f"{tag.replace('_', '-').lower()}-" for tag in (one, other))
    if first == second:
        return 0
    return 1 if first.startswith(second) or second.startswith(first) else DISTINCT


def routes_of(pairs: Iterable[Pair], pivots: Sequence[str] = ()) -> Mapping[Pair, Route]:
    """Return the way of each pair that can be translated, those of one model first.

    A pair has a way through a pivot language if no model translates it, or one of the same
    languages with or without a script or region; of several pivot languages it is the first one.

    :param pairs: those of the models.
    :param pivots: languages, as the models name them.
    :raises ConfigError: no pair has a way through a pivot language.
    """
    direct = list(pairs)
    known = ", ".join("-".join(pair) for pair in direct)
    routes: dict[Pair, Route] = {pair: (pair,) for pair in direct}
    for pivot in pivots:
        added = {
            (source, target): ((source, pivot), (pivot, target))
            for source, middle in direct
            for other, target in direct
            if middle == other == pivot and not _is_served((source, target), direct)
        }
        if not added:
            raise ConfigError(
                f"--pivot {pivot}: nothing is translated through {pivot}; give a model into it and"
                f" one from it, without a model between their languages; there are {known}"
            )
        routes |= {pair: route for pair, route in added.items() if pair not in routes}
    return routes


def _is_served(pair: Pair, direct: Iterable[Pair]) -> bool:
    """Return whether a model translates a pair, or both are the same language."""
    source, target = pair
    return base_language(source) == base_language(target) or any(
        distance(source, one) < DISTINCT and distance(target, other) < DISTINCT
        for one, other in direct
    )
