"""Run commands in a pseudo-terminal, and read what its screen shows."""

import contextlib
import fcntl
import json
import os
import pty
import struct
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

TIMEOUT = 120.0  # seconds


class Shown(NamedTuple):
    """What a command did in a terminal.

    status: exit status. text: all that was written to the terminal. output: stdout, if it was no
    terminal.
    """

    status: int
    text: str
    output: str

    @property
    def frames(self) -> list[str]:
        """Every line that stood on the screen, without blanks at its end; drawn anew, once each."""
        parts = self.text.replace("\r\n", "\n").replace("\n", "\r").split("\r")
        return list(dict.fromkeys(part.rstrip() for part in parts if part.strip()))

    @property
    def screen(self) -> list[str]:
        """The lines that are left on the screen."""
        lines, column = [""], 0
        for character in self.text:
            if character == "\r":
                column = 0
            elif character == "\n":
                lines, column = [*lines, ""], 0
            else:
                line = lines[-1].ljust(column)
                lines[-1] = line[:column] + character + line[column + 1 :]
                column += 1
        return [line.rstrip() for line in lines if line.strip()]


def run_in_terminal(
    arguments: Sequence[object],
    output: Path,
    columns: int = 80,
    typed: bytes | None = None,
    terminal_stdout: bool = False,
    forked: bool = True,
) -> Shown:
    """Run `nmtkit` in a fork whose stderr is a terminal; its bars appear at once.

    :param output: file for stdout.
    :param typed: bytes that are typed, so that stdin is the terminal, too; None: stdin is empty.
    :param terminal_stdout: stdout is the terminal, too.
    :param forked: False: in a new process, which takes seconds to start. A fork of one in which
        torch has had several threads cannot use several.
    """
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = os.fork()
    if process == 0:
        words = [str(argument) for argument in arguments]
        run = _run_and_exit if forked else _run_anew
        run(words, str(output), side, typed is not None, terminal_stdout)
    os.close(side)
    if typed:
        os.write(main, typed)
    written, end = b"", time.monotonic() + TIMEOUT
    with contextlib.suppress(OSError):  # EIO: the other end is closed
        while (part := os.read(main, 1 << 16)) and time.monotonic() < end:
            written += part
    _, status = os.waitpid(process, 0)
    os.close(main)
    stdout = output.read_text(encoding="utf-8") if output.exists() else ""
    return Shown(os.waitstatus_to_exitcode(status), written.decode(), stdout)


def _run_anew(
    arguments: list[str], output: str, terminal: int, types: bool, terminal_stdout: bool
) -> None:
    """Replace this process by one that does what `_run_and_exit` does."""
    os.set_inheritable(terminal, True)
    values = json.dumps([arguments, output, terminal, types, terminal_stdout])
    code = "import json, sys; from tests.terminal import _run_and_exit as run; "
    code += "run(*json.loads(sys.argv[1]))"
    try:
        os.execv(sys.executable, [sys.executable, "-c", code, values])
    finally:
        os._exit(71)


def _run_and_exit(
    arguments: list[str], output: str, terminal: int, types: bool, terminal_stdout: bool
) -> None:
    """Run a command with its streams in the terminal; never return."""
    status = 70
    try:
        from nmtkit import progress_bar
        from nmtkit.cli.main import cli

        progress_bar.DELAY, progress_bar.INTERVAL = 0.0, 0.005
        stdin = terminal if types else os.open(os.devnull, os.O_RDONLY)
        stdout = terminal if terminal_stdout else os.open(output, os.O_WRONLY | os.O_CREAT, 0o600)
        for number, descriptor in enumerate((stdin, stdout, terminal)):
            os.dup2(descriptor, number)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        status = cli.run(arguments, "nmtkit")
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)
