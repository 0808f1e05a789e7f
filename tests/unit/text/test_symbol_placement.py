"""Elements where a translation has their symbols."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.text.markers import CLOSING, OPENING, POINTS, SYMBOLS
from nmtkit.text.markup import parse_markup
from nmtkit.text.markup_pieces import Markup
from nmtkit.text.markup_placement import Aligned, Place
from nmtkit.text.symbol_placement import without_symbols, written_places

(A, B), (C, D) = zip(OPENING[:2], CLOSING[:2], strict=True)
BR = POINTS[0]


def aligned_with(text: str) -> Aligned:
    """Return a translation whose words and symbols have weights that tell them apart."""
    offsets = [found.span() for found in re.finditer(rf"[{''.join(SYMBOLS)}]|\w+", text)]
    weights = np.arange(2 * len(offsets), dtype=np.float32).reshape(-1, 2)
    return Aligned(text, [(0, 1), (2, 3)], offsets, weights)


def test_symbols_are_taken_out_with_their_rows() -> None:
    plain, positions = without_symbols(aligned_with(f"un {A}deux{B} {BR}trois"))
    assert plain.text == "un deux trois"
    assert plain.tgt == [(0, 2), (3, 7), (8, 13)]
    assert plain.weights[:, 0].tolist() == [0.0, 4.0, 10.0]
    assert positions == {A: [1], B: [2], BR: [2]}


def test_spaces_on_both_sides_of_a_symbol_become_one() -> None:
    assert without_symbols(aligned_with(f"{A} a {B} b {BR}"))[0].text == "a b"
    assert without_symbols(aligned_with(f"a{A}b{B}"))[0].text == "ab"


def test_places_are_those_of_the_symbols() -> None:
    elements = parse_markup("<b>x <i>y</i></b><br/>", Markup.HTML).elements
    positions = without_symbols(aligned_with(f"{BR}u {A}v {C}w{D} x{B} y"))[1]
    assert written_places(elements, positions) == {
        0: Place(1, 4),
        1: Place(2, 3),
        2: Place(0, 0),
    }


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        (f"{A}u{B} {C}v{D}", Place(0, 1), Place(1, 2)),
        (f"{A}u{B} v", Place(0, 1), None),
        (f"{A}u{B} {C}v{D} {D}", Place(0, 1), None),
        (f"{A}u{B} {C}v{D}{BR}", Place(0, 1), Place(1, 2)),
        (f"{B}u v{A} {C}w{D}", None, Place(2, 3)),
    ],
)
def test_lost_and_repeated_symbols_give_no_place(
    text: str, first: Place | None, second: Place | None
) -> None:
    elements = parse_markup("<b>x</b> <i>y</i>", Markup.HTML).elements
    places = written_places(elements, without_symbols(aligned_with(text))[1])
    assert [places.get(number) for number in range(2)] == [first, second]
    assert written_places([], {BR: [0]}) == {}


@given(st.lists(st.sampled_from(["un", "deux", A, B, C, D, BR]), max_size=12))
def test_other_words_stay(words: list[str]) -> None:
    aligned = aligned_with(" ".join(words))
    plain, positions = without_symbols(aligned)
    assert plain.text.split() == [word for word in words if word not in SYMBOLS]
    assert [plain.text[start:end] for start, end in plain.tgt] == plain.text.split()
    assert len(plain.weights) == len(plain.tgt)
    assert sum(map(len, positions.values())) == len(words) - len(plain.tgt)
