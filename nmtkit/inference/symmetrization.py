"""Links of two directions made one set (Koehn, Och and Marcu 2003, section 4.1; Moses)."""

from enum import StrEnum
from operator import itemgetter

Link = tuple[int, int]
"""Positions of a source and a target word, from 0."""

STRAIGHT = ((-1, 0), (0, -1), (1, 0), (0, 1))
DIAGONAL = ((-1, -1), (-1, 1), (1, -1), (1, 1))
"""Steps to the neighbours of a link: of the target, and of the source."""

BY_TARGET = itemgetter(1, 0)
"""Key of the order in which links are looked at."""


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
    """Begin with what both have, and add what one has, as Moses's symal does.

    Neighbours of links come first, if one of their words has no link yet, then the neighbours of
    these, until none is left; then links whose words both have none.
    """
    links, union = forward & backward, forward | backward
    sources, targets = {source for source, _ in links}, {target for _, target in links}

    def add(link: Link) -> None:
        links.add(link)
        sources.add(link[0])
        targets.add(link[1])

    new = [*links]
    while new:
        reached = []
        for source, target in sorted(new, key=BY_TARGET):
            for right, down in STRAIGHT + DIAGONAL:
                link = source + down, target + right
                if link in union and (link[0] not in sources or link[1] not in targets):
                    add(link)
                    reached.append(link)
        new = reached
    for link in [*sorted(forward, key=BY_TARGET), *sorted(backward, key=BY_TARGET)]:
        if link[0] not in sources and link[1] not in targets:
            add(link)
    return links
