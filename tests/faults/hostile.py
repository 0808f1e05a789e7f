"""What may be in a file that somebody else has made: bytes for every reader.

Two kinds. `plain_cases` are the same each time: a sound file, each of the ODD pieces alone, in
front of it, in its middle and behind it, and the file cut short or without its last newline.
`contents` draws, for hypothesis, a sound file that was edited here and there, so that what is
wrong stands where a reader looks. LARGE is what only size makes hostile.
"""

from collections.abc import Iterator

from hypothesis import strategies as st

LONG_NUMBER = b"9" * 5000
"""Python refuses to read a whole number of more than 4,300 digits from text."""

DEEP = 20_000
"""Brackets within brackets: more than a parser that calls itself can open."""

ODD: tuple[bytes, ...] = (
    b"",
    # Not UTF-8: a byte that begins no character, one cut short, a surrogate, an overlong slash.
    b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80",
    b"\x00", b"\x00" * 40, b"\x1a", b"\x1c", b"\x0c", b"\x0b",
    # Ends of lines to some programs, but not here.
    b"\r", b"\r\n", "\u2028".encode(), "\u2029".encode(), "\x85".encode(), b"\n", b"\n\n\n",
    # Blanks and what looks like nothing.
    b" ", b"   ", b"\t", "\u00a0".encode(), "\u3000".encode(), "\u200b".encode(), b"\xef\xbb\xbf",
    # Marks of our own formats as text.
    b"<unk>", b"</s>", b"<s>", b"@@", b"a@@", b"@@ @@", b"</w>", b"#version: 9.9", b"|||",
    b" ||| ", b"||| |||", b"|", b"=", b"LM0=", b"[weight]", b"[", b"]", b"[[", b"{", b"}", b"#",
    b'"', b"'", b'"""', b",", b":", b"-", b"0-0", b"1?2", b"&#124;", b"&amp;", b"<eps>", b"NULL",
    # Escapes of what is no character, or of a control character.
    b'"\\ud800"', b"\\udfff\\ud800", b"\\u0000", b"\\U00110000", b"\\x00", b"\\",
    # Right to left, combining, joined, beyond the first plane, without a meaning.
    "שלום".encode(), "\u202eabc\u202c".encode(), ("e" + "\u0301" * 50).encode(),
    "👩\u200d👩\u200d👧".encode(), "\U0010ffff".encode(), "\ufffe".encode(), "ﷺ".encode(),
    # Numbers that are none, or none that can be meant.
    b"nan", b"inf", b"-inf", b"NaN", b"1e999", b"-1e999", b"1e-999", b"-0.0", b"-1", b"0", b"1",
    b"2", b"1_0", b"0x1", b"--1", "٣".encode(), "²".encode(), b"9" * 20, LONG_NUMBER,
    # Other types than those that are expected.
    b"null", b"true", b"{}", b"[]", b'""', b"1979-05-27", b"/etc/passwd", b"../../x", b"$(id)",
    b"[" * DEEP, b'{"a":' * DEEP,
)  # fmt: skip

LARGE: tuple[bytes, ...] = (
    b"x" * 1_000_000,
    b"word " * 100_000,
    b" " * 1_000_000,
    b"\n" * 100_000,
    ("\u2028" * 100_000).encode(),
    b"a ||| b ||| " * 50_000,
)
"""Lines of a megabyte, a hundred thousand tokens, blanks alone, empty lines."""


def plain_cases(sound: bytes, large: bool = False) -> Iterator[bytes]:
    """The same contents each time.

    :param sound: what a file of that kind may hold.
    :param large: those of LARGE, too.
    """
    middle = len(sound) // 2
    yield sound
    yield sound.rstrip(b"\n")
    yield sound.replace(b"\n", b"\r\n")
    yield sound[:middle]
    yield sound + sound
    yield sound.replace(b" ", b"  ")
    for piece in [*ODD, *(LARGE if large else ())]:
        yield piece
        yield piece + b"\n" + sound
        yield sound + piece
        yield sound[:middle] + piece + sound[middle:]
        end = sound.find(b"\n") % (len(sound) + 1)
        yield sound[:end] + b" " + piece + sound[end:]


def contents(sound: bytes) -> st.SearchStrategy[bytes]:
    """Contents of a file: pieces in a row, or a sound file edited up to eight times."""
    pieces = st.sampled_from(ODD) | st.binary(max_size=8) | st.text(max_size=4).map(_encoded)
    place = st.integers(0, max(len(sound), 1))
    edits = st.lists(st.tuples(place, st.integers(0, 12), pieces), max_size=8)
    edited = edits.map(lambda steps: _edited(sound, steps))
    return edited | st.lists(pieces | st.just(b"\n") | st.just(b" "), max_size=12).map(b"".join)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", errors="surrogatepass")


def _edited(sound: bytes, steps: list[tuple[int, int, bytes]]) -> bytes:
    """Put pieces in the place of some bytes; what takes more than ten is the rest of the line."""
    data = sound
    for place, taken, piece in steps:
        start = place % (len(data) + 1)
        line_end = data.find(b"\n", start)
        end = line_end if taken > 10 and line_end >= 0 else start + min(taken, 10)
        data = data[:start] + piece + data[end:]
    return data
