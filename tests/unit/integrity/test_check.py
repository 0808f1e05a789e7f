"""What a path is, is found out by its files or lines; other paths are refused in one sentence."""

import gzip
import logging
import os
import threading
from pathlib import Path

import pytest

from nmtkit import check
from nmtkit.errors import DataError
from nmtkit.integrity.check import kind_of_folder

TABLE = "a ||| b ||| 0.5 0.1 ||| 0-0\n"
LIST = "0 ||| a ||| LM0= -1 ||| -1\n"


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["manifest.json", "vocab.src"], "prepared folder"),
        (["train.src"], "prepared folder"),
        (["train.src", "manifest.json", "config.toml"], "prepared folder"),
        (["config.toml"], "model folder"),
        (["vocab.src", "params.best.safetensors"], "model folder"),
        (["checkpoints"], "model folder"),
    ],
)
def test_a_folder_is_recognised_by_any_file(tmp_path: Path, names: list[str], kind: str) -> None:
    for name in names:
        (tmp_path / name).touch()
    assert kind_of_folder(tmp_path) == kind


@pytest.mark.parametrize(("text", "kind"), [(TABLE, "phrase table"), (LIST, "n-best list")])
@pytest.mark.parametrize("name", ["file", "file.gz"])
def test_a_file_is_recognised_by_its_lines(tmp_path: Path, text: str, kind: str, name: str) -> None:
    data = (text * 10_000).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    result = check(tmp_path / name)
    assert (result.kind, result.files, result.findings) == (kind, 1, ())
    assert result.path == str(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("text", b"A man reads.\n", "neither a phrase table nor an n-best list"),
        ("empty", b"", "neither a phrase table nor an n-best list"),
        ("zeros", bytes(1 << 20), "neither a phrase table nor an n-best list"),
        ("cut.gz", gzip.compress(TABLE.encode(), mtime=0)[:12], "damaged or incomplete gzip file"),
        ("text.gz", b"\xff" + TABLE.encode(), "damaged or incomplete gzip file"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, name: str, content: bytes, problem: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=problem) as failure:
        check(tmp_path / name)
    assert str(tmp_path / name) in str(failure.value)


def test_paths_that_are_no_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    for name, problem in (
        ("nothing", "no such file or folder"),
        ("folder", "neither a prepared folder nor a model folder"),
        ("loop", "no such file or folder"),
    ):
        with pytest.raises(DataError, match=problem):
            check(tmp_path / name)
    with pytest.raises(DataError, match="not a regular file"):
        check("/dev/zero")


def test_a_file_without_newlines_is_not_read_as_a_whole(tmp_path: Path) -> None:
    with open(tmp_path / "huge", "wb") as file:
        file.truncate(1 << 40)  # takes no space on the disk
    with pytest.raises(DataError, match="neither a phrase table"):
        check(tmp_path / "huge")


def test_progress_is_quiet_unless_the_log_is_on_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "table").write_text(TABLE)
    caplog.set_level(logging.INFO, "nmtkit")
    check(tmp_path / "table")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["pipe", "pipe.gz"])
def test_a_pipe_is_read_like_a_file(tmp_path: Path, name: str) -> None:
    text = f"{TABLE}bad\n".encode()
    os.mkfifo(tmp_path / name)
    data = gzip.compress(text) if name.endswith(".gz") else text
    writer = threading.Thread(target=(tmp_path / name).write_bytes, args=[data])
    writer.start()
    result = check(tmp_path / name)
    writer.join(timeout=20)
    assert result.kind == "phrase table"
    assert [finding.location for finding in result.findings] == [f"{tmp_path / name}:2"]
