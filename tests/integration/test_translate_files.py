"""`nmtkit translate --format` through the real command line."""

import re
from collections.abc import Callable
from pathlib import Path

import polib
import pytest
from click.testing import Result

from tests.unit.documents.office_files import (
    body_of,
    book,
    members_of,
    run,
    strings_of,
    text_of,
    word,
    workbook,
)

Nmtkit = Callable[..., Result]

PAGE = """<!DOCTYPE html>\r
<p title="one two">one <b>two</b> &amp; three.\r
Four five</p>\r
<pre>six</pre>
"""
CATALOGUE = 'msgid "_one two"\nmsgstr ""\n\nmsgid "three"\nmsgstr "trois"\n'
XLIFF = """<xliff version="1.2"><file><body><trans-unit id="1"><source>one \
<g id="1">two</g></source></trans-unit></body></file></xliff>"""


@pytest.fixture
def translate_file(nmtkit: Nmtkit, model: Path, tmp_path: Path) -> Callable[..., Result]:
    """Return a function: `translate_file(name, text, ...)` translates a file of that name."""

    def call(name: str, text: str | bytes, *options: object, status: int = 0) -> Result:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        command = ["translate", "-m", model, "--device", "cpu", path, *options]
        return nmtkit(*command, status=status)

    return call


def test_a_page_keeps_all_but_its_texts(translate_file: Nmtkit, tmp_path: Path) -> None:
    output = tmp_path / "page.fr.html"
    assert not translate_file("page.html", PAGE, "--format", "html", "-o", output).stdout
    text = output.read_bytes().decode()
    assert sorted(re.findall(r"<[^p][^>]*>|&amp;", text)) == sorted(
        re.findall(r"<[^p][^>]*>|&amp;", PAGE)
    )
    assert text.startswith('<!DOCTYPE html>\r\n<p title="')
    assert text.endswith("</p>\r\n<pre>six</pre>\n")
    message = translate_file("page.html", PAGE, "--format", "html", "-o", output, status=1).stderr
    assert "exists" in message


def test_the_format_is_found_by_the_name(translate_file: Nmtkit) -> None:
    entries = polib.pofile(translate_file("x.po", CATALOGUE, "--format", "auto").stdout)
    assert entries[0].fuzzy and entries[0].msgstr.count("_") == 1
    assert (entries[1].msgstr, entries[1].fuzzy) == ("trois", False)
    result = translate_file("x.xlf", XLIFF, "--format", "auto", "--reviewed")
    assert '<target state="translated">' in result.stdout
    assert result.stdout.count('<g id="1">') == 2


def test_without_the_option_a_page_is_lines_of_text(translate_file: Nmtkit) -> None:
    assert translate_file("page.html", PAGE).stdout.count("\n") == PAGE.count("\n")


def test_columns_are_chosen(translate_file: Nmtkit) -> None:
    result = translate_file("x.tsv", "1\tone two\n2\n", "--format", "tsv", "--columns", 2, 3)
    assert re.fullmatch(r"1\tone two\t[^\t\n]*\n2\n", result.stdout)
    assert "x.tsv:2: has no column 2; it was left as it is" in result.stderr


def test_a_file_without_subtitles_gives_a_warning(translate_file: Nmtkit) -> None:
    result = translate_file("a.txt", "one two\n", "--format", "srt")
    assert result.stdout == "one two\n" and result.stderr.count("\n") == 1
    assert "a.txt:1: no subtitles here; the file was left as it is" in result.stderr


def test_stdin_is_a_file(nmtkit: Nmtkit, model: Path) -> None:
    result = nmtkit("translate", "-m", model, "--format", "md", input="```\none\n```\n")
    assert result.stdout == "```\none\n```\n"


def test_terms_and_patterns_hold(translate_file: Nmtkit, tmp_path: Path) -> None:
    terms, patterns = tmp_path / "terms", tmp_path / "patterns"
    terms.write_text("two\tdeux deux\n")
    patterns.write_text("th\\w+\n")
    options = ["--format", "html", "--terms", terms, "--protect", patterns]
    text = translate_file("page.html", "<p>one two three", *options).stdout
    assert "three" in text and "deux" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--n-best", 2], "--n-best"),
        (["--json"], "--json"),
        (["--scores"], "--scores"),
        (["--markup", "html"], "a format says what markup is"),
        (["--columns", 2, 2], "--columns is for --format tsv, not for html"),
        (["--reviewed"], "--reviewed is for --format po and xliff, not for html"),
        (["--retranslate"], "--retranslate is for --format po and xliff, not for html"),
    ],
)
def test_what_cannot_go_with_a_format_is_refused(
    translate_file: Nmtkit, options: list[object], message: str
) -> None:
    stderr = translate_file("a.html", "x", "--format", "html", *options, status=2).stderr
    assert message in stderr


def test_wrong_use_gives_a_sentence(translate_file: Nmtkit) -> None:
    stderr = translate_file("a.txt", "x", "--format", "auto", status=2).stderr
    assert "names no format; give --format and one of html, po" in stderr
    assert "needs --format" in translate_file("a.txt", "x", "--reviewed", status=2).stderr
    stderr = translate_file("a", "x", "--format", "tsv", "--columns", 0, 1, status=2).stderr
    assert "0 is too small; it must be at least 1" in stderr
    stderr = translate_file("a.xlf", "<a", "--format", "xliff", status=1).stderr
    assert re.search(r"a.xlf:1: not well-formed XML", stderr)
    laughs = '<!DOCTYPE x [<!ENTITY a "b">]><xliff/>'
    assert (
        "declares the entity" in translate_file("a", laughs, "--format", "xliff", status=1).stderr
    )


def test_an_office_file_keeps_all_but_its_texts(translate_file: Nmtkit, tmp_path: Path) -> None:
    output = tmp_path / "out.docx"
    text = word(f"<w:p>{run('one ')}{run('two', 'b')}</w:p>")
    assert not translate_file("a.docx", text, "--format", "auto", "-o", output).stdout
    before, after = members_of(text), members_of(output.read_bytes())
    assert [name for name in before if before[name] != after[name]] == ["word/document.xml"]
    assert body_of(output.read_bytes()).count("<w:b/>") == 1
    output.unlink()
    for name, data in (("b.docx", b"x"), ("b.odt", text), ("b.docx", text[:90])):
        result = translate_file(name, data, "--format", "auto", "-o", output, status=1)
        assert result.stderr.count("\n") == 1 and name in result.stderr
        assert not output.exists()


def test_an_e_book_keeps_all_but_its_texts(translate_file: Nmtkit, tmp_path: Path) -> None:
    output = tmp_path / "out.epub"
    text = book({"a.xhtml": "<p>one <b>two</b><br/>three</p>"}, metadata="<dc:title>one</dc:title>")
    translate_file("a.epub", text, "--format", "auto", "-o", output)
    before, after = members_of(text), members_of(output.read_bytes())
    kept = [name for name in before if before[name] == after[name]]
    assert kept == ["mimetype", "META-INF/container.xml", "media/1.png"]
    tags = re.findall("<[^>]*>", text_of(text, "a.xhtml"))
    assert sorted(re.findall("<[^>]*>", text_of(output.read_bytes(), "a.xhtml"))) == sorted(tags)
    output.unlink()
    stderr = translate_file(
        "b.epub", book({"../../a": ""}), "--format", "epub", "-o", output, status=1
    ).stderr
    assert stderr.count("\n") == 1 and "b.epub: lacks ../a, which OPS/book.opf lists" in stderr
    assert not output.exists()


def test_a_workbook_keeps_what_its_formulas_need(translate_file: Nmtkit, tmp_path: Path) -> None:
    output = tmp_path / "out.xlsx"
    bold = "<r><rPr><b/></rPr><t>two</t></r><r><t>three</t></r>"
    data = workbook(["<t>one</t>", bold], '<c><f>IF(A1="one",1,2)</f></c>')
    translate_file("a.xlsx", data, "--format", "auto", "-o", output)
    before, after = members_of(data), members_of(output.read_bytes())
    assert [name for name in before if before[name] != after[name]] == ["xl/sharedStrings.xml"]
    one, runs = strings_of(output.read_bytes())
    assert one == "<t>one</t>" and runs.count("<b/>") == 1
