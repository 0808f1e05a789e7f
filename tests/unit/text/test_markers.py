"""Markers of spacing: the tokens of any line give the line back, and no text is taken for one."""

import functools
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmtkit.text.detokenizer import Detokenizer
from nmtkit.text.markers import MARKERS, protect, spacing, unprotect, without_markers
from nmtkit.text.tokenizer import Tokenizer

SIGNS = list("'\"’‘“”„«»,.?!:;%$#&@/°()[]{}-–…<>_=¿ \u00a0\u202f\u0301\u200d￭␣⍽⇧⇪") + ["ab ", "5 "]
SIGNS += [
    "a",
    "l'",
    "'s ",
    " d'",
    "...",
    "\u0e01\u0e34",
    "👩🏽",
    "<b>",
    '<a x="y z">',
    "{n}",
    "&amp;",
    "3,5",
    "你好",
    "の",
    "。",
]
LINES = st.lists(st.sampled_from(SIGNS) | st.characters(exclude_categories=["Cs"]), max_size=14)
LANGUAGES = ("en", "fr", "de", "tr", "sv", "it", "zh", "ja")


@functools.cache
def rules(language: str, hyphens: bool, escape: bool) -> tuple[Tokenizer, Detokenizer]:
    return (
        Tokenizer(language, hyphens, escape, protected=True, combining=True, joiners=True),
        Detokenizer(language, unescape=escape, joiners=True),
    )


KINDS = [(language, False, escape) for language in LANGUAGES for escape in (False, True)]
KINDS += [("en", True, False)]


def normal(line: str) -> str:
    """Return a line without what tokenisation removes: control characters, outer blanks."""
    line = "".join(" " if c in "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029" else c for c in line)
    line = "".join(c for c in line if c > "\x1f")
    while "  " in line:
        line = line.replace("  ", " ")
    return line.strip()


@given(LINES.map("".join), st.sampled_from(sorted(KINDS)))
@settings(max_examples=50)
@example(
    '<b>Hello</b> {name} %s http://a.b/c?d=e <a href="x y">A / B</a> A/B', ("en", False, False)
)
@example("￭ ⇧x ␣ a ￭b ⍽202f", ("de", False, True))
@example("a &amp; b &#39; AT&T", ("en", False, True))
@example("你好 世界 a 你“ 好", ("zh", False, False))
@example("M. Snowden a dit : « Non\u00a0! »", ("fr", False, False))
def test_the_tokens_of_any_line_give_it_back(line: str, kind: tuple[str, bool, bool]) -> None:
    tokenizer, detokenizer = rules(*kind)
    tokens = tokenizer.tokenize(line)
    assert " ".join(tokens).split() == tokens
    assert detokenizer.detokenize(tokens) == normal(line)
    assert tokenizer.tokenize(line) == tokens


@given(LINES.map("".join))
@settings(max_examples=50)
@example("a <b>\u0301 b")
@example("''\U000111c9")
def test_no_mark_is_cut_from_its_character(line: str) -> None:
    tokenizer = rules("en", False, False)[0]
    words = "".join(c for c in line if c >= " " or c.isspace()).split()  # controls are removed
    loose = any(unicodedata.category(word[0])[0] == "M" for word in words)
    for token in [] if loose else tokenizer.tokenize(line):
        assert unicodedata.category(token[0])[0] != "M"


@given(
    st.lists(st.sampled_from([*MARKERS, "⍽202f", "a", "'", "@-@", "<b>", ".", "￭￭"]), max_size=9)
)
@settings(max_examples=50)
def test_any_tokens_of_a_model_give_one_line(tokens: list[str]) -> None:
    for language in LANGUAGES:
        line = rules(language, False, False)[1].detokenize(tokens)
        assert len(line.splitlines()) <= 1


@given(st.text(min_size=1))
@settings(max_examples=50)
def test_protected_tokens_are_no_markers(token: str) -> None:
    assert unprotect(protect(token)) == token
    assert spacing(protect(token)) is None
    assert protect(token) not in MARKERS


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("A / B", "A ␣ / ␣ B"),
        ("A/B", "A / B"),
        ("10\u00a0%", "10 ⍽ %"),
        ("10\u202f%", "10 ⍽202f %"),
        ("Yes, it is.", "Yes , it is ."),
    ],
)
def test_markers_stand_where_rules_would_be_wrong(line: str, tokens: str) -> None:
    assert " ".join(rules("en", False, False)[0].tokenize(line)) == tokens


def test_lengths_count_no_markers() -> None:
    assert without_markers("⇧ a ␣ / ⍽ b ⍽202f c ￭⍽202f ⍽2g") == "a / b c ￭⍽202f ⍽2g"
    assert without_markers("a b") == "a b"
