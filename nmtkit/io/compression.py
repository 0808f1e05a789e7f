"""Compressed data as a stream: gzip, bzip2, xz and Zstandard, told by the first bytes.

Data comes and goes as chunks, so that a line is there as soon as the bytes of it are. Several
compressed members, streams or frames after one another are one text, as `cat a.gz b.gz` makes
them. Chunks are bounded: a small file that expands to a terabyte costs time, not memory.
"""

import bz2
import contextlib
import gzip
import lzma
import zlib
from collections.abc import Callable, Generator, Iterator
from itertools import chain
from typing import Any, BinaryIO

from nmtkit.errors import DataError

CHUNK = 1 << 16
"""Bytes in a chunk, at most."""

MAX_DICTIONARY = 1 << 30
"""Memory that xz data may ask for, in bytes; `xz -9` needs 65 MiB."""

_ZSTD_STEP = 1 << 10
"""Bytes of Zstandard data decompressed at a time, which give at most 32 MiB: the library sets no
bound of its own."""

_TOO_MUCH_MEMORY = "decompressing it takes more memory than usual files do; decompress it yourself"

_SNIFFED_BYTES = 10
"""Length of the longest signature."""


class DamagedInput(DataError):
    """Compressed data that is damaged or cut."""


_Pieces = Generator[bytes, None, bytes]


def _gzip_pieces(decompressor: "zlib._Decompress", data: bytes) -> _Pieces:
    piece = b""
    while (data or len(piece) == CHUNK) and not decompressor.eof:
        yield (piece := decompressor.decompress(data, CHUNK))
        data = decompressor.unconsumed_tail
    return decompressor.unused_data


def _bounded_pieces(
    decompressor: bz2.BZ2Decompressor | lzma.LZMADecompressor, data: bytes
) -> _Pieces:
    """Decompress with `bz2` or `lzma`, whose decompressors keep what they have no room for."""
    yield decompressor.decompress(data, CHUNK)
    while not (decompressor.eof or decompressor.needs_input):
        yield decompressor.decompress(b"", CHUNK)
    return decompressor.unused_data


def _zstd_pieces(decompressor: Any, data: bytes) -> _Pieces:
    for start in range(0, len(data), _ZSTD_STEP):
        end = start + _ZSTD_STEP
        yield decompressor.decompress(data[start:end])
        if decompressor.eof:
            rest: bytes = decompressor.unused_data + data[end:]
            return rest
    return b""


def _new_zstd() -> Any:
    import zstandard  # lazy: few inputs need it

    return zstandard.ZstdDecompressor().decompressobj()


_FORMATS: dict[str, tuple[Callable[[], Any], Callable[[Any, bytes], _Pieces]]] = {
    "gzip": (lambda: zlib.decompressobj(zlib.MAX_WBITS | 16), _gzip_pieces),
    "bzip2": (bz2.BZ2Decompressor, _bounded_pieces),
    "xz": (lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, MAX_DICTIONARY), _bounded_pieces),
    "Zstandard": (_new_zstd, _zstd_pieces),
}
"""For each format, what makes a decompressor of a member, and what decompresses bytes with it.

The latter yields chunks, and returns the bytes that follow the end of the member.
"""

SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "Zstandard"}
"""Suffix of a name -> the format to expect, and to write."""

OTHER_SUFFIXES = (".zip", ".tar", ".tgz", ".7z", ".rar", ".lz4", ".lzma", ".Z")
"""Suffixes of formats that are not written."""


def compression_of(head: bytes) -> str | None:
    """Return the format of compressed data by its first bytes, or None.

    None of these can begin a text: `BZh9` can, but not with the ten bytes of a bzip2 file.
    """
    if head.startswith(b"\x1f\x8b"):
        return "gzip"
    if head.startswith(b"\xfd7zXZ\x00"):
        return "xz"
    if head.startswith(b"\x28\xb5\x2f\xfd") or (
        head[1:4] == b"\x2a\x4d\x18" and head[0] & 0xF0 == 0x50  # a frame to skip: pzstd's first
    ):
        return "Zstandard"
    if head[:3] == b"BZh" and head[4:10] in (b"1AY&SY", b"\x17rE8P\x90"):  # pi, or its square root
        return "bzip2"
    return None


def compression_of_name(name: str) -> str | None:
    """Return the format that a name promises, or None."""
    return next((kind for end, kind in SUFFIXES.items() if name.endswith(end)), None)


def decompressed(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Yield data as it is, or decompressed if its first bytes say that it is compressed.

    Yields at least one chunk, maybe empty, for each that it takes, apart from the first few bytes.

    :param name: of the input, for messages; it does not decide what the data is.
    :raises DamagedInput: compressed data is damaged or incomplete, or what a name such as `x.gz`
        promises to be compressed is neither that nor text.
    """
    head = b""
    for chunk in chunks:
        head += chunk
        if b"\n" in chunk or len(head) >= _SNIFFED_BYTES:
            break  # a line that has arrived must not wait for what follows it
    kind = compression_of(head)
    promised = compression_of_name(name)
    if kind is None and promised and not _may_be_text(head):
        raise _damaged(name, promised)
    everything = chain([head], chunks)
    yield from everything if kind is None else _members(everything, kind, name)


@contextlib.contextmanager
def compressing(raw: BinaryIO, kind: str | None) -> Iterator[BinaryIO]:
    """Compress what is written, without names and times; None leaves it as it is.

    :param raw: where the data goes; it stays open.
    :param kind: a format of `compression_of_name`.
    """
    writer: Any = raw
    if kind == "gzip":
        writer = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6)
    elif kind == "bzip2":
        writer = bz2.BZ2File(raw, "wb")
    elif kind == "xz":
        writer = lzma.LZMAFile(raw, "wb")
    elif kind == "Zstandard":
        import zstandard

        compressor = zstandard.ZstdCompressor(write_checksum=True)
        writer = compressor.stream_writer(raw, closefd=False)
    try:
        yield writer
    finally:
        if writer is not raw:
            writer.close()


def _members(chunks: Iterator[bytes], kind: str, name: str) -> Iterator[bytes]:
    """Yield the decompressed data of all members."""
    new_decompressor, pieces = _FORMATS[kind]
    decompressor: Any = None
    for data in chunks:
        if decompressor is None:
            data = data.lstrip(b"\0")  # padding, as tapes have it
            yield b""
        while data:
            decompressor = decompressor or new_decompressor()
            try:
                data = yield from pieces(decompressor, data)
            except _errors(kind) as error:
                if "emory" in str(error):
                    raise DamagedInput(f"{name}: {_TOO_MUCH_MEMORY}") from error
                raise _damaged(name, kind) from error
            if decompressor.eof:
                data, decompressor = data.lstrip(b"\0"), None
    if decompressor is not None:
        raise _damaged(name, kind)


def _errors(kind: str) -> tuple[type[Exception], ...]:
    """Return what a decompressor of this format raises for damaged data."""
    if kind == "Zstandard":
        import zstandard

        return (zstandard.ZstdError,)
    return (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)


def _damaged(name: str, kind: str) -> DamagedInput:
    return DamagedInput(f"{name}: damaged or incomplete {kind} file; fetch or make it again")


def _may_be_text(head: bytes) -> bool:
    """Return whether bytes may begin a text in UTF-8; a last character may be cut."""
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return b"\0" not in head
