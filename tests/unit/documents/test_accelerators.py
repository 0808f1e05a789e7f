"""Accelerator keys of menus, taken out and put back."""

import pytest

from nmtkit.documents.accelerators import (
    SIGNS,
    SIGNS_IN_XML,
    Accelerator,
    put_accelerator,
    remove_accelerator,
)


@pytest.mark.parametrize(
    ("text", "plain", "accelerator"),
    [
        ("_File", "File", ("_", "F")),
        ("E_xit", "Exit", ("_", "x")),
        ("Save &As...", "Save As...", ("&", "A")),
        ("~Open", "Open", ("~", "O")),
        ("&Open %s", "Open %s", ("&", "O")),
        ("ファイル(&F)...", "ファイル...", ("&", "F")),
        ("रंग नामः (_n)", "रंग नामः", ("_", "n")),
        ("颜色名称（_N）：", "颜色名称：", ("_", "N")),
        ("(_N)", "(N)", ("_", "N")),
    ],
)
def test_signs_are_taken_out(text: str, plain: str, accelerator: tuple[str, str]) -> None:
    assert remove_accelerator(text, SIGNS) == (plain, Accelerator(*accelerator))


@pytest.mark.parametrize(
    "text",
    ["my_name", "Tom & Jerry", "AT&T", "R&D", "&amp;", "_A_ b", "~/file", "a && b", "", "a_b c"]
    + ["_", "&", "This sentence has a _sign but it is long, so it is none"],
)
def test_other_signs_stay(text: str) -> None:
    assert remove_accelerator(text, SIGNS) == (text, None)


@pytest.mark.parametrize(
    ("text", "plain"),
    [("&amp;File", "File"), ("Save &amp;As...", "Save As..."), ("&amp;Open &quot;a&quot;", None)]
    + [("Tom &amp; Jerry", ""), ("AT&amp;T", ""), ("&amp;lt;b", ""), ("&amp;amp; a", "")]
    + [("a &amp;&amp; b", ""), ("_File", "")],
)
def test_signs_in_xml(text: str, plain: str | None) -> None:
    expected = text.replace("&amp;", "") if plain is None else plain or text
    assert remove_accelerator(text, SIGNS_IN_XML)[0] == expected


def test_only_the_signs_of_the_file_count() -> None:
    assert remove_accelerator("_File", "&") == ("_File", None)


@pytest.mark.parametrize(
    ("text", "letter", "expected"),
    [
        ("Fichier", "F", "_Fichier"),
        ("Le fichier", "F", "Le _fichier"),
        ("Enregistrer", "S", "Enregi_strer"),
        ("Ouvrir", "F", "_Ouvrir"),
        ("ファイル", "f", "ファイル(_F)"),
        ("開く...", "o", "開く(_O)..."),
        ("%s öffnen", "S", "%s _öffnen"),
        ("<b>bad</b> bold", "b", "<b>_bad</b> bold"),
        ("", "x", "(_X)"),
        ("פתח קובץ…", "F", "_פתח קובץ…"),
        ("اسم اللون:", "N", "_اسم اللون:"),
        ("เปิดแฟ้ม", "O", "_เปิดแฟ้ม"),
        ("開く", "ფ", "開く(_ფ)"),
    ],
)
def test_the_sign_comes_back_once_at_a_letter(text: str, letter: str, expected: str) -> None:
    assert put_accelerator(text, Accelerator("_", letter)) == expected
