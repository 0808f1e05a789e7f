"""Excel workbooks: texts of cells are translated, and what formulas and tables need stays."""

import re
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.documents import xlsx
from nmtkit.errors import DataError
from nmtkit.inference.document import translate_document
from nmtkit.inference.translator import Translator
from tests.unit.documents.office_files import A, archive, members_of, strings_of, workbook
from tests.unit.documents.stand_ins import StandIn, copied, translated


def upper(data: bytes) -> bytes:
    return translated(data, "xlsx", str.upper).data


def in_capitals(*strings: str) -> list[str]:
    """Return the strings that the sheets of a workbook share, translated into capitals."""
    return strings_of(upper(workbook(strings)))


def run(text: str, properties: str = "") -> str:
    properties = f"<rPr>{properties}</rPr>" if properties else ""
    return f'<r>{properties}<t xml:space="preserve">{text}</t></r>'


def test_strings_are_translated_and_numbers_stay() -> None:
    cells = '<c r="A1" t="s"><v>0</v></c><c><v>12</v></c><c t="str"><f>A1</f><v>one</v></c>'
    data = workbook(["<t>one &amp; two</t>", "<t>12</t>"], cells)
    changed = upper(data)
    assert strings_of(changed) == ["<t>ONE &amp; TWO</t>", "<t>12</t>"]
    before, after = members_of(data), members_of(changed)
    assert [one for one in before if before[one] != after[one]] == ["xl/sharedStrings.xml"]


def test_runs_of_another_look_come_back_around_their_words() -> None:
    source = run("a ") + run("red", "<b/>") + run(" house")
    assert in_capitals(source) == [run("A ") + run("RED", "<b/>") + run(" HOUSE")]


@pytest.mark.parametrize("sign", ["\n", "_x000D_\n", "\r\n", "\t", "_x0009_", "&#10;", "&#13;\n"])
def test_ends_of_lines_stay(sign: str) -> None:
    data, translator = workbook([f"<t>One{sign}Two</t>"]), StandIn(str.upper)
    result = translate_document(data, "xlsx", cast(Translator, translator))
    assert strings_of(result.data) == [f"<t>ONE{sign}TWO</t>"]
    assert translator.texts == [["One", "Two"]]
    changed = in_capitals(run(f"One{sign}Two", "<b/>"))
    assert re.sub("<[^>]*>", "", changed[0]) == f"ONE{sign}TWO"


def test_readings_stay_behind_the_text() -> None:
    """The schema allows no run behind them."""
    readings = '<rPh sb="0" eb="1"><t>ichi</t></rPh><phoneticPr fontId="1"/>'
    assert in_capitals(f"<t>one</t>{readings}") == [f"<t>ONE</t>{readings}"]
    runs = run("one ") + run("two", "<b/>")
    assert in_capitals(runs + readings) == [run("ONE ") + run("TWO", "<b/>") + readings]


def test_texts_in_cells_are_translated() -> None:
    cells = '<c t="inlineStr"><is><t>{}</t></is></c><c t="str"><f>B1</f><v>two</v></c>'
    data = workbook(["<t>three</t>"], cells.format("one"))
    changed = members_of(upper(data))
    assert cells.format("ONE") in changed["xl/worksheets/sheet1.xml"].decode()


def test_values_of_cells_that_are_texts_are_translated_and_results_are_not() -> None:
    """SheetJS writes texts so."""
    cells = '<c t="str"><v>{}</v></c><c t="str"><f>B1</f><v>two</v></c><c><v>1</v></c>'
    changed = members_of(upper(workbook(cells=cells.format("one &amp; two"))))
    assert cells.format("ONE &amp; TWO") in changed["xl/worksheets/sheet1.xml"].decode()
    referred = cells.format("one") + '<c><f>A1="one"</f></c>'
    assert upper(workbook(cells=referred)) == workbook(cells=referred)


SHEET = "spreadsheetml.worksheet"


@pytest.mark.parametrize(
    ("type", "content"),
    [
        (SHEET, '<x><c><f>IF(A1="Red",1,2)</f></c></x>'),
        (SHEET, "<x><c><f>IF(A1=&quot;RED&quot;,1,2)</f></c></x>"),
        (SHEET, """<x><c><f>IF('5" ''s'!A1="Red",1,2)</f></c></x>"""),
        (SHEET, """<x><c><f>INDIRECT('B'!A1&amp;"'!A1")="Red"</f></c></x>"""),
        (SHEET, "<x><c><f>COUNTIF(A:A,&quot;&lt;&gt;Red&quot;)</f></c></x>"),
        (SHEET, '<x><dataValidation><formula1>"Blue,Red"</formula1></dataValidation></x>'),
        (SHEET, '<x><cfRule type="containsText" text="red"><formula>1</formula></cfRule></x>'),
        (SHEET, '<x><filters><filter val="Red"/></filters></x>'),
        ("spreadsheetml.table", '<table><tableColumn id="1" name="Red"/></table>'),
        ("spreadsheetml.table", '<table><tableColumn name="x" totalsRowLabel="Red"/></table>'),
        ("spreadsheetml.pivotCacheDefinition", '<x><cacheField name="Red"/></x>'),
        ("spreadsheetml.template.main", '<x><definedName>"Red"</definedName></x>'),
    ],
)
def test_texts_to_which_the_workbook_refers_stay(type: str, content: str) -> None:
    """`=IF(A1="Red",…)` and a table are wrong if the cell has another text."""
    data = workbook(
        ["<t>Red</t>", "<t>Red two</t>", run("Re") + run("d", "<b/>")], other=(type, content)
    )
    assert strings_of(upper(data)) == ["<t>Red</t>", "<t>RED TWO</t>", run("Re") + run("d", "<b/>")]


def test_headers_of_tables_with_ends_of_lines_stay() -> None:
    column = '<table><tableColumn name="a_x000a_b"/></table>'
    data = workbook(["<t>a\nb</t>"], other=("spreadsheetml.table", column))
    assert upper(data) == data


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_a_text_in_a_formula_stays_whatever_its_signs(text: str) -> None:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    quoted = escaped.replace('"', '""')
    cell = f'<c><f>IF(A1="{quoted}","",1)</f></c>'
    data = workbook([f'<t xml:space="preserve">{escaped}</t>'], cell)
    assert upper(data) == data


def test_comments_and_drawings_are_translated() -> None:
    notes = "<comments><author>me</author><comment><text>{}</text></comment></comments>"
    box = f'<wsDr xmlns:a="{A}"><a:p><a:r><a:t>{{}}</a:t></a:r></a:p></wsDr>'
    data = workbook(
        note=("spreadsheetml.comments", notes.format(run("one"))),
        box=("drawing", box.format("two")),
    )
    changed = members_of(upper(data))
    assert changed["xl/note.xml"].decode() == notes.format(run("ONE"))
    assert changed["xl/box.xml"].decode() == box.format("TWO")


def test_conversations_are_translated_unless_they_name_persons() -> None:
    talk = (
        "<ThreadedComments><threadedComment><text>{}</text>{}</threadedComment></ThreadedComments>"
    )
    kind = "application/vnd.ms-excel.threadedcomments+xml"
    for mentions, text in (("", "ONE"), ("<mentions><mention/></mentions>", "one")):
        data = workbook(talk=("x", talk.format("one", mentions)))
        types = members_of(data)["[Content_Types].xml"].decode()
        old = re.findall(r'talk\.xml" ContentType="([^"]*)"', types)[0]
        changed = archive({**members_of(data), "[Content_Types].xml": types.replace(old, kind)})
        after = members_of(upper(changed))["xl/talk.xml"].decode()
        assert after == talk.format(text, mentions)


def test_a_cell_that_becomes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "MAX_CELL", 8)
    data = workbook([run("one&amp;two")])
    assert upper(data) != data

    def longer(word: str) -> str:
        return f"{word}s"

    with pytest.raises(DataError, match=r"x: a cell has 10 characters .* more than the 8 that"):
        translated(data, "xlsx", longer, name="x")


def test_a_binary_workbook_is_no_workbook_of_this_kind() -> None:
    data = workbook()
    types = members_of(data)["[Content_Types].xml"].decode()
    kind = "application/vnd.ms-excel."
    types = re.sub(r'ContentType="[^"]*"', f'ContentType="{kind}worksheet"', types)
    types = types.replace("worksheet", "sheet.binary.macroEnabled.main", 1)
    changed = archive({**members_of(data), "[Content_Types].xml": types})
    with pytest.raises(DataError, match="x: is a zip archive of another kind, not xlsx"):
        translated(changed, "xlsx", copied, name="x")


def test_an_escaped_notation_is_kept_whole() -> None:
    translator = StandIn(str.upper)
    data = workbook(["<t>One_x005F_x000D_two</t>"])
    result = translate_document(data, "xlsx", cast(Translator, translator))
    assert strings_of(result.data) == ["<t>ONE_x005F_x000D_TWO</t>"]
    assert translator.texts == [["One", "two"]]
