"""A line ends only at the byte \\n; outputs appear complete or not at all."""

import gzip
import io
import os
import stat
import sys
from pathlib import Path

import pytest

from nmtkit.errors import DataError, OutputError
from nmtkit.io.lines import (
    decode_line,
    file_sha256,
    open_output,
    read_lines,
    read_parallel,
    read_raw_blocks,
    read_raw_parallel,
    read_text_blocks,
)

ODD = "a\rb\u2028c\u0085d\x0ce\x1cf\x1dg\x1eh\x00i\x0bj\u2029k\ufeff l "
"""Every character that some program takes for the end of a line, and blanks at the end."""


class Standard:
    """A stand-in for stdin or stdout with an underlying byte stream."""

    def __init__(self, data: bytes = b"") -> None:
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"\n\n", ["", ""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\nb", ["a", "", "b"]),
        (b"a\r\nb\r\r\nc\rd\r", ["a", "b", "c\rd"]),
        (f"{ODD}\n{ODD}".encode(), [ODD, ODD]),
    ],
)
def test_a_line_ends_at_newline_only(tmp_path: Path, data: bytes, lines: list[str]) -> None:
    plain = tmp_path / "text"
    plain.write_bytes(data)
    zipped = tmp_path / "text.gz"
    zipped.write_bytes(gzip.compress(data))
    assert list(read_lines(plain)) == lines
    assert list(read_lines(str(zipped))) == lines


def test_a_text_has_one_line_per_newline(tmp_path: Path) -> None:
    path = tmp_path / "text"
    data = "".join(f"{chr(code)}x\n" for code in range(0x3100) if chr(code) != "\n").encode()
    path.write_bytes(data)
    assert len(list(read_lines(path))) == data.count(b"\n")


def test_minus_is_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Standard(b"un\r\ndeux"))
    assert list(read_lines("-")) == ["un", "deux"]


@pytest.mark.parametrize("bad", [b"caf\xe9", b"\xff", b"\xed\xa0\x80", b"\xc0\xaf", b"end\xc3"])
def test_invalid_utf8_names_file_and_line(tmp_path: Path, bad: bytes) -> None:
    path = tmp_path / "latin1.fr"
    path.write_bytes(b"one\ntwo\n" + bad + b"\nfour\n")
    with pytest.raises(DataError, match=r"latin1\.fr:3: not valid UTF-8"):
        list(read_lines(path))


def test_a_decoding_error_names_the_byte_and_column() -> None:
    with pytest.raises(DataError, match=r"f:7: not valid UTF-8 \(byte 0xE9 at column 4\)"):
        decode_line(b"caf\xe9 noir", "f", 7)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere: cannot be read: No such file"):
        list(read_lines(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        list(read_lines(tmp_path))


@pytest.mark.parametrize("damage", ["cut", "header", "body"])
def test_damaged_gzip(tmp_path: Path, damage: str) -> None:
    data = bytearray(gzip.compress(b"".join(b"line %d\n" % n for n in range(9999))))
    if damage == "cut":
        del data[len(data) // 2 :]
    elif damage == "header":
        data[0:2] = b"no"
    else:
        data[len(data) // 2] ^= 0xFF
    path = tmp_path / "text.gz"
    path.write_bytes(bytes(data))
    with pytest.raises(DataError, match=r"text\.gz: damaged or incomplete gzip file"):
        list(read_lines(path))


def test_parallel_files_in_step(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n")
    (tmp_path / "b").write_text("un\n\n")
    (tmp_path / "c").write_bytes(b"x\n\xff\n")
    assert list(read_parallel(tmp_path / "a", tmp_path / "b")) == [("1", "un"), ("2", "")]
    assert list(read_raw_parallel(tmp_path / "a", tmp_path / "c"))[1] == (b"2", b"\xff")
    with pytest.raises(DataError, match="c:2: not valid UTF-8"):
        list(read_parallel(tmp_path / "a", tmp_path / "c"))


@pytest.mark.parametrize(("a", "b"), [(5, 3), (3, 5), (1, 0), (0, 1)])
def test_different_lengths_name_each_count(tmp_path: Path, a: int, b: int) -> None:
    (tmp_path / "a").write_text("x\n" * a)
    (tmp_path / "b").write_text("x\n" * b)
    seen = []
    with pytest.raises(DataError, match=f"a has {a}, .*b has {b};"):
        seen += list(read_parallel(tmp_path / "a", tmp_path / "b"))


def test_lines_before_a_length_difference_are_yielded(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n3\n")
    (tmp_path / "b").write_text("1\n")
    pairs = read_parallel(tmp_path / "a", tmp_path / "b")
    assert next(pairs) == ("1", "1")
    with pytest.raises(DataError, match="differ"):
        next(pairs)


@pytest.mark.parametrize("size", [1, 2, 4, 5, 9])
def test_blocks_hold_every_line_in_its_place(tmp_path: Path, size: int) -> None:
    (tmp_path / "a").write_bytes(b"1\n\n3\n4\xff")
    (tmp_path / "b").write_bytes(b"\nzwei\r\n\nvier\n")
    blocks = list(read_raw_blocks(size, tmp_path / "a", tmp_path / "b"))
    assert [len(a) for a, b in blocks] == [len(b) for a, b in blocks]
    assert all(len(a) == size for a, _ in blocks[:-1])
    assert [line for a, _ in blocks for line in a] == [b"1", b"", b"3", b"4\xff"]
    assert [line for _, b in blocks for line in b] == [b"", b"zwei", b"", b"vier"]
    (tmp_path / "c").write_bytes(b"\n\n\n")
    with pytest.raises(DataError, match="b has 4, .*c has 3;"):
        list(read_raw_blocks(size, tmp_path / "b", tmp_path / "c"))


@pytest.mark.parametrize("size", [1, 2, 9])
def test_texts_hold_whole_lines(tmp_path: Path, size: int) -> None:
    (tmp_path / "a").write_bytes("1\n\n\u2028\r\nlast".encode())
    texts = list(read_text_blocks(tmp_path / "a", size))
    assert all(text.endswith("\n") and text.count("\n") <= size for text in texts)
    assert "".join(texts) == "1\n\n\u2028\nlast\n"
    (tmp_path / "b").write_bytes(b"1\n2\n3\n\xff\n")
    with pytest.raises(DataError, match="b:4: not valid UTF-8"):
        list(read_text_blocks(tmp_path / "b", size))


def test_stdin_stands_for_one_file_only() -> None:
    with pytest.raises(DataError, match="stdin"):
        next(read_parallel("-", "-"))


SUFFIXES = ["", ".gz", ".bz2", ".xz", ".zst"]


@pytest.mark.parametrize("name", [f"out{suffix}" for suffix in SUFFIXES])
def test_written_text_reads_back(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with open_output(path) as output:
        output.write(f"{ODD}\n\né\r\n")
        assert not path.exists()
    assert list(read_lines(path)) == [ODD, "", "é"]
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_same_text_same_compressed_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    for name, now in ((f"a{suffix}", 1.0), (f"b{suffix}", 2e9)):
        monkeypatch.setattr("time.time", lambda now=now: now)
        with open_output(tmp_path / name) as output:
            output.write("text\n" * 1000)
    data = (tmp_path / f"a{suffix}").read_bytes()
    assert data == (tmp_path / f"b{suffix}").read_bytes() and len(data) < 200


def test_a_name_of_an_archive_is_refused_for_output(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"out\.zip: text is not written in this format; end"):
        with open_output(tmp_path / "out.zip", force=True):
            pytest.fail("the block ran")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), open_output(tmp_path / "out.gz") as output:
        output.write("half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_existing_file_is_refused_before_any_work(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with pytest.raises(OutputError, match="out: exists already; use --force"):
        with open_output(path):
            pytest.fail("the block ran")
    with pytest.raises(ValueError, match="no"), open_output(path, force=True) as output:
        output.write("new")
        raise ValueError("no")
    assert path.read_text() == "old"
    with open_output(path, force=True) as output:
        output.write("new")
    assert path.read_text() == "new"


def test_unwritable_paths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="is a folder"), open_output(tmp_path, force=True):
        pass
    with pytest.raises(OutputError, match="folder does not exist"):
        with open_output(tmp_path / "no" / "out"):
            pass


def test_a_full_device_is_reported_by_name() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with pytest.raises(OutputError, match="/dev/full: cannot be written: No space"):
        with open_output("/dev/full") as output:
            output.write("x" * 100_000)


def test_devices_are_written_directly() -> None:
    with open_output("/dev/null") as output:
        output.write("x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with open_output(tmp_path / "link", force=True) as output:
        output.write("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_new_files_have_ordinary_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    with open_output(tmp_path / "out"):
        pass
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_minus_is_stdout_in_utf8_whatever_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii", newline="\r\n"))
    with open_output("-") as output:
        output.write("é\n")
    assert raw.getvalue() == "é\n".encode()
    assert not sys.stdout.closed


def test_checksum_is_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    assert file_sha256(tmp_path / "f").startswith("ba7816bf8f01cfea414140de5dae2223")
    with pytest.raises(DataError, match="cannot be read"):
        file_sha256(tmp_path / "g")
