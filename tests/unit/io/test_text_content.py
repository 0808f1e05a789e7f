"""What is no text is refused with what it looks like; every text is read, its lines unchanged."""

import gzip
import io
import logging
import os
import random
import shlex
import tarfile
import threading
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.errors import DataError
from nmtkit.inference.stream_batching import LineStream
from nmtkit.io.lines import read_lines, read_raw_lines
from nmtkit.io.text_content import (
    MAX_HEAD,
    check_text,
    describe,
    log_once,
    shell_name,
    text_chunks,
)

LINE = "Il fait beau à Paris.\n"


def archive(form: str) -> bytes:
    stream = io.BytesIO()
    if form == "zip":
        with zipfile.ZipFile(stream, "w") as zipped:
            zipped.writestr("a.txt", LINE)
    else:
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as tar:
            tar.addfile(tarfile.TarInfo("a.txt"))
    return stream.getvalue()


NO_TEXT = {
    "UTF-16": LINE.encode("utf-16"),
    "UTF-16LE": "Погода хорошая, всё тихо.\n".encode("utf-16-le"),
    "UTF-16BE": LINE.encode("utf-16-be"),
    "UTF-32": LINE.encode("utf-32"),
    "UTF-32LE": LINE.encode("utf-32-le"),
    "zip archive": archive("zip"),
    "tar archive": archive("tar"),
    "7z": b"7z\xbc\xaf\x27\x1c\0\x04",
    "RAR": b"Rar!\x1a\x07\x01\0",
    "PDF": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n",
    "old office": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0",
    "RTF": b"{\\rtf1\\ansi\n",
    "PNG": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "JPEG": b"\xff\xd8\xff\xe0\0\x10JFIF\0",
    "GIF": b"GIF89a\x10\0\x10\0\xf7\0\0",
    "SQLite": b"SQLite format 3\0\x10\0",
    "Parquet": b"PAR1\x15\x04\x15",
    "program": b"\x7fELF\x02\x01\x01\0",
    "lzma": b"\x5d\0\0\x80\0" + b"\xff" * 8,
    "Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 3\n",
    "carriage returns alone": b"one\rtwo\rthree\r",
}

TEXTS = [
    b"",
    b"\n",
    b"\0",
    b"a\0b\0cd\0\n",
    b"BZh9",
    b"%PDF-1.4 is a version of PDF.\n",
    b"%PDF-1.4\nis a version of PDF.\n",
    "GIF89a : été\n".encode(),
    b"GIF89a\nGIF87a\n",
    b"PAR1 2\n",
    b"PK is short for Phil Katz.\n",
    b"7z is a program.\n",
    b"version https://git-lfs.github.com/spec/v1\nis the first line.\n",
    b"one\rtwo\n",
    b"one\rtwo",
    b"\r\r\r\n",
    b"|" * 12 + b"\0\n||||||\0\n",
    bytes(5000),
    b"ustar " * 100 + b"\n",
    "\ufeff\ufeffOne\n".encode(),
    "日本語のテキスト\n".encode(),
    "ÿþ is how UTF-16 looks\n".encode(),
]


def read(data: bytes, step: int = 1 << 16) -> bytes:
    parts = [data[start : start + step] for start in range(0, len(data), step)]
    return b"".join(text_chunks(iter(parts), "name"))


@pytest.mark.parametrize("what", NO_TEXT)
def test_what_is_no_text_is_refused_with_what_it_looks_like(what: str) -> None:
    with pytest.raises(DataError, match=f"^name: looks like .*{what}") as caught:
        read(NO_TEXT[what])
    assert "\n" not in str(caught.value)


def test_the_message_says_how_to_convert_the_file() -> None:
    with pytest.raises(DataError, match="iconv -f UTF-16LE -t UTF-8 name$"):
        read("Hi\n".encode("utf-16-le"))
    with pytest.raises(DataError, match=r"^a \(1\): .* iconv -f UTF-16 -t UTF-8 'a \(1\)'$"):
        check_text("Hi\n".encode("utf-16"), "a (1)")


def test_a_command_to_copy_has_the_name_as_one_word() -> None:
    names = ["train.en", "a b", "it's", "-m", "-", "$HOME"]
    command = " ".join(map(shell_name, names))
    assert shlex.split(command) == ["train.en", "a b", "it's", "./-m", "-", "$HOME"]
    assert command.startswith("train.en 'a b' ")


@pytest.mark.parametrize("data", TEXTS)
@pytest.mark.parametrize("step", [1, 5, 1 << 16])
def test_every_text_is_read(data: bytes, step: int) -> None:
    lines = read(data, step).split(b"\n")
    assert len(lines) == data.count(b"\n") + 1
    if b"\r" not in data and not data.startswith(b"\xef\xbb\xbf"):
        assert read(data, step) == data


@settings(max_examples=60)
@given(st.lists(st.text("ab\r\ufeffé\n ", max_size=12)), st.integers(1, 9))
def test_carriage_returns_and_marks_are_taken_off_and_nothing_else(
    texts: list[str], step: int
) -> None:
    data = "first\n" + "".join(texts)
    expected = "\n".join(line.lstrip("\ufeff").rstrip("\r") for line in data.split("\n"))
    if expected.endswith("\n") and data.endswith("\r"):
        expected += "\n"  # the last line is empty, and is a line
    assert read(data.encode(), step).decode() == expected
    assert read(("\ufeff" + data).encode(), step).decode() == expected


@pytest.mark.parametrize("data", [b"\r", b"\r\r", b"a\n\r", b"a\r\n\r"], ids=repr)
@pytest.mark.parametrize("step", [1, 9])
def test_a_last_line_of_carriage_returns_is_an_empty_line(data: bytes, step: int) -> None:
    assert read(data, step) == data.replace(b"\r\n", b"\n").rstrip(b"\r") + b"\n"


@settings(max_examples=200)
@given(st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"])))
def test_no_text_without_control_characters_looks_like_something_else(text: str) -> None:
    assert describe(text.encode()) is None or text.startswith("{\\rtf1")


def test_a_long_first_line_is_not_kept_back() -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"x" * 1000

    assert len(next(text_chunks(endless(), "name"))) <= MAX_HEAD + 1000


def test_many_carriage_returns_take_linear_time() -> None:
    data = b"one\n" + b"\r" * 3_000_000 + b"two\r\r\n"
    assert read(data, 1000) == b"one\n" + b"\r" * 3_000_000 + b"two\n"


def test_what_was_taken_off_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "nmtkit")
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    for _ in range(2):
        assert list(read_lines(path)) == ["one", "two"]
    assert caplog.messages == [
        f"{path}: a byte order mark at its beginning was taken off",
        f"{path}: carriage returns at the ends of lines were taken off",
    ]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"<!DOCTYPE html>\n<html>\n", "a page of HTML"),
        (b'<?xml version="1.0"?>\n', "XML"),
        (b'<doc origlang="en">\n', "XML"),
        (b'<refset setid="x" srclang="any">\n<doc>\n', "SGML of a test set of WMT"),
    ],
)
def test_markup_is_read_with_one_warning(
    data: bytes, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    log_once.cache_clear()
    assert read(b"\xef\xbb\xbf" + data) == data
    assert read(data) == data
    assert caplog.text.count(f"looks like {what}") == 1


def test_a_compressed_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tgz").write_bytes(gzip.compress(archive("tar")))
    with pytest.raises(DataError, match=r"a\.tgz: looks like a tar archive; unpack it first"):
        list(read_raw_lines(tmp_path / "a.tgz"))
    (tmp_path / "a.gz").write_bytes(gzip.compress(gzip.compress(b"a\n")))
    with pytest.raises(DataError, match=r"gzip data in compressed data; decompress it first"):
        list(read_raw_lines(tmp_path / "a.gz"))


def test_stdin_is_called_so() -> None:
    with pytest.raises(DataError, match=r"^stdin: looks like gzip data in compressed data"):
        check_text(gzip.compress(b"a\n"), "-")


@pytest.mark.parametrize("form", ["plain", "gzip", "zstd"])
def test_a_stream_is_cleaned_line_by_line(tmp_path: Path, form: str) -> None:
    """Each line is there before the next is written, though its bytes come one by one."""
    compressors: dict[str, tuple[Any, int]] = {
        "plain": (None, 0),
        "gzip": (zlib.compressobj(wbits=31), zlib.Z_SYNC_FLUSH),
        "zstd": (zstandard.ZstdCompressor().compressobj(), zstandard.COMPRESSOBJ_FLUSH_BLOCK),
    }
    compressor, flush_block = compressors[form]
    os.mkfifo(tmp_path / "pipe")
    arrived = threading.Semaphore(0)

    def write() -> None:
        with open(tmp_path / "pipe", "wb", buffering=0) as pipe:
            for line in ("\ufeffHé\r\n", "\r\n", "last\r\n"):
                data = line.encode()
                if compressor:
                    data = compressor.compress(data) + compressor.flush(flush_block)
                for byte in data:
                    pipe.write(bytes([byte]))
                assert arrived.acquire(timeout=20)
            if compressor:
                pipe.write(compressor.flush())

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    lines = []
    for line in LineStream(tmp_path / "pipe"):
        lines.append(line)
        arrived.release()
    writer.join(timeout=20)
    assert lines == ["Hé", "", "last"]


def test_random_bytes_are_text_or_refused() -> None:
    chosen = random.Random(1)
    for size in range(0, 400, 3):
        data = chosen.randbytes(size)
        try:
            lines = read(data)
        except DataError as error:
            assert str(error).startswith("name: ")
        else:
            assert lines.count(b"\n") == data.count(b"\n")


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 100])
def test_byte_order_marks_of_joined_files_are_taken_off_wherever_chunks_end(size: int) -> None:
    mark = b"\xef\xbb\xbf"
    data = mark + b"A\r\n" + mark + mark + b"B " + mark + b"\n\n" + mark + b"\n\xef\xbb\xa9\xef"
    chunks = iter([data[start : start + size] for start in range(0, len(data), size)])
    assert b"".join(text_chunks(chunks, f"joined-{size}")) == (
        b"A\nB " + mark + b"\n\n\n\xef\xbb\xa9\xef"
    )
