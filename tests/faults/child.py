"""Run commands of nmtkit in forks of this process, each for a stated time and no longer.

A fork need not import anything. It runs the command as the program does, with its own stderr, in
its own process group. A command whose time is over is ended with one SIGTERM; a command that goes
on for GRACE seconds after a SIGTERM is aborted, with the stacks of its threads on stderr.

This process must not have computed a tensor before: forks do not inherit torch's threads.
"""

import contextlib
import faulthandler
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmtkit.cli.main import cli

GRACE = 10.0
"""Seconds within which a SIGTERM must end a command, whatever it does."""

POLL = 0.002
"""Seconds between two looks at a fork."""

Arm = Callable[[], None]
"""Prepares a fork before its command runs, so that something happens in it later."""

RANK_VARIABLES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


class Hanging(Exception):
    """A command did not end within its time, or not by one SIGTERM."""


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    status: exit status, or minus the signal that ended it.
    stderr: all that it wrote there. seconds: time it took. process: its id.
    """

    status: int
    stderr: str
    seconds: float
    process: int

    @property
    def error(self) -> str | None:
        """The one line of an error message; None if there is none.

        A traceback, a library's warning or a second line of error is no message.
        """
        lines = [line for line in self.stderr.splitlines() if line]
        errors = [line for line in lines if line.startswith("nmtkit: error: ")]
        if len(errors) != 1 or lines[-1] != errors[0] or not self.is_plain:
            return None
        return errors[0]

    @property
    def is_plain(self) -> bool:
        """Whether stderr holds only lines of the log."""
        return all(line.startswith("nmtkit: ") for line in self.stderr.splitlines() if line)


def start(
    arguments: Sequence[str],
    stderr: Path,
    arm: Arm | None = None,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Fork a process that runs a command line, and return its id."""
    if child := os.fork():
        return child
    status = 1
    try:
        os.setpgid(0, 0)
        file = os.open(stderr, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        null = os.open(os.devnull, os.O_RDWR)
        for source, target in ((null, 0), (null, 1), (file, 2)):
            os.dup2(source, target)
        faulthandler.enable(file=2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.update(environment or {})
        if arm:
            arm()
        status = cli.run([str(word) for word in arguments], prog_name="nmtkit")
    except BaseException as error:
        import traceback

        os.write(2, "".join(traceback.format_exception(error)).encode())
    finally:
        os._exit(status)


def wait(process: int, stderr: Path, seconds: float) -> Ended:
    """Wait for a fork to end.

    :raises Hanging: it did not end within some seconds; the message says whether one SIGTERM ended
        it then.
    """
    ended = poll(process, stderr, seconds)
    if ended is not None:
        return ended
    os.kill(process, signal.SIGTERM)
    ended = poll(process, stderr, GRACE)
    if ended is not None:
        raise Hanging(f"not over after {seconds:g} s, ended by one SIGTERM: {ended.stderr[-3000:]}")
    raise Hanging(f"not over after {seconds:g} s, nor by a SIGTERM: {abort(process, stderr)}")


def poll(process: int, stderr: Path, seconds: float) -> Ended | None:
    """Wait for a fork for at most some seconds; return None if it goes on."""
    started = time.monotonic()
    while True:
        finished, status = os.waitpid(process, os.WNOHANG)
        elapsed = time.monotonic() - started
        if finished:
            text = stderr.read_text(encoding="utf-8", errors="replace") if stderr.exists() else ""
            return Ended(os.waitstatus_to_exitcode(status), text, elapsed, process)
        if elapsed > seconds:
            return None
        time.sleep(POLL)


def is_group_alive(process: int) -> bool:
    """Return whether a process that a fork has started still exists."""
    try:
        os.killpg(process, 0)
    except ProcessLookupError:
        return False
    return True


def abort(process: int, stderr: Path) -> str:
    """Abort a fork, and return its stderr, which ends with the stacks of all its threads."""
    os.kill(process, signal.SIGABRT)
    ended = poll(process, stderr, GRACE)
    if ended is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        ended = poll(process, stderr, GRACE)
    return ended.stderr[-6000:] if ended else "it cannot be killed"


def run(
    arguments: Sequence[str],
    stderr: Path,
    seconds: float,
    arm: Arm | None = None,
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """Run a command to its end.

    :raises Hanging: it did not end within some seconds.
    """
    return wait(start(arguments, stderr, arm, environment), stderr, seconds)


def run_ranks(commands: Sequence[Sequence[str]], stderr: Path, seconds: float) -> list[Ended]:
    """Run one command on each rank of a job, as torchrun does, to their ends.

    Rank n writes to the file `stderr` with the suffix n.

    :raises Hanging: one of them did not end within some seconds; all are ended before.
    """
    port, files = free_port(), [stderr.with_suffix(f".{n}") for n in range(len(commands))]
    processes = [
        start(command, file, environment=rank_environment(rank, len(commands), port))
        for rank, (command, file) in enumerate(zip(commands, files, strict=True))
    ]
    outcomes: list[Ended | Hanging] = []
    for process, file in zip(processes, files, strict=True):
        try:
            outcomes.append(wait(process, file, seconds))
        except Hanging as error:
            outcomes.append(error)
    for outcome in outcomes:
        if isinstance(outcome, Hanging):
            raise outcome
    return [outcome for outcome in outcomes if isinstance(outcome, Ended)]


def rank_environment(rank: int, size: int, port: int) -> dict[str, str]:
    """Return the variables with which torchrun starts a rank."""
    values = (rank, rank, size, "127.0.0.1", port)
    variables = {name: str(value) for name, value in zip(RANK_VARIABLES, values, strict=True)}
    return variables | {"GLOO_SOCKET_IFNAME": "lo"}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
