"""Folders appear complete or not at all, and what is in their place is replaced only on purpose."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from nmtkit.errors import DataError, OutputError
from nmtkit.io.atomic import atomic_file
from nmtkit.io.atomic_folder import atomic_folder, check_can_make, output_folder, remove_folder


def write(path, text, **options):
    with output_folder(path, "mark.json", "report", **options) as folder:
        (folder / "mark.json").write_text(text)
    return sorted(path.iterdir())


def test_a_complete_folder_gets_its_name(tmp_path):
    assert write(tmp_path / "out", "1") == [tmp_path / "out" / "mark.json"]
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


def test_the_current_folder_is_not_replaced(tmp_path, monkeypatch):
    (tmp_path / "out" / "in").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "out" / "in")
    for name in (".", "..", tmp_path / "out"):
        with pytest.raises(OutputError, match="would replace the current folder; change into"):
            check_can_make(name)
        with pytest.raises(OutputError), output_folder(name, "mark.json", "report"):
            pass
    check_can_make("new")
    (tmp_path / "out" / "in").rmdir()
    check_can_make(tmp_path / "new")


def test_an_empty_folder_is_filled(tmp_path):
    (tmp_path / "out").mkdir()
    write(tmp_path / "out", "1")
    assert (tmp_path / "out" / "mark.json").read_text() == "1"


def test_only_its_own_kind_is_replaced_and_only_with_force(tmp_path):
    write(tmp_path / "out", "1")
    (tmp_path / "out" / "old").touch()
    with pytest.raises(OutputError, match="exists already; use --force"):
        write(tmp_path / "out", "2")
    assert write(tmp_path / "out", "2", force=True) == [tmp_path / "out" / "mark.json"]
    (tmp_path / "out" / "mark.json").rename(tmp_path / "out" / "thesis.tex")
    with pytest.raises(
        OutputError, match="exists and is not a report, which has a file .*; give another name"
    ):
        write(tmp_path / "out", "3", force=True)
    with pytest.raises(OutputError, match="no/out: its parent folder does not exist"):
        write(tmp_path / "no" / "out", "4")
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "thesis.tex"]


def test_a_failed_write_leaves_nothing_and_keeps_the_old_folder(tmp_path):
    write(tmp_path / "out", "1")
    with (
        pytest.raises(DataError, match=":3:"),
        output_folder(tmp_path / "out", "mark.json", "report", force=True) as folder,
    ):
        (folder / "mark.json").write_text("2")
        raise DataError("table:3: bad")
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]
    assert (tmp_path / "out" / "mark.json").read_text() == "1"


def test_a_full_disk_error_names_the_requested_path(tmp_path):
    with (
        pytest.raises(OutputError, match="out: cannot be written: No space left"),
        output_folder(tmp_path / "out", "mark.json", "report"),
    ):
        raise OSError(28, "No space left on device")
    assert not list(tmp_path.iterdir())


def test_an_atomic_folder_replaces_the_old_folder(tmp_path):
    for text in ("1", "2"):
        with atomic_folder(tmp_path / "out") as folder:
            (folder / text).touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "2"]
    with pytest.raises(KeyboardInterrupt), atomic_folder(tmp_path / "out"):
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "2"]


@pytest.mark.parametrize("kind", ["file", "folder"])
@pytest.mark.parametrize("replaceable", [frozenset(), frozenset({"report"})])
def test_a_folder_replaces_nothing_that_appeared_while_it_was_written(tmp_path, replaceable, kind):
    out = tmp_path / "out"
    if replaceable:
        out.mkdir()
        (out / "report").touch()
    with (
        pytest.raises(OutputError, match="out: exists (already|and is not a report)"),
        output_folder(out, "mark.json", "report", replaceable=replaceable) as folder,
    ):
        (folder / "mark.json").write_text("1")
        if replaceable:
            (out / "report").unlink()
            out.rmdir()
        if kind == "folder":
            out.mkdir()
        thesis = out / "thesis.tex" if kind == "folder" else out
        thesis.write_text("2")
    assert thesis.read_text() == "2" and list(tmp_path.iterdir()) == [out]


def test_force_does_not_replace_what_another_kind_of_folder_became_meanwhile(tmp_path):
    write(tmp_path / "out", "1")
    with (
        pytest.raises(OutputError, match="exists and is not a report"),
        output_folder(tmp_path / "out", "mark.json", "report", force=True),
    ):
        (tmp_path / "out" / "mark.json").rename(tmp_path / "out" / "thesis.tex")
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "thesis.tex"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_folder_is_replaced_with_and_without_an_exchange_of_names(
    tmp_path, monkeypatch, can_exchange
):
    if not can_exchange:
        monkeypatch.setattr("nmtkit.io.exchange.exchange", lambda *_: False)
    write(tmp_path / "out", "1")
    write(tmp_path / "out", "2", force=True)
    assert (tmp_path / "out/mark.json").read_text() == "2"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_removed_folder_is_whole_or_hidden(tmp_path, monkeypatch):
    (tmp_path / "model" / "part").mkdir(parents=True)

    def fail(path, ignore_errors=False):
        assert ignore_errors and path.name.startswith(".model.") and (path / "part").is_dir()

    with monkeypatch.context() as patch:
        patch.setattr("nmtkit.io.atomic_folder.shutil.rmtree", fail)
        leftover = remove_folder(tmp_path / "model")
    assert leftover is not None and [*tmp_path.iterdir()] == [leftover]
    write(tmp_path / "model", "1")  # removes the leftover
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert remove_folder(tmp_path / "model") is None
    assert list(tmp_path.iterdir()) == []


def test_a_mounted_disk_is_refused_before_any_work(tmp_path, monkeypatch):
    """As the folder `/model` of a container often is."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk")
    monkeypatch.setattr("os.path.ismount", lambda path: Path(path) == tmp_path / "disk")
    for name in ("disk", "link"):
        with pytest.raises(OutputError, match=f"{name}: is a mounted disk.*give a folder in it"):
            check_can_make(tmp_path / name)
        with pytest.raises(OutputError, match="is a mounted disk"):
            with output_folder(tmp_path / name, "mark.json", "report"):
                pytest.fail("the work has begun")
    check_can_make(tmp_path / "disk" / "model")
    write(tmp_path / "disk" / "model", "1")


def test_a_mounted_disk_that_was_not_recognised_keeps_its_files(tmp_path, monkeypatch):
    """A folder that is mounted from the same disk is only noticed when it is renamed."""
    write(tmp_path / "disk", "1")

    def busy(*paths: Any) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), *map(str, paths))

    monkeypatch.setattr("nmtkit.io.atomic_folder.os.replace", busy)
    with pytest.raises(OutputError, match="is a mounted disk"):
        remove_folder(tmp_path / "disk")
    with pytest.raises(OutputError, match="is a mounted disk"):
        write(tmp_path / "disk", "2", force=True)
    assert (tmp_path / "disk" / "mark.json").read_text() == "1"
    assert list(tmp_path.iterdir()) == [tmp_path / "disk"]


def test_an_error_names_the_final_path_of_a_file(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError) as error, atomic_folder(tmp_path / "out") as folder:
        with atomic_file(folder / "no" / "file"):
            pass
    assert str(error.value).startswith(f"{tmp_path}/out/no/file: its folder does not exist")


def test_an_error_of_an_input_is_not_that_of_the_output_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="input"), atomic_folder(tmp_path / "out"):
        open(tmp_path / "input")
    assert list(tmp_path.iterdir()) == []
