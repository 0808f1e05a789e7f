"""A folder of results appears whole or not at all, and what is there is not lost."""

import pytest

from nmtkit.errors import DataError, OutputError
from nmtkit.io.atomic import output_folder


def write(path, text, **options):
    with output_folder(path, "mark.json", "report", **options) as folder:
        (folder / "mark.json").write_text(text)
    return sorted(path.iterdir())


def test_it_has_its_name_when_it_is_whole(tmp_path):
    assert write(tmp_path / "out", "1") == [tmp_path / "out" / "mark.json"]
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


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
    with pytest.raises(OutputError, match="exists and is not a report; give another name"):
        write(tmp_path / "out", "3", force=True)
    with pytest.raises(OutputError, match="no/out: its parent folder does not exist"):
        write(tmp_path / "no" / "out", "4")
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "thesis.tex"]


def test_what_fails_leaves_nothing_and_keeps_the_old_one(tmp_path):
    write(tmp_path / "out", "1")
    with (
        pytest.raises(DataError, match=":3:"),
        output_folder(tmp_path / "out", "mark.json", "report", force=True) as folder,
    ):
        (folder / "mark.json").write_text("2")
        raise DataError("table:3: bad")
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]
    assert (tmp_path / "out" / "mark.json").read_text() == "1"


def test_a_full_disk_is_told_by_the_name_that_was_asked_for(tmp_path):
    with (
        pytest.raises(OutputError, match="out: cannot be written: No space left"),
        output_folder(tmp_path / "out", "mark.json", "report"),
    ):
        raise OSError(28, "No space left on device")
    assert not list(tmp_path.iterdir())
