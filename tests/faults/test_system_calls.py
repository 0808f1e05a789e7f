"""The shim sees every change, the campaign has every command, and a sample of it finds no fault."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from nmtkit.cli.command_group import LazyGroup, walk_commands
from nmtkit.cli.main import cli
from tests.faults import kill
from tests.faults.commands import CASES, SMALL_TRAINING, run_command
from tests.faults.shim import Call, Fault, Shim, build_shim

SCRIPT = Path(__file__).with_name("system_calls.py")
TIMEOUT = 120
TRAINING = ["prepared", "-o", "model", "-r", "toy", *SMALL_TRAINING, "--threads", "1"]
CHANGING = {"create", "write", "rename", "sync", "remove", "make", "truncate", "link", "mode"}
READING = {
    "access", "close", "dup", "dup2", "dup3", "execve", "faccessat", "faccessat2", "fadvise64",
    "fcntl", "flock", "fstat", "fstatfs", "getcwd", "getdents64", "ioctl", "lseek", "lstat", "mmap",
    "newfstatat", "poll", "pread64", "read", "readlink", "readlinkat", "readv", "stat", "statfs",
    "statx", "utimensat", "chdir", "select", "pselect6", "epoll_ctl",
}  # fmt: skip
"""Calls that change no file, and those of which `shim.c` records only the kind (utimensat)."""


@pytest.fixture
def shim(tmp_path: Path) -> Shim:
    shim = build_shim(tmp_path)
    if shim is None:
        pytest.skip("needs Linux on x86-64 and a C compiler")
    return shim


def test_every_command_has_a_case():
    commands = {
        " ".join(path) for path, command in walk_commands(cli) if not isinstance(command, LazyGroup)
    }
    assert commands - {"serve"} == {case.words for case in CASES}  # it runs until it is stopped


@pytest.mark.usefixtures("shim")
def test_a_disturbed_system_call_loses_nothing(preloaded):
    """A sample; `system_calls.py` disturbs every one of every command."""
    command = [preloaded / "python", str(SCRIPT), "--only", "train", "nbest tune", "--sample", "6"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(
        r"^\d+ system calls failed, \d+ kills at system calls: 0 ", result.stdout, re.M
    )


def test_the_shim_disturbs_the_chosen_call(shim, tmp_path):
    folder = (tmp_path / "run").resolve()
    folder.mkdir()
    (folder / "text").write_text("a b\n" * 9)
    words = ["shortlist", "text", "-o", "words"]
    full = run_command(shim, folder, words, Fault("fail", 1, 28, ("write",)))
    assert (full.status, full.stderr) == (
        1, "nmtkit: error: words: cannot be written: No space left on device\n"
    )  # fmt: skip
    assert run_command(shim, folder, words, Fault("kill before", 1, 0, ("link",))).status == -9
    assert [path.name for path in folder.iterdir() if path.name.startswith(".words.")]
    assert run_command(shim, folder, words, Fault("shorten", 1, 0, ("write",))).status == 0
    assert (folder / "words").read_text().splitlines() == ["</s>\t9", "<unk>\t0", "a\t9", "b\t9"]


@pytest.mark.slow
def test_the_shim_sees_every_change_that_the_kernel_sees(shim, tmp_path):
    """Compare its log with strace's, of another run with another process."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("needs strace")
    runs = [(tmp_path / name).resolve() for name in ("watched", "traced")]
    for folder in runs:
        folder.mkdir()
        kill.prepare(folder / "prepared")
    log, trace = tmp_path / "log", tmp_path / "trace"
    words = ["train", *TRAINING, "--set", "training.max_updates=3"]
    assert run_command(shim, runs[0], words, Fault(), log).status == 0
    command = [strace, "-f", "-y", "--seccomp-bpf", "-e", "trace=%file,%desc", "-o", str(trace)]
    code = "from nmtkit.cli.main import main; main()"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command += [sys.executable, "-c", code, *words]
    traced = subprocess.run(
        command, cwd=runs[1], env=environment, capture_output=True, timeout=TIMEOUT
    )
    assert traced.returncode == 0, traced.stderr
    recorded = Counter(
        change for call in shim.read_log(log) if (change := recorded_change(call, runs[0]))
    )
    seen = Counter(
        change
        for line in trace.read_text(errors="replace").splitlines()
        if (change := traced_change(line, runs[1]))
    )
    assert recorded == seen and len(seen) > 50


def recorded_change(call: Call, folder: Path) -> str | None:
    """Return the name and the path of a recorded call that changes something."""
    if (
        call.kind not in CHANGING
        or call.result < 0
        or call.name in READING
        or "stdout" in call.path
    ):
        return None
    return f"{call.name} {plain(call.path, folder)}"


def traced_change(line: str, folder: Path) -> str | None:
    """Return the same of a line of strace."""
    match = re.match(r"\d+ +(\w+)\((.*)\) += (-?\d+)", line)
    if match is None or int(match[3]) < 0:
        return None
    name, arguments = match[1], match[2]
    path = re.search(r'"([^"]*)"', arguments) or re.match(r"\d+<([^>]*)>", arguments)
    if path is None or name in READING:
        if name == "mmap" and str(folder) in line:
            assert not ("MAP_SHARED" in line and "PROT_WRITE" in line)
        return None
    if name in ("write", "ftruncate", "fsync"):
        path = re.match(r"\d+<([^>]*)>", arguments)
        assert path is not None
    if name.startswith("open") and not re.search("O_CREAT|O_WRONLY|O_RDWR|O_TRUNC", arguments):
        return None
    at = re.match(r"(?:AT_FDCWD|\d+)<([^>]*)>", arguments)
    whole = path[1] if path[1].startswith("/") or at is None else f"{at[1]}/{path[1]}"
    if re.match(r"\w+:\[", whole):  # a pipe
        return None
    if not whole.startswith("/"):
        whole = f"{folder}/{whole}"
    return f"{name} {plain(whole, folder)}" if whole.startswith(str(folder)) else None


def plain(path: str, folder: Path) -> str:
    """Return a path relative to the folder, without the random part of hidden names."""
    path = re.sub(r"\.tmp\w{6}", ".tmp", path.removeprefix(str(folder)))
    return re.sub(r"\.[0-9a-f]{16}", ".HEX", path)
