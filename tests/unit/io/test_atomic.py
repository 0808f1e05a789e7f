"""Outputs appear complete or not at all, and there is one atomic writer."""

import ast
import os
from pathlib import Path
from typing import Any

import pytest

import nmtkit
from nmtkit.errors import OutputError
from nmtkit.io import temporary
from nmtkit.io.atomic import atomic_file, atomic_path
from nmtkit.io.atomic_folder import atomic_folder, output_folder
from nmtkit.io.locks import try_lock
from nmtkit.io.temporary import remove_leftovers


def test_a_path_for_a_library_gets_its_name_when_the_block_succeeds(tmp_path):
    with atomic_path(tmp_path / "out.bin") as path:
        assert path.name == "out.bin" and not (tmp_path / "out.bin").exists()
        path.write_bytes(b"1")
        (path.parent / ".tmp12345").touch()
    assert [p.name for p in tmp_path.iterdir()] == ["out.bin"]
    assert (tmp_path / "out.bin").read_bytes() == b"1"


def test_a_path_for_a_library_is_removed_when_the_block_fails(tmp_path):
    (tmp_path / "out").write_text("old")
    with pytest.raises(OutputError, match="out: exists already; use --force"):
        with atomic_path(tmp_path / "out"):
            pytest.fail("the block ran")
    with pytest.raises(OutputError, match="out: cannot be written: No space left"):
        with atomic_path(tmp_path / "out", force=True) as path:
            path.write_text("half")
            raise OSError(28, "No space left on device")
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "out", force=True):
        open(tmp_path / "an input that is missing")
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]
    assert (tmp_path / "out").read_text() == "old"


def test_a_device_path_is_passed_through_unchanged():
    with atomic_path("/dev/null") as path:
        path.write_bytes(b"1")
        assert str(path) == "/dev/null"


@pytest.mark.parametrize("has_links", [True, False])
@pytest.mark.parametrize("writer", [atomic_file, atomic_path])
def test_a_file_replaces_nothing_that_appeared_while_it_was_written(
    tmp_path, monkeypatch, writer, has_links
):
    def fail(*_: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    if not has_links:
        monkeypatch.setattr(os, "link", fail)

    def write_new(path: Path, meanwhile: str = "") -> None:
        with writer(path) as opened:
            if writer is atomic_path:
                opened.touch()
            if meanwhile:
                path.write_text(meanwhile)

    write_new(tmp_path / "new")
    with pytest.raises(OutputError, match="out: exists already; use --force"):
        write_new(tmp_path / "out", "thesis")
    assert (tmp_path / "out").read_text() == "thesis"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "out"]


def test_outputs_are_synchronised_before_and_after_they_get_their_names(tmp_path, monkeypatch):
    events = []
    for name in ("fsync", "link", "replace"):
        original = getattr(os, name)

        def record(*arguments, name=name, original=original):
            path = f"/proc/self/fd/{arguments[0]}" if name == "fsync" else arguments[1]
            events.append((name, Path(path).resolve().name.split(".")[0]))
            return original(*arguments)

        monkeypatch.setattr(os, name, record)
    folder = tmp_path / "folder"
    folder.mkdir()
    with atomic_file(folder / "a") as file:
        file.write(b"1")
    assert events == [("fsync", ""), ("link", "a"), ("fsync", "folder")]
    events.clear()
    with atomic_path(folder / "b", force=True) as path:
        path.write_text("2")
    assert events == [("fsync", "b"), ("replace", "b"), ("fsync", "folder")]
    events.clear()
    with atomic_folder(folder / "c") as path:
        (path / "d").mkdir()
        (path / "d" / "e").write_text("3")
    assert events == [
        *[("fsync", "e"), ("fsync", "d"), ("fsync", "")],
        *[("replace", "c"), ("fsync", "folder")],
    ]


def test_links_in_a_loop_are_reported(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for writer in (
        atomic_file(tmp_path / "loop"),
        atomic_path(tmp_path / "loop"),
        atomic_folder(tmp_path / "loop"),
        output_folder(tmp_path / "loop" / "inside", "mark.json", "report"),
    ):
        with pytest.raises(OutputError, match="cannot be written: symbolic links form a loop"):
            with writer:
                pass
    assert [path.name for path in tmp_path.iterdir()] == ["loop"]


RENAMING = {
    "preprocessing/truecasing.py": "replaces a file in a folder that is itself written atomically",
    "training/checkpoint_folder.py": "sets a damaged checkpoint aside, hides one before it goes",
}
"""Module outside `io` -> why it renames files by itself."""


def renames(source: str) -> list[int]:
    """Return the lines of a source text that call a function that renames files."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [
        call.lineno
        for call in calls
        if isinstance(call.func, ast.Attribute) and _renames(call, ast.unparse(call.func.value))
    ]


def _renames(call: ast.Call, owner: str) -> bool:
    """Tell the calls apart: `Path.replace` has one argument, `str.replace` has two."""
    assert isinstance(call.func, ast.Attribute)
    name = call.func.attr
    if name in ("rename", "renames", "move", "link", "symlink"):
        return name != "move" or owner == "shutil"
    return name == "replace" and (owner == "os" or len(call.args) == 1 and not call.keywords)


def test_only_the_atomic_writer_renames_files():
    package = Path(nmtkit.__file__).parent
    actual = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if path.parent.name != "io" and renames(path.read_text(encoding="utf-8"))
    }
    assert actual == set(RENAMING)


@pytest.mark.parametrize(
    "call",
    ["os.replace(a, b)", "os.rename(a, b)", "a.rename(b)", "a.replace(b)", "shutil.move(a, b)"],
)
def test_renaming_calls_are_found(call):
    assert renames(f"def write():\n    {call}\n") == [2]
    assert renames("text.replace('a', 'b')\ndataclasses.replace(settings, size=3)\n") == []


@pytest.mark.parametrize("when", ["before the lock", "while another process holds the lock"])
@pytest.mark.parametrize("writer", [atomic_file, atomic_path, atomic_folder])
def test_an_output_that_is_taken_for_a_leftover_is_created_anew(
    tmp_path, monkeypatch, writer, when
):
    real = try_lock
    taken: list[Path] = []

    def late(descriptor: int) -> bool:
        if not taken:  # the other process has come first
            taken.extend(tmp_path.iterdir())
            if when == "while another process holds the lock":
                return False
            remove_leftovers(tmp_path / "out")
            assert not taken[0].exists()
        return real(descriptor)

    monkeypatch.setattr("nmtkit.io.temporary.try_lock", late)
    with writer(tmp_path / "out") as opened:
        if writer is atomic_folder:
            (opened / "text").write_bytes(b"text")
        elif writer is atomic_path:
            opened.write_bytes(b"text")
        else:
            opened.write(b"text")
    written = tmp_path / "out" / "text" if writer is atomic_folder else tmp_path / "out"
    assert written.read_bytes() == b"text"
    assert len(taken) == 1 and list(tmp_path.iterdir()) == [tmp_path / "out"]


@pytest.mark.parametrize("writer", [atomic_path, atomic_folder])
def test_a_folder_that_is_removed_before_it_is_opened_is_created_anew(
    tmp_path, monkeypatch, writer
):
    real, made = Path.mkdir, list[Path]()

    def removed(self: Path, *arguments: Any, **settings: Any) -> None:
        real(self, *arguments, **settings)
        made.append(self)
        if len(made) == 1:
            remove_leftovers(tmp_path / "out")

    monkeypatch.setattr(Path, "mkdir", removed)
    with writer(tmp_path / "out") as opened:
        (opened / "text" if writer is atomic_folder else opened).write_bytes(b"text")
    assert len(made) == 2 and list(tmp_path.iterdir()) == [tmp_path / "out"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_leftover_cannot_be_claimed_while_it_is_removed(tmp_path, monkeypatch, kind):
    """A process that finds no lock holds it until all is removed."""
    path = tmp_path / f".out.{'0' * 16}"
    if kind == "folder":
        path.mkdir()
    else:
        path.touch()
    claimed: list[bool] = []
    real = temporary._remove_leftover

    def contested(leftover: Path, target: Path) -> None:
        descriptor = os.open(leftover, os.O_RDONLY)
        claimed.append(temporary.claim(descriptor, leftover))
        os.close(descriptor)
        real(leftover, target)

    monkeypatch.setattr(temporary, "_remove_leftover", contested)
    remove_leftovers(tmp_path / "out")
    assert claimed == [False] and list(tmp_path.iterdir()) == []


def test_what_is_open_already_is_written_where_it_stands(tmp_path):
    with open(tmp_path / "log", "ab") as log:
        log.write(b"kept\n")
        log.flush()
        for name in (f"/dev/fd/{log.fileno()}", f"/proc/self/fd/{log.fileno()}"):
            with atomic_file(name) as output:
                output.write(b"new\n")
    assert (tmp_path / "log").read_bytes() == b"kept\nnew\nnew\n"


def test_an_open_pipe_is_written_directly():
    reader, writer = os.pipe()
    with open(reader, "rb") as read, open(writer, "wb"):
        with atomic_file(f"/dev/fd/{writer}") as output:
            output.write(b"words\n")
        assert os.read(read.fileno(), 100) == b"words\n"


def test_a_descriptor_that_is_not_open_is_named():
    with pytest.raises(OutputError, match="^/dev/fd/987654: cannot be written"):
        with atomic_file("/dev/fd/987654"):
            pass


def test_a_fifo_behind_a_link_is_written_directly(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    with atomic_file(tmp_path / "link") as output:
        output.write(b"words\n")
    assert os.read(reader, 100) == b"words\n"
    os.close(reader)
    assert (tmp_path / "fifo").is_fifo()
