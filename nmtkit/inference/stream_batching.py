"""How a stream of lines becomes windows, and a window batches of sentences of like length.

A window is what is translated together, sorted by length and put back in order. From a file it is
a fixed number of lines. From a pipe or a terminal it is whatever has arrived while the window
before was being translated, so that a line which comes alone is not kept waiting for others, and
lines which come fast are translated many at a time.
"""

import contextlib
import logging
import os
import select
import stat
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from nmtkit.io.lines import STANDARD, read_raw_lines

log = logging.getLogger("nmtkit")

WINDOW_BATCHES = 16
"""Full batches in a window."""

USUAL_LENGTH = 50
"""Positions a sentence of a full batch has at most; of longer ones a batch holds fewer, so that
its memory stays bounded."""

CHUNK = 1 << 16
"""Bytes read from a pipe at a time."""

GRACE = 0.005
"""Seconds granted to more lines that are just being written."""

Item = TypeVar("Item")


def windows(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """So many items at a time; the last window may be smaller, none is empty."""
    window: list[Item] = []
    for item in items:
        window.append(item)
        if len(window) == size:
            yield window
            window = []
    if window:
        yield window


def read_windows(path: str | Path, size: int) -> Iterator[list[str]]:
    """The lines of a file or pipe in windows of at most `size`, as they arrive.

    A stream must go on: bytes that are not UTF-8 become U+FFFD, with a warning that names the
    line, instead of ending it.

    :param path: a file, a gzip file, a named pipe, or `-` for stdin.
    :raises DataError: it cannot be read.
    """
    number = 0
    for window in _raw_windows(path, size):
        lines = []
        for line in window:
            number += 1
            lines.append(_decoded(line, path, number))
        yield lines


def arriving_windows(descriptor: int, size: int) -> Iterator[list[bytes]]:
    """Wait for a line, take what has come with it, at most `size` lines, and so on to the end.

    :param descriptor: an open file descriptor of a pipe, a socket or a terminal.
    """
    pending: list[bytes] = []
    begun, over = b"", False
    while pending or not over:
        while not over and (
            not pending or (len(pending) < size and _is_readable(descriptor, GRACE))
        ):
            _is_readable(descriptor, None)
            chunk = os.read(descriptor, CHUNK)
            over = not chunk
            *whole, begun = (begun + chunk).split(b"\n")
            pending += [*whole, begun] if over and begun else whole
        if pending:
            yield pending[:size]
            del pending[:size]


def length_batches(lengths: Sequence[int], sentences: int) -> list[list[int]]:
    """Part sentences into batches of like length, longest first.

    :param lengths: positions of each sentence.
    :param sentences: the most in a batch; it has fewer where they are longer than usual.
    :return: for each batch, which sentences are in it.
    """
    positions = sentences * USUAL_LENGTH
    batches: list[list[int]] = []
    room = 0
    for number in sorted(range(len(lengths)), key=lambda number: -lengths[number]):
        if not room:
            batches.append([])
            room = max(1, min(sentences, positions // max(lengths[number], 1)))
        batches[-1].append(number)
        room -= 1
    return batches


def _raw_windows(path: str | Path, size: int) -> Iterator[list[bytes]]:
    with _arriving_stream(path) as descriptor:
        if descriptor is None:
            yield from windows(read_raw_lines(path), size)
        else:
            yield from arriving_windows(descriptor, size)


@contextlib.contextmanager
def _arriving_stream(path: str | Path) -> Generator[int | None, None, None]:
    """The descriptor of what is no ordinary file, whose lines may come one by one; else None."""
    if str(path) == STANDARD:
        try:
            descriptor = sys.stdin.fileno()
        except (OSError, ValueError):  # stdin that a program has replaced
            yield None
            return
        yield None if stat.S_ISREG(os.fstat(descriptor).st_mode) else descriptor
    elif os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        with open(path, "rb", buffering=0) as stream:
            yield stream.fileno()
    else:
        yield None


def _is_readable(descriptor: int, seconds: float | None) -> bool:
    return bool(select.select([descriptor], [], [], seconds)[0])


def _decoded(line: bytes, path: str | Path, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        name = "stdin" if str(path) == STANDARD else path
        log.warning("%s:%d: not UTF-8; what cannot be read became U+FFFD", name, number)
        return line.decode("utf-8", errors="replace")
