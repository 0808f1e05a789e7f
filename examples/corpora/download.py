"""Download a file from the first source that has it, and resume interrupted downloads."""

import fcntl
import os
import sys
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from corpora import CorpusError
from corpora.progress import Progress, size_of
from corpora.source import Answer, Unavailable, opened

_BLOCK = 1 << 20


@dataclass(frozen=True)
class RetryPolicy:
    """Number of rounds over all sources without a received byte, and the wait between rounds.

    wait: Seconds before the second round; doubles with each further round.
    """

    rounds: int = 5
    wait: float = 2.0

    def pause(self, name: str, failed: int) -> None:
        """Say that a download is tried again, and wait after a number of failed rounds."""
        seconds = self.wait * 2 ** (failed - 1)
        say(f"{name}: trying again in {seconds:g} s (round {failed + 1} of {self.rounds})")
        time.sleep(seconds)


def say(line: str) -> None:
    """Write a line to stderr."""
    print(line, file=sys.stderr, flush=True)


def download(urls: Sequence[str], part: Path, size: int | None, retry_policy: RetryPolicy) -> None:
    """Complete `part` from the sources, keeping what it already has.

    A source that lacks the file, or has one of another size, is not asked again. Each received byte
    resets the count of rounds.

    :param size: Size of the whole file, or None if unknown.
    :raises Unavailable: No source has it.
    :raises CorpusError: Another process downloads it, or it cannot be written.
    """
    reasons: dict[str, str] = {}
    name = part.name.partition(".part")[0]
    remaining = list(urls)
    rounds = 0
    with locked(part) as file:
        while remaining and rounds < retry_policy.rounds:
            if rounds:
                retry_policy.pause(name, rounds)
            rounds += 1
            for url in list(remaining):
                size_before = file.seek(0, os.SEEK_END)
                say(f"{name}: asking {url}{_of(size)}")
                try:
                    _take(url, file, size)
                    return
                except Unavailable as error:
                    reasons[url] = str(error)
                    say(f"{name}: not from {_host(url)}: {error}")
                    if error.missing:
                        remaining.remove(url)
                if file.seek(0, os.SEEK_END) > size_before:
                    rounds = 0
    raise Unavailable("; ".join(f"{url}: {reason}" for url, reason in reasons.items()))


def _of(size: int | None) -> str:
    return f" for {size_of(size)}" if size else ""


def _host(url: str) -> str:
    """Return the host of a URL, or the path of a file."""
    return urllib.parse.urlsplit(url).hostname or url


@contextmanager
def locked(part: Path) -> Iterator[BinaryIO]:
    """Open the unfinished file with an exclusive lock.

    :raises CorpusError: Another process holds the lock.
    """
    with open(part, "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CorpusError(f"{part}: another process is downloading it") from error
        except OSError:
            pass  # no locks on this file system; the checksum detects a mixture of two downloads
        yield file


def _take(url: str, file: BinaryIO, size: int | None) -> None:
    """Download the missing part.

    :raises Unavailable: The connection broke, or the source has another file.
    :raises CorpusError: It cannot be written.
    """
    size_before = file.seek(0, os.SEEK_END)
    with opened(url, size_before) as answer:
        total = _checked(answer, size)
        if total is not None and (
            size_before > total or (answer.stream is None and size_before < total)
        ):
            file.truncate(0)
            raise Unavailable(f"the {size_before:,} bytes already here are of another file")
        if answer.start not in (0, size_before):
            raise Unavailable("it does not start at the requested byte", missing=True)
        file.truncate(answer.start)
        with Progress(url.rpartition("/")[2], answer.start, total) as progress:
            for block in _blocks(answer, total):
                _write(file, block)
                progress.add(len(block))
    if total is not None and progress.done < total:
        raise Unavailable(f"connection lost after {progress.done:,} of {total:,} bytes")


def _blocks(answer: Answer, total: int | None) -> Iterator[bytes]:
    """Yield data as it arrives: read1 does not wait for full blocks, so a kill loses nothing."""
    remaining = sys.maxsize if total is None else total - answer.start
    while answer.stream and remaining and (block := answer.stream.read1(min(_BLOCK, remaining))):
        remaining -= len(block)
        yield block


def _write(file: BinaryIO, block: bytes) -> None:
    try:
        file.write(block)
        file.flush()
    except OSError as error:
        raise CorpusError(f"{file.name}: cannot be written: {error.strerror}") from error


def _checked(answer: Answer, size: int | None) -> int | None:
    """Return the size of the whole file."""
    if size is not None and answer.total is not None and answer.total != size:
        reason = f"it has another file, of {answer.total:,} bytes, not {size:,}"
        raise Unavailable(reason, missing=True)
    return answer.total if size is None else size
