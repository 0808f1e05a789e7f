"""Run a command in a fork of this process, which has imported torch, and end it if it hangs."""

import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from nmtkit.cli.main import cli

CRASHED = 99
"""Exit status of a command that raised an exception: a bug."""


class Outcome(NamedTuple):
    """Exit status, negative after a signal, and output of a command."""

    status: int
    stdout: bytes
    stderr: str


def run_forked(
    arguments: Sequence[str],
    stdin: int | None = None,
    stdout: int | None = None,
    timeout: float = 60,
    max_file_size: int | None = None,
) -> Outcome:
    """Run `nmtkit` with these arguments.

    :param stdin: a file descriptor; by default stdin is empty.
    :param stdout: a file descriptor; by default the outcome has the output.
    :param max_file_size: bytes; a longer file cannot be written, as on a full disk. The output
        must fit into a pipe.
    :param timeout: seconds after which the command is killed.
    :raises AssertionError: the command did not end in time.
    """
    with ExitStack() as stack:
        streams = [_stream(stack, max_file_size is not None) for _ in range(2)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # about forking with threads
            process = os.fork()
        if process == 0:
            if max_file_size is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_size, max_file_size))
            output, errors = (writer for _, writer in streams)
            _run(arguments, stdin, output if stdout is None else stdout, errors)
        status = _wait(process, timeout)
        assert status is not None, f"{' '.join(arguments)}: still running after {timeout} seconds"
        texts = [reader() for reader, _ in streams]
    return Outcome(status, texts[0], texts[1].decode(errors="replace"))


def _stream(stack: ExitStack, as_pipe: bool) -> tuple[Callable[[], bytes], int]:
    """Return a function that reads the output of a command that has ended, and its descriptor."""
    if not as_pipe:
        file = stack.enter_context(tempfile.TemporaryFile())
        return lambda: os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0), file.fileno()
    reader, writer = (stack.enter_context(open(end, mode)) for end, mode in _pipe())

    def read() -> bytes:
        writer.close()
        return reader.read()

    return read, writer.fileno()


def _pipe() -> Iterator[tuple[int, str]]:
    yield from zip(os.pipe(), ("rb", "wb"), strict=True)


def _run(arguments: Sequence[str], stdin: int | None, stdout: int, stderr: int) -> None:
    """Run the command on these descriptors; does not return."""
    status = CRASHED
    try:
        for number, descriptor in enumerate(
            (os.open(os.devnull, os.O_RDONLY) if stdin is None else stdin, stdout, stderr)
        ):
            os.dup2(descriptor, number)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            for number, mode in enumerate("rww")
        )
        for end in (signal.SIGINT, signal.SIGTERM):
            signal.signal(end, signal.SIG_DFL)
        status = cli.run(list(arguments), prog_name="nmtkit")
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _wait(process: int, timeout: float) -> int | None:
    """Return a process's exit status, or kill it at the end of the time and return None."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


@contextmanager
def in_background(write: Callable[[], object]) -> Iterator[None]:
    """Call a function in another process while the block runs, and kill it at the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process == 0:
        try:
            write()
        finally:
            os._exit(0)
    try:
        yield
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


@contextmanager
def written_to(descriptor: int, data: bytes, size: int = 1 << 16) -> Iterator[None]:
    """Write data to a pipe or socket while the block runs, `size` bytes at a time, and close it."""

    def write() -> None:
        for start in range(0, len(data), size):
            view = data[start : start + size]
            while view:
                view = view[os.write(descriptor, view) :]

    with in_background(write):
        os.close(descriptor)
        yield
