"""Laws of paragraphs: whatever runs there are, a translation has all that is no text, once."""

import re
from collections import Counter
from xml.etree import ElementTree

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.unit.documents.office_files import (
    NAMESPACES,
    body_of,
    content_of,
    opendocument,
    run,
    word,
)
from tests.unit.documents.stand_ins import Change, translated

MARKS = [f'<w:bookmark{which} w:id="{number}"/>' for which in ("Start", "End") for number in "12"]
FIELDS = [
    f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end")
] + [
    "<w:r><w:instrText>HYPERLINK x</w:instrText></w:r>",
    "<w:r><w:instrText>REF</w:instrText></w:r>",
]
POINTS = [
    "<w:r><w:tab/></w:r>",
    "<w:r><w:br/></w:r>",
    '<w:r><w:footnoteReference w:id="1"/></w:r>',
    "<w:del><w:r><w:delText>x</w:delText></w:r></w:del>",
]
WORDS = st.sampled_from(
    ["one", " ", "two. ", "Three", " four", ", ", "a &amp; b", "&lt;b&gt;", "5"]
)
RUNS = st.builds(run, WORDS, st.sampled_from(["", "b", "i", "b i"]))
LEAVES = st.one_of(RUNS, RUNS, st.sampled_from([*MARKS, *FIELDS, *POINTS]))


def _inside(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joined = st.lists(children, min_size=1, max_size=4).map("".join)
    return st.one_of(
        joined.map(lambda inner: f"<w:hyperlink>{inner}</w:hyperlink>"),
        joined.map(lambda inner: f"<w:sdt><w:sdtContent>{inner}</w:sdtContent></w:sdt>"),
        joined.map(lambda inner: f"<w:r><w:pict><w:p>{inner}</w:p></w:pict></w:r>"),
    )


PARAGRAPHS = st.lists(st.recursive(LEAVES, _inside, max_leaves=8), max_size=12).map("".join)


def _kept(body: str) -> Counter[str]:
    """Return how often each tag is there that is not one of a run."""
    tags = re.findall(r"<(?!/?w:(?:r|rPr|t|b|i)\b)[^>]*>", body)
    return Counter(tags)


CROSSING = (  # a link ends in the sentence in which a form field begins
    f"{run('one')}<w:hyperlink>{FIELDS[0]}{run('one')}</w:hyperlink>"
    f"<w:sdt><w:sdtContent>{run('Three')}{run(' ')}</w:sdtContent></w:sdt>"
)


@settings(max_examples=150, deadline=None)
@example(CROSSING, str.upper)
@given(PARAGRAPHS, st.sampled_from([str.upper, lambda word: "", lambda word: f"{word} x"]))
def test_all_but_the_text_comes_back_once(content: str, change: Change) -> None:
    data = word(f"<w:p>{content}</w:p>")
    assert translated(data, "docx").data == data
    changed = body_of(translated(data, "docx", change).data)
    ElementTree.fromstring(f"<x xmlns:w='w'>{changed}</x>")
    assert _kept(changed) == _kept(f"<w:p>{content}</w:p>")


ODF_LEAVES = st.one_of(
    st.sampled_from(["one ", "two. ", "Three", " four", "a &amp; b", "<text:s/>", "<text:tab/>"]),
    st.sampled_from(["<text:line-break/>", "<draw:frame/>", "<text:date>May 5</text:date>"]),
    st.builds(
        '<text:{}-{} text:name="{}"/>'.format,
        st.sampled_from(["bookmark", "reference-mark"]),
        st.sampled_from(["start", "end"]),
        st.sampled_from("ab"),
    ),
)


def _inside_odf(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joined = st.lists(children, min_size=1, max_size=4).map("".join)
    around = (
        '<text:span text:style-name="X">{}</text:span>',
        '<text:span text:style-name="Y">{}</text:span>',
        '<text:a text:href="x">{}</text:a>',
        "<text:note><text:p>{}</text:p></text:note>",
    )
    return st.builds(lambda tags, inner: tags.format(inner), st.sampled_from(around), joined)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.recursive(ODF_LEAVES, _inside_odf, max_leaves=8), max_size=9).map("".join))
def test_all_but_the_text_of_an_opendocument_comes_back_once(content: str) -> None:
    data = opendocument(f"<text:p>{content}</text:p>")
    assert translated(data, "odt").data == data
    changed = content_of(translated(data, "odt", lambda word: f"{word} x").data)
    ElementTree.fromstring(f"<x {NAMESPACES}>{changed}</x>")
    kept = re.compile(r"<(?!/?text:(?:span|s)\b)[^>]*>")
    before, after = (Counter(kept.findall(one)) for one in (content, changed))
    assert after == before + Counter(["<text:p>", "</text:p>"])


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["one", "two", "three"]), st.booleans()), min_size=1))
def test_words_keep_their_look(words: list[tuple[str, bool]]) -> None:
    """However a text of one look is divided into runs, each word has its look in the end."""
    runs = "".join(
        f"{run(text[:2], bold)}{run(text[2:], bold)}{run(' ')}"
        for text, is_bold in words
        for bold in ("b" if is_bold else "",)
    )
    changed = body_of(translated(word(f"<w:p>{runs}</w:p>"), "docx", str.upper).data)
    bold = "".join(re.findall(r"<w:b/></w:rPr><w:t[^>]*>([^<]*)", changed)).split()
    everything = "".join(re.findall(r"<w:t[^>]*>([^<]*)", changed)).split()
    assert everything == [text.upper() for text, _ in words]
    expected = "".join(text.upper() for text, is_bold in words if is_bold)
    assert "".join(bold) == expected
