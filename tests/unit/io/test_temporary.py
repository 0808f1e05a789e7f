"""Leftovers of a killed process are removed by the next writer of the same output only."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nmtkit.io.atomic_folder import output_folder
from nmtkit.io.lines import open_output
from nmtkit.io.temporary import hidden_name, remove_leftovers

HALF = """
import sys, time
from nmtkit.io.atomic_folder import output_folder
from nmtkit.io.lines import open_output
here = sys.argv[1]
with open_output(here + "/file") as file, output_folder(here + "/made", "m", "k") as f:
    file.write("half")
    file.flush()
    (f / "part").write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


def hidden(folder: Path) -> list[str]:
    return sorted(path.name.split(".")[1] for path in folder.iterdir() if path.name[0] == ".")


@pytest.fixture
def writing(tmp_path):
    """Run a process that has half written a file and a folder."""
    process = subprocess.Popen([sys.executable, "-c", HALF, tmp_path], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"writing\n"
    yield process
    process.kill()
    process.communicate()


def test_leftovers_of_a_killed_process_are_removed_by_the_next_writer(writing, tmp_path):
    assert hidden(tmp_path) == ["file", "made"]
    with open_output(tmp_path / "file") as file, output_folder(tmp_path / "made", "m", "k") as made:
        file.write("whole")
        (made / "m").touch()
        assert hidden(tmp_path) == [
            "file",
            "file",
            "made",
            "made",
        ]  # those of the other process are in use
    writing.send_signal(signal.SIGKILL)
    writing.wait()
    assert hidden(tmp_path) == ["file", "made"]
    with open_output(tmp_path / "file", force=True) as file:
        file.write("again")
    with output_folder(tmp_path / "made", "m", "k", force=True) as made:
        (made / "m").touch()
    assert hidden(tmp_path) == [] and (tmp_path / "file").read_text() == "again"


def test_an_old_folder_gets_its_name_back(tmp_path):
    """A process was killed after moving the old folder away, before renaming the new one."""
    new = hidden_name(tmp_path / "made")
    new.mkdir()
    old = new.with_name(f"{new.name}.old")
    old.mkdir()
    (old / "m").write_text("good")
    remove_leftovers(tmp_path / "made")
    assert [path.name for path in tmp_path.rglob("*")] == ["made", "m"]
    old.mkdir()
    remove_leftovers(tmp_path / "made")  # if the new folder has the name, the old one is removed
    assert [path.name for path in tmp_path.rglob("*")] == ["made", "m"]


def test_other_hidden_files_stay(tmp_path):
    names = [".file", ".file.tmp", ".file.0123456789abcde", ".file.0123456789abcdeg", ".other"]
    names += [".file.0123456789abcdef.new", ".afile.0123456789abcdef", "file.0123456789abcdef"]
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / "x").mkdir()
    (tmp_path / ".file.0123456789abcdef").symlink_to(tmp_path / "x")
    os.mkfifo(tmp_path / ".file.fedcba9876543210")
    remove_leftovers(tmp_path / "file")  # waits for no writer of the pipe
    left = {path.name for path in tmp_path.iterdir()}
    assert left >= {*names, "x", ".file.0123456789abcdef"}


def test_a_folder_that_cannot_be_listed_is_no_error(tmp_path):
    remove_leftovers(tmp_path / "no" / "file")
