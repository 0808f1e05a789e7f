"""Laws of all formats: a copy changes nothing, and other translations change the texts alone."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmtkit.documents.formats import FORMATS
from nmtkit.errors import ConfigError, NmtkitError
from nmtkit.text.sentences import Lines, find_sentences
from tests.unit.documents.sample_texts import PAGE, SUBTITLES
from tests.unit.documents.stand_ins import copied, translated

PROSE = """---
title: keep
---
# A *nice* title #

Some `code` and **bold words**, a [link](http://x.org "t") and <b>html</b>.  
Hard break \\* here
goes on.

> A quote that
> goes on. And a second
> sentence.

- item one
  goes on
- [ ] task
  1. nested _em_

```sh
echo keep
```

| a | b c |
|---|-----|
| one \\| two | `x|y` |

Setext
======

    code block

<div>
keep html
</div>

[ref]: http://x.org
![alt text](img.png) and ***both*** and snake_case_word 5 * 3.
"""  # noqa: W291
TABLE = "id\ttext\n1\tHello you. And me.\n\n3\n"
SAMPLES = {"html": PAGE, "md": PROSE, "srt": SUBTITLES, "tsv": TABLE}


@pytest.mark.parametrize("format", SAMPLES)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_copy_changes_no_byte(format: str, newline: str, mark: str, end: str) -> None:
    text = mark + SAMPLES[format].rstrip("\n").replace("\n", newline) + end
    result = translated(text, format)
    assert result.data == text.encode()
    assert result.segments


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig", "iso-8859-1"])
def test_a_copy_changes_no_byte_in_other_encodings(encoding: str) -> None:
    text = PAGE.replace("utf-8", encoding.removesuffix("-sig"))
    data = ("\ufeff" if encoding == "utf-16-le" else "").encode(encoding) + text.encode(encoding)
    assert translated(data, "html").data == data


@pytest.mark.parametrize("format", SAMPLES)
def test_a_translation_changes_words_alone(format: str) -> None:
    changed = translated(SAMPLES[format], format, str.swapcase).data.decode()
    assert changed != SAMPLES[format]
    assert _folded(changed) == _folded(SAMPLES[format].replace("&Uuml;", "Ü"))


def _folded(text: str) -> str:
    """Return a text without what may differ: case, spaces, quotes of attributes and of prose."""
    return "".join(re.sub(r'[">]', "", text).lower().split())


WORDS = st.sampled_from(["one", "Two", "thrée", "four.", "five,", "6", "%s", "七。", "e.g.", "a_b"])
HTML_PARTS = st.sampled_from(
    "<b> </b> <i> </i> <p> </p> <li> <br> <br/> <img src='a>b'> <a href=x> </a> &amp; &nbsp; &lt;"
    " <code> </code> <pre> </pre> <!--c--> <span class=notranslate> </span> <![CDATA[d]]> & < >"
    " <a </ <script> </script> <td> <!DOCTYPE> <?x?> <option> <unknown> </unknown>".split()
)
TAGS = st.sampled_from(
    "<b> </b> <i> </i> <p> </p> <li> <br> <br/> <img> <a href=x> </a> &amp; &lt; <!--c--> <td>"
    " <pre> </pre> <script> </script> <unknown> </unknown>".split()
)
MARKDOWN_PARTS = st.sampled_from(
    ["*", "**", "_", "`", "``", "[", "](x)", "](x", "]", "![", "\\*", "<b>", "</b>", "<x@y.z>"]
    + ["\n", "\n\n", "  \n", "\n> ", "\n- ", "\n1. ", "\n# ", "\n```\n", "\n---\n", "|", "\n    "]
    + ["\n|-|-|\n", "\n<div>\n", "\n[a]: b\n", "~~", "$$\n", "&amp;", "\\\n", "\t"]
)
SUBTITLE_PARTS = st.sampled_from(
    ["\n", "\n\n", "1\n00:00:01,000 --> 00:00:02,000\n", "<i>", "</i>", "- ", "{\\an8}", "♪"]
    + ["00:00:01.000 --> 00:00:02.000\n", "<?subtitle?>", "\r\n"]
)


def _soup(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(st.tuples(WORDS | parts, st.sampled_from(["", " "])), max_size=25).map(
        lambda pairs: "".join(word + space for word, space in pairs)
    )


SOUP = st.one_of(
    st.tuples(st.just("html"), _soup(HTML_PARTS)),
    st.tuples(st.just("md"), _soup(MARKDOWN_PARTS)),
    st.tuples(st.just("srt"), _soup(SUBTITLE_PARTS)),
    st.tuples(st.just("tsv"), _soup(st.sampled_from(["\t", "\n", "\r\n"]))),
)


@settings(max_examples=300)
@given(SOUP)
def test_any_text_comes_back_from_a_copy(case: tuple[str, str]) -> None:
    format, text = case
    assert translated(text, format).data == text.encode()


@example("one <unknown> </unknown> one")
@example("one <b> </b> one")
@settings(max_examples=200)
@given(st.lists(WORDS | TAGS, max_size=25).map(" ".join))
def test_markup_stays_around_its_words(text: str) -> None:
    """Put words in brackets, and take these away: what is left is the file, spaces included."""

    def bracketed(word: str) -> str:
        return f"⟦{word}⟧" if word[0].isalnum() else word

    changed = translated(text, "html", bracketed).data.decode()
    assert re.sub("[⟦⟧]", "", changed) == text


@settings(max_examples=200)
@given(st.sampled_from(sorted(FORMATS)), st.binary(max_size=200))
def test_any_bytes_give_a_sentence_or_a_file(format: str, data: bytes) -> None:
    try:
        result = translated(data, format, str.upper)
    except NmtkitError as error:
        assert "\n" not in str(error)
    else:
        assert isinstance(result.data, bytes)


XLIFF = '<xliff version="1.2"><file><body><trans-unit id="1"><source>{}</source></trans-unit>'
XLIFF += "</body></file></xliff>"
TMX = (
    '<tmx version="1.4"><header/><body><tu><tuv xml:lang="en"><seg>{}</seg></tuv></tu></body></tmx>'
)


@pytest.mark.parametrize(
    ("format", "file", "sign"),
    [
        ("html", "<p>{}", "<br>"),
        ("md", "{}", "<br>"),
        ("md", "| a |\n|---|\n| {} |", "<br/>"),
        ("md", "{}", "\\\n"),
        ("xliff", XLIFF, '<x id="1" ctype="lb"/>'),
        ("xliff", XLIFF, '<ph id="1" ctype="lb">&lt;br/></ph>'),
        ("xliff", XLIFF, '<ph id="1">&lt;br&gt;</ph>'),
        ("xliff", XLIFF, '<x id="1" equiv-text="&lt;br/&gt;"/>'),
        ("xliff", XLIFF, '<ph id="1" type="fmt" subType="xlf:lb"/>'),
        ("xliff", XLIFF, "&lt;br /&gt;"),
        ("xliff", XLIFF, "&lt;br/>"),
        ("xliff", XLIFF, "&lt;/p&gt;&lt;p&gt;"),
        ("tmx", TMX, '<ph type="lb"/>'),
    ],
)
def test_line_breaks_separate_words(format: str, file: str, sign: str) -> None:
    """Take words on both sides of a break for two, and put it between these."""
    changed = translated(file.format(f"one{sign}two three"), format, str.upper).data.decode()
    assert f"ONE{sign}TWO THREE" in changed


def test_an_unknown_format_is_named() -> None:
    with pytest.raises(ConfigError, match="no format is called 'doc'; there are html, po"):
        translated("", "doc")


@pytest.mark.parametrize("format", ["html", "md", "srt", "tsv", "po"])
def test_an_empty_file_stays_empty(format: str) -> None:
    assert translated("", format, copied).data == b""


@pytest.mark.parametrize("depth", [1000, 20_000])
def test_deep_nesting_is_no_problem(depth: int) -> None:
    for inner in ("<b>" * depth + "x", "<div>" * depth + "x" + "</div>" * depth, "<b" * depth):
        result = translated(inner, "html", str.upper)
        assert result.data.decode().lower() == inner
    units = "<group>" * depth + "</group>" * depth
    text = f'<xliff version="1.2">{units}</xliff>'
    assert translated(text, "xliff").data == text.encode()
    quotes = "> " * depth + "x"
    assert translated(quotes, "md").data == quotes.encode()


@pytest.mark.parametrize("size", [300_000])
@pytest.mark.parametrize(
    ("before", "repeated", "after"),
    [
        ("# a", " ", "x"),
        ("# a", " #", "x"),
        ("a | b\n|", " ", "x"),
        ("a | b\n|-", " ", "x"),
        ("a | b\n", "-", "x|"),
        ("a | b\n", "|-", "x"),
        ("a", ".", "x"),
        ("a", "!)", "x"),
        ("a", "。(", "x"),
        ("a", " ", "\\x"),
        ("a\n:::tip a", " ", "{x"),
        ("a\n:::tip a", ":", "x{"),
        ("a\n[!tip]", " ", "x"),
    ],
)
def test_long_runs_are_no_problem(before: str, repeated: str, after: str, size: int) -> None:
    """End at all: what takes the square of this size would not."""
    text = before + repeated * (size // len(repeated)) + after
    for format in ("md", "html"):
        assert translated(text, format).segments > 0
    assert len(find_sentences(text, "en", Lines.KEEP)) > 0
