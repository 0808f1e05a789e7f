"""Columns of tab-separated text."""

import pytest

from tests.unit.documents.stand_ins import translated

FILE = "id\tsome text\n1\tHello you.\tSalut\r\n\n2\n3\t\t\n"


@pytest.mark.parametrize(
    ("columns", "expected", "lines"),
    [
        ((1, 1), "ID\tsome text\n1\tHello you.\tSalut\r\n\n2\n3\t\t\n", []),
        ((2, 2), "id\tSOME TEXT\n1\tHELLO YOU.\tSalut\r\n\n2\n3\t\t\n", [4]),
        ((2, 3), "id\tsome text\tSOME TEXT\n1\tHello you.\tSalut\r\n\n2\n3\t\t\n", [4]),
        ((1, 4), "id\tsome text\n1\tHello you.\tSalut\t1\r\n\n2\n3\t\t\t3\n", [1, 4]),
    ],
)
def test_a_column_is_translated(columns, expected: str, lines: list[int]) -> None:
    result = translated(FILE, "tsv", str.upper, columns=columns)
    assert result.data.decode() == expected
    assert [line for line, _ in result.warnings] == lines


def test_fields_stay_one() -> None:
    assert translated("a b\tc\n", "tsv", lambda word: "x\ty\nz").data == b"x y z x y z\tc\n"


@pytest.mark.parametrize("columns", [(1, 1), (1, 2), (2, 3), (2, 2)])
def test_a_line_without_text_stays(columns: tuple[int, int]) -> None:
    text = "\n\r\n \n\t\n"
    assert translated(text, "tsv", str.upper, columns=columns).data.decode() == text


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ('"he said ""hi"" ."', '"HE SAID ""HI"" ."'),
        ('"a b"', '"A B"'),
        ('"a" b', '"A" B'),
        ('a "b"', 'A "B"'),
        ('"a" and "b"', '"A" AND "B"'),
        ('"', '"'),
        ('""', '""'),
    ],
)
@pytest.mark.parametrize("columns", [(2, 2), (2, 3)])
def test_quotes_of_spreadsheets_stay_around_the_field(
    field: str, expected: str, columns: tuple[int, int]
) -> None:
    result = translated(f"1\t{field}\n", "tsv", str.upper, columns=columns).data.decode()
    copied = columns == (2, 3)
    assert result == (f"1\t{field}\t{expected}\n" if copied else f"1\t{expected}\n")


def test_html_in_a_field_is_kept() -> None:
    text = "one <b class='x'>two</b> &amp; three<br>four\ta < b & c"
    expected = "ONE <b class='x'>TWO</b> &amp; THREE<br>FOUR\ta < b & c"
    assert translated(text, "tsv", str.upper).data.decode() == expected
    assert translated(text, "tsv", str.upper, columns=(2, 2)).data.decode().endswith("\tA < B & C")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_field_with_a_line_break_stays(newline: str) -> None:
    text = newline.join(['a b\t"c d', 'e f"\tg', "h\ti", ""])
    result = translated(text, "tsv", str.upper, columns=(2, 2))
    assert result.data.decode() == text.replace("h\ti", "h\tI")
    assert result.warnings == [(1, "a field with line breaks, up to line 2; it was left as it is")]


def test_a_row_may_have_several_fields_with_line_breaks() -> None:
    text = '"a\nb"\t"c\nd"\te f\ng\th\n'
    result = translated(text, "tsv", str.upper, columns=(2, 2))
    assert result.data.decode() == text.replace("h", "H")
    assert result.warnings == [(1, "a field with line breaks, up to line 3; it was left as it is")]


@pytest.mark.parametrize(
    "text", ['a\t"b\nc\td\n', '"a\nb\n', 'a\t5"\nb\t6"\n', 'a\t"b\nsay "c" d\n']
)
def test_a_quotation_mark_alone_is_text(text: str) -> None:
    changed = translated(text, "tsv", str.upper, columns=(1, 1)).data.decode()
    assert changed == "\n".join(
        line.partition("\t")[0].upper() + "".join(line.partition("\t")[1:])
        for line in text.split("\n")
    )
