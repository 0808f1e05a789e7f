"""Text files as lines: one sentence a line, UTF-8, plain or gzip, `-` for stdin and stdout.

A line ends at the byte `\\n` and nowhere else. Carriage returns, form feeds, NUL, U+0085 and
U+2028 are characters of the line, so that every program which counts `\\n` counts alike. The
last line needs no newline. Outputs appear whole or not at all.
"""

import contextlib
import gzip
import hashlib
import io
import sys
import zlib
from collections.abc import Callable, Generator, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, BinaryIO, TextIO, cast

from nmtkit.errors import DataError
from nmtkit.io.atomic import atomic_file

STANDARD = "-"
"""The name that stands for stdin where a file is read and for stdout where one is written."""

_DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)


def read_raw_lines(path: str | Path) -> Generator[bytes, None, None]:
    """The lines of a file as bytes, newline removed.

    :param path: a file, a gzip file whose name ends in `.gz`, or `-`.
    :raises DataError: the file cannot be read, or is not a whole gzip file.
    """
    try:
        with _opened(path) as stream:
            for line in stream:
                yield line[:-1] if line.endswith(b"\n") else line
    except _DAMAGED as error:
        raise DataError(
            f"{path}: a damaged or unfinished gzip file; fetch or make it again"
        ) from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error


def read_lines(path: str | Path) -> Iterator[str]:
    """The lines of a file, newline removed and nothing else.

    :param path: a file, a gzip file whose name ends in `.gz`, or `-`.
    :raises DataError: the file cannot be read, or a line is not UTF-8.
    """
    for number, line in enumerate(read_raw_lines(path), start=1):
        yield decode_line(line, path, number)


def decode_line(line: bytes, path: str | Path, number: int) -> str:
    """One line as text.

    :param number: of the line in its file, from 1, for the message.
    :raises DataError: it is not UTF-8.
    """
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}:{number}: not UTF-8 (byte {line[error.start]:#04x} at position"
            f" {error.start + 1} of the line); convert the file to UTF-8 or remove the line"
        ) from error


def decode_lines(
    data: bytes, path: str | Path, first: int, strict: bool = True
) -> tuple[list[str], set[int]]:
    """Lines as text, and the places of those that are not UTF-8.

    :param data: the lines with newlines between them.
    :param first: the number of the first line in its file, from 1, for the message.
    :param strict: refuse a line that is not UTF-8; else it has U+FFFD in place of the bytes.
    :raises DataError: there is such a line, and it is refused.
    """
    try:
        return data.decode("utf-8").split("\n"), set()
    except UnicodeDecodeError:
        lines: list[str] = []
        bad = set()
    for place, line in enumerate(data.split(b"\n")):
        try:
            lines.append(decode_line(line, path, first + place))
        except DataError:
            if strict:
                raise
            lines.append(line.decode("utf-8", errors="replace"))
            bad.add(place)
    return lines, bad


def read_texts(path: str | Path, size: int) -> Iterator[str]:
    """The lines of a file, `size` at a time in one text; in it every line ends with a newline.

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


def read_parallel(*paths: str | Path) -> Iterator[tuple[str, ...]]:
    """Line n of every file, together, for every n.

    :raises DataError: a file cannot be read, a line is not UTF-8, or the files differ in length;
        then each is named with its count.
    """
    for number, lines in enumerate(read_raw_parallel(*paths), start=1):
        yield tuple(
            decode_line(line, path, number) for line, path in zip(lines, paths, strict=True)
        )


def lines_of(*paths: str | Path) -> Callable[[int], str]:
    """Return the function that names line n of files read together, for messages."""
    return lambda number: " and ".join(f"{path}:{number}" for path in paths)


def read_raw_parallel(*paths: str | Path) -> Iterator[tuple[bytes, ...]]:
    """As `read_parallel`, lines being bytes that may not be UTF-8.

    :raises DataError: a file cannot be read, or the files differ in length.
    """
    for blocks in read_raw_blocks(1, *paths):
        yield from zip(*blocks, strict=True)


def read_raw_blocks(size: int, *paths: str | Path) -> Iterator[tuple[list[bytes], ...]]:
    """The next `size` lines of every file, then the next, until the last, which may be fewer.

    :raises DataError: a file cannot be read, or the files differ in length.
    """
    if sum(str(path) == STANDARD for path in paths) > 1:
        raise DataError("stdin ('-') can be only one of the files read together; name the others")
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(contextlib.closing(read_raw_lines(path))) for path in paths]
        number = 0
        while True:
            blocks = tuple(list(islice(file, size)) for file in files)
            if len({len(block) for block in blocks}) > 1:
                break
            if not blocks[0]:
                return
            number += len(blocks[0])
            yield blocks
        counts = [
            number + len(block) + sum(1 for _ in file)
            for block, file in zip(blocks, files, strict=True)
        ]
        told = ", ".join(f"{path} has {count}" for path, count in zip(paths, counts, strict=True))
        raise DataError(
            f"the files differ in their number of lines: {told}; line n of each must belong"
            " together"
        )


def file_sha256(path: str | Path) -> str:
    """The SHA-256 of a file's bytes, as 64 hexadecimal digits.

    :raises DataError: the file cannot be read.
    """
    try:
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error


@contextlib.contextmanager
def _opened(path: str | Path) -> Iterator[IO[bytes]]:
    if str(path) == STANDARD:
        yield sys.stdin.buffer
    elif str(path).endswith(".gz"):
        with gzip.open(path, "rb") as zipped:
            yield cast(IO[bytes], zipped)
    else:
        with open(path, "rb") as stream:
            yield stream


@contextlib.contextmanager
def open_output(path: str | Path, force: bool = False) -> Iterator[TextIO]:
    """Open a text file for writing, which gets its name when the block succeeds.

    `-` is stdout. A name that ends in `.gz` gives a gzip file, with the same bytes for the same
    text. All else is as in `atomic.atomic_file`.

    :param force: replace an existing file.
    :raises OutputError: the file exists and `force` is not given, or it cannot be written.
    """
    if str(path) == STANDARD:
        yield _stdout()
        sys.stdout.flush()
        return
    zipped = Path(path).resolve().name.endswith(".gz")
    with atomic_file(path, force) as raw, _text_writer(raw, zipped) as stream:
        yield stream


def _stdout() -> TextIO:
    """stdout as UTF-8, no newline translated, whatever the locale."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    return sys.stdout


@contextlib.contextmanager
def _text_writer(raw: BinaryIO, zipped: bool) -> Iterator[TextIO]:
    """UTF-8 text written to `raw`, which stays open; gzip without name and time of day."""
    with contextlib.ExitStack() as stack:
        binary: IO[bytes] = raw
        if zipped:
            packer = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6)
            binary = cast(IO[bytes], stack.enter_context(packer))
        text = io.TextIOWrapper(cast(BinaryIO, binary), encoding="utf-8", newline="\n")
        try:
            yield text
        finally:
            text.detach()  # flushes, and leaves `raw` open for fsync
