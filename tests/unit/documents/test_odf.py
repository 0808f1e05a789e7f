"""OpenDocument files: spans come back around their words, and all else stays."""

from typing import cast

import pytest

from nmtkit.inference.document import translate_document
from nmtkit.inference.translator import Translator
from tests.unit.documents.office_files import content_of, members_of, opendocument
from tests.unit.documents.stand_ins import StandIn, translated

STYLES = """<style:style style:name="T1" style:family="text"><style:text-properties \
fo:font-weight="bold"/></style:style><style:style style:name="T2" style:family="text">\
<style:text-properties officeooo:rsid="001"/></style:style><style:style style:name="T3" \
style:family="text"><style:text-properties fo:font-weight="bold" officeooo:rsid="002" \
fo:language="en"/></style:style>""".replace("officeooo:", "text:")


def span(style: str, text: str) -> str:
    return f'<text:span text:style-name="{style}">{text}</text:span>'


def upper(content: str) -> str:
    """Return the contents of a paragraph translated into capitals."""
    data = opendocument(f"<text:p>{content}</text:p>", STYLES)
    changed = content_of(translated(data, "odt", str.upper).data)
    return changed.removeprefix("<text:p>").removesuffix("</text:p>")


def test_spans_of_another_look_come_back_around_their_words() -> None:
    assert upper(f"a {span('T1', 'red')} house") == f"A {span('T1', 'RED')} HOUSE"
    nested = span("Strong", f"very {span('T1', 'old')}")
    changed = f"{span('Strong', 'VERY ')}{span('Strong', span('T1', 'OLD'))}"
    assert upper(f"a long text with a {nested} man") == f"A LONG TEXT WITH A {changed} MAN"


def test_spans_that_look_alike_are_one_text() -> None:
    """LibreOffice divides words to tell which session they are from."""
    assert upper(f"a ho{span('T2', 'use')}") == "A HOUSE"
    pieces = span("T1", "re") + span("T3", "d")
    assert upper(f"a {pieces} house") == f"A {span('T1', 'RED')} HOUSE"


@pytest.mark.parametrize(
    "kept",
    [
        "<text:tab/>",
        "<text:line-break/>",
        '<text:s text:c="12"/>',
        '<text:page-number text:select-page="current">two</text:page-number>',
        '<draw:frame draw:name="x"><draw:image/></draw:frame>',
        '<text:change text:change-id="1"/>',
        span("T1", "<text:tab/>"),
    ],
)
def test_what_is_not_text_stays(kept: str) -> None:
    assert upper(f"one {kept} Two") == f"ONE {kept} TWO"


def test_links_and_bookmarks_come_back_around_their_words() -> None:
    link = '<text:a text:href="http://x.org">{}</text:a>'
    mark = '<text:bookmark-start text:name="x"/>{}<text:bookmark-end text:name="x"/>'
    for around in (link, mark):
        source = f"a {around.format('red ' + span('T1', 'old'))} house"
        assert upper(source) == f"A {around.format('RED ' + span('T1', 'OLD'))} HOUSE"


def test_notes_and_text_boxes_are_translated_within_their_paragraphs() -> None:
    note = (
        "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>{}</text:p>"
    )
    note += "</text:note-body></text:note>"
    box = "<draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"
    for around in (note, box):
        assert upper(f"one{around.format('two')} three") == f"ONE{around.format('TWO')} THREE"
        assert upper(around.format("two")) == around.format("TWO")


def test_deleted_text_and_results_of_formulas_stay() -> None:
    deleted = "<text:tracked-changes><text:p>old</text:p></text:tracked-changes>"
    cell = "<table:table-cell{}><text:p>one</text:p></table:table-cell>"
    computed = cell.format(' table:formula="ooow:sum"')
    data = opendocument(deleted + computed + cell.format(""))
    changed = content_of(translated(data, "odt", str.upper).data)
    assert changed == deleted + computed + cell.format("").replace("one", "ONE")


def test_headers_of_pages_are_translated() -> None:
    data = opendocument("<text:h>one</text:h>", headers="<text:p>two</text:p>")
    members = members_of(translated(data, "odt", str.upper).data)
    assert b"<style:header><text:p>TWO</text:p>" in members["styles.xml"]
    assert b"<text:h>ONE</text:h>" in members["content.xml"]


def test_presentations_are_translated_but_for_their_masters() -> None:
    page = "<draw:page><draw:text-box><text:p>one</text:p></draw:text-box></draw:page>"
    data = opendocument(page, headers="<text:p>two</text:p>", kind="presentation")
    changed = translated(data, "odp", str.upper).data
    assert content_of(changed, "presentation") == page.replace("one", "ONE")
    assert members_of(changed)["styles.xml"] == members_of(data)["styles.xml"]


def test_words_with_a_reading_are_translated_and_the_reading_stays_with_them() -> None:
    reading = "<text:ruby-text text:style-name='Rubies'>kan</text:ruby-text>"
    ruby = f"<text:ruby><text:ruby-base>{{}}</text:ruby-base>{reading}</text:ruby>"
    span = '<text:span text:style-name="Strong">{}</text:span>'
    paragraph = "<text:p>{} {} {}</text:p>"
    source = paragraph.format("a", ruby.format("word"), ruby.format(span.format("red")))
    translator = StandIn(str.upper)
    changed = translate_document(opendocument(source), "odt", cast(Translator, translator)).data
    assert translator.texts == [["a word red"]]
    assert content_of(changed) == paragraph.format(
        "A", ruby.format("WORD"), ruby.format(span.format("RED"))
    )
    empty = "<text:p>A <text:ruby/> <text:ruby><text:ruby-base/></text:ruby></text:p>"
    assert content_of(translated(opendocument(empty.lower()), "odt", str.upper).data) == empty
