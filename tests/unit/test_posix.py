"""What not every operating system has is asked for at the entrance, and used nowhere else."""

import ast
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import nmtkit
from nmtkit.errors import NmtkitError
from nmtkit.posix import REQUIRED, check_platform

PACKAGE = Path(nmtkit.__file__).parent

NOT_EVERYWHERE = {
    "os": {
        *"pread preadv pwrite pwritev fork forkpty getuid geteuid getgid getegid mkfifo".split(),
        *"mknod set_blocking get_blocking sched_getaffinity sysconf statvfs killpg".split(),
        *"getpgid setsid wait wait3 wait4 waitid fchmod chown fchown lchown lockf".split(),
        *"posix_fadvise posix_fallocate posix_spawn register_at_fork uname nice".split(),
        *"sendfile memfd_create getloadavg copy_file_range splice O_NONBLOCK".split(),
        *"O_NOFOLLOW O_CLOEXEC O_DIRECTORY O_NOCTTY O_SYNC O_PATH O_TMPFILE".split(),
    },
    "select": {"poll", "epoll", "kqueue", "devpoll", "POLLIN", "POLLOUT", "POLLHUP", "POLLERR"},
    "signal": {
        *"setitimer getitimer alarm pause sigwait pthread_sigmask pthread_kill".split(),
        *"siginterrupt ITIMER_REAL SIGALRM SIGKILL SIGHUP SIGUSR1 SIGUSR2 SIGPIPE".split(),
        *"SIGCHLD SIGQUIT SIGSTOP SIGCONT SIGXCPU SIGXFSZ".split(),
    },
}
"""Names of the standard library whose documentation names the systems that have them."""

MODULES = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "posix"}
"""Modules of the standard library that Windows does not have."""

GUARDED = {
    "io/locks.py: fcntl",
    "progress_bar.py: os.register_at_fork",
    "serve/document.py: resource",
    "serve/open_files.py: resource",
}
"""What is used after asking for it."""


def uses() -> Iterator[str]:
    for path in PACKAGE.rglob("*.py"):
        file = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if node.attr in NOT_EVERYWHERE.get(node.value.id, ()):
                    yield f"{file}: {node.value.id}.{node.attr}"
            elif isinstance(node, ast.Import | ast.ImportFrom):
                module = node.module if isinstance(node, ast.ImportFrom) else None
                names = [module or "", *(alias.name for alias in node.names)]
                yield from (f"{file}: {name}" for name in names if name in MODULES)


def test_only_what_is_asked_for_is_used() -> None:
    required = {f"{m.__name__}.{name}" for m, names in REQUIRED.items() for name in names}
    used = set(uses())
    assert {use for use in used if use.partition(": ")[2] not in required} == GUARDED
    assert {use.partition(": ")[2] for use in used - GUARDED} == required


@pytest.mark.parametrize(
    ("module", "name"), [(os, "pread"), (select, "poll"), (signal, "setitimer")]
)
def test_a_system_without_a_function_is_named(monkeypatch, module, name):
    check_platform()
    with monkeypatch.context() as patch:
        patch.delattr(module, name)
        with pytest.raises(NmtkitError, match=rf"WSL; this Python \({sys.platform}\) .*{name};"):
            check_platform()
        with pytest.raises(NmtkitError, match=name):
            nmtkit.prepare  # noqa: B018


LIKE_WINDOWS = f"""
import os, select, signal, subprocess, sys
for module, names in { ({m: sorted(names) for m, names in NOT_EVERYWHERE.items()})!r}.items():
    for name in names:
        if hasattr(sys.modules[module], name):
            delattr(sys.modules[module], name)
sys.modules |= dict.fromkeys({sorted(MODULES - {"posix"})!r})
from nmtkit.cli.main import cli
cli.main(sys.argv[1:], prog_name="nmtkit")
"""


def test_every_command_ends_in_one_sentence_on_such_a_system(tmp_path):
    command = [sys.executable, "-c", LIKE_WINDOWS]
    for arguments in (["evaluate", "a", "b"], ["--version"]):
        run = subprocess.run([*command, *arguments], capture_output=True, text=True, cwd=tmp_path)
        if arguments[0] == "--version":
            assert run.returncode == 0 and run.stdout.startswith("nmtkit ")
        else:
            assert (run.returncode, run.stdout) == (1, "")
            assert run.stderr.startswith(
                "nmtkit: error: nmtkit runs on POSIX systems: Linux, macOS"
            )
            assert run.stderr.count("\n") == 1
