"""The model of a disk after a loss of power, and a sample of the replayed crashes."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.faults.commands import run_command
from tests.faults.crash_states import VARIANTS, Recording, record
from tests.faults.shim import Call, Fault, build_shim

SCRIPT = Path(__file__).with_name("power_loss.py")
TIMEOUT = 120


def call(name, kind, path="", other="", inode=0, data=b"", flags=0):
    length = len(data)
    return Call(name, kind, length, inode, 0, length, flags, path, other, data, "nothing")


WRITE_FILE = [
    call("openat", "create", "/r/.new", inode=7),
    call("write", "write", "/r/.new", inode=7, data=b"data"),
]
SYNC_FILE = [call("fsync", "sync", "/r/.new", inode=7)]
RENAME = [call("rename", "rename", "/r/.new", "/r/file")]
SYNC_FOLDER = [
    call("openat", "open", "/r", inode=1),
    call("fsync", "sync", "/r", inode=1),
]


def states(*parts):
    """Return the states that are possible at the end of some calls, over an earlier file."""
    recording = record("/r", {"file": b"old"}, [one for part in parts for one in part])
    end = len(recording.operations)
    kept = range(recording.uncertain(end) + 1)
    return [recording.state(end, count, variant) for count in kept for variant in VARIANTS]


def test_an_unsynchronised_file_may_be_torn_under_its_new_name():
    contents = {state["file"] for state in states(WRITE_FILE, RENAME)}
    assert contents == {b"old", b"data", b"", b"da", bytes(4)}


def test_a_rename_in_a_folder_that_is_not_synchronised_may_be_lost():
    assert {state["file"] for state in states(WRITE_FILE, SYNC_FILE, RENAME)} == {b"old", b"data"}


def test_what_is_synchronised_is_certain():
    found = states(WRITE_FILE, SYNC_FILE, RENAME, SYNC_FOLDER)
    assert all(state == {"file": b"data"} for state in found)


def test_the_folder_alone_does_not_make_data_certain():
    found = states(WRITE_FILE, RENAME, SYNC_FOLDER)
    assert {state["file"] for state in found} == {b"data", b"", b"da", bytes(4)}


def test_a_file_with_two_names_keeps_one_when_the_other_is_removed():
    link = [call("link", "link", "/r/.new", "/r/other"), call("unlink", "remove", "/r/.new")]
    found = states(WRITE_FILE, SYNC_FILE, link, SYNC_FOLDER)
    assert all(state == {"file": b"old", "other": b"data"} for state in found)
    lost = [state for state in states(WRITE_FILE, SYNC_FILE, link) if "other" not in state]
    assert lost and all(state["file"] == b"old" for state in lost)


def test_a_file_in_a_new_folder_is_lost_with_the_folder():
    made = [call("mkdir", "make", "/r/d"), call("openat", "create", "/r/d/f", inode=8)]
    synced = [call("openat", "open", "/r/d", inode=9), call("fsync", "sync", "/r/d", inode=9)]
    assert [set(state) for state in states(made, synced)[:: len(VARIANTS)]] == [
        {"file"},
        {"file", "d/", "d/f"},
    ]


def test_exchanged_folders_keep_their_files():
    recording = record(
        "/r",
        {"a/": b"", "a/1": b"x", "b/": b"", "b/2": b"y"},
        [call("renameat2", "rename", "/r/a", "/r/b", flags=2)],
    )
    assert recording.state(1) == {"a/": b"", "a/2": b"y", "b/": b"", "b/1": b"x"}
    assert recording.state(1, 0) == recording.state(0)


def test_a_recorded_run_gives_the_files_that_are_there(tmp_path):
    shim = build_shim(tmp_path)
    if shim is None:
        pytest.skip("needs Linux on x86-64 and a C compiler")
    folder = (tmp_path / "run").resolve()
    folder.mkdir()
    (folder / "text").write_text("a b\n" * 9)
    words = ["shortlist", "text", "-o", "words"]
    assert run_command(shim, folder, words, Fault(), tmp_path / "log", True).status == 0
    before = {"text": (folder / "text").read_bytes(), "stdout": b""}
    recording: Recording = record(str(folder), before, shim.read_log(tmp_path / "log"))
    after = recording.state(len(recording.operations))
    assert after == {path.name: path.read_bytes() for path in folder.iterdir()}
    assert "words" in after


def test_nothing_is_lost_with_the_power(preloaded):
    """A sample; `power_loss.py` replays every crash."""
    command = [preloaded / "python", str(SCRIPT), "--only", "train", "nbest tune", "--sample", "40"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    if "needs Linux" in result.stderr:
        pytest.skip("needs Linux on x86-64 and a C compiler")
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"^\d+ states after a loss of power replayed: 0 laws", result.stdout, re.M)
