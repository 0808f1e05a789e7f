"""Links of two directions combined."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.inference.symmetrization import Link, Symmetrization, symmetrize

links = st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)))
GROW = Symmetrization.GROW_DIAG_FINAL_AND


@given(links, links)
def test_every_method_lies_between_intersection_and_union(one: set[Link], two: set[Link]) -> None:
    for method in Symmetrization:
        found = symmetrize(one, two, method)
        assert one & two <= set(found) <= one | two
        assert found == sorted(set(found))


@given(links, links)
def test_directions_that_agree_are_kept(one: set[Link], two: set[Link]) -> None:
    for method in Symmetrization:
        assert symmetrize(one, one, method) == sorted(one)
    assert symmetrize(one, two, Symmetrization.UNION) == symmetrize(two, one, Symmetrization.UNION)


@given(links, links)
def test_growing_adds_no_link_between_two_words_that_have_links(
    one: set[Link], two: set[Link]
) -> None:
    both, grown = one & two, set(symmetrize(one, two, GROW))
    sources, targets = {source for source, _ in both}, {target for _, target in both}
    for source, target in grown - both:
        assert source not in sources or target not in targets


@given(links, links)
def test_a_word_with_a_link_in_both_directions_is_not_left_alone(
    one: set[Link], two: set[Link]
) -> None:
    grown = set(symmetrize(one, two, GROW))
    sources, targets = {source for source, _ in grown}, {target for _, target in grown}
    for source, target in one | two:
        assert source in sources or target in targets


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ({(0, 0), (1, 1)}, {(0, 0), (1, 2)}, [(0, 0), (1, 1), (1, 2)]),  # grown step by step
        (  # (2, 3) stands behind (3, 2) and is looked at before (2, 1), as in Moses's symal
            {(1, 0), (2, 3), (3, 2)},
            {(1, 2), (2, 1), (3, 2)},
            [(1, 0), (1, 2), (2, 1), (2, 3), (3, 2)],
        ),
        ({(0, 0), (3, 3)}, {(0, 0)}, [(0, 0), (3, 3)]),  # both words were alone
        ({(0, 0), (3, 0)}, {(0, 0)}, [(0, 0)]),  # no neighbour, and one word has a link
    ],
)
def test_links_are_grown(one: set[Link], two: set[Link], expected: list[Link]) -> None:
    assert symmetrize(one, two, GROW) == expected


def flip(link: Link) -> Link:
    return link[1], link[0]


def scanned_again(one: set[Link], two: set[Link]) -> list[Link]:
    """Return the links of grow-diag-final-and as symal finds them: by scans of all links so far.

    A scan visits the links in the order of target words, also new ones that stand behind.
    """
    steps = [(0, -1), (-1, 0), (0, 1), (1, 0), (-1, -1), (1, -1), (-1, 1), (1, 1)]
    links = one & two

    def has_room(link: Link) -> bool:
        used = any(link[0] == source for source, _ in links), any(link[1] == t for _, t in links)
        return not all(used)

    size = -1
    while size < len(links):
        size, place = len(links), (-1, -1)
        while behind := [flipped for flipped in map(flip, links) if flipped > place]:
            target, source = place = min(behind)
            for right, down in steps:
                near = (source + right, target + down)
                if near in one | two and has_room(near):
                    links = links | {near}
    for link in [*sorted(one, key=flip), *sorted(two, key=flip)]:
        if all(link[0] != source and link[1] != target for source, target in links):
            links = links | {link}
    return sorted(links)


@given(links, links)
def test_links_grow_in_the_order_of_symal(one: set[Link], two: set[Link]) -> None:
    assert symmetrize(one, two, GROW) == scanned_again(one, two)
