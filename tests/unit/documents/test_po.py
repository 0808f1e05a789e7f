"""PO files, checked with polib and with gettext's own tools."""

import re
import shutil
import subprocess
from collections.abc import Callable

import polib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.documents.po_strings import escape, quote, unescape, with_argument_numbers
from nmtkit.errors import DataError
from tests.unit.documents.stand_ins import copied, translated

HEADER = (
    'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
    '"Content-Transfer-Encoding: 8bit\\n"\n'
)
RUSSIAN = (
    '"Plural-Forms: nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 &&'
    ' (n%100<10 || n%100>=20) ? 1 : 2);\\n"\n'
)
FILE = (
    HEADER
    + RUSSIAN
    + """
# by hand
#. a menu
#: a.c:1
msgid "_File"
msgstr ""

#: a.c:2
#, c-format
msgid "%d file was copied to <b>%s</b>."
msgid_plural "%d files were copied to <b>%s</b>."
msgstr[0] ""
msgstr[1] ""

#, fuzzy
#| msgid "Old"
msgid "New one"
msgstr "Vieux"

msgctxt "x"
msgid ""
"A long text which goes over several lines of the terminal, so that it is wrapped\\n"
"here.  Another sentence follows: \\"quoted\\" and with a back\\\\slash.\\n"
"\\n"
"  -v  be verbose\\n"
msgstr ""

msgid "Done already"
msgstr "Déjà fait"

#~ msgid "obsolete"
#~ msgstr ""
"""
)


def changed_lines(old: str, new: str) -> list[str]:
    """Return the lines of a file that are not in its earlier version, in order."""
    lines = iter(old.splitlines())
    waiting = next(lines, None)
    changed = []
    for line in new.splitlines():
        if line == waiting:
            waiting = next(lines, None)
        else:
            changed.append(line)
            if waiting is not None and re.match(r"(msgstr(\[\d\])? |#, )", waiting):
                waiting = next(lines, None)
    assert waiting is None
    return changed


def test_untranslated_entries_are_translated_and_marked() -> None:
    text = translated(FILE, "po", str.upper).data.decode()
    entries = polib.pofile(text)
    assert len(entries) == 6 and len(entries.obsolete_entries()) == 1
    file, plural, fuzzy, long, done = entries[:5]
    assert (file.msgstr, file.fuzzy) == ("_FILE", True)
    assert file.comment == "a menu" and file.tcomment == "by hand"
    assert plural.flags == ["fuzzy", "c-format"]
    assert plural.msgstr_plural == {
        0: "%d FILE WAS COPIED TO <b>%s</b>.",
        1: "%d FILES WERE COPIED TO <b>%s</b>.",
        2: "%d FILES WERE COPIED TO <b>%s</b>.",
    }
    assert (fuzzy.msgstr, done.msgstr, done.fuzzy) == ("Vieux", "Déjà fait", False)
    expected = long.msgid.upper().replace("-V  BE", "-V BE").replace("  -V", "  -V")
    assert " ".join(long.msgstr.split()) == " ".join(expected.split())
    assert long.msgstr.count("\n") == long.msgid.count("\n")
    assert all(line.startswith(("msgstr", '"', "#, fuzzy")) for line in changed_lines(FILE, text))


def test_reviewed_translations_are_not_marked() -> None:
    entries = polib.pofile(translated(FILE, "po", str.upper, reviewed=True).data.decode())
    assert [entry.fuzzy for entry in entries[:5]] == [False, False, True, False, False]


def test_flags_of_obsolete_entries_are_not_those_of_the_next_one() -> None:
    obsolete = '# old\n#, fuzzy, c-format\n#~| msgid "a"\n#~ msgid "b"\n#~ msgstr "c"\n\n'
    text = f'{HEADER}\n{obsolete}msgid "d"\nmsgstr ""\n'
    expected = text.replace('msgid "d"\nmsgstr ""', '#, fuzzy\nmsgid "d"\nmsgstr "D"')
    assert translated(text, "po", str.upper).data.decode() == expected
    done = translated(text, "po", str.upper, reviewed=True, retranslate=True).data.decode()
    assert done == expected.replace("#, fuzzy\n", "")


def test_fuzzy_entries_are_translated_again_on_request() -> None:
    entries = polib.pofile(translated(FILE, "po", str.upper, retranslate=True).data.decode())
    assert (entries[2].msgstr, entries[2].flags) == ("NEW ONE", ["fuzzy"])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Name\\tsize of the file", "NAME\\tSIZE OF THE FILE"),
        ("  -o FILE \\t\\tname it so", "  -O FILE \\t\\tNAME IT SO"),
        ("\\tIndented", "\\tINDENTED"),
        (
            "  -o FILE     name it so\\n  -q          be quiet",
            "  -O FILE     NAME IT SO\\n  -Q          BE QUIET",
        ),
        ("Some words that go on\\n\\tin a line that is indented", None),
    ],
)
def test_tabs_and_columns_stay(value: str, expected: str | None) -> None:
    """Keep them between words, and before each line of wrapped text."""
    text = translated(f'{HEADER}\nmsgid "{value}"\nmsgstr ""\n', "po", str.upper).data.decode()
    same = value.upper().replace("\\N\\T", "\\n\\t")
    assert polib.pofile(text)[0].msgstr == unescape(expected or same)


def test_reviewed_translations_of_fuzzy_entries_are_fuzzy_no_more() -> None:
    flags = ["#, fuzzy\n", "#, fuzzy, c-format\n", "#, c-format\n#, fuzzy\n", "#,c-format,fuzzy\n"]
    entries = [f'{flag}msgid "a {number}"\nmsgstr "b"\n' for number, flag in enumerate(flags)]
    text = "\n".join([HEADER, *entries])
    done = translated(text, "po", str.upper, reviewed=True, retranslate=True).data.decode()
    assert [entry.flags for entry in polib.pofile(done)] == [[], *[["c-format"]] * 3]
    assert '\n\nmsgid "a 0"\nmsgstr "A 0"\n' in done
    same = translated(text.replace('"b"', '"a 0"'), "po", copied, reviewed=True, retranslate=True)
    assert b"fuzzy" not in same.data
    assert translated(text, "po", str.upper, reviewed=True).data.decode() == text


def test_an_entry_with_an_earlier_form_stays_fuzzy() -> None:
    entry = '#, fuzzy\nmsgid "a"\nmsgid_plural "b"\nmsgstr[0] "{}"\nmsgstr[1] ""\n'
    for old, is_fuzzy in (("c", True), ("", False)):
        text = f"{HEADER}\n{entry.format(old)}"
        (done,) = polib.pofile(translated(text, "po", str.upper, reviewed=True).data.decode())
        assert done.fuzzy is is_fuzzy and done.msgstr_plural[1] == "B"


def test_a_file_without_a_header_is_translated() -> None:
    expected = '#, fuzzy\nmsgid "a"\nmsgstr "A"\n'
    assert translated('msgid "a"\nmsgstr ""\n', "po", str.upper).data.decode() == expected


def test_the_second_time_nothing_changes() -> None:
    once = translated(FILE, "po", str.upper).data
    assert translated(once, "po", str.lower).data == once


def test_a_copy_of_translated_entries_changes_no_byte() -> None:
    once = translated(FILE, "po", copied, retranslate=True).data
    assert translated(once, "po", copied, retranslate=True).data == once
    windows = once.replace(b"\n", b"\r\n")
    assert translated(windows, "po", copied, retranslate=True).data == windows


def test_crlf_files_get_crlf() -> None:
    data = translated(FILE.replace("\n", "\r\n"), "po", str.upper).data
    assert data.count(b"\n") == data.count(b"\r\n")


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        ("nplurals=1; plural=0;", ["TWO CATS"]),
        ("nplurals=2; plural=(n != 1);", ["A CAT", "TWO CATS"]),
        ("nplurals=2; plural=n>1;", ["A CAT", "TWO CATS"]),
        ("nplurals=6; plural=n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 ? 3 : n%100>=11 ? 4 : 5;",
         ["TWO CATS", "A CAT", *["TWO CATS"] * 4]),
        ("nplurals=99; plural=n;", ["TWO CATS", "A CAT", *["TWO CATS"] * 8]),
        ("nplurals=2; plural=__import__('os');", ["A CAT", "TWO CATS"]),
        ("nplurals=2; plural=n/0;", ["A CAT", "TWO CATS"]),
        ("", ["A CAT", "TWO CATS"]),
    ],
)  # fmt: skip
def test_plural_forms_are_those_of_the_header(forms: str, expected: list[str]) -> None:
    entry = '\nmsgid "a cat"\nmsgid_plural "two cats"\nmsgstr[0] ""\n'
    header = HEADER + (f'"Plural-Forms: {forms}\\n"\n' if forms else "")
    text = translated(header + entry, "po", str.upper).data.decode()
    assert polib.pofile(text)[0].msgstr_plural == dict(enumerate(expected))


@pytest.mark.skipif(shutil.which("msgcat") is None, reason="gettext is not installed")
@pytest.mark.parametrize("words", [str.upper, copied, lambda word: "漢字、", "{0}-{0}".format])
def test_strings_are_divided_as_gettext_divides_them(words: Callable[[str], str]) -> None:
    text = FILE.split("#~")[0]
    text += 'msgid ""\n' + '"Some words, a-hyphen and more of them. "\n' * 6 + 'msgstr ""\n'

    def msgcat(data: bytes) -> bytes:
        return subprocess.run(["msgcat", "-"], input=data, capture_output=True, check=True).stdout

    def change(word: str) -> str:
        return words(word) if word[0].isalpha() else word

    data = translated(msgcat(text.encode()), "po", change).data
    assert data.decode() == msgcat(data).decode()


def test_files_with_long_lines_are_not_divided() -> None:
    long = "many words " * 20
    text = f'{HEADER}\nmsgid "{long}"\nmsgstr ""\n'
    assert f'msgstr "{long.upper()}' in translated(text, "po", str.upper).data.decode()


@pytest.mark.parametrize(
    ("text", "line"),
    [("hello\n", 1), ('msgid "a"\nmsgid "b"\nmsgstr ""\n', 2), ('msgid a\n', 1), ('\n"a"\n', 2),
     ('msgid "a\nmsgstr ""\n', 1)],
)  # fmt: skip
def test_a_wrong_line_is_named(text: str, line: int) -> None:
    with pytest.raises(DataError, match=f"x.po:{line}: not a line of a PO file"):
        translated(text, "po", name="x.po")


def test_a_character_that_the_encoding_lacks_is_named() -> None:
    text = HEADER.replace("UTF-8", "ISO-8859-1") + '\nmsgid "heart"\nmsgstr ""\n'
    with pytest.raises(DataError, match="iso8859-1, lacks the character 'œ' of a translation"):
        translated(text, "po", lambda word: "cœur")


@given(st.text('ab1-"\\\n\t\aé中、 ', max_size=200), st.booleans())
@settings(max_examples=200)
def test_values_come_back_from_their_strings(value: str, wraps: bool) -> None:
    assert unescape(escape(value)) == value
    lines = quote("msgstr", value, wraps, "\n").split("\n")
    assert unescape("".join(line[1:-1] for line in lines)) == value


def test_missing_plural_forms_are_added() -> None:
    entry = 'msgid "one"\nmsgid_plural "ones"\nmsgstr[0] "X"\n'
    changed = translated(HEADER + RUSSIAN + "\n" + entry, "po", str.upper).data.decode()
    assert changed.endswith('\nmsgstr[0] "X"\nmsgstr[1] "ONES"\nmsgstr[2] "ONES"\n')


def test_an_entry_that_must_not_be_divided_stays_one_line() -> None:
    text = " ".join(["word"] * 30)
    entry = f'#, no-wrap\nmsgid ""\n"{text}"\nmsgstr ""\n'
    changed = translated(f"{HEADER}\n{entry}", "po", str.upper).data.decode()
    assert changed.endswith(f'msgstr "{text.upper()}"\n')


@pytest.mark.parametrize(
    ("written", "encoding", "value"),
    [
        (r"caf\303\251 is", "utf-8", "café is"),
        (r"\xe2\x82\xac5\n", "utf-8", "€5\n"),
        (r"caf\351", "iso-8859-1", "café"),
        (r"\351", "utf-8", "é"),  # no character in UTF-8
        (r"\101\\101\"", "utf-8", 'A\\101"'),
    ],
)
def test_bytes_are_characters_of_the_encoding(written: str, encoding: str, value: str) -> None:
    assert unescape(written, encoding) == value


@pytest.mark.parametrize(
    ("language", "expected"), [("de_AT", ["de"]), ("fr@euro", []), ("", []), ("French", [])]
)
def test_another_language_in_the_header_is_reported(language: str, expected: list[str]) -> None:
    text = f'{HEADER}"Language: {language}\\n"\n\nmsgid "one"\nmsgstr ""\n'
    assert translated(text, "po", copied).warnings == [
        (1, f"the target language is {tag}, but the model translates into fr") for tag in expected
    ]


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("line %d of %s", "%s, line %d", "%2$s, line %1$d"),
        ("%s (%5.1f%%) of %s", "%5.1f%% of %s: %s", "%2$5.1f%% of %1$s: %3$s"),
        ("%s to %s", "%s to %s", "%s to %s"),
        ("%d of %s", "%s", "%s"),
        ("%.*s: %d", "%d: %.*s", "%d: %.*s"),
        ("%2$s %1$d", "%1$d %2$s", "%1$d %2$s"),
        ("%d of %s", "50 % o %d", "50 % o %d"),
    ],
)
def test_conversions_that_change_their_order_are_numbered(
    source: str, translation: str, expected: str
) -> None:
    assert with_argument_numbers(source, translation) == expected


@pytest.mark.parametrize(("flag", "expected"), [("c", "%2$s %1$d"), ("python", "%s %d")])
def test_arguments_are_numbered_where_the_language_can_read_it(flag: str, expected: str) -> None:
    entry = f'{HEADER}\n#, {flag}-format\nmsgid "line %d %s"\nmsgstr ""\n'
    moved = {"line": "", "%": "%", "d": "s", "s": "d"}
    assert expected in translated(entry, "po", lambda word: moved.get(word, word)).data.decode()


@pytest.mark.parametrize("magic", [0x950412DE, 0xDE120495])
def test_a_compiled_catalog_is_refused_with_the_tool_that_reads_it(magic: int) -> None:
    with pytest.raises(DataError, match="msgunfmt"):
        translated(magic.to_bytes(4, "little") + bytes(24), "po")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Click <0>here</0> or <1/> there", "CLICK <0>HERE</0> OR <1/> THERE"),
        ("{n, plural, other {<0># file</0>}}", "{n, plural, other {<0># FILE</0>}}"),
        ("a <5> b</0>", "A <5> B</0>"),
        ("%<count>d items for %<price>.2f", "%<count>d ITEMS FOR %<price>.2f"),
        ("in <b>%<dir>s</b> 50%<i>off</i>", "IN <b>%<dir>s</b> 50%<i>OFF</i>"),
        ("%<name> <br> it is", "%<name> <br> IT IS"),
    ],
)
def test_numbered_tags_and_named_arguments_come_back(source: str, target: str) -> None:
    """React has tags that are numbers, and Ruby arguments whose names look like tags."""
    changed = translated(f'msgid "{source}"\nmsgstr ""\n', "po", str.upper, reviewed=True)
    assert changed.data.decode() == f'msgid "{source}"\nmsgstr "{target}"\n'
