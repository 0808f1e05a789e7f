"""Translation memories are read as a stream, without entities, one line for each segment."""

import gzip
import logging
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.errors import DataError
from nmtkit.io.bitext import read_bitext
from nmtkit.io.tmx import is_tmx, read_tmx

DOCTYPE = '<!DOCTYPE tmx SYSTEM "tmx14.dtd">'
HEADER = '<tmx version="1.4"><header srclang="en" datatype="plaintext"/><body>'
UNIT = (
    '<tu><tuv xml:lang="en"><seg>Hello</seg></tuv><tuv xml:lang="fr"><seg>Salut é</seg></tuv></tu>'
)
PAIR = ("Hello", "Salut é")


def document(units: str, start: str = DOCTYPE) -> str:
    return f"{start}\n{HEADER}\n{units}\n</body></tmx>\n"


def parse(data: bytes, *languages: str, step: int = 1 << 16) -> list[tuple[str, str]]:
    parts = (data[start : start + step] for start in range(0, len(data), step))
    source, target = languages or ("en", "fr")
    pairs = read_tmx(parts, "memory.tmx", (source, target))
    return [(src.decode(), tgt.decode()) for _, src, tgt in pairs]


def segment(content: str) -> str:
    """Return the source line of a unit with this content."""
    unit = UNIT.replace("Hello", content)
    return parse(document(unit).encode())[0][0]


@pytest.mark.parametrize("step", [1, 100, 1 << 16])
def test_a_document_in_pieces_has_its_units(step: int) -> None:
    assert parse(document(UNIT * 3).encode(), step=step) == [PAIR] * 3


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [("utf-8", None), ("utf-8-sig", "UTF-8"), ("utf-16", "UTF-16"), ("utf-16", None)]
    + [("utf-16-le", "UTF-16"), ("iso-8859-1", "ISO-8859-1"), ("cp1252", "windows-1252")],
)
def test_encodings_of_xml_are_read(tmp_path: Path, encoding: str, declared: str | None) -> None:
    start = f'<?xml version="1.0" encoding="{declared}"?>{DOCTYPE}' if declared else DOCTYPE
    data = document(UNIT, start).encode(encoding)
    for content in (data, gzip.compress(data)):
        (tmp_path / "memory").write_bytes(content)
        (block,) = read_bitext([tmp_path / "memory"], ("en", "fr"))
        assert (block.src, block.tgt) == ([b"Hello"], ["Salut é".encode()])
        assert len(block.numbers) == 1


@pytest.mark.parametrize("declared", ["Shift_JIS", "nonsense"])
def test_other_encodings_are_refused(declared: str) -> None:
    data = document(UNIT, f'<?xml version="1.0" encoding="{declared}"?>').encode()
    with pytest.raises(DataError, match="memory.tmx: its encoding cannot be read .*to UTF-8"):
        parse(data)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", ""),
        ("a &amp; b &lt;c> &#233;&#x20;", "a & b <c> é"),
        ("one\n  two\tthree\r\nfour  five", "one two three four  five"),
        ("\n  one\n", "one"),
        ('<bpt i="1">&lt;b></bpt>bold<ept i="1">&lt;/b></ept>', "bold"),
        ('a<ph x="1">{0}</ph>b<it pos="begin">i</it><ut>u</ut>', "ab"),
        ('a<ph type="lb"/>b', "a b"),
        ("see <hi>this <hi>one</hi></hi>!", "see this one!"),
        ("a<ph>image <sub>text of it</sub> end</ph>b", "ab"),
        ("<![CDATA[a < b]]><!-- no --><?no?>", "a < b"),
        ("<unknown>kept</unknown>", "kept"),
        ("a\u2028b\u0085c", "a\u2028b\u0085c"),
    ],
)
def test_a_segment_is_one_line_of_text(content: str, line: str) -> None:
    assert segment(content) == line


@settings(max_examples=50)
@given(st.text(st.sampled_from("ab<>&\n\t é\"'"), max_size=20))
def test_any_text_is_read_back(text: str) -> None:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert segment(escaped).split() == text.split()
    assert "\n" not in segment(escaped) and "\t" not in segment(escaped)


@pytest.mark.parametrize(
    ("tags", "languages", "pair"),
    [
        (("en-US", "fr-FR"), ("en", "fr"), ("0", "1")),
        (("EN", "FR_ca"), ("en", "fr"), ("0", "1")),
        (("fr", "en"), ("en", "fr"), ("1", "0")),
        (("en-GB", "en", "fr"), ("en", "fr"), ("1", "2")),
        (("en-GB", "en-US", "fr"), ("en", "fr"), ("0", "2")),
        (("pt-PT", "pt-BR", "zh-CN"), ("pt-BR", "zh-CN"), ("1", "2")),
        (("en", "pt"), ("pt-BR", "en"), ("1", "0")),
        (("en", "pt-PT"), ("en", "pt-BR"), None),
        (("en", "frr"), ("en", "fr"), None),
        (("", "fr"), ("en", "fr"), None),
        (("en",), ("en", "en-GB"), None),
    ],
)
def test_languages_are_matched_with_their_regions(
    tags: tuple[str, ...], languages: tuple[str, str], pair: tuple[str, str] | None
) -> None:
    variants = (
        f'<tuv {"xml:lang" if n % 2 else "lang"}="{tag}"><seg>{n}</seg></tuv>'
        for n, tag in enumerate(tags)
    )
    data = document(f"<tu>{''.join(variants)}</tu>").encode()
    if pair:
        assert parse(data, *languages) == [pair]
    else:
        with pytest.raises(DataError, match=f"no unit has {languages[0]} and {languages[1]}; the"):
            parse(data, *languages)


def test_units_without_a_language_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "nmtkit")
    other = '<tu><tuv xml:lang="de"><seg>x</seg></tuv><tuv xml:lang="en"></tuv></tu>'
    for _ in range(2):  # `prepare` reads a corpus twice
        assert parse(document(UNIT + other + UNIT).encode()) == [PAIR, PAIR]
    (message,) = caplog.messages
    assert message == "memory.tmx: 1 of 3 units skipped, which do not have both en and fr"


def test_a_language_that_is_not_there_is_an_error_that_names_those_that_are() -> None:
    with pytest.raises(DataError, match=r"the languages of its 2 units are en \(2\), fr \(2\)"):
        parse(document(UNIT * 2).encode(), "en", "es")


@pytest.mark.parametrize(
    ("start", "content", "problem"),
    [
        ('<!DOCTYPE tmx [<!ENTITY a "b">]>', "&a;", "declares the entity 'a'"),
        ('<!DOCTYPE tmx [<!ENTITY a SYSTEM "/etc/passwd">]>', "&a;", "declares the entity 'a'"),
        ('<!DOCTYPE tmx [<!ENTITY % a SYSTEM "x.dtd"> %a;]>', "", "declares the entity 'a'"),
        (DOCTYPE, "&a;", "the entity 'a' is not declared"),
        ("", "&a;", "undefined entity"),
    ],
)
def test_entities_are_refused(start: str, content: str, problem: str) -> None:
    data = document(UNIT.replace("Hello", content), start).encode()
    with pytest.raises(DataError, match=rf"memory\.tmx:\d: .*{problem}"):
        parse(data)


def test_a_document_type_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(socket, "socket", None)
    start = '<!DOCTYPE tmx PUBLIC "-//LISA//DTD" "http://www.lisa.org/tmx14.dtd">'
    assert parse(document(UNIT, start).encode()) == [PAIR]


@pytest.mark.parametrize("removed", ["</tu>", "</body></tmx>\n", '"1.4"'])
def test_malformed_xml_names_file_and_line(removed: str) -> None:
    with pytest.raises(DataError, match=r"memory\.tmx:[2-5]: not well-formed XML: .*column \d+;"):
        parse(document(UNIT).replace(removed, "").encode())


def test_another_document_is_refused() -> None:
    with pytest.raises(DataError, match=r"memory\.tmx:1: the document is <xliff>, not <tmx>"):
        parse(b"<xliff><file/></xliff>")


@pytest.mark.parametrize(
    "hostile",
    [
        "<a>" * 200,
        "<seg>" + "x" * 11_000_000,
        "<a b='" + "x" * 1_500_000,
        "<!--" + "x" * 1_500_000,
    ]
    + ['<tuv xml:lang="en"><seg>a</seg></tuv>' * 1001],
    ids=["deep", "segment", "tag", "comment", "variants"],
)
def test_what_would_take_memory_is_refused(hostile: str) -> None:
    with pytest.raises(DataError, match=r"memory\.tmx:3: .*more than"):
        parse(document(f'<tu><tuv xml:lang="en">{hostile}').encode())


def test_memory_does_not_grow_with_the_number_of_units() -> None:
    def peak(units: int) -> int:
        parts = [document("").encode().partition(b"\n\n")[0], *[UNIT.encode() * 10] * (units // 10)]
        tracemalloc.start()
        count = sum(1 for _ in read_tmx(iter([*parts, b"</body></tmx>"]), "x", ("en", "fr")))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert count == units
        return peak

    assert peak(4000) < peak(400) + 150_000  # Python keeps some freed tuples; units take 600_000


@pytest.mark.parametrize(
    ("head", "answer"),
    [
        (b'<?xml version="1.0"?>', True),
        (b"\n <tmx version='1.4'>", True),
        (b"\xef\xbb\xbf<!-- made by x -->", True),
        ("<?xml version='1.0'?>".encode("utf-16"), True),
        ("<?xml version='1.0'?>".encode("utf-16-be"), True),
        (b"<tmxes>\tare\n", False),
        (b"<b>bold</b>\t<b>gras</b>\n", False),
        (b"<\0", False),
        (b"", False),
    ],
)
def test_a_translation_memory_is_told_by_its_first_bytes(head: bytes, answer: bool) -> None:
    assert is_tmx(head) is answer
