"""Keys are made, kept as hashes, and found again."""

import io

import pytest

from nmtkit.errors import DataError
from nmtkit.serve.keys import Keys, add_key


def new_key(path, name):
    output = io.StringIO()
    add_key(path, name, output)
    return output.getvalue().removesuffix("\n")


def test_a_key_is_stored_nowhere(tmp_path):
    path = tmp_path / "keys"
    first, second = new_key(path, "one"), new_key(path, "two")
    assert first not in path.read_text() and second not in path.read_text()
    keys = Keys.read(path)
    assert [keys.owner(key) for key in (first, second)] == ["one", "two"]
    for wrong in ("", first[:-1], first + "x", "\ud800", "x" * 10_000):
        assert keys.owner(wrong) is None


@pytest.mark.parametrize("content", ["x", "0" * 63 + " name", "0" * 64, "0" * 64 + " a b"])
def test_a_line_that_is_no_key_is_named(tmp_path, content):
    path = tmp_path / "keys"
    path.write_text(f"# keys\n\n{content}\n")
    with pytest.raises(DataError, match="keys:3: "):
        Keys.read(path)
    with pytest.raises(DataError, match="keys:3: "):
        new_key(path, "name")
    assert path.read_text() == f"# keys\n\n{content}\n"


@pytest.mark.parametrize("name", ["", "a b", "a\nb", "x" * 65, "é"])
def test_a_name_that_cannot_stand_in_the_file_is_refused(tmp_path, name):
    with pytest.raises(DataError, match="a name has 1 to 64 letters"):
        new_key(tmp_path / "keys", name)
    assert not (tmp_path / "keys").exists()


def test_a_key_that_cannot_be_written_has_no_entry(tmp_path):
    path = tmp_path / "keys"
    new_key(path, "one")
    before = path.read_text()
    with pytest.raises(OSError, match="No space left"), open("/dev/full", "w") as full:
        add_key(path, "two", full)
    assert path.read_text() == before
    new_key(path, "two")


def test_a_name_has_one_key(tmp_path):
    path = tmp_path / "keys"
    new_key(path, "one")
    before = path.read_text()
    with pytest.raises(DataError, match="has a key of one; give another name"):
        new_key(path, "one")
    assert path.read_text() == before
