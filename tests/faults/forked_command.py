"""Run `nmtkit` commands in forks of this process, with limits, and list the files that they open.

A fork needs no import of torch and has no privileges, so that permissions hold for root, too. A
command that does not end in time is killed with all its processes.
"""

import ctypes
import importlib
import io
import os
import pkgutil
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import nmtkit

TIME_LIMIT = 20.0
"""Seconds after which a command is killed; a run on the sample files takes about a quarter."""

MEMORY_LIMIT = 384 << 20
"""Bytes that a command may allocate, beyond what this process has."""

FILE_SIZE_LIMIT = 256 << 20
"""Bytes that a command may write to a file."""

TRACER_START_TIMEOUT = 20.0
"""Seconds to wait until strace has attached itself."""

PR_SET_PTRACER = 0x59616D61
PR_SET_PTRACER_ANY = ctypes.c_ulong(-1)
CAPABILITY_VERSION = 0x20080522
"""Constants of Linux's headers <sys/prctl.h> and <linux/capability.h>."""

ENVIRONMENT = {
    "NMTKIT_WORKERS": "1",
    "NMTKIT_THREADS": "1",
    "NMTKIT_DEVICE": "cpu",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit status, None if it was killed for its time, and its output."""

    status: int | None
    stdout: bytes
    stderr: str
    seconds: float


def preload() -> None:
    """Import all modules of nmtkit, and those that it imports late, for all forks."""
    for module in pkgutil.walk_packages(nmtkit.__path__, "nmtkit."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in ("torch._dynamo", "sklearn.manifold", "matplotlib.figure", "sacrebleu"):
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    for backend in ("agg", "svg"):
        importlib.import_module(f"matplotlib.backends.backend_{backend}")


def run_forked(
    arguments: list[str], folder: Path, trace_file: Path | None = None, seconds: float = TIME_LIMIT
) -> Ended:
    """Run a command in a folder, in a fork.

    :param trace_file: file for the system calls of the command, as strace writes them.
    """
    streams = [os.memfd_create(name) for name in ("stdout", "stderr")]
    gate, opener = os.pipe()
    started = time.monotonic()
    child = os.fork()
    if not child:
        os.close(opener)
        _become_command(arguments, folder, streams, gate)
    os.close(gate)
    with _traced(child, trace_file):
        os.close(opener)  # the child begins
        status = _wait(child, seconds)
    texts = []
    for stream in streams:
        with open(stream, "rb") as file:
            file.seek(0)
            texts.append(file.read())
    return Ended(status, texts[0], texts[1].decode(errors="replace"), time.monotonic() - started)


def _become_command(arguments: list[str], folder: Path, streams: list[int], gate: int) -> NoReturn:
    """Make this fork the process of a command, run it when the gate is closed, and exit."""
    status = 70
    try:
        os.setsid()
        os.chdir(folder)
        os.environ.update(ENVIRONMENT)
        for number, stream in enumerate([os.open(os.devnull, os.O_RDONLY), *streams]):
            os.dup2(stream, number)
        sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False))
        sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False), encoding="utf-8")
        sys.stderr = io.TextIOWrapper(
            open(2, "wb", 0, closefd=False), errors="backslashreplace", write_through=True
        )
        _reset_warnings()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _limit_resources()
        _drop_privileges()
        os.read(gate, 1)
        status = _run_command(arguments)
        sys.stdout.flush()
    finally:
        os._exit(status)


def _run_command(arguments: list[str]) -> int:
    """Run a command line as a new process would, and return its exit status."""
    from nmtkit.cli.main import cli

    try:
        return cli.run(arguments)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1


def _reset_warnings() -> None:
    """Show warnings on stderr as a new Python process does, whatever the test runner has set."""

    def show(message, category, filename, lineno, file=None, line=None):
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))

    warnings.resetwarnings()
    for hidden in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", hidden)
    warnings.showwarning = show


def _limit_resources() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    memory = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY_LIMIT
    for limit, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, FILE_SIZE_LIMIT),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (value, value))


def _drop_privileges() -> None:
    """Give up all capabilities, and allow tracing by a process of the same user."""
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    none = (ctypes.c_uint32 * 6)()
    if library.capset(header, none):
        raise OSError(ctypes.get_errno(), "capset")


def _wait(child: int, seconds: float) -> int | None:
    """Wait for a child; kill it and its processes after some seconds, and return None."""
    descriptor = os.pidfd_open(child)
    try:
        ready, _, _ = select.select([descriptor], [], [], seconds)
    finally:
        os.close(descriptor)
    if not ready:
        os.killpg(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status if ready else None


def can_trace() -> bool:
    """Return whether strace is installed and may trace here."""
    strace = shutil.which("strace")
    if not strace:
        return False
    command = [strace, "-f", "-qq", "-e", "trace=%file", "-o", os.devnull, "true"]
    return subprocess.run(command, capture_output=True, timeout=20).returncode == 0


@contextmanager
def _traced(process: int, trace_file: Path | None) -> Iterator[None]:
    """Trace a process and its children while the block runs."""
    if trace_file is None:
        yield
        return
    command = ["strace", "-f", "-qq", "-y", "-s", "4096", "-e", "trace=%file"]
    with subprocess.Popen(
        [*command, "-o", str(trace_file), "-p", str(process)], stderr=subprocess.PIPE
    ) as strace:
        deadline = time.monotonic() + TRACER_START_TIMEOUT
        while not _tracer(process):
            if strace.poll() is not None or time.monotonic() > deadline:
                os.kill(process, signal.SIGKILL)
                raise RuntimeError(f"strace: {strace.communicate()[1]!r}")
            time.sleep(0.002)
        yield


def _tracer(process: int) -> int:
    """Return the process that traces another, or 0."""
    text = Path(f"/proc/{process}/status").read_text()
    return int(text.partition("TracerPid:")[2].split()[0])


@dataclass(frozen=True)
class FileCall:
    """A system call on a file: its name, the paths, and the rest of its line, with flags."""

    name: str
    paths: tuple[Path, ...]
    flags: str


_CALL = re.compile(r"^\d+ +(\w+)\((.*)$")
_PATH = re.compile(r'(?:(?:AT_FDCWD|\d+)<((?:[^>\\]|\\.)*)>, )?"((?:[^"\\]|\\.)*)"')


def read_trace(trace_file: Path, folder: Path) -> list[FileCall]:
    """Return the calls on files below a folder, whose paths become relative to it."""
    calls = []
    for line in trace_file.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        match = _CALL.match(line)
        if not match:
            continue
        paths = []
        for parent, name in _PATH.findall(match[2]):
            path = Path(os.path.normpath(folder / parent / name))
            if path.is_relative_to(folder):
                paths.append(path.relative_to(folder))
        if paths:
            calls.append(FileCall(match[1], tuple(paths), match[2]))
    return calls
