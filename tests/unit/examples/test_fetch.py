"""Downloads from servers that fail in many ways, and files placed by hand."""

import gzip
import hashlib
import json
import os
import shutil
import threading
import time
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fetch
import mirror_server
import pytest
from corpora import CorpusError, download, folder, listing

CONTENT = {"one.tgz": bytes(range(256)) * 800, "two.tar": b"second " * 5_000}
NOWHERE = "http://127.0.0.1:9"
"""Nothing listens on this port (`discard`)."""


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Any]:
    """Serve all files under `a/`, with faults."""
    (tmp_path / "served" / "a").mkdir(parents=True)
    for name, content in CONTENT.items():
        (tmp_path / "served" / "a" / name).write_bytes(content)
    with mirror_server.Mirror(tmp_path / "served") as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Corpus:
    """A list of both files, and the folder to download them into."""

    def __init__(self, path: Path, *sources: str) -> None:
        self.list = path / "files.toml"
        self.folder = path / "archives"
        self.entries = {
            name: {
                "urls": [f"{source}/{name}" for source in sources],
                "bytes": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
            }
            for name, content in CONTENT.items()
        }

    def fetch(self, *options: str) -> int:
        lines = ['[sets]\nall = ["one.tgz", "two.tar"]']
        for name, entry in self.entries.items():
            lines.append(f'[files."{name}"]')
            lines += [f"{key} = {json.dumps(value)}" for key, value in entry.items()]
        self.list.write_text("\n".join(lines), encoding="utf-8")
        arguments = [str(self.list), "--output", str(self.folder), "--wait", "0", "--rounds", "3"]
        return int(fetch.main([*arguments, *options]))

    def downloaded(self) -> dict[str, bytes]:
        return {
            path.name: path.read_bytes()
            for path in self.folder.iterdir()
            if path.suffix != ".checked"
        }


@pytest.fixture
def corpus(tmp_path: Path, mirror: Any) -> Corpus:
    return Corpus(tmp_path, f"{mirror.url}/a")


def test_existing_files_are_not_requested_again(corpus: Corpus, mirror: Any) -> None:
    assert corpus.fetch() == 0
    assert corpus.downloaded() == CONTENT
    assert mirror.requests == [("one.tgz", ""), ("two.tar", "")]
    assert corpus.fetch() == 0
    assert len(mirror.requests) == 2


def test_only_named_files_are_downloaded(corpus: Corpus) -> None:
    assert corpus.fetch("two.tar", "--set", "all") == 0
    assert corpus.downloaded() == {"two.tar": CONTENT["two.tar"]}


def test_an_interrupted_download_resumes(corpus: Corpus, mirror: Any) -> None:
    mirror.faults.cut["one.tgz"] = 70_000
    assert corpus.fetch() == 0
    assert corpus.downloaded() == CONTENT
    assert mirror.requests[:2] == [("one.tgz", ""), ("one.tgz", "bytes=70000-")]


def test_a_killed_download_resumes(corpus: Corpus, mirror: Any) -> None:
    corpus.folder.mkdir()
    (corpus.folder / "one.tgz.part").write_bytes(CONTENT["one.tgz"][:1234])
    assert corpus.fetch() == 0
    assert corpus.downloaded() == CONTENT
    assert mirror.requests[0] == ("one.tgz", "bytes=1234-")


def test_received_data_are_written_at_once(corpus: Corpus, mirror: Any, monkeypatch: Any) -> None:
    send_body = mirror_server._Handler._send_body
    sizes: list[int] = []

    def send_in_two_parts(handler: Any, name: str, body: bytes) -> None:
        send_body(handler, name, body[:1000])
        part = corpus.folder / f"{name}.part"
        deadline = time.monotonic() + 5
        while part.stat().st_size < 1000 and time.monotonic() < deadline:
            time.sleep(0.001)
        sizes.append(part.stat().st_size)
        send_body(handler, name, body[1000:])

    monkeypatch.setattr(mirror_server._Handler, "_send_body", send_in_two_parts)
    assert corpus.fetch() == 0
    assert corpus.downloaded() == CONTENT
    assert sizes == [1000, 1000]


def test_a_complete_partial_file_is_accepted(corpus: Corpus, mirror: Any) -> None:
    corpus.folder.mkdir()
    (corpus.folder / "one.tgz.part").write_bytes(CONTENT["one.tgz"])
    assert corpus.fetch() == 0
    assert corpus.downloaded() == CONTENT


def test_without_range_requests_the_download_restarts(corpus: Corpus, mirror: Any) -> None:
    mirror.ranges = False
    mirror.faults.cut["one.tgz"] = 70_000
    assert corpus.fetch() == 0
    assert corpus.downloaded() == CONTENT


def test_a_partial_file_longer_than_the_file_is_discarded(corpus: Corpus) -> None:
    corpus.folder.mkdir()
    (corpus.folder / "two.tar.part").write_bytes(b"x" * 50_000)
    assert corpus.fetch() == 0
    assert corpus.downloaded() == CONTENT


def test_a_partial_file_of_another_file_is_detected(corpus: Corpus) -> None:
    corpus.folder.mkdir()
    (corpus.folder / "two.tar.part").write_bytes(b"x" * 50)
    assert corpus.fetch() == 0
    files = corpus.downloaded()
    assert files.pop("two.tar.damaged")[:50] == b"x" * 50
    assert files == CONTENT


def test_a_corrupt_download_is_set_aside_and_repeated(corpus: Corpus, mirror: Any) -> None:
    mirror.faults.damage.add("one.tgz")
    assert corpus.fetch() == 0
    files = corpus.downloaded()
    assert len(files.pop("one.tgz.damaged")) == len(CONTENT["one.tgz"])
    assert files == CONTENT


def test_two_corrupt_downloads_are_an_error(corpus: Corpus, capsys: Any) -> None:
    corpus.entries["one.tgz"]["sha256"] = "0" * 64
    assert corpus.fetch() == 1
    assert list(corpus.downloaded()) == ["one.tgz.damaged"]
    message = capsys.readouterr().err.splitlines()[-1]
    assert "/one.tgz: its sha256 was wrong twice" in message and str(corpus.folder) in message


def test_md5_and_an_unknown_size_are_accepted(corpus: Corpus, mirror: Any) -> None:
    md5 = hashlib.md5(CONTENT["one.tgz"]).hexdigest()
    corpus.entries["one.tgz"] = {"urls": corpus.entries["one.tgz"]["urls"], "md5": md5}
    mirror.faults.damage.add("one.tgz")
    mirror.faults.cut["two.tar"] = 1
    assert corpus.fetch() == 0
    assert corpus.downloaded().items() >= CONTENT.items()


def test_sources_are_tried_in_order(tmp_path: Path, mirror: Any) -> None:
    corpus = Corpus(tmp_path, f"{mirror.url}/lacks/it", NOWHERE, f"{mirror.url}/a")
    assert corpus.fetch() == 0
    assert corpus.downloaded() == CONTENT
    assert [name for name, _ in mirror.requests] == ["one.tgz", "one.tgz", "two.tar", "two.tar"]


def test_a_file_of_another_size_is_not_downloaded(tmp_path: Path, mirror: Any) -> None:
    (mirror.folder / "b").mkdir()
    (mirror.folder / "b" / "one.tgz").write_bytes(b"<html>moved</html>")
    (mirror.folder / "b" / "two.tar").write_bytes(CONTENT["two.tar"])
    corpus = Corpus(tmp_path, f"{mirror.url}/b", f"{mirror.url}/a")
    assert corpus.fetch() == 0
    assert corpus.downloaded() == CONTENT


def test_after_corruption_another_source_is_tried_first(tmp_path: Path, mirror: Any) -> None:
    (mirror.folder / "b").mkdir()
    for name, content in CONTENT.items():
        (mirror.folder / "b" / name).write_bytes(content[::-1])
    assert Corpus(tmp_path, f"{mirror.url}/b", f"{mirror.url}/a").fetch() == 0
    assert len(mirror.requests) == 4


def test_an_alternative_archive_is_used_if_the_first_is_unavailable(
    corpus: Corpus, mirror: Any
) -> None:
    other = b"PK" + CONTENT["one.tgz"][::-1]
    (mirror.folder / "one.zip").write_bytes(other)
    form = {"urls": [f"{mirror.url}/one.zip"], "sha256": hashlib.sha256(other).hexdigest()}
    corpus.entries["one.tgz"] |= {f"elsewhere.{key}": value for key, value in form.items()}
    corpus.folder.mkdir()
    assert corpus.fetch("one.tgz") == 0
    assert corpus.downloaded() == {"one.tgz": CONTENT["one.tgz"]}
    (corpus.folder / "one.tgz").unlink()
    (mirror.folder / "a" / "one.tgz").write_bytes(
        CONTENT["one.tgz"][:-1]
    )  # no longer the listed file
    (corpus.folder / "one.tgz.part").write_bytes(CONTENT["one.tgz"][:5])
    assert corpus.fetch("one.tgz") == 0
    assert corpus.downloaded()["one.tgz"] == other
    requests = len(mirror.requests)
    assert corpus.fetch("one.tgz") == 0
    assert len(mirror.requests) == requests


def test_local_addresses_bypass_the_proxy(corpus: Corpus, monkeypatch: Any) -> None:
    monkeypatch.setenv("http_proxy", NOWHERE)
    monkeypatch.delenv("no_proxy", raising=False)
    assert corpus.fetch() == 0


def test_redirects_keep_the_range(corpus: Corpus, mirror: Any) -> None:
    (mirror.folder / "moved.tgz").write_bytes(CONTENT["one.tgz"])
    mirror.faults.moved["one.tgz"] = f"{mirror.url}/moved.tgz"
    mirror.faults.cut["moved.tgz"] = 1000
    assert corpus.fetch() == 0
    assert corpus.downloaded() == CONTENT
    assert ("moved.tgz", "bytes=1000-") in mirror.requests


def test_without_network_the_error_says_which_file_to_place_where(
    tmp_path: Path, capsys: Any
) -> None:
    corpus = Corpus(tmp_path, NOWHERE)
    assert corpus.fetch() == 1
    *before, last = capsys.readouterr().err.splitlines()
    for part in (f"{NOWHERE}/one.tgz: Connection refused", "put one.tgz into", str(corpus.folder)):
        assert part in last
    asked = f"one.tgz: asking {NOWHERE}/one.tgz for 204.8 kB"
    assert before[:4] == [
        asked,
        "one.tgz: not from 127.0.0.1: Connection refused",
        "one.tgz: trying again in 0 s (round 2 of 3)",
        asked,
    ]


def test_a_file_placed_by_hand_is_checked_once(tmp_path: Path, monkeypatch: Any) -> None:
    corpus = Corpus(tmp_path, NOWHERE)
    corpus.folder.mkdir()
    for name, content in CONTENT.items():
        (corpus.folder / name).write_bytes(content)
    assert corpus.fetch() == 0

    def fail(*_: object) -> bool:
        raise AssertionError("the file was read again")

    is_right = folder._is_right
    monkeypatch.setattr(folder, "_is_right", fail)
    assert corpus.fetch() == 0
    os.utime(corpus.folder / "one.tgz", (1, 1))  # the file may have changed
    with pytest.raises(AssertionError):
        corpus.fetch()
    monkeypatch.setattr(folder, "_is_right", is_right)
    assert corpus.fetch() == 0


def test_a_wrong_file_placed_by_hand_is_set_aside(corpus: Corpus) -> None:
    corpus.folder.mkdir()
    (corpus.folder / "one.tgz").write_bytes(b"the wrong one")
    assert corpus.fetch() == 0
    assert corpus.downloaded() == CONTENT | {"one.tgz.damaged": b"the wrong one"}


def test_a_full_disk_is_reported_before_the_download(
    corpus: Corpus, mirror: Any, monkeypatch: Any, capsys: Any
) -> None:
    usage = namedtuple("usage", "total used free")
    reserve = folder._SPARE
    total = sum(map(len, CONTENT.values()))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1, 1, reserve + total - 1))
    assert corpus.fetch() == 1
    assert "239.8 kB are still to be downloaded" in capsys.readouterr().err
    assert mirror.requests == []
    (corpus.folder / "two.tar.part").write_bytes(CONTENT["two.tar"][:1])  # a byte fewer to download
    assert corpus.fetch() == 0


def test_space_for_unpacked_texts_is_required(
    corpus: Corpus, tmp_path: Path, monkeypatch: Any
) -> None:
    texts = tmp_path / "text"
    texts.mkdir()
    corpus.entries["one.tgz"] |= {"unpacked_bytes": 1_000}
    space = folder._SPARE + sum(map(len, CONTENT.values()))
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1, 1, space))
    corpus.entries["two.tar"]["texts.x"] = "member"
    corpus.entries["two.tar"]["unpacked_bytes"] = 1
    assert corpus.fetch("--unpacked", str(texts)) == 1
    (texts / "x").touch()
    assert corpus.fetch("--unpacked", str(texts)) == 0


def test_gzip_content_is_unpacked_and_checked(corpus: Corpus, mirror: Any) -> None:
    for entry in corpus.entries.values():
        entry["gunzip"] = True
    for name, content in CONTENT.items():
        (mirror.folder / "a" / name).write_bytes(gzip.compress(content))
    mirror.faults.damage.add("two.tar")
    assert corpus.fetch() == 0
    files = corpus.downloaded()
    assert files.pop("two.tar.damaged")
    assert files == CONTENT


def test_two_processes_do_not_write_the_same_file(corpus: Corpus, capsys: Any) -> None:
    corpus.folder.mkdir()
    with download.locked(corpus.folder / "one.tgz.part"):
        assert corpus.fetch() == 1
    assert "another process is downloading it" in capsys.readouterr().err


class TestMirror:
    def manifest(self, mirror: Any) -> None:
        """Give the mirror its own files under the official names."""
        mirrored = {name: content[::2] for name, content in CONTENT.items()}
        for name, content in mirrored.items():
            (mirror.folder / "a" / name).write_bytes(content)
        files = {
            name: {
                "path": f"a/{name}",
                "bytes": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
            }
            for name, content in mirrored.items()
        }
        (mirror.folder / "mirror.json").write_text(json.dumps({"files": files}))

    @pytest.mark.parametrize("form", ["url", "folder"])
    def test_its_manifest_replaces_the_list(self, tmp_path: Path, mirror: Any, form: str) -> None:
        self.manifest(mirror)
        corpus = Corpus(tmp_path, NOWHERE)
        assert corpus.fetch("--mirror", str(getattr(mirror, form))) == 0
        assert corpus.downloaded() == {name: content[::2] for name, content in CONTENT.items()}

    @pytest.mark.parametrize("form", ["url", "folder"])
    def test_without_a_manifest_it_is_tried_first(
        self, tmp_path: Path, mirror: Any, form: str
    ) -> None:
        (mirror.folder / "a" / "one.tgz").write_bytes(
            CONTENT["one.tgz"][:-1]
        )  # not the official file
        (mirror.folder / "two.tar").write_bytes(CONTENT["two.tar"])  # at the top of the mirror
        (mirror.folder / "b").mkdir()
        (mirror.folder / "b" / "one.tgz").write_bytes(CONTENT["one.tgz"])
        corpus = Corpus(tmp_path, f"{NOWHERE}/a", f"{mirror.url}/b")
        assert corpus.fetch("--mirror", str(getattr(mirror, form))) == 0
        assert corpus.downloaded() == CONTENT

    def test_an_incomplete_manifest_is_requested_again(self, tmp_path: Path, mirror: Any) -> None:
        self.manifest(mirror)
        mirror.faults.cut["mirror.json"] = 10
        assert Corpus(tmp_path, NOWHERE).fetch("--mirror", mirror.url) == 0

    def test_a_file_missing_from_its_manifest_is_an_error(
        self, corpus: Corpus, capsys: Any
    ) -> None:
        mirror = corpus.folder.parent / "mirror"
        mirror.mkdir()
        (mirror / "mirror.json").write_text('{"files": {}}')
        assert corpus.fetch("--mirror", str(mirror)) == 1
        assert "mirror.json: no valid entry for one.tgz" in capsys.readouterr().err
        (mirror / "mirror.json").write_text("x")
        assert corpus.fetch("--mirror", str(mirror)) == 1
        assert "mirror.json: not JSON" in capsys.readouterr().err

    @pytest.mark.parametrize("address", ["no/such/folder", NOWHERE])
    def test_a_missing_mirror_is_an_error(self, corpus: Corpus, address: str, capsys: Any) -> None:
        assert corpus.fetch("--mirror", address) == 1
        assert address in capsys.readouterr().err
        assert not corpus.folder.exists()


class TestList:
    def test_unknown_names_are_refused(self, corpus: Corpus, capsys: Any) -> None:
        assert corpus.fetch("three.tgz") == 1
        assert "no file 'three.tgz'; there are one.tgz, two.tar" in capsys.readouterr().err
        assert corpus.fetch("--set", "other") == 1
        assert "no set 'other'; there are all" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("x", "not a list of files"),
            ("[sets]", "not a list of files"),
            ("files = ['one.tgz']", "not a list of files"),
            ("sets = 'all'\n[files]", "not a list of files"),
            ("[files]\none = 3", "not a list of files"),
            (
                '[files.x]\nurls = []\nsha256 = "0"\nsize = 3',
                "x: the list has the unknown key 'size'",
            ),
            ('[files.x]\nsha256 = "0"', "x: the list gives no urls"),
            ("[files.x]\nurls = []", "x: the list gives neither sha256 nor md5"),
            ('[files]\n[sets]\na = ["y"]', "the set 'a' has 'y'"),
        ],
    )
    def test_an_invalid_list_is_refused(self, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "files.toml"
        path.write_text(text)
        with pytest.raises(CorpusError, match=message):
            listing.read_listing(path)

    def test_a_missing_list_is_refused(self, tmp_path: Path, capsys: Any) -> None:
        assert fetch.main([str(tmp_path / "none.toml")]) == 1
        assert "none.toml: cannot be read: No such file" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--rounds", "0"], ["--wait", "-1"]])
def test_rounds_and_waits_that_cannot_be(corpus: Corpus, option: list[str]) -> None:
    with pytest.raises(SystemExit, match="^2$"):
        corpus.fetch(*option)
