"""Word documents and presentations: runs come back around their words, and all else stays."""

import re
from typing import cast

import pytest

from nmtkit.errors import DataError
from nmtkit.inference.document import translate_document
from nmtkit.inference.translator import Translator
from tests.unit.documents.office_files import (
    TYPE,
    A,
    archive,
    body_of,
    members_of,
    package,
    run,
    word,
)
from tests.unit.documents.stand_ins import StandIn, copied, translated

TAB = "<w:r><w:tab/></w:r>"


def upper(content: str) -> str:
    """Return a paragraph of Word translated into capitals, without the tags of the paragraph."""
    data = word(f"<w:p>{content}</w:p>")
    return body_of(translated(data, "docx", str.upper).data)[len("<w:p>") : -len("</w:p>")]


def mark(kind: str, properties: str = "") -> str:
    """Return the run of a mark of a field."""
    return f'<w:r>{properties}<w:fldChar w:fldCharType="{kind}"/></w:r>'


def field(instruction: str, result: str) -> str:
    code = f"<w:r><w:instrText> {instruction} </w:instrText></w:r>"
    return mark("begin") + code + mark("separate") + result + mark("end")


def test_runs_of_another_look_come_back_around_their_words() -> None:
    bold = run("red", "b bCs")
    assert upper(run("a ") + bold + run(" house")) == (
        run("A ") + run("RED", "b bCs") + run(" HOUSE")
    )


def test_runs_of_the_same_look_are_one_text() -> None:
    """Word divides words for revisions, spelling and languages."""
    pieces = run("ho", tag='w:r w:rsidR="00A1"') + '<w:proofErr w:type="spellStart"/>'
    pieces += '<w:r><w:rPr><w:lang w:val="en-GB"/></w:rPr><w:t>us</w:t></w:r>'
    pieces += '<w:bookmarkStart w:id="0" w:name="_GoBack"/>' + run("e")
    pieces += '<w:bookmarkEnd w:id="0"/><w:r><w:lastRenderedPageBreak/><w:t xml:space="preserve">'
    changed = upper(pieces + " red</w:t></w:r>")
    assert _text(changed) == "HOUSE RED"
    assert "proofErr" not in changed and "lastRendered" not in changed
    assert changed.count('<w:bookmarkStart w:id="0" w:name="_GoBack"/>') == 1
    assert changed.index("bookmarkStart") < changed.index("bookmarkEnd")


def _text(source: str) -> str:
    return "".join(re.findall(r"<w:t(?: [^>]*)?>([^<]*)", source))


def test_models_read_whole_words_and_sentences_of_the_whole_file_at_once() -> None:
    data = word(
        f"<w:p>{run('He')}{run('llo. A')}{run(' man')}</w:p>"
        f"<w:p>{run('One')}{TAB}{run('Two')}</w:p>",
        footnotes=f"<w:footnote><w:p>{run('Note')}</w:p></w:footnote>",
    )
    translator = StandIn(copied)
    translate_document(data, "docx", cast(Translator, translator))
    assert translator.texts == [["Hello.", "A man", "One", "Two", "Note"]]


def test_the_look_of_most_of_the_text_is_that_of_the_paragraph() -> None:
    changed = upper(run("Note: ", "b") + run("a man sees a house", "i"))
    assert changed == run("NOTE: ", "b") + run("A MAN SEES A HOUSE", "i")


@pytest.mark.parametrize(
    "kept",
    [
        TAB,
        '<w:r><w:br w:type="page"/></w:r>',
        '<w:r><w:rPr><w:rStyle w:val="x"/></w:rPr><w:footnoteReference w:id="2"/></w:r>',
        "<w:r><w:drawing><a/></w:drawing></w:r>",
        '<m:oMath xmlns:m="m"><m:r><m:t>x+y</m:t></m:r></m:oMath>',
        '<w:fldSimple w:instr=" PAGE "><w:r><w:t>three</w:t></w:r></w:fldSimple>',
        field("REF _x", run("figure two")),
        "<w:del><w:r><w:delText>old words</w:delText></w:r></w:del>",
        "<w:moveFrom><w:r><w:t>moved words</w:t></w:r></w:moveFrom>",
        '<w:commentRangeStart w:id="1"/>',
        '<w:r><w:sym w:font="Wingdings" w:char="F04A"/></w:r>',
    ],
)
def test_what_is_not_text_stays(kept: str) -> None:
    assert upper(run("one ") + kept + run(" two")) == run("ONE ") + kept + run(" TWO")


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ('<w:hyperlink r:id="rId4" xmlns:r="r">', "</w:hyperlink>"),
        ('<w:ins w:id="1">', "</w:ins>"),
        ('<w:smartTag><w:smartTagPr a="b"/>', "</w:smartTag>"),
        ("<w:sdt><w:sdtPr><w:text/></w:sdtPr><w:sdtContent>", "</w:sdtContent></w:sdt>"),
        ('<w:bookmarkStart w:id="7" w:name="x"/>', '<w:bookmarkEnd w:id="7"/>'),
    ],
)
def test_what_runs_are_in_comes_back_around_them(begin: str, end: str) -> None:
    inner = run("red ", "u"), run("old", "b u")
    changed = upper(run("a ") + begin + "".join(inner) + end + run(" house"))
    expected = begin + run("RED ", "u") + run("OLD", "b u") + end
    assert changed == run("A ") + expected + run(" HOUSE")


def test_the_text_of_a_link_is_translated_though_it_is_a_field() -> None:
    link = field('HYPERLINK "http://x.org/two"', run("red house", "u"))
    assert upper(run("a ") + link) == run("A ") + link.replace("red house", "RED HOUSE")


def test_a_field_in_a_link_stays() -> None:
    """An entry of a table of contents: its title, a tab and the number of the page."""
    entry = field("HYPERLINK \\l _Toc1", run("Red") + TAB + field("PAGEREF _Toc1", run("12")))
    start = mark("begin") + "<w:r><w:instrText>TOC</w:instrText></w:r>" + mark("separate")
    assert upper(start + entry) == start + entry.replace("Red", "RED")


def test_marks_of_fields_keep_their_order() -> None:
    parts = [
        mark("end"),
        run("one two"),
        mark("begin"),
        run("three"),
        mark("separate"),
        run("four"),
    ]
    changed = upper("".join(parts))
    places = [changed.index(kind) for kind in ('"end"', '"begin"', '"separate"')]
    assert places == sorted(places)


def test_text_boxes_are_translated_within_their_paragraphs() -> None:
    box = "<w:txbxContent><w:p>{}</w:p></w:txbxContent>"
    both = f"<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>".replace("{}", "{0}")
    drawing = f"<w:r><mc:AlternateContent xmlns:mc='m'>{both}</mc:AlternateContent></w:r>"
    source = run("one ") + drawing.format(run("in a box")) + run("two")
    assert upper(source) == run("ONE ") + drawing.format(run("IN A BOX")) + run("TWO")
    assert upper(drawing.format(run("box"))) == drawing.format(run("BOX"))


def test_headers_footnotes_comments_and_cells_are_translated() -> None:
    cell = "<w:tbl><w:tr><w:tc><w:p>{}</w:p></w:tc></w:tr></w:tbl>"
    notes = {kind: f"<w:p>{run(kind)}</w:p>" for kind in ("header", "footer", "footnotes")}
    notes |= {kind: f"<w:p>{run(kind)}</w:p>" for kind in ("endnotes", "comments", "styles")}
    data = translated(word(cell.format(run("cell")), **notes), "docx", str.upper).data
    assert body_of(data) == cell.format(run("CELL"))
    members = members_of(data)
    for kind in notes:
        expected = kind if kind == "styles" else kind.upper()
        assert run(expected) in members[f"word/{kind}.xml"].decode()


def test_spaces_without_xml_space_are_no_text() -> None:
    assert upper("<w:r><w:t> one </w:t></w:r>" + run(" two")) == run("ONE TWO")


def test_special_characters_of_runs_are_parts_of_words() -> None:
    pieces = "<w:r><w:t>well</w:t><w:noBreakHyphen/><w:t>known</w:t></w:r>"
    assert "well\u2011known" in upper(pieces + run(" man")).lower()


def test_letters_are_escaped_and_what_xml_forbids_is_left_out() -> None:
    data = word(f"<w:p>{run('a &lt;b&gt; &amp; c')}</w:p>")
    changed = translated(data, "docx", lambda word: word.upper().replace("C", "\x01&<C")).data
    assert body_of(changed) == f"<w:p>{run('A &lt;B&gt; &amp; C')}</w:p>"


def test_other_prefixes_are_read() -> None:
    """Python's ElementTree writes `ns0` for what it was not told."""
    data = word(f"<w:p>{run('one ')}{run('two', 'b')}</w:p>")
    members = {name: content.replace(b"w:", b"ns0:") for name, content in members_of(data).items()}
    changed = translated(archive(members), "docx", str.upper).data
    expected = run("ONE ") + run("TWO", "b")
    assert expected.replace("w:", "ns0:") in members_of(changed)["word/document.xml"].decode()


def test_deep_nesting_is_no_problem() -> None:
    for tag in ("w:ins", "w:p", "w:sdt", "w:x"):
        deep = f"<{tag}>" * 2000 + run("one") + f"</{tag}>" * 2000
        data = word(f"<w:p>{run('two')}{deep}</w:p>")
        assert "TWO" in body_of(translated(data, "docx", str.upper).data)
    many = mark("begin") * 2000
    is_kept = upper(many + run("one")) == many + run("ONE")
    assert is_kept


SLIDE = "<p:sld xmlns:p='p' xmlns:a='{}'><p:txBody><a:p>{}</a:p></p:txBody></p:sld>"


def slides(content: str, notes: str = "") -> bytes:
    parts = {
        "ppt/presentation.xml": ("presentationml.presentation.main", "<p/>"),
        "ppt/slides/slide1.xml": ("presentationml.slide", SLIDE.format(A, content)),
        "ppt/slideMasters/m.xml": ("presentationml.slideMaster", SLIDE.format(A, "<a:r/>")),
        "ppt/notesSlides/n.xml": ("presentationml.notesSlide", SLIDE.format(A, notes)),
    }
    return package(parts)


def test_slides_and_their_notes_are_translated() -> None:
    text = '<a:r><a:rPr lang="en-US"{}/><a:t>{}</a:t></a:r>'
    end = '<a:endParaRPr lang="en-US" dirty="0"/>'
    number = '<a:fld id="{1}" type="slidenum"><a:rPr/><a:t>12</a:t></a:fld>'
    source = (
        text.format("", "Red ")
        + text.format(' b="1"', "ho")
        + text.format(' b="1" dirty="0"', "use ")
    )
    data = translated(
        slides(source + number + end, text.format("", "note")), "pptx", str.upper
    ).data
    members = members_of(data)
    expected = text.format("", "RED ") + text.format(' b="1"', "HOUSE ") + number + end
    assert members["ppt/slides/slide1.xml"].decode() == SLIDE.format(A, expected)
    notes = members["ppt/notesSlides/n.xml"].decode()
    assert notes == SLIDE.format(A, text.format("", "NOTE"))


def test_types_of_parts_count_not_their_names() -> None:
    content = f"<w:document xmlns:w='w'><w:p>{run('one')}</w:p></w:document>"
    data = package({"word/document2.xml": ("wordprocessingml.template.main", content)})
    assert TYPE in members_of(data)["[Content_Types].xml"].decode()
    assert b"ONE" in members_of(translated(data, "docx", str.upper).data)["word/document2.xml"]


def test_a_part_without_a_type_of_its_own_has_that_of_its_extension() -> None:
    """So .NET writes the type of the first part."""
    members = members_of(word(f"<w:p>{run('one')}</w:p>"))
    kind = f"{TYPE}.wordprocessingml.document.main+xml"
    types = f'<Types><Default Extension="XML" ContentType="{kind}"/></Types>'
    data = archive({**members, "[Content_Types].xml": types})
    assert run("ONE") in body_of(translated(data, "docx", str.upper).data)


RUBY = (
    f"<w:r><w:rPr><w:b/></w:rPr><w:ruby><w:rubyPr/><w:rt>{run('kan')}</w:rt>"
    "<w:rubyBase>{}</w:rubyBase></w:ruby></w:r>"
)


def test_words_with_a_reading_are_translated_and_the_reading_stays_with_them() -> None:
    source = run("a ") + RUBY.format(run("red", "u")) + run(" ") + RUBY.format(run("word"))
    data, translator = word(f"<w:p>{source}{run(' b')}</w:p>"), StandIn(str.upper)
    changed = body_of(translate_document(data, "docx", cast(Translator, translator)).data)
    assert translator.texts == [["a red word b"]]
    expected = run("A ") + RUBY.format(run("RED", "u")) + run(" ") + RUBY.format(run("WORD"))
    assert changed == f"<w:p>{expected}{run(' B')}</w:p>"


def test_readings_of_ruby_are_no_part_of_the_text() -> None:
    field = f'<w:fldSimple w:instr=" REF x "><w:r/>{RUBY.format(run("word"))}</w:fldSimple>'
    for ruby in (RUBY.format(run("word")), field):
        data, translator = word(f"<w:p>{run('a ')}{ruby}{run(' b')}</w:p>"), StandIn(copied)
        result = translate_document(data, "docx", cast(Translator, translator))
        assert translator.texts == [["a word b"]]
        assert result.data == data
    assert upper(run("a ") + RUBY.format("")) == run("A ") + RUBY.format("")


def test_a_text_box_that_stands_twice_is_translated_once() -> None:
    """Word writes it for newer programs, and again for older ones."""
    box = f"<w:txbxContent><w:p>{run('in ')}{run('a box', 'b')}</w:p></w:txbxContent>"
    both = f"<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
    drawing = f"<w:r><mc:AlternateContent xmlns:mc='m'>{both}</mc:AlternateContent></w:r>"
    data, translator = word(f"<w:p>{run('one ')}{drawing}</w:p>"), StandIn(str.upper)
    changed = body_of(translate_document(data, "docx", cast(Translator, translator)).data)
    assert translator.texts == [["one", "in a box"]]
    assert changed.count(f"{run('IN ')}{run('A BOX', 'b')}") == 2


@pytest.mark.parametrize("properties", ["", "<w:rPr><w:b/></w:rPr>"])
def test_a_soft_hyphen_does_not_divide_a_word(properties: str) -> None:
    hyphen = f"<w:r>{properties}<w:softHyphen/></w:r>"
    changed = upper(run("a ho", "u") + hyphen + run("use", "u"))
    assert changed == run("A HOUSE", "u")


@pytest.mark.parametrize(
    ("listed", "member"),
    [
        ("/word/document.xml", "word\\document.xml"),
        ("/word/document.xml", "/word/document.xml"),
        ("/my%20d&#246;c.xml", "my d\u00f6c.xml"),
        ("/d%C3%B6c.XML", "D\u00f6c.xml"),
    ],
)
def test_parts_are_found_by_their_names_however_they_are_written(listed: str, member: str) -> None:
    content = members_of(word(f"<w:p>{run('one')}</w:p>"))["word/document.xml"]
    kind = f"{TYPE}.wordprocessingml.document.main+xml"
    types = f'<Types><Override PartName="{listed}" ContentType="{kind}"/></Types>'
    data = archive({"[Content_Types].xml": types, member: content})
    assert run("ONE").encode() in members_of(translated(data, "docx", str.upper).data)[member]


def test_a_package_without_its_document_is_refused() -> None:
    members = members_of(word(f"<w:p>{run('one')}</w:p>"))
    del members["word/document.xml"]
    with pytest.raises(DataError, match="lacks the document that"):
        translated(archive(dict(members)), "docx")
