"""Phrase tables round-trip byte for byte, and malformed lines are reported."""

import gzip
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from nmtkit.errors import DataError
from nmtkit.smt.phrase_table import read_phrase_blocks, read_phrase_table

LINES = [
    "! &quot; ||| ! &quot; ||| 0.833333 0.634146 1 0.801014 ||| 0-0 1-1 ||| 6 5 5 ||| |||",
    "the house ||| la maison ||| 1 0.5 ||| 0-0 ||| 1 1 1",
    "the house ||| l' été\u2028là ||| 1e-05 0.5 |||",
    "the house ||| la || maison ||| 0.1",
    " the  house  ||| la maison |||  0.1 0.2  |||  ||| 1",
    "a ||| b ||| 0.1 ||| ||| |||||| x ||| \t",
    "c ||| d ||| 0.1",
]


def write(path: Path, lines: list[str]) -> Path:
    data = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["table", "table.gz"])
def test_every_byte_round_trips(tmp_path, name):
    pairs = list(read_phrase_table(write(tmp_path / name, LINES)))
    assert [pair.with_scores([]).decode() for pair in pairs] == LINES
    assert [(pair.src, pair.tgt) for pair in pairs[1:4]] == [
        ("the house", "la maison"), ("the house", "l' été\u2028là"), ("the house", "la || maison"),
    ]  # fmt: skip
    assert pairs[0].scores == [b"0.833333", b"0.634146", b"1", b"0.801014"]


def test_scores_are_added_at_the_end_of_the_third_field(tmp_path):
    pairs = read_phrase_table(write(tmp_path / "table", LINES))
    assert [pair.with_scores(["0.25", "1"]).decode() for pair in pairs] == [
        "! &quot; ||| ! &quot; ||| 0.833333 0.634146 1 0.801014 0.25 1"
        " ||| 0-0 1-1 ||| 6 5 5 ||| |||",
        "the house ||| la maison ||| 1 0.5 0.25 1 ||| 0-0 ||| 1 1 1",
        "the house ||| l' été\u2028là ||| 1e-05 0.5 0.25 1 |||",
        "the house ||| la || maison ||| 0.1 0.25 1",
        " the  house  ||| la maison |||  0.1 0.2 0.25 1  |||  ||| 1",
        "a ||| b ||| 0.1 0.25 1 ||| ||| |||||| x ||| \t",
        "c ||| d ||| 0.1 0.25 1",
    ]


def test_counts_are_the_fifth_field(tmp_path):
    pairs = read_phrase_table(write(tmp_path / "table", LINES))
    assert [pair.counts for pair in pairs] == [
        [b"6", b"5", b"5"], [b"1", b"1", b"1"], [], [], [b"1"], [], []
    ]  # fmt: skip
    lines = [
        "a ||| b ||| 1 ||| ||| 3 2 1",
        "a ||| b ||| 1 ||| 0-0 ||| 3 2 |||",
        "a ||| b ||| 1 |||",
    ]
    pairs = read_phrase_table(write(tmp_path / "table", lines))
    assert [pair.counts for pair in pairs] == [[b"3", b"2", b"1"], [b"3", b"2"], []]


def test_adding_no_scores_changes_nothing(tmp_path):
    pairs = read_phrase_table(write(tmp_path / "table", LINES))
    assert [pair.with_scores([]).decode() for pair in pairs] == LINES


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_blocks_are_the_phrases_in_order(tmp_path, size):
    path = write(tmp_path / "table", LINES)
    blocks = list(read_phrase_blocks(size, path))
    assert all(len(src) == len(tgt) == size for src, tgt in blocks[:-1])
    actual = [pair for block in blocks for pair in zip(*block, strict=True)]
    assert actual == [(pair.src.encode(), pair.tgt.encode()) for pair in read_phrase_table(path)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "1 field between ' ||| ', but at least 3 are needed"),
        ("the house\tla maison", "1 field"),
        ("the house ||| la maison", "2 fields"),
        ("the house|||la maison|||0.1", "1 field"),
        ("||| la maison ||| 0.1", "2 fields"),
        (" ||| la maison ||| 0.1", "the source phrase is empty"),
        ("||| la maison ||| 0.1 ||| 0-0", "the source phrase is empty"),
        ("the house |||  ||| 0.1", "the target phrase is empty"),
        ("the house ||| ||| 0.1 ||| 0-0", "the target phrase is empty"),
        ("the house ||| la maison |||", "there are no scores"),
        ("the house ||| la maison ||| ||| 0-0", "there are no scores"),
        ("the house ||| la maison ||| 0-0 1-1 ||| 1", "the score '0-0' is not a number"),
    ],
)
def test_a_malformed_line_is_reported(tmp_path, line, message):
    path = write(tmp_path / "table", [*LINES, line])
    for read in (read_phrase_table(path), read_phrase_blocks(3, path)):
        with pytest.raises(DataError) as error:
            list(read)
        assert str(error.value).startswith(f"{path}:8: {message}")
        assert str(error.value).endswith("'source ||| target ||| scores ||| ...'")


def test_bytes_that_are_not_utf8(tmp_path):
    path = tmp_path / "table"
    path.write_bytes(b"a ||| b ||| 1\na ||| \xe9 ||| 1\na ||| c ||| 1 ||| \xe9\n")
    for read in (read_phrase_table(path), read_phrase_blocks(9, path)):
        with pytest.raises(DataError, match="table:2: not valid UTF-8 .*column 7"):
            list(read)
    [(src, tgt)] = read_phrase_blocks(9, path, any_bytes=True)
    assert (src, tgt) == ([b"a"] * 3, [b"b", b"\xe9", b"c"])


def test_a_table_is_read_as_a_stream(monkeypatch):
    """The first pair is read before the second is written."""

    class Endless(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer) -> int:
            line = b"a ||| b ||| 1 ||| |||\n"
            buffer[: len(line)] = line
            return len(line)

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(Endless(), 64)))
    pairs = read_phrase_table("-")
    assert [next(pairs).tgt for _ in range(1000)] == ["b"] * 1000
