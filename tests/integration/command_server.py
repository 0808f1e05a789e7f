"""Run many `nmtkit` commands without importing torch for each.

A server imports torch once and forks for each command; a small client in the place of the program
`nmtkit` passes it its arguments, folder, environment and open files, and exits as the fork does.

    python command_server.py SOCKET     serves until it is terminated
"""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLIENT = """#!{python} -ES
import json, os, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect({path!r})
request = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(connection, [len(request).to_bytes(4, "big")], [0, 1, 2])
connection.sendall(request)
sys.exit(connection.recv(1)[0])
"""


@contextmanager
def command_server(folder: Path) -> Iterator[Path]:
    """Start a server; return a folder for PATH that holds the program `nmtkit`."""
    path = str(folder / "commands.socket")
    command = [sys.executable, __file__, path]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None and server.stdout.readline() == b"ready\n"
            script = folder / "nmtkit"
            script.write_text(CLIENT.format(python=sys.executable, path=path))
            script.chmod(script.stat().st_mode | stat.S_IXUSR)
            yield folder
        finally:
            server.terminate()


def serve(path: str) -> None:
    """Fork for each command that a client sends."""
    import nmtkit.inference.translator  # noqa: F401  imports torch
    from nmtkit.cli.main import main

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
        main()
    status = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    connection.send(bytes([status if status >= 0 else 128 - status]))


def _receive(connection: socket.socket) -> None:
    """Take a client's open files, arguments, folder and environment as this process's own."""
    header, files, _, _ = socket.recv_fds(connection, 4, 3)
    size, request = int.from_bytes(header, "big"), b""
    while len(request) < size:
        request += connection.recv(size - len(request))
    for descriptor, file in enumerate(files):
        os.dup2(file, descriptor)
        os.close(file)
    sys.argv, folder, environment = json.loads(request)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)


if __name__ == "__main__":
    serve(sys.argv[1])
