"""Compression is told by content, several members are one text, and damage is an error."""

import bz2
import gzip
import hashlib
import io
import itertools
import lzma
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard

from nmtkit.errors import DataError
from nmtkit.io.compression import decompressed
from nmtkit.io.inputs import HashedFile
from nmtkit.io.lines import read_lines

TEXT = "".join(f"line {number} é\n" for number in range(2000))


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


FORMATS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "Zstandard": zstd,
}

each_format = pytest.mark.parametrize("kind", FORMATS)


@each_format
@pytest.mark.parametrize("name", ["text", "text.gz", "text.xz"])
def test_the_name_does_not_decide(tmp_path: Path, kind: str, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(FORMATS[kind](TEXT.encode()))
    assert list(read_lines(path)) == TEXT.split("\n")[:-1]
    path.write_bytes(TEXT.encode())
    assert list(read_lines(path)) == TEXT.split("\n")[:-1]


@each_format
def test_several_members_are_one_text(kind: str) -> None:
    half = len(TEXT) // 3
    members = [FORMATS[kind](part.encode()) for part in (TEXT[:half], "", TEXT[half:])]
    for padding in (b"", bytes(512)):
        data = padding.join(members) + padding
        assert b"".join(decompressed(iter([data]), "x")).decode() == TEXT


@each_format
def test_a_member_follows_one_longer_than_a_chunk(kind: str) -> None:
    long = TEXT * 5
    data = FORMATS[kind](long.encode()) + FORMATS[kind](TEXT.encode())
    chunks = decompressed(iter([data]), "x")
    parts = list(itertools.islice(chunks, 1000))
    assert b"".join(parts).decode() == long + TEXT


@each_format
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_data_may_arrive_in_small_parts(kind: str, size: int) -> None:
    data = FORMATS[kind](TEXT.encode()) * 2
    parts = (data[start : start + size] for start in range(0, len(data), size))
    assert b"".join(decompressed(parts, "x")).decode() == TEXT * 2


@each_format
def test_a_line_comes_as_soon_as_its_bytes_do(kind: str) -> None:
    first, second = (FORMATS[kind](text) for text in (b"one\n", b"two\n"))
    arrived: list[bytes] = []

    def arriving() -> Iterator[bytes]:
        yield first
        assert b"".join(arrived) == b"one\n"
        yield second

    for chunk in decompressed(arriving(), "x"):
        arrived.append(chunk)
    assert b"".join(arrived) == b"one\ntwo\n"


@each_format
def test_an_empty_text_has_no_lines(tmp_path: Path, kind: str) -> None:
    (tmp_path / "text").write_bytes(FORMATS[kind](b""))
    assert list(read_lines(tmp_path / "text")) == []


@each_format
@pytest.mark.parametrize("damage", ["cut", "cut at the end", "changed", "longer"])
def test_damage_names_the_file(tmp_path: Path, kind: str, damage: str) -> None:
    data = bytearray(FORMATS[kind](TEXT.encode()))
    if damage.startswith("cut"):
        del data[len(data) // 2 if damage == "cut" else len(data) - 1 :]
    elif damage == "changed":
        data[len(data) // 2 : len(data) // 2 + 30] = b"\xff" * 30
    else:
        data += b"more"
    (tmp_path / "text").write_bytes(bytes(data))
    with pytest.raises(DataError, match=rf"/text: damaged or incomplete {kind} file"):
        list(read_lines(tmp_path / "text"))


@each_format
def test_the_checksum_is_of_the_compressed_bytes(tmp_path: Path, kind: str) -> None:
    (tmp_path / "text").write_bytes(FORMATS[kind](TEXT.encode()))
    with HashedFile(tmp_path / "text") as file:
        assert next(iter(read_lines(file))) == "line 0 é"
        assert file.sha256() == hashlib.sha256((tmp_path / "text").read_bytes()).hexdigest()


@each_format
def test_memory_does_not_grow_with_what_data_expands_to(kind: str) -> None:
    expanded = 160_000_000 if kind == "Zstandard" else 24_000_000
    data = (
        lzma.compress(bytes(expanded), preset=0) if kind == "xz" else FORMATS[kind](bytes(expanded))
    )
    size = 0
    tracemalloc.start()
    for chunk in decompressed(iter([data]), "x"):
        size += len(chunk)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size == expanded and peak < expanded / 2


def test_frames_to_skip_are_skipped() -> None:
    skipped = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"  # as pzstd writes them
    data = skipped + zstd(b"one\n") + skipped + zstd(b"two\n")
    assert b"".join(decompressed(iter([data]), "x")) == b"one\ntwo\n"


def test_data_that_asks_for_much_memory_is_refused() -> None:
    window = zstandard.ZstdCompressionParameters.from_level(1, window_log=28)
    compressor = zstandard.ZstdCompressor(compression_params=window).compressobj()
    data = compressor.compress(b"x\n") + compressor.flush()
    with pytest.raises(DataError, match="x: decompressing it takes more memory"):
        list(decompressed(iter([data]), "x"))


@pytest.mark.parametrize("start", [b"BZh9 is how bzip2 begins\n", b"(\n", b"P*M\n", b""])
def test_a_text_like_a_signature_is_a_text(start: bytes) -> None:
    assert b"".join(decompressed(io.BytesIO(start), "x.bz2")) == start
