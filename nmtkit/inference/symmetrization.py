"""Links of two directions made one set (Koehn, Och and Marcu 2003, section 4.1; Moses)."""

import heapq
from enum import StrEnum

Link = tuple[int, int]
"""Positions of a source and a target word, from 0."""

STRAIGHT = ((-1, 0), (0, -1), (1, 0), (0, 1))
DIAGONAL = ((-1, -1), (-1, 1), (1, -1), (1, 1))
"""Steps to the neighbours of a link: of the target word, and of the source word."""


class Symmetrization(StrEnum):
    """How two sets of links are combined."""

    INTERSECTION = "intersection"
    UNION = "union"
    GROW_DIAG_FINAL_AND = "grow-diag-final-and"


def symmetrize(forward: set[Link], backward: set[Link], method: Symmetrization) -> list[Link]:
    """Combine the links of two directions; return them in order.

    :param forward, backward: (source, target), of the model and of the model of the other
        direction.
    """
    match method:
        case Symmetrization.INTERSECTION:
            return sorted(forward & backward)
        case Symmetrization.UNION:
            return sorted(forward | backward)
        case Symmetrization.GROW_DIAG_FINAL_AND:
            return sorted(_grow_diag_final_and(forward, backward))


def _grow_diag_final_and(forward: set[Link], backward: set[Link]) -> set[Link]:
    """Begin with what both have, and add what one has, in the order of Moses's symal.

    Neighbours of links come first, if one of their words has no link yet, until none is left; then
    links whose words both have none. A scan visits the links in the order of the target words; it
    visits a new link that stands behind the current one, too, and the next scan visits the others.
    """
    one, other = ({(target, source) for source, target in links} for links in (forward, backward))
    grown, union = one & other, one | other
    targets, sources = {target for target, _ in grown}, {source for _, source in grown}

    def add(target: int, source: int) -> None:
        grown.add((target, source))
        targets.add(target)
        sources.add(source)

    scan = sorted(grown)
    while scan:
        passed: list[Link] = []
        while scan:
            place = heapq.heappop(scan)
            for down, right in STRAIGHT + DIAGONAL:
                target, source = new = place[0] + down, place[1] + right
                if new in union and (target not in targets or source not in sources):
                    add(target, source)
                    if new > place:
                        heapq.heappush(scan, new)
                    else:
                        passed.append(new)
        scan = sorted(passed)
    for target, source in [*sorted(one), *sorted(other)]:
        if target not in targets and source not in sources:
            add(target, source)
    return {(source, target) for target, source in grown}
