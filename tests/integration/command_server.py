"""Run many `nmtkit` commands and Python programs without importing torch for each.

A server imports torch once and forks for each command; a small client in the place of the programs
`nmtkit` and `python` passes it its arguments, folder, environment and open files, and exits as the
fork does. If the client is killed, the fork gets one SIGTERM.

    python command_server.py SOCKET     serves until it is terminated
"""

import contextlib
import fcntl
import gc
import importlib
import marshal
import os
import runpy
import select
import signal
import socket
import stat
import subprocess
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLIENT = """#!{python} -IS
import _socket, marshal, posix, sys
listed = map(int, posix.listdir("/proc/self/fd"))
connection = _socket.socket(_socket.AF_UNIX)  # takes the number with which the folder was read
connection.connect({path!r})
numbers = [0, 1, 2, *(n for n in listed if n > 2 and posix.get_inheritable(n))]
request = marshal.dumps([sys.argv, posix.getcwdb(), posix.environ, numbers])
files = b"".join(n.to_bytes(4, sys.byteorder) for n in numbers)
rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)]
connection.sendmsg([len(request).to_bytes(4, "big")], rights)
connection.sendall(request)
posix._exit(connection.recv(1)[0])
"""
"""It imports only modules that are part of the interpreter, so that it starts at once."""

PROGRAMS = ("nmtkit", "python")

MAX_FILES = 64
"""Open files that a client may pass on."""

PRELOADED = (
    "nmtkit.inference.translator",
    "nmtkit.models.rnnsearch",
    "nmtkit.training.train",
    "torch._dynamo",  # optimizers import it when created
    "lxml.etree",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "matplotlib.pyplot",
    "nmtkit.cli.main",
    "nmtkit.preprocessing.prepare",
    "py3langid.langid",
    "sacrebleu",
    "sacremoses",
    "sentencepiece",
    *(f"nmtkit.cli.{name}" for name in ("evaluate", "prepare", "train", "translate")),
)


@contextmanager
def command_server(folder: Path) -> Iterator[Path]:
    """Start a server; return a folder for PATH that holds `nmtkit` and `python`.

    This `python` runs scripts and `-c` only, and none of these may count on a fresh interpreter.
    """
    path = str(folder / "commands.socket")
    command = [sys.executable, __file__, path]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # torch reads it when imported
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as server:
        try:
            assert server.stdout is not None and server.stdout.readline() == b"ready\n"
            for program in PROGRAMS:
                script = folder / program
                script.write_text(CLIENT.format(python=sys.executable, path=path))
                script.chmod(script.stat().st_mode | stat.S_IXUSR)
            yield folder
        finally:
            server.terminate()


def serve(path: str) -> None:
    """Fork for each command that a client sends."""
    for module in PRELOADED:
        importlib.import_module(module)
    gc.freeze()  # else a collection in a fork copies all pages of objects
    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        finalizer.atexit = False  # torch takes its libraries apart, which copies more of them
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        print("ready", flush=True)
        while True:
            connection = listener.accept()[0]
            if os.fork() == 0:
                break
            connection.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    command = os.fork()
    if command == 0:
        _receive(connection)
        _run()
    else:
        status = _wait(command, connection)
        with contextlib.suppress(BrokenPipeError):
            connection.send(bytes([status if status >= 0 else 128 - status]))
        os._exit(0)  # without freeing the server's memory, as the command does


def _wait(command: int, connection: socket.socket) -> int:
    """Return the status of a command, which gets a SIGTERM if its client is gone."""
    ended, events = os.pidfd_open(command), select.poll()
    events.register(ended, select.POLLIN)
    events.register(connection, 0)  # tells only of a client that is gone
    if ended not in dict(events.poll()):
        os.kill(command, signal.SIGTERM)
    return os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])


def _run() -> None:
    """Run the program that this process's arguments name, and exit without freeing memory."""
    from nmtkit.cli.main import end_process, main

    if Path(sys.argv[0]).name == "nmtkit":
        main()
    try:
        _run_python()
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        end_process(end.code or 0)
    end_process(0)


def _run_python() -> None:
    """Run the code or the script that this process's arguments name."""
    del sys.argv[0]
    if sys.argv[0] == "-c":
        code = sys.argv.pop(1)
        sys.path[0] = ""
        exec(code, {"__name__": "__main__"})
    else:
        sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
        runpy.run_path(sys.argv[0], run_name="__main__")


def _receive(connection: socket.socket) -> None:
    """Take a client's open files, arguments, folder and environment as this process's own."""
    header, files, _, _ = socket.recv_fds(connection, 4, MAX_FILES)
    size, request = int.from_bytes(header, "big"), b""
    while len(request) < size:
        request += connection.recv(size - len(request))
    connection.close()
    sys.argv, folder, environment, numbers = marshal.loads(request)
    # Each number may be taken by another one of them, so all are moved out of the way first.
    moved = [fcntl.fcntl(file, fcntl.F_DUPFD, max(numbers) + 1) for file in files]
    for file in files:
        os.close(file)
    for number, file in zip(numbers, moved, strict=True):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environb.update(environment)


if __name__ == "__main__":
    serve(sys.argv[1])
