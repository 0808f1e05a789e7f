"""Checksums of a folder's files, and of JSON objects."""

import hashlib
import json
import os
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.errors import DataError, ModelError
from nmtkit.io.checksums import (
    SUMS_FILE,
    check_sums,
    format_sums,
    read_sums,
    remembered_sha256,
    verify_checksum,
    with_checksum,
)
from nmtkit.io.lines import file_sha256

CONTENTS = {"vocab.src": b"a\nb\n", "bpe codes": "é".encode()}


@pytest.fixture
def folder(tmp_path):
    for name, content in CONTENTS.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / SUMS_FILE).write_text(format_sums(CONTENTS))
    return tmp_path


def test_the_file_is_that_of_the_program_sha256sum(folder):
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", SUMS_FILE], cwd=folder, check=True
    )
    assert checked.returncode == 0
    check_sums(folder, CONTENTS)
    assert read_sums(folder).keys() == CONTENTS.keys()


def test_a_changed_file_is_reported_if_it_is_used(folder):
    (folder / "vocab.src").write_bytes(b"b\na\n")
    with pytest.raises(ModelError, match=r"vocab\.src: damaged: its checksum is not the one in"):
        check_sums(folder, CONTENTS)
    check_sums(folder, ["bpe codes", "absent"])
    (folder / SUMS_FILE).write_text(format_sums({"bpe codes": CONTENTS["bpe codes"]}))
    check_sums(folder, CONTENTS)  # the line was removed
    (folder / SUMS_FILE).unlink()
    check_sums(folder, CONTENTS)  # an older folder


def test_a_file_of_a_terabyte_is_damaged_and_not_read(folder):
    os.truncate(folder / "vocab.src", 1 << 40)
    with pytest.raises(ModelError, match=r"vocab\.src: damaged"):
        check_sums(folder, CONTENTS)


def test_a_removed_file_is_not_reported(folder):
    (folder / "vocab.src").unlink()
    check_sums(folder, CONTENTS)


@pytest.mark.parametrize("line", ["", "abc  vocab.src", f"{'a' * 64} x", f"{'a' * 64}  ../x", "\0"])
def test_an_invalid_line_is_reported(folder, line):
    (folder / SUMS_FILE).write_text(f"{format_sums(CONTENTS)}{line}\n")
    with pytest.raises(ModelError, match=r"SHA256SUMS:3: not a checksum, two blanks and a file na"):
        check_sums(folder, CONTENTS)


@pytest.mark.parametrize("end", ["\v", "\f", "\r", "\x1c", "\x85", "\u2028"])
def test_only_a_newline_ends_a_line(folder, end):
    text = format_sums(CONTENTS).replace("\n", end, 1)
    (folder / SUMS_FILE).write_text(text, encoding="utf-8", newline="")
    assert not read_sums(folder).keys() & CONTENTS.keys()
    (folder / SUMS_FILE).write_text("")
    assert read_sums(folder) == {}


def test_an_unreadable_file_is_reported(folder):
    (folder / SUMS_FILE).write_bytes(b"\xff")
    with pytest.raises(ModelError, match="SHA256SUMS: cannot be read: not UTF-8"):
        read_sums(folder)
    (folder / SUMS_FILE).unlink()
    os.mkfifo(folder / SUMS_FILE)
    with pytest.raises(ModelError, match="SHA256SUMS: cannot be read: not a regular file"):
        read_sums(folder)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda values: st.lists(values) | st.dictionaries(st.text(), values),
    max_leaves=10,
)


@settings(max_examples=25)
@given(st.dictionaries(st.text().filter(lambda key: key != "sha256"), JSON))
def test_a_json_object_with_its_checksum_survives_a_file(table):
    verify_checksum(json.loads(json.dumps(with_checksum(table), indent=1)))
    verify_checksum(table)  # without a checksum nothing is compared
    with pytest.raises(ValueError, match="its checksum differs"):
        verify_checksum({**with_checksum(table), "more": 1})


def test_a_checksum_is_computed_again_when_the_file_has_changed(tmp_path, monkeypatch):
    calls = []

    def count(path):
        calls.append(path)
        return file_sha256(path)

    monkeypatch.setattr("nmtkit.io.checksums.file_sha256", count)
    path = tmp_path / "train.src"
    for content in (b"a", b"b", b"bb"):
        path.write_bytes(content)
        os.utime(path, ns=(0, len(calls)))
        for _ in range(3):
            assert remembered_sha256(path) == hashlib.sha256(content).hexdigest()
    assert len(calls) == 3
    path.unlink()
    with pytest.raises(DataError, match=r"train\.src: cannot be read: No such file"):
        remembered_sha256(path)
