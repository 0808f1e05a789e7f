"""A file whose segments two models translate in turn: the markup survives both, and the rest stays.

The translators are stand-ins whose translations are known word by word.
"""

from typing import Any, cast

import pytest

from nmtkit.inference.document import DocumentOptions, SegmentedDocument
from tests.unit.documents.office_files import book, opendocument, run, word, workbook
from tests.unit.documents.sample_texts import PAGE, SUBTITLES
from tests.unit.documents.stand_ins import StandIn, translated
from tests.unit.documents.test_laws import PROSE, TABLE

MESSAGE = "<p>You have {n, plural, one {# new <b>file</b>} other {# new files here}} now.</p>"

IMAGE = '<p title="A title">See <img alt="the red picture" src="a&amp;b"> and <a href=x>this</a>.'

PO = r"""msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"

msgid "_Open file"
msgstr ""

#, c-format
msgid "Read %d lines.\n"
msgstr ""

msgid "kept"
msgstr "gardé"
"""

XLIFF = """<xliff version="1.2"><file source-language="fr" target-language="de"><body>
<trans-unit id="1"><source>Open <g id="1">the <x id="2"/> file</g>. Close &amp; go.</source></trans-unit>
<trans-unit id="2"><source>kept</source><target state="final">gardé</target></trans-unit>
</body></file></xliff>
"""  # noqa: E501

TMX = """<tmx version="1.4"><header srclang="fr"/><body>
<tu><tuv xml:lang="fr"><seg>Open <bpt i="1">[</bpt>it<ept i="1">]</ept>.</seg></tuv></tu>
</body></tmx>
"""

WORD = word(
    f"<w:p>{run('Read ')}{run('the red', 'b')}{run(' book. Then go.')}</w:p>",
    footer=f"<w:p>{run('A page')}</w:p>",
)

ODT = opendocument(
    "<text:p>One <text:span>two</text:span> three.<text:note><text:note-citation>1"
    "</text:note-citation><text:note-body><text:p>A note.</text:p></text:note-body></text:note>"
    " Four.</text:p>"
)

FILES: list[tuple[str, str | bytes]] = [
    *(("html", page) for page in (PAGE, MESSAGE, IMAGE)),
    *(("md", PROSE), ("srt", SUBTITLES), ("tsv", TABLE), ("po", PO)),
    *(("xliff", XLIFF), ("tmx", TMX), ("docx", WORD), ("odt", ODT)),
    *(("epub", book()), ("xlsx", workbook(["<t>One &amp; two. Three</t>", "<t>12</t>"]))),
]


def _is_word(word: str) -> bool:
    """Return whether a word is translated; a letter may be part of `%d`."""
    return word.isalpha() and len(word) > 1


def longer(word: str) -> str:
    return f"{word}x" if _is_word(word) else word


def doubled(word: str) -> str:
    return f"{word}{word}" if _is_word(word) else word


def both(word: str) -> str:
    return doubled(longer(word))


def segmented(data: str | bytes, format: str) -> SegmentedDocument:
    encoded = data.encode() if isinstance(data, str) else data
    return SegmentedDocument(encoded, format, "the file", DocumentOptions("fr", "de"))


@pytest.mark.parametrize(("format", "data"), FILES)
def test_two_models_in_turn_are_one_that_does_what_both_do(format: str, data: str | bytes) -> None:
    file = segmented(data, format)
    texts = file.texts
    for change, languages in ((longer, ("fr", "en")), (doubled, ("en", "de"))):
        texts = file.translate(texts, cast(Any, StandIn(change, *languages)))
        assert len(texts) == len(file.segments)
    once = file.translate(file.texts, cast(Any, StandIn(both, "fr", "de")))
    assert file.write(texts) == file.write(once)
    assert texts != file.texts
    assert file.write(once) == translated(data, format, both, languages=("fr", "de")).data


def test_lines_of_a_message_are_no_longer_than_its_own() -> None:
    lines = ["Read all of the lines of the file,", "then go on to the next one, and so on."]
    source = "".join(f'"{line}\\n"\n' for line in lines)
    file = segmented(f'msgid ""\n{source}msgstr ""\n', "po")
    texts = file.texts
    for change, languages in ((longer, ("fr", "en")), (doubled, ("en", "de"))):
        texts = file.translate(texts, cast(Any, StandIn(change, *languages)))
    (text,) = texts
    assert text.endswith("\n") and text.count("\n") > 2
    assert max(map(len, text.split("\n"))) <= max(map(len, lines))


@pytest.mark.parametrize(("format", "data"), FILES)
def test_a_file_with_its_own_texts_is_the_same(format: str, data: str | bytes) -> None:
    first = segmented(data, format)
    copy = first.translate(first.texts, cast(Any, StandIn(str, "fr", "de")))
    assert copy == first.texts


def test_the_second_model_reads_the_sentences_of_the_first_ones_translation() -> None:
    """They are parsed and divided again, each segment by itself."""
    file = segmented("<p>One <b>two</b> &amp; three. Four.</p><p>Five.</p>", "html")
    first, second = StandIn(longer, "fr", "en"), StandIn(doubled, "en", "de")
    between = file.translate(file.texts, cast(Any, first))
    file.translate(between, cast(Any, second))
    assert first.texts == [["One two & three.", "Four.", "Five."]]
    assert second.texts == [["Onex twox & threex.", "Fourx.", "Fivex."]]
