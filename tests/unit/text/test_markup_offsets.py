"""Places of the text, and of words, in lines with markup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.config import TextConfig
from nmtkit.text.markers import OPENING, POINTS
from nmtkit.text.markup import parse_markup
from nmtkit.text.markup_offsets import offsets_in_markup, place_text
from nmtkit.text.markup_pieces import Markup
from nmtkit.text.pipeline import TextPipeline

HTML = Markup.HTML

pieces = st.sampled_from(
    ["<b>", "</b>", "<br>", "<p>", "</p>", "&amp;", "&nosuch;", "&#x1f600;", "a", "bc", " "]
    + ["<!-- c -->", "<", ">", "&", "<script>", "</script>", "<i translate='no'>", "</i>", "<3"]
    + ["{n, plural, one {", "# file", "} other {", "}}", "é", "<br/>", "%s", "&NotEqualTilde;"]
)
lines = st.lists(pieces, max_size=20).map("".join) | st.text(max_size=40)


@given(lines, st.sampled_from(Markup))
def test_each_character_has_its_place(line: str, markup: Markup) -> None:
    text, spans = place_text(line, markup)
    marked = parse_markup(line, markup)
    assert text == marked.text and len(spans) == len(text)
    added = {e.start - 1 for e in marked.elements if e.separates}
    added |= {e.end for e in marked.elements if e.separates_end}
    atoms = {n: atom.source for atom in marked.atoms for n in range(atom.start, atom.end)}
    last = (0, 0)
    for number, (character, (start, end)) in enumerate(zip(text, spans, strict=True)):
        assert last[0] <= start <= end <= len(line) and last[1] <= end
        last = (start, end)
        if number in added:
            assert start == end and character == " "
        elif number in atoms and line[start:end] != character:
            assert line[start:end] == atoms[number]
        else:
            assert line[start:end] == character


@given(st.text(st.characters(exclude_characters="<&{"), max_size=40))
def test_text_without_markup_stands_where_it_is(line: str) -> None:
    assert place_text(line, HTML) == (line, [(n, n + 1) for n in range(len(line))])


def placed(line: str, tags: tuple[str, ...] = (), words: str = "") -> list[tuple[str, int, int]]:
    pipeline = TextPipeline("en", TextConfig(src_language="en", tags=tags), None, tags)
    tag, plain = pipeline.split_tag(line)
    given = (words or tag + pipeline.words(parse_markup(plain, HTML).text)).split()
    offsets = offsets_in_markup(given, line, HTML, pipeline)
    return [(word, *span) for word, span in zip(given, offsets, strict=True)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("<b>a</b> house", [("a", 3, 4), ("house", 9, 14)]),
        (
            "a <b>red</b> house &amp; a dog",
            [("a", 0, 1), ("red", 5, 8), ("house", 13, 18), ("&", 19, 24), ("a", 25, 26)]
            + [("dog", 27, 30)],
        ),
        ("<p>a</p><p>b</p>", [("a", 3, 4), ("b", 11, 12)]),
        ("ho<b>use</b>", [("house", 0, 8)]),
        ("caf&eacute;s", [("cafés", 0, 12)]),
        ("a <code>b</code>s c", [("a", 0, 1), ("bs", 8, 17), ("c", 18, 19)]),
        ("<br>", []),
    ],
)
def test_words_stand_beside_tags(line: str, expected: list[tuple[str, int, int]]) -> None:
    assert placed(line) == expected


def test_a_tag_of_the_models_stands_before_the_markup() -> None:
    assert placed("<x> <b>a</b>", ("<x>",)) == [("<x>", 4, 4), ("a", 7, 8)]


def test_symbols_of_markup_have_no_length() -> None:
    first, point = OPENING[0], POINTS[0]
    found = placed("a <b>house</b><br>", words=f"a {first} house {point}")
    assert found == [("a", 0, 1), (first, 1, 1), ("house", 5, 10), (point, 10, 10)]
    assert placed(f"a {point}<b>b</b>", words=f"a {point} b")[1] == (point, 2, 3)
