"""Inputs that can be read only once, such as pipes, beside files that can be read again.

A pipe, `/dev/fd/63` of a shell's `<(...)` and stdin are empty after they were read. A function that
needs the checksum of its input takes it while it reads (`HashedFile`); one that reads its input
several times copies a pipe first (`copy_pipes`). Both stand for a path in the functions of
`nmtkit.io.lines`, and `str()` gives that path for messages.

Named pipes are opened without waiting for their writers, so that one process may write several of
them, whichever it opens first.
"""

import contextlib
import hashlib
import io
import logging
import os
import select
import selectors
import shutil
import stat
import sys
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Self, cast

from nmtkit.errors import DataError
from nmtkit.io.compression import CHUNK, decompressed
from nmtkit.io.text_content import STANDARD, text_chunks

logger = logging.getLogger("nmtkit")


_ARRIVING_BYTES = 1 << 16
"""Bytes read from a pipe at a time where each line is answered as it arrives."""


class NamedInput(ABC):
    """An input that stands for its path."""

    def __init__(self, path: str | Path) -> None:
        self._name = str(path)

    def __str__(self) -> str:
        return self._name

    @abstractmethod
    def open(self) -> contextlib.AbstractContextManager[BinaryIO]:
        """Open the input for reading; compressed data stays compressed."""


class VerbatimFile(NamedInput):
    """A file of text that nmtkit wrote: every byte is text, and none is taken off."""

    def open(self) -> contextlib.AbstractContextManager[BinaryIO]:
        """Open the file at its beginning."""
        return open_bytes(self._name)


Source = str | Path | NamedInput
"""What the functions of `nmtkit.io.lines` read."""


def open_source(source: Source) -> contextlib.AbstractContextManager[BinaryIO]:
    """Open an input for reading; compressed data stays compressed."""
    return source.open() if isinstance(source, NamedInput) else open_bytes(source)


class HashedFile(NamedInput):
    """An input that is read once, with the SHA-256 of all its bytes.

    with HashedFile("train.en.gz") as file:
        lines = list(read_lines(file))
        checksum = file.sha256()

    source: the input, for a reader that seeks in it.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(str(source))
        self.source = source
        self._stack = contextlib.ExitStack()
        self._stream: BinaryIO | None = None
        self._digest = hashlib.sha256()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextlib.contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the input, or go on with it where it was left."""
        if self._stream is None:
            stream = self._stack.enter_context(open_source(self.source))
            hashing = _HashingStream(stream, self._digest)
            self._stream = cast(BinaryIO, io.BufferedReader(hashing, CHUNK))
        yield self._stream

    def sha256(self) -> str:
        """Read the rest of the input; return the SHA-256 of its bytes in hexadecimal digits.

        :raises DataError: the input cannot be read.
        """
        try:
            with self.open() as stream:
                while stream.read(CHUNK):
                    pass
        except OSError as error:
            raise unreadable(self, error) from error
        return self._digest.hexdigest()


class _HashingStream(io.RawIOBase):
    """Passes on the bytes of a stream and hashes them."""

    def __init__(self, stream: BinaryIO, digest: "hashlib._Hash") -> None:
        self._source = stream
        self._digest = digest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        count: int = cast(io.BufferedReader, self._source).readinto1(buffer)
        self._digest.update(buffer[:count])
        return count


class CopiedFile(NamedInput):
    """A copy of an input, which can be read several times under the name of the input."""

    def __init__(self, path: str | Path, copy: Path) -> None:
        super().__init__(path)
        self._copy = copy

    def open(self) -> contextlib.AbstractContextManager[BinaryIO]:
        """Open the copy at its beginning."""
        return open(self._copy, "rb")


def copy_pipes(paths: Sequence[str | Path], folder: Path) -> list[Source]:
    """Copy stdin and all pipes among the paths into a folder; return inputs to read repeatedly.

    All pipes are read at the same time, because one process may write them in turn.

    :raises DataError: a pipe cannot be read or copied, or occurs twice.
    """
    refuse_repeated_pipes(paths)
    inputs: list[Source] = []
    with contextlib.ExitStack() as stack, selectors.PollSelector() as selector:
        for number, path in enumerate(paths):
            if _can_be_read_again(path):
                inputs.append(path)
                continue
            copy = folder / f"pipe-{number}"
            inputs.append(CopiedFile(path, copy))
            output = stack.enter_context(open(copy, "wb"))
            try:
                source = stack.enter_context(open_bytes(path))
                _register(selector, source, output, path)
            except OSError as error:
                raise unreadable(path, error) from error
        while selector.get_map():
            for key, _ in selector.select():
                output, path = key.data
                try:
                    chunk = os.read(key.fd, CHUNK)
                except OSError as error:
                    raise unreadable(path, error) from error
                try:
                    output.write(chunk)
                    output.flush()
                except OSError as error:
                    raise DataError(
                        f"{path}: cannot be copied to {folder}: {error.strerror}; write it to a"
                        " file first, or set TMPDIR to another folder"
                    ) from error
                if not chunk:
                    selector.unregister(key.fd)
    return inputs


def _register(
    selector: selectors.PollSelector, source: BinaryIO, output: BinaryIO, path: str | Path
) -> None:
    """Copy `source` to `output` with the others of the selector; at once if it is no file."""
    try:
        descriptor = source.fileno()
    except OSError:  # stdin that a program has replaced
        shutil.copyfileobj(source, output)
    else:
        selector.register(descriptor, selectors.EVENT_READ, (output, path))


def _can_be_read_again(path: str | Path) -> bool:
    """Return whether a path is a regular file, or is missing and will be reported when opened."""
    return str(path) != STANDARD and (os.path.isfile(path) or not os.path.exists(path))


def path_to_reread(source: Source) -> str | None:
    """Return the path of a regular file that can be opened once more; None for anything else.

    Stdin that a shell has redirected from a file can be opened again on Linux, without moving what
    was read of it.
    """
    name = str(source)
    if name != STANDARD:
        return name if os.path.isfile(name) else None
    try:
        descriptor = sys.stdin.fileno()
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
    except (OSError, ValueError, AttributeError):
        return None
    return f"/proc/self/fd/{descriptor}" if regular and sys.platform == "linux" else None


def refuse_repeated_pipes(sources: Iterable[Source]) -> None:
    """Raise DataError if stdin or a pipe is named twice, because it can be read only once."""
    names: dict[Hashable, str] = {}
    for source in sources:
        pipe, name = _pipe_identity(source), str(source)
        if pipe is None:
            continue
        if pipe in names:
            if names[pipe] == name == STANDARD:
                raise DataError("stdin ('-') can be only one of the files; name the others")
            raise DataError(
                f"{names[pipe]} and {name} are the same pipe, which can be read only once; write it"
                " to a file first"
            )
        names[pipe] = name


def is_pipe(source: Source) -> bool:
    """Return whether an input can be read only once."""
    return _pipe_identity(source) is not None


def _pipe_identity(source: Source) -> Hashable:
    """Return what tells a pipe from others; None for anything that can be read twice."""
    name = str(source)
    try:
        status = os.fstat(sys.stdin.fileno()) if name == STANDARD else os.stat(name)
    except (OSError, ValueError):  # missing, or stdin that a program has replaced
        return name if name == STANDARD else None
    if stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode):
        return status.st_dev, status.st_ino
    return name if name == STANDARD else None


@contextlib.contextmanager
def open_text(source: Source) -> Iterator[Iterator[bytes]]:
    r"""Open an input for reading; return the chunks of its text, as `text_chunks` cleans it.

    :raises DataError: the input cannot be opened. While it is read: it is damaged, or not text.
    """
    with open_data(source) as chunks:
        yield chunks if isinstance(source, VerbatimFile) else text_chunks(chunks, str(source))


@contextlib.contextmanager
def open_data(source: Source) -> Iterator[Iterator[bytes]]:
    """Open an input for reading; return the chunks of its bytes, decompressed if they need it.

    :raises DataError: the input cannot be opened. While it is read: its compression is damaged.
    """
    with contextlib.ExitStack() as stack:
        opened = open_source(source)
        try:
            stream = stack.enter_context(opened)
        except OSError as error:
            raise unreadable(source, error) from error
        chunks = _chunks(stream, source)
        verbatim = isinstance(source, VerbatimFile)
        yield chunks if verbatim else decompressed(chunks, str(source))


def _chunks(stream: BinaryIO, source: Source) -> Iterator[bytes]:
    """Yield the bytes of a stream as they arrive."""
    try:
        while chunk := cast(io.BufferedReader, stream).read1(CHUNK):
            yield chunk
    except OSError as error:
        raise unreadable(source, error) from error


def unreadable(source: Source, error: OSError) -> DataError:
    """Return the error for an input that the system does not read."""
    remedy = "; give a file" if isinstance(error, IsADirectoryError) else ""
    return DataError(f"{source}: cannot be read: {error.strerror}{remedy}")


@contextlib.contextmanager
def open_bytes(path: str | Path) -> Iterator[BinaryIO]:
    """Open the bytes of a file, of a pipe, or of stdin, which is not closed."""
    if str(path) == STANDARD:
        announce_terminal()
        yield sys.stdin.buffer
        return
    file = _File(path, "rb", opener=_open_at_once)
    with io.BufferedReader(file, CHUNK) as stream:
        yield cast(BinaryIO, stream)


def is_terminal(path: str | Path) -> bool:
    """Return whether an input is stdin, and stdin is a terminal."""
    try:
        return str(path) == STANDARD and sys.stdin.isatty()
    except (AttributeError, ValueError):  # stdin is closed, or a program has replaced it
        return False


def announce_terminal() -> None:
    """Say that a command waits for lines from the terminal, if stdin is one."""
    if is_terminal(STANDARD):
        logger.info("reading from the terminal: type lines, end with Ctrl-D")


def arriving_chunks(descriptor: int) -> Iterator[bytes]:
    """Yield bytes as they arrive, also from a descriptor that does not wait for them."""
    while is_readable(descriptor, None) and (chunk := os.read(descriptor, _ARRIVING_BYTES)):
        yield chunk


def is_readable(descriptor: int, seconds: float | None) -> bool:
    """Wait until bytes have arrived or the stream has ended; return False after some seconds.

    :param seconds: longest time to wait; None for ever.
    """
    return bool(select.select([descriptor], [], [], seconds)[0])


def _open_at_once(path: str, flags: int) -> int:
    """Open a file; do not wait until a named pipe has a writer."""
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return descriptor


class _File(io.FileIO):
    """A file whose first read waits until a named pipe has a writer."""

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if stat.S_ISFIFO(os.fstat(self.fileno()).st_mode):
            waiting = select.poll()
            waiting.register(self.fileno(), select.POLLIN)
            waiting.poll()
        return super().readinto(buffer)
