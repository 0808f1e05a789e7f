"""Downloading one file from the first place that gives it, going on where an earlier try ended."""

import fcntl
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from corpora import CorpusError
from corpora.progress import Progress
from corpora.source import Answer, Unavailable, opened

_BLOCK = 1 << 20


@dataclass(frozen=True)
class Patience:
    """How often all places are tried without a byte coming, and how long between two rounds.

    wait: seconds before the second round; each later wait is twice as long.
    """

    rounds: int = 5
    wait: float = 2.0

    def pause(self, tries: int) -> None:
        """Wait as long as is due after so many vain tries, at least one."""
        time.sleep(self.wait * 2 ** (tries - 1))


def download(urls: Sequence[str], part: Path, size: int | None, patience: Patience) -> None:
    """Fill `part` with all of a file; what it has already is kept.

    A place that lacks the file, or has one of another size, is not asked again. Every byte that
    comes renews the patience.

    :param size: of the whole file, None where it is not known.
    :raises Unavailable: no place gave it.
    :raises CorpusError: another process fetches it, or it cannot be written.
    """
    reasons: dict[str, str] = {}
    left = list(urls)
    tries = 0
    with sole(part) as file:
        while left and tries < patience.rounds:
            if tries:
                patience.pause(tries)
            tries += 1
            for url in list(left):
                had = file.seek(0, os.SEEK_END)
                try:
                    _take(url, file, size)
                    return
                except Unavailable as error:
                    reasons[url] = str(error)
                    if error.missing:
                        left.remove(url)
                if file.seek(0, os.SEEK_END) > had:
                    tries = 0
    raise Unavailable("; ".join(f"{url}: {reason}" for url, reason in reasons.items()))


@contextmanager
def sole(part: Path) -> Iterator[BinaryIO]:
    """The unfinished file, held by this process alone.

    :raises CorpusError: another process holds it.
    """
    with open(part, "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CorpusError(f"{part}: another process is fetching it") from error
        except OSError:
            pass  # a disk that knows no locks: a mixture of two is found by its checksum
        yield file


def _take(url: str, file: BinaryIO, size: int | None) -> None:
    """Add what is lacking.

    :raises Unavailable: it broke off, or what lies there is not the file that is wanted.
    :raises CorpusError: it cannot be written.
    """
    had = file.seek(0, os.SEEK_END)
    with opened(url, had) as answer:
        total = _checked(answer, size)
        if total is not None and (had > total or (answer.stream is None and had < total)):
            file.truncate(0)
            raise Unavailable(f"the {had:,} bytes that are here already do not belong to it")
        if answer.start not in (0, had):
            raise Unavailable("it does not answer from the byte asked for", missing=True)
        file.truncate(answer.start)
        with Progress(url.rpartition("/")[2], answer.start, total) as progress:
            for block in _blocks(answer, total):
                _write(file, block)
                progress.add(len(block))
    if total is not None and progress.done < total:
        raise Unavailable(f"broke off after {progress.done:,} of {total:,} bytes")


def _blocks(answer: Answer, total: int | None) -> Iterator[bytes]:
    """What comes, as it comes: read1 waits for no full block, so that a kill loses nothing."""
    left = sys.maxsize if total is None else total - answer.start
    while answer.stream and left and (block := answer.stream.read1(min(_BLOCK, left))):
        left -= len(block)
        yield block


def _write(file: BinaryIO, block: bytes) -> None:
    try:
        file.write(block)
        file.flush()
    except OSError as error:
        raise CorpusError(f"{file.name}: cannot be written: {error.strerror}") from error


def _checked(answer: Answer, size: int | None) -> int | None:
    """The size of the whole file."""
    if size is not None and answer.total is not None and answer.total != size:
        reason = f"another file lies there, of {answer.total:,} bytes, not {size:,}"
        raise Unavailable(reason, missing=True)
    return answer.total if size is None else size
