"""Windows of a stream of lines, and batches of sentences of similar length.

The lines of a window are translated together: sorted by length, batched, and put back in order. A
file is read in windows of a fixed number of lines. From a pipe or a terminal a window is whatever
has arrived while the previous window was translated: a line that comes alone is translated at once,
and lines that come fast are translated many at a time.
"""

import contextlib
import logging
import mmap
import os
import stat
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeVar, cast, runtime_checkable

from nmtkit.data.batch import sentences_per_batch
from nmtkit.errors import DataError, counted
from nmtkit.io.compression import decompressed
from nmtkit.io.inputs import announce_terminal, arriving_chunks, is_readable, unreadable
from nmtkit.io.lines import TOO_LONG, read_raw_lines
from nmtkit.io.text_content import STANDARD, shown_name, text_chunks

log = logging.getLogger("nmtkit")

WINDOW_BATCHES = 16
"""Batches in a window, of sentences of ordinary length."""

GATHER_SECONDS = 0.005
"""Time to wait for further lines that are just being written."""

MAX_WARNINGS = 5
"""Maximum number of lines that are not UTF-8 and are named, each in a warning."""

Item = TypeVar("Item")

Batches = list[list[int]]
"""Indices of a window's sentences, in batches of similar length."""


class LineStream:
    """Lines of a file or pipe, yielded in windows as they arrive.

    Invalid UTF-8 becomes U+FFFD, so that the stream goes on. A warning names the line, up to
    `MAX_WARNINGS` of them, and another one at the end counts all.

    :param path: a file, a named pipe, or `-` for stdin; plain or compressed.
    lines_read: lines yielded so far; once all of them are translated, output may be flushed.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = path
        self._invalid = 0
        self.lines_read = 0

    def windows(self, size: int) -> Iterator[list[str]]:
        """Yield at most `size` lines at a time, as many as have arrived.

        :raises DataError: the file cannot be read.
        """
        for window in _raw_windows(self._path, size):
            lines = []
            for line in window:
                self.lines_read += 1
                lines.append(self._decode(line))
            yield lines
        if self._invalid > MAX_WARNINGS:
            log.warning("%s: %d lines are not UTF-8; convert it", self.name, self._invalid)

    def __iter__(self) -> Iterator[str]:
        """Yield the lines one by one."""
        for window in self.windows(1):
            yield from window

    @property
    def name(self) -> str:
        """Name of the file, for messages."""
        return shown_name(self._path)

    def _decode(self, line: bytes) -> str:
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            self._invalid += 1
            if self._invalid <= MAX_WARNINGS:
                place = f"{self.name}:{self.lines_read}"
                log.warning("%s: not UTF-8; invalid bytes became U+FFFD", place)
            return line.decode("utf-8", errors="replace")


class WindowDone:
    """Which lines of one window are done: a byte for each, in memory that forks share.

    The results of a window come together, after minutes with a large model: a progress bar that
    counts results alone would stand still.

    before: number of lines before the window.
    """

    def __init__(self, before: int, lines: int) -> None:
        """Begin a window; none of its lines is done."""
        self.before = before
        self._flags = mmap.mmap(-1, max(lines, 1))

    def mark(self, numbers: Sequence[int]) -> None:
        """Mark lines as done, by their numbers in the window from 0; also twice, and in forks."""
        for number in numbers:
            self._flags[number] = 1

    def count(self) -> int:
        """Return the number of lines that are done, with those before the window."""
        return self.before + self._flags[:].count(1)


class LinesDone:
    """Counts the lines of the newest window, and those before it."""

    def __init__(self) -> None:
        self._window: WindowDone | None = None

    def begin(self, first: int, lines: int) -> WindowDone:
        """Begin a window.

        :param first: number of its first line, from 1.
        :param lines: number of its lines.
        """
        self._window = window = WindowDone(first - 1, lines)
        return window

    def count(self) -> int:
        """Return the number of lines that are done; 0 before the first window."""
        return self._window.count() if self._window else 0


@runtime_checkable
class Windowed(Protocol):
    """Lines that come in windows of their own."""

    def windows(self, size: int) -> Iterator[list[str]]:
        """Yield at most `size` lines at a time."""
        ...


def windows(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield `size` items at a time; the last window may be smaller, none is empty.

    What has windows of its own, as a `LineStream` has those that have arrived, yields them.
    """
    if isinstance(items, Windowed):
        yield from cast(Iterator[list[Item]], items.windows(size))
        return
    items = iter(items)
    while window := list(islice(items, size)):
        yield window


def windows_with_prefixes(
    lines: Iterable[str], size: int, prefixes: Iterable[str] | None
) -> Iterator[list[tuple[str, str]]]:
    """Yield at most `size` lines at a time, each with the prefix of its translations.

    :param prefixes: one for each line; None: all are empty.
    :raises DataError: there are more or fewer prefixes than lines; the message names file and line.
    """
    waiting, count = iter(prefixes or ()), 0
    for window in windows(lines, size):
        part = [""] * len(window) if prefixes is None else list(islice(waiting, len(window)))
        if len(part) < len(window):
            number = count + len(part) + 1
            raise DataError(
                f"{_name_of(prefixes, 'prefixes')}:{number}: there is no prefix for line {number}"
                f" of {_name_of(lines, 'the input')}; give one line for each, an empty one for none"
            )
        count += len(window)
        yield list(zip(window, part, strict=True))
    if next(waiting, None) is not None:
        raise DataError(
            f"{_name_of(prefixes, 'prefixes')}:{count + 1}: {_name_of(lines, 'the input')} has"
            f" only {counted(count, 'line')}; leave out prefixes that belong to no line"
        )


def _name_of(lines: object, otherwise: str) -> str:
    return lines.name if isinstance(lines, LineStream) else otherwise


def arriving_windows(descriptor: int, size: int, name: str = STANDARD) -> Iterator[list[bytes]]:
    """Yield lines as soon as they arrive, at most `size` at a time.

    :param descriptor: an open file descriptor of a pipe, a socket or a terminal.
    :param name: of the input, for messages.
    :raises DataError: the input is not text, or its compressed data is damaged.
    """
    pending: list[bytes] = []
    parts: list[bytes] = []  # of an unfinished line; joined once, as it may be long
    at_end = False
    chunks = text_chunks(decompressed(arriving_chunks(descriptor), name), name)
    while pending or not at_end:
        while not at_end and (
            not pending or (len(pending) < size and is_readable(descriptor, GATHER_SECONDS))
        ):
            chunk = next(chunks, None)
            at_end = chunk is None
            first, *others = (chunk or b"").split(b"\n")
            parts.append(first)
            if others or (at_end and any(parts)):
                pending += [b"".join(parts), *others[:-1]]
                parts = others[-1:]
        if pending:
            yield pending[:size]
            del pending[:size]


def length_batches(lengths: Sequence[int], sentences: int) -> Batches:
    """Divide sentences into batches of similar length, longest first.

    :param lengths: number of positions of each sentence.
    :param sentences: size of a batch of sentences of ordinary length; see `sentences_per_batch`.
    :return: the indices of the sentences in each batch.
    """
    batches: Batches = []
    room = 0
    for number in sorted(range(len(lengths)), key=lambda number: -lengths[number]):
        if not room:
            batches.append([])
            room = sentences_per_batch(lengths[number], sentences)
        batches[-1].append(number)
        room -= 1
    return batches


def share_batches(
    lengths: Sequence[int], cores: int, min_per_core: int, sentences: int
) -> list[Batches]:
    """Divide sentences evenly among cores, long and short ones alike, and into batches.

    :param lengths: tokens of each sentence without `</s>`; sentences of length 0 are left out.
    :param min_per_core: minimum number of sentences per core; fewer cores are used if necessary.
    :param sentences: size of a batch; see `length_batches`.
    :return: the batches of each core, at least one core.
    """
    numbers = [number for number, length in enumerate(lengths) if length]
    numbers.sort(key=lambda number: -lengths[number])
    cores = max(1, min(cores, len(numbers) // min_per_core))
    shares = []
    for share in (numbers[core::cores] for core in range(cores)):
        batches = length_batches([lengths[number] + 1 for number in share], sentences)
        shares.append([[share[index] for index in batch] for batch in batches])
    return shares


def _raw_windows(path: str | Path, size: int) -> Iterator[list[bytes]]:
    try:
        with _arriving_stream(path) as descriptor:
            if descriptor is None:
                yield from windows(read_raw_lines(path), size)
            else:
                yield from arriving_windows(descriptor, size, str(path))
    except MemoryError as error:
        raise DataError(f"{path}: {TOO_LONG}") from error
    except OSError as error:
        raise unreadable(path, error) from error


@contextlib.contextmanager
def _arriving_stream(path: str | Path) -> Generator[int | None, None, None]:
    """Yield the descriptor of a pipe, socket or terminal, or None for a regular file."""
    if str(path) == STANDARD:
        try:
            descriptor = sys.stdin.fileno()
        except (OSError, ValueError):  # stdin that a program has replaced
            yield None
            return
        announce_terminal()
        yield None if stat.S_ISREG(os.fstat(descriptor).st_mode) else descriptor
    elif _is_pipe(path):
        with open(path, "rb", buffering=0) as stream:
            yield stream.fileno()
    else:
        yield None


def _is_pipe(path: str | Path) -> bool:
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
