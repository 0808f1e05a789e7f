"""Symbols in place of markup, in lines and between words."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nmtkit.config import TextConfig
from nmtkit.text.markers import CLOSING, JOINED, OPENING, POINTS, SYMBOLS
from nmtkit.text.markup import parse_markup
from nmtkit.text.markup_pieces import Markup
from nmtkit.text.markup_symbols import has_symbols, symbol_pair, take_symbols, with_symbols
from nmtkit.text.pipeline import TextPipeline

B, I = zip(OPENING[:2], CLOSING[:2], strict=True)  # noqa: E741
BR = POINTS[0]

pieces = st.sampled_from(
    [
        "a",
        "Bc",
        " ",
        "d.",
        "l'",
        "5/7",
        "<b>",
        "</b>",
        "<i>",
        "</i>",
        "<br/>",
        "&amp;",
        "(",
        ")",
        "⇧",
    ]
)
lines = st.lists(pieces, max_size=12).map("".join)


def test_a_tag_becomes_a_symbol_of_its_element() -> None:
    marked = parse_markup("Press <b>Save <i>now</i></b>,<br/> then &lt;.", Markup.HTML)
    text = f"Press {B[0]}Save {I[0]}now{I[1]}{B[1]}, {BR}then <."
    found = with_symbols(marked)
    assert found is not None and found.replace(" ", "") == text.replace(" ", "")


def test_equal_elements_of_a_pair_have_the_same_symbols() -> None:
    src, tgt = symbol_pair("<b>x</b> <i>y</i>", "<i>Y</i> <b>X</b>", Markup.HTML)
    assert src == f"{B[0]}x{B[1]} {I[0]}y{I[1]}"
    assert tgt == f"{I[0]}Y{I[1]} {B[0]}X{B[1]}"


def test_attributes_tell_elements_apart_and_may_differ() -> None:
    src = "<a href='en/1'>x</a> <a href='2'>y</a>"
    tgt = "<a href='2'>Y</a> <a href='de/1'>X</a>"
    assert symbol_pair(src, tgt, Markup.HTML)[1] == f"{I[0]}Y{I[1]} {B[0]}X{B[1]}"


@pytest.mark.parametrize(
    ("src", "tgt"),
    [
        ("<b>x</b>", "X"),
        ("<b>x</b>", "<i>X</i>"),
        ("<b>x</b>", "<b/>X"),
        ("<b>x</b>", "<b>X</b><b></b>"),
        ("<b>x</b>" * (len(OPENING) + 1), "<b>X</b>" * (len(OPENING) + 1)),
        (f"<b>x</b>{BR}", "<b>X</b>"),
        ("<b>x</b>", f"<b>X</b>{BR}"),
    ],
)
def test_markup_of_other_pairs_is_left_out(src: str, tgt: str) -> None:
    found = symbol_pair(src, tgt, Markup.HTML)
    assert found == tuple(re.sub("<[^<>]*>", "", line) for line in (src, tgt))


def test_pairs_without_markup_stay() -> None:
    pair = f"a  b {BR}", "c > d"
    assert symbol_pair(*pair, Markup.XML) == pair


@given(lines, lines)
def test_sides_have_the_same_symbols_or_none(src: str, tgt: str) -> None:
    source, target = symbol_pair(src, tgt, Markup.HTML)
    for line in (source, target):
        assert not re.search("</?[bi]r?/?>", line)
    symbols = [sorted(SYMBOLS.intersection(line)) for line in (source, target)]
    assert symbols[0] == symbols[1]
    assert len(symbols[0]) == len(re.findall("[" + "".join(SYMBOLS) + "]", source))
    for line in (source, target):
        for opening, closing in zip(OPENING, CLOSING, strict=True):
            assert line.find(opening) <= line.find(closing)


@given(lines)
@example("a<b>l' &amp;")
def test_symbols_stand_between_the_words_of_the_text(line: str) -> None:
    """The text without markup comes back from the words, as from its own."""
    marked = parse_markup(line, Markup.HTML)
    text = with_symbols(marked)
    assert text is not None
    for case in ("keep", "markers"):
        for joiners in (False, True):
            text_settings = TextConfig(joiners=joiners, case=case, markup="html")
            pipeline = TextPipeline("fr", text_settings, None)
            words = pipeline.words(text).split()
            plain = [word for word in words if word not in SYMBOLS]
            assert joiners or plain == pipeline.words(marked.text).split()
            own = pipeline.words(marked.text).split()
            assert pipeline.sentence(plain) == pipeline.sentence(own)
            assert [w for w in words if w in SYMBOLS] == [s for s in text if s in SYMBOLS]
            written = pipeline.sentence(words)
            assert take_symbols(written)[0] == pipeline.sentence(plain)
            assert pipeline.words(written).split() == words or not joiners


def test_symbols_stay_beside_their_words() -> None:
    pipeline = TextPipeline("en", TextConfig(joiners=True, markup="html"), None)
    line = f"Press {B[0]}OK/Cancel{B[1]}, {BR}or {I[0]}un{I[1]}do."
    words = pipeline.words(line).split()
    assert words[:2] == ["Press", B[0]] and words[words.index(",") - 1] == B[1]
    assert words[-6:] == [I[0], "un", I[1], JOINED, "do", "."]
    assert pipeline.sentence(words) == f"Press {B[0]}OK/Cancel{B[1]}, {BR}or {I[0]}un{I[1]}do."


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (f"{B[0]}Cmd{B[1]}{I[0]}Ctrl{I[1]} T", ["{", "Cmd", "}", JOINED, "(", "Ctrl", ")", "T"]),
        (f"a{BR}b", ["a", JOINED, ".", "b"]),
        (f"{B[0]}a b{B[1]}", ["{", "a", "b", "}"]),
    ],
)
def test_elements_that_touch_hide_no_word(line: str, words: list[str]) -> None:
    pipeline = TextPipeline("en", TextConfig(joiners=True, markup="html"), None)
    found = pipeline.words(line)
    signs = dict(zip("{}().", [*B, *I, BR], strict=True))
    assert found.split() == [signs.get(word, word) for word in words]
    assert pipeline.sentence(found.split()) == line


def test_elements_touch_where_text_is_normalised() -> None:
    settings = TextConfig(joiners=True, nfc=True, case="markers", markup="html")
    line = f"{B[0]}Cle\u0301{B[1]}{I[0]}Pre\u0301{I[1]}"
    words = TextPipeline("fr", settings, None).words(line).split()
    assert words == ["⇧", B[0], "clé", B[1], JOINED, "⇧", I[0], "pré", I[1]]


def test_other_models_take_symbols_for_text() -> None:
    pipeline = TextPipeline("en", TextConfig(joiners=True), None)
    line = f"a{BR}b"
    assert pipeline.sentence(pipeline.words(line).split()) == line
    assert has_symbols(line) and not has_symbols("a <b> [c]")


def test_many_symbols_take_little_time() -> None:
    line = f"a{BR}{B[1]}" * 50_000
    words = TextPipeline("en", TextConfig(markup="html"), None).words(line).split()
    assert len(words) >= 100_001
