"""Hostile file contents for every reader.

`fixed_cases` are the same in each run: a valid file; each of PIECES alone, before, inside and after
the valid file; and the valid file cut in half, or without its final newline. `random_cases` is a
hypothesis strategy that mostly edits a valid file at random places, so that an error stands where
a reader looks. LARGE_PIECES are hostile only by their size.
"""

from collections.abc import Iterator

from hypothesis import strategies as st

LONG_NUMBER = b"9" * 5000
"""Too long for Python, which refuses to parse an integer of more than 4,300 digits."""

NESTING = 20_000
"""Depth of nested brackets, more than a recursive parser can handle."""

PIECES: tuple[bytes, ...] = (
    b"",
    # Not UTF-8: an invalid byte, a truncated character, a surrogate, an overlong slash, a code
    # point beyond U+10FFFF.
    b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80",
    b"\x00", b"\x00" * 40, b"\x1a", b"\x1c", b"\x0c", b"\x0b",
    # Line ends for some programs; nmtkit ends lines at \n only.
    b"\r", b"\r\n", "\u2028".encode(), "\u2029".encode(), "\x85".encode(), b"\n", b"\n\n\n",
    # Blanks and invisible characters.
    b" ", b"   ", b"\t", "\u00a0".encode(), "\u3000".encode(), "\u200b".encode(), b"\xef\xbb\xbf",
    # Syntax of the file formats as text.
    b"<unk>", b"</s>", b"<s>", b"@@", b"a@@", b"@@ @@", b"</w>", b"#version: 9.9", b"|||",
    b" ||| ", b"||| |||", b"|", b"=", b"LM0=", b"[weight]", b"[", b"]", b"[[", b"{", b"}", b"#",
    b'"', b"'", b'"""', b",", b":", b"-", b"0-0", b"1?2", b"&#124;", b"&amp;", b"<eps>", b"NULL",
    # Escapes of surrogates, of control characters, or beyond Unicode.
    b'"\\ud800"', b"\\udfff\\ud800", b"\\u0000", b"\\U00110000", b"\\x00", b"\\",
    # Right to left, combining, joined, outside the basic plane, a noncharacter, a ligature.
    "שלום".encode(), "\u202eabc\u202c".encode(), ("e" + "\u0301" * 50).encode(),
    "👩\u200d👩\u200d👧".encode(), "\U0010ffff".encode(), "\ufffe".encode(), "ﷺ".encode(),
    # The first bytes of what is no text, or compressed; a text in UTF-16.
    b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"a\0\n\0", b"%PDF-1.4\n%",
    # Malformed numbers, and numbers outside the expected range.
    b"nan", b"inf", b"-inf", b"NaN", b"1e999", b"-1e999", b"1e-999", b"-0.0", b"-1", b"0", b"1",
    b"2", b"1_0", b"0x1", b"--1", "٣".encode(), "²".encode(), b"9" * 20, LONG_NUMBER,
    # Values of an unexpected type.
    b"null", b"true", b"{}", b"[]", b'""', b"1979-05-27", b"/etc/passwd", b"../../x", b"$(id)",
    b"[" * NESTING, b'{"a":' * NESTING,
)  # fmt: skip

LARGE_PIECES: tuple[bytes, ...] = (
    b"x" * 1_000_000,
    b"word " * 100_000,
    b" " * 1_000_000,
    b"\n" * 100_000,
    ("\u2028" * 100_000).encode(),
    b"a ||| b ||| " * 50_000,
)
"""Lines of a megabyte, a hundred thousand tokens, a line of blanks, empty lines."""


def fixed_cases(valid: bytes, large: bool = False) -> Iterator[bytes]:
    """Yield contents that are the same in each run.

    :param valid: the content of a valid file.
    :param large: include LARGE_PIECES.
    """
    middle = len(valid) // 2
    yield valid
    yield valid.rstrip(b"\n")
    yield valid.replace(b"\n", b"\r\n")
    yield valid[:middle]
    yield valid + valid
    yield valid.replace(b" ", b"  ")
    for piece in [*PIECES, *(LARGE_PIECES if large else ())]:
        yield piece
        yield piece + b"\n" + valid
        yield valid + piece
        yield valid[:middle] + piece + valid[middle:]
        end = valid.find(b"\n") % (len(valid) + 1)
        yield valid[:end] + b" " + piece + valid[end:]


def random_cases(valid: bytes) -> st.SearchStrategy[bytes]:
    """Draw contents: a sequence of pieces, or a valid file with up to eight edits."""
    pieces = st.sampled_from(PIECES) | st.binary(max_size=8) | st.text(max_size=4).map(_encoded)
    position = st.integers(0, max(len(valid), 1))
    edits = st.lists(st.tuples(position, st.integers(0, 12), pieces), max_size=8)
    edited = edits.map(lambda drawn: _edited(valid, drawn))
    return edited | st.lists(pieces | st.just(b"\n") | st.just(b" "), max_size=12).map(b"".join)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", errors="surrogatepass")


def _edited(valid: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    """Apply edits (position, bytes to replace, piece); more than 10 mean the rest of the line."""
    data = valid
    for position, length, piece in edits:
        start = position % (len(data) + 1)
        line_end = data.find(b"\n", start)
        end = line_end if length > 10 and line_end >= 0 else start + min(length, 10)
        data = data[:start] + piece + data[end:]
    return data
