r"""Text files as lines: a sentence per line, UTF-8, plain or compressed, `-` for stdin and stdout.

A line ends at the byte `\n` and nowhere else. Form feeds, NUL, U+0085, U+2028 and carriage returns
inside a line are characters of the line, so that line numbers agree with every program that counts
`\n`. Carriage returns before `\n` are taken off. The last line needs no newline. Outputs appear
complete or not at all.
"""

import contextlib
import hashlib
import io
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import BinaryIO, TextIO

from nmtkit.errors import NAME_ERRORS, DataError, OutputError
from nmtkit.io.atomic import atomic_file
from nmtkit.io.compression import (
    OTHER_SUFFIXES,
    SUFFIXES,
    DamagedInput,
    compressing,
    compression_of_name,
)
from nmtkit.io.inputs import Source, open_data, open_text, path_to_reread, refuse_repeated_pipes
from nmtkit.io.text_content import STANDARD

BLOCK_LINES = 2000
"""Lines that are read, and handed to a worker, at a time."""

COUNTING_SECONDS = 1.0
"""Longest time to count the lines of a file for a progress bar."""

TOO_LONG = "has a line that does not fit into memory; is this a text file?"
"""What is wrong with an endless line, for messages."""


def read_raw_lines(path: Source) -> Generator[bytes, None, None]:
    """Yield the lines of a file as bytes, without newlines.

    :param path: a file, plain or compressed, or `-`.
    :raises DataError: the file cannot be read, is not text, or its compressed data is damaged.
    """
    with contextlib.ExitStack() as stack:
        yield from _open_lines(path, stack)


def _open_lines(path: Source, stack: contextlib.ExitStack) -> Iterator[bytes]:
    """Open a file, which `stack` closes; return its lines like `read_raw_lines`."""
    return split_lines(stack.enter_context(open_text(path)), path)


def split_lines(chunks: Iterator[bytes], path: Source) -> Iterator[bytes]:
    """Yield the lines that chunks of text hold, without newlines.

    :param path: where the text comes from, for messages.
    :raises DataError: a line does not fit into memory.
    """
    parts: list[bytes] = []  # of an unfinished line; joined once, as it may be long
    try:
        for chunk in chunks:
            lines = chunk.split(b"\n")
            parts.append(lines[0])
            if len(lines) > 1:
                lines[0] = b"".join(parts)
                parts = [lines.pop()]
                yield from lines
        if last := b"".join(parts):
            yield last
    except MemoryError as error:
        raise DataError(f"{path}: {TOO_LONG}") from error


def read_beginning(path: Source, size: int) -> bytes:
    """Read the first bytes of a text; compressed data is read up to where it is damaged.

    :raises DataError: the file cannot be read, or is not text.
    """
    data = b""
    with open_text(path) as chunks, contextlib.suppress(DamagedInput):
        for chunk in chunks:
            data += chunk
            if len(data) >= size:
                break
    return data[:size]


def read_lines(path: Source) -> Iterator[str]:
    """Yield the lines of a file, without newlines but otherwise unchanged.

    :param path: a file, plain or compressed, or `-`.
    :raises DataError: the file cannot be read, or a line is not UTF-8.
    """
    for number, line in enumerate(read_raw_lines(path), start=1):
        yield decode_line(line, path, number)


def decode_line(line: bytes, path: Source, number: int) -> str:
    """Decode one line.

    :param number: the line number in its file, from 1, for the message.
    :raises DataError: the line is not UTF-8.
    """
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}:{number}: not valid UTF-8 (byte 0x{line[error.start]:02X} at column"
            f" {error.start + 1}); convert the file to UTF-8, or remove the line"
        ) from error


def decode_lines(
    data: bytes, path: Source, first: int, strict: bool = True
) -> tuple[list[str], set[int]]:
    """Decode lines; return them and the indices of those that are not UTF-8.

    :param data: the lines with newlines between them.
    :param first: the number of the first line in its file, from 1, for the message.
    :param strict: refuse a line that is not UTF-8; else U+FFFD replaces the invalid bytes.
    :raises DataError: a line is not UTF-8, and `strict` is true.
    """
    try:
        return data.decode("utf-8").split("\n"), set()
    except UnicodeDecodeError:
        lines: list[str] = []
        invalid = set()
    for index, line in enumerate(data.split(b"\n")):
        try:
            lines.append(decode_line(line, path, first + index))
        except DataError:
            if strict:
                raise
            lines.append(line.decode("utf-8", errors="replace"))
            invalid.add(index)
    return lines, invalid


def read_text_blocks(path: Source, size: int) -> Iterator[str]:
    """Yield the text of a file, `size` lines at a time; every line ends with a newline.

    :raises DataError: as `read_lines`.
    """
    first = 1
    for (lines,) in read_raw_blocks(size, path):
        try:
            yield b"\n".join([*lines, b""]).decode("utf-8")
        except UnicodeDecodeError:
            for number, line in enumerate(lines, start=first):
                decode_line(line, path, number)
            raise
        first += len(lines)


def read_parallel(*paths: Source) -> Iterator[tuple[str, ...]]:
    """Yield line n of every file together, for each n.

    :raises DataError: a file cannot be read, a line is not UTF-8, or the files differ in length;
        the message gives their lengths.
    """
    for number, lines in enumerate(read_raw_parallel(*paths), start=1):
        yield tuple(
            decode_line(line, path, number) for line, path in zip(lines, paths, strict=True)
        )


def line_locator(*paths: Source) -> Callable[[int], str]:
    """Return a function from n to FILE:LINE of line n in files read together, for messages."""
    return lambda number: " and ".join(f"{path}:{number}" for path in paths)


def read_raw_parallel(*paths: Source) -> Iterator[tuple[bytes, ...]]:
    """Yield line n of every file as bytes, which need not be UTF-8; otherwise as `read_parallel`.

    :raises DataError: a file cannot be read, or the files differ in length.
    """
    for blocks in read_raw_blocks(1, *paths):
        yield from zip(*blocks, strict=True)


def read_raw_blocks(size: int, *paths: Source) -> Iterator[tuple[list[bytes], ...]]:
    """Yield blocks of `size` lines of every file as bytes; the last block may have fewer.

    Lines are read from the files in turn, so that one process may write all of them into pipes.

    :raises DataError: a file cannot be read, a pipe is named twice, or the files differ in length.
    """
    refuse_repeated_pipes(paths)
    with contextlib.ExitStack() as stack:
        yield from blocks_of(size, paths, [_open_lines(path, stack) for path in paths])


def blocks_of(
    size: int, paths: Sequence[Source], sides: Iterable[Iterator[bytes]]
) -> Iterator[tuple[list[bytes], ...]]:
    """Yield blocks of `size` lines of every side; the last block may have fewer.

    :param paths: where the sides come from, for messages.
    :raises DataError: the sides differ in length.
    """
    rows = zip_longest(*sides)
    number = 0
    while block := list(islice(rows, size)):
        if None in block[-1]:
            break
        number += len(block)
        yield tuple(map(list, zip(*block, strict=True)))
    else:
        return
    counts = [number] * len(paths)
    for row in chain(block, rows):
        counts = [count + (line is not None) for count, line in zip(counts, row, strict=True)]
    lengths = ", ".join(f"{path} has {count}" for path, count in zip(paths, counts, strict=True))
    raise DataError(
        f"the files differ in their number of lines: {lengths}; line n of each must belong together"
    )


def count_lines(path: Source) -> int | None:
    """Return the number of lines of a file that can be read again, or None if it takes too long.

    :param path: a file, plain or compressed; or `-` if stdin was redirected from a file.
    """
    end = time.monotonic() + COUNTING_SECONDS
    try:
        again = path_to_reread(path)
        if again is None:
            return None
        count, last = 0, b"\n"
        with open_text(again) as chunks:
            for chunk in chunks:
                if time.monotonic() > end:
                    return None
                count, last = count + chunk.count(b"\n"), chunk[-1:] or last
    except (DataError, OSError):  # the command will read the file, and report it
        return None
    return count + (last != b"\n")


def file_sha256(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes, as 64 hexadecimal digits.

    :raises DataError: the file cannot be read.
    """
    try:
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error


def read_data(path: Source) -> bytes:
    """Return the bytes of a file or of stdin, decompressed if they need it.

    :raises DataError: the file cannot be read, or its compression is damaged.
    """
    try:
        with open_data(path) as chunks:
            return b"".join(chunks)
    except MemoryError as error:
        raise DataError(f"{path}: does not fit into memory; divide the file") from error


@contextlib.contextmanager
def open_output(path: str | Path, force: bool = False) -> Iterator[TextIO]:
    """Open a text file for writing, which gets its name when the block succeeds.

    `-` is stdout. A name that ends in `.gz`, `.bz2`, `.xz` or `.zst` gives a compressed file, with
    the same bytes for the same text. Otherwise as `atomic.atomic_file`.

    :param force: replace an existing file.
    :raises OutputError: the file exists and `force` is not given, it cannot be written, or its name
        ends as that of an archive.
    """
    if str(path) == STANDARD:
        yield _stdout()
        sys.stdout.flush()
        return
    with open_binary_output(path, force) as binary:
        text = io.TextIOWrapper(binary, encoding="utf-8", errors=NAME_ERRORS, newline="\n")
        try:
            yield text
        finally:
            text.detach()  # flushes, and leaves `binary` open for fsync


@contextlib.contextmanager
def open_binary_output(path: str | Path, force: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing bytes; otherwise as `open_output`.

    :raises OutputError: see `open_output`.
    """
    if str(path) == STANDARD:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    name = os.path.realpath(path)  # never raises, even if links form a loop
    if name.endswith(OTHER_SUFFIXES):
        raise OutputError(
            f"{path}: text is not written in this format; end the name in"
            f" {', '.join(SUFFIXES)} or in none of them"
        )
    kind = compression_of_name(name)
    with atomic_file(path, force) as raw, compressing(raw, kind) as binary:
        yield binary


def _stdout() -> TextIO:
    """Return stdout as UTF-8 without newline translation, whatever the locale."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors=NAME_ERRORS, newline="\n")
    return sys.stdout
