"""Inputs that can be read once are hashed while they are read, or copied; none is read twice."""

import gzip
import hashlib
import io
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nmtkit.errors import DataError
from nmtkit.io.inputs import HashedFile, copy_pipes, refuse_repeated_pipes
from nmtkit.io.lines import read_lines, read_parallel, read_raw_blocks

TEXT = b"".join(b"line %d \xc3\xa9\n" % number for number in range(50_000))

Write = Callable[[Callable[[], object]], None]


@pytest.fixture
def write() -> Iterator[Write]:
    """Return a function that calls another in a thread, which has to end with the test."""
    threads: list[threading.Thread] = []

    def start(task: Callable[[], object]) -> None:
        threads.append(threading.Thread(target=task, daemon=True))
        threads[-1].start()

    yield start
    for thread in threads:
        thread.join(timeout=20)
        assert not thread.is_alive()


def pipes(folder: Path, *names: str) -> list[Path]:
    for name in names:
        os.mkfifo(folder / name)
    return [folder / name for name in names]


@pytest.mark.parametrize("lines", [0, 1, 20_000, None])
@pytest.mark.parametrize("name", ["text", "text.gz"])
def test_the_checksum_is_of_all_bytes_however_many_lines_are_read(
    tmp_path: Path, name: str, lines: int | None
) -> None:
    data = gzip.compress(TEXT) if name.endswith(".gz") else TEXT
    (tmp_path / name).write_bytes(data)
    with HashedFile(tmp_path / name) as file:
        reader = read_lines(file)
        read = [line for line, _ in zip(reader, range(lines or 10**6), strict=False) if lines != 0]
        assert read == TEXT.decode().split("\n")[: len(read)]
        assert file.sha256() == file.sha256() == hashlib.sha256(data).hexdigest()


def test_stdin_and_pipes_have_checksums(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT)))
    (pipe,) = pipes(tmp_path, "pipe")
    write(lambda: pipe.write_bytes(TEXT))
    for path in ("-", pipe):
        with HashedFile(path) as file:
            assert len(list(read_lines(file))) == 50_000
            assert file.sha256() == hashlib.sha256(TEXT).hexdigest()
    assert not sys.stdin.buffer.closed


def test_an_unreadable_input_is_reported(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(DataError, match=f"{path.name}: cannot be read: {reason}"):
            HashedFile(path).sha256()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_one_process_may_write_several_pipes(
    tmp_path: Path, write: Write, order: tuple[int, int]
) -> None:
    """It opens them in any order, and writes them in turn, more than a pipe holds."""
    paths = pipes(tmp_path, "a", "b")
    long = "x" * 1000

    def write_both() -> None:
        files = {number: open(paths[number], "w") for number in order}  # noqa: SIM115
        for number in range(3000):
            for file in files.values():
                file.write(f"{number} {long}\n")
        for file in files.values():
            file.close()

    write(write_both)
    blocks = list(read_raw_blocks(2000, *paths))
    assert [len(block[0]) for block in blocks] == [2000, 1000]
    assert all(a == b for a, b in blocks)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_pipes_are_copied_together_and_read_again(
    tmp_path: Path, write: Write, order: tuple[int, int]
) -> None:
    paths = pipes(tmp_path, "a", "b.gz")
    (tmp_path / "c").write_bytes(b"one\n")
    contents = [TEXT, gzip.compress(b"\xff" + os.urandom(300_000))]

    def write_both() -> None:
        for number in order:
            paths[number].write_bytes(contents[number])

    write(write_both)
    (tmp_path / "copies").mkdir()
    a, b, c, missing = copy_pipes([*paths, tmp_path / "c", "missing"], tmp_path / "copies")
    for _ in range(2):
        assert len(list(read_lines(a))) == 50_000
        with pytest.raises(DataError, match=rf"{paths[1]}:1: not valid UTF-8"):
            list(read_lines(b))
    assert (c, missing) == (tmp_path / "c", "missing")


def test_a_slow_writer_is_waited_for(tmp_path: Path, write: Write) -> None:
    (pipe,) = pipes(tmp_path, "pipe")

    def write_slowly() -> None:
        time.sleep(0.1)
        with open(pipe, "wb", buffering=0) as file:
            for byte in "é\nb".encode():
                time.sleep(0.02)
                file.write(bytes([byte]))

    write(write_slowly)
    assert list(read_lines(pipe)) == ["é", "b"]


def test_the_same_pipe_twice_is_refused(tmp_path: Path) -> None:
    (pipe,) = pipes(tmp_path, "pipe")
    link = tmp_path / "link"
    link.symlink_to(pipe)
    (tmp_path / "text").write_bytes(TEXT)
    refuse_repeated_pipes([tmp_path / "text", tmp_path / "text", "/dev/null", "/dev/null", pipe])
    for paths in ((pipe, pipe), (pipe, link), (HashedFile(pipe), link)):
        with pytest.raises(DataError, match="are the same pipe, which can be read only once"):
            refuse_repeated_pipes(paths)
        with pytest.raises(DataError, match="are the same pipe"):
            list(read_parallel(*paths))
    with pytest.raises(DataError, match=r"stdin \('-'\) can be only one"):
        refuse_repeated_pipes(["-", tmp_path / "text", "-"])


def test_a_pipe_that_does_not_fit_is_named(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        with pytest.raises(
            DataError, match="/dev/zero: cannot be copied to .*; write it to a file"
        ):
            copy_pipes(["/dev/zero"], tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
