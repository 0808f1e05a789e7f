"""The data of the WMT'14 example: its list of files, small mirrors, and the data rules."""

import gzip
import http.client
import json
import re
import shutil
import subprocess
import tarfile
import threading
from pathlib import Path
from typing import Any

import build
import mirror_server
import pytest
import traps
from corpora import archive, listing
from corpora.download import RetryPolicy

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "wmt14-en-fr"
CORPUS_PAIRS = {"giga": 60, "un": 50, "europarl": 40, "commoncrawl": 45, "news-commentary": 30}


@pytest.fixture(scope="module")
def bitext(tmp_path_factory: Any) -> list[str]:
    """Return options for a bitext of numbered lines, gzipped and plain, and sets."""
    folder = tmp_path_factory.mktemp("bitext")
    for side in ("en", "fr"):
        lines = "".join(f"{side} & {number}\n" for number in range(260)).encode()
        (folder / f"train.{side}.gz").write_bytes(gzip.compress(lines))
        (folder / f"set.{side}").write_bytes(b"".join(lines.splitlines(True)[:21]))
    train = [str(folder / f"train.{side}.gz") for side in ("en", "fr")]
    small = [str(folder / f"set.{side}") for side in ("en", "fr")]
    return ["--bitext", "un", *train, "--dev", *small, "--test", *small]


@pytest.fixture
def small(monkeypatch: Any) -> None:
    monkeypatch.setitem(build.SIZES, "smoke", CORPUS_PAIRS)


def make_mirror(bitext: list[str], output: Path) -> int:
    return int(build.main(["--size", "smoke", *bitext, "--output", str(output)]))


def texts(mirror: Path, output: Path) -> dict[str, list[bytes]]:
    """Return the lines of each text that the example's list unpacks from a mirror."""
    files, sets = listing.read_listing(FOLDER / "files.toml")
    for file in listing.at_mirror(
        [files[name] for name in sets["official"]], str(mirror), RetryPolicy()
    ):
        archive.unpack(Path(file.forms[0].urls[0]), file.texts or {}, output)
    return {
        str(path.relative_to(output)): path.read_bytes().split(b"\n")[:-1]
        for path in output.rglob("*.*")
    }


@pytest.mark.usefixtures("small")
class TestMirror:
    def test_the_same_bitexts_give_the_same_bytes(self, bitext: list[str], tmp_path: Path) -> None:
        for name in ("a", "b"):
            assert make_mirror(bitext, tmp_path / name) == 0
        both = [json.loads((tmp_path / name / "mirror.json").read_text()) for name in ("a", "b")]
        assert both[0] == both[1] and len(both[0]["files"]) == 7

    def test_paths_and_members_are_official(self, bitext: list[str], tmp_path: Path) -> None:
        assert make_mirror(bitext, tmp_path) == 0
        expected = {
            "wmt13/training-parallel-europarl-v7.tgz": "training/europarl-v7.fr-en.fr",
            "wmt13/training-parallel-commoncrawl.tgz": "commoncrawl.fr-en.en",
            "wmt13/training-parallel-un.tgz": "un/undoc.2000.fr-en.en",
            "wmt14/training-parallel-nc-v9.tgz": "training/news-commentary-v9.fr-en.fr",
            "wmt10/training-giga-fren.tar": "giga-fren.release2.fixed.en.gz",
            "wmt19/translation-task/dev.tgz": "dev/newstest2013.fr",
            "wmt14/test-full.tgz": "test-full/newstest2014-fren-src.en.sgm",
        }
        for path, member in expected.items():
            with tarfile.open(tmp_path / path) as tar:
                assert member in tar.getnames()
                assert {info.mtime for info in tar} == {0}
        assert tarfile.is_tarfile(tmp_path / "wmt10" / "training-giga-fren.tar")

    def test_each_pair_is_in_one_corpus_and_sets_are_as_given(
        self, bitext: list[str], tmp_path: Path
    ) -> None:
        assert make_mirror(bitext, tmp_path / "m") == 0
        unpacked = texts(tmp_path / "m", tmp_path / "t")
        numbered = re.compile(rb"en & (\d+)")
        matches = [
            numbered.fullmatch(line) for name in CORPUS_PAIRS for line in unpacked[f"{name}.en"]
        ]
        numbers = [int(match[1]) for match in matches if match]
        assert sorted(numbers) == list(range(sum(CORPUS_PAIRS.values())))
        expected = [f"fr & {number}".encode() for number in range(21)]
        assert unpacked["newstest2014.fr"] == unpacked["raw/newstest2014.fr"] == expected
        assert unpacked["newstest2012.fr"] + unpacked["newstest2013.fr"] == expected
        assert len(unpacked["newstest2012.en"]) == 11

    def test_lines_stay_parallel_through_all_traps(self, bitext: list[str], tmp_path: Path) -> None:
        assert make_mirror(bitext, tmp_path / "m") == 0
        unpacked = texts(tmp_path / "m", tmp_path / "t")
        for name, size in CORPUS_PAIRS.items():
            src, tgt = unpacked[f"{name}.en"], unpacked[f"{name}.fr"]
            assert len(src) == len(tgt) > size
            pairs = [(s, t) for s, t in zip(src, tgt, strict=True) if s.startswith(b"en & ")]
            assert [s.replace(b"en", b"fr") for s, _ in pairs] == [t for _, t in pairs]
            assert b"" in src and b"" in tgt
        assert len(unpacked["giga.en"]) == CORPUS_PAIRS["giga"] + len(traps.TRAPS)

    def test_traps_contain_the_known_difficulties(self) -> None:
        src, tgt = traps.with_traps("giga", (["x"], ["y"]))
        for trap in (b"\r", b"\f", b"\0", "\u2028".encode(), "\x85".encode(), b"\xe9 ", b"  "):
            assert trap in src
        with pytest.raises(UnicodeDecodeError):
            tgt.decode()
        assert len(src.decode(errors="ignore").splitlines()) > src.count(b"\n") == tgt.count(b"\n")
        assert max(map(len, src.split(b"\n"))) > 10_000

    def test_too_little_and_too_much_text_is_refused(
        self, bitext: list[str], tmp_path: Path, capsys: Any, monkeypatch: Any
    ) -> None:
        monkeypatch.setitem(CORPUS_PAIRS, "giga", 500)
        assert make_mirror(bitext, tmp_path) == 1
        assert "lines were left for 'giga', which needs 500" in capsys.readouterr().err
        dev = bitext[4:7]
        assert make_mirror([*bitext, *dev, *dev], tmp_path) == 1
        assert "3 dev sets" in capsys.readouterr().err
        assert make_mirror([*bitext, "--bitext", "web", *dev[1:]], tmp_path) == 1
        assert "no corpus 'web'; there are giga, un" in capsys.readouterr().err
        assert not (tmp_path / "mirror.json").exists()

    def test_damaged_text_is_named_with_its_line(
        self, bitext: list[str], tmp_path: Path, capsys: Any
    ) -> None:
        latin, cut, no_gzip = (tmp_path / name for name in ("latin.en", "cut.en.gz", "no.en.gz"))
        latin.write_bytes(b"one\nd\xe9j\xe0\n")
        cut.write_bytes(gzip.compress(b"one\n")[:-6])
        no_gzip.write_bytes(b"one\n")
        for path, message in (
            (latin, ":2: not valid UTF-8; convert the file\n"),
            (cut, ": damaged after line 1 ("),
            (no_gzip, ": damaged after line 0 ("),
        ):
            assert make_mirror([*bitext, "--bitext", "giga", str(path), bitext[3]], tmp_path) == 1
            assert capsys.readouterr().err.startswith(f"build: {path}{message}")


def test_the_server_serves_only_its_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text("x")
    assert mirror_server.main([str(tmp_path / "none")]) == 1
    with mirror_server.Mirror(tmp_path / "in") as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        for path in ("/../secret", "/%2e%2e/secret", "//secret", "/"):
            connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
            connection.request("GET", path)
            assert connection.getresponse().status == 404
            connection.close()
        server.shutdown()
        thread.join()


make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def commands(folder: Path, *arguments: str) -> str:
    """Return the commands that make would run, one per line."""
    words = ["make", "-n", "-f", str(FOLDER / "data.mk"), f"WORK={folder}", *arguments]
    completed = subprocess.run(words, capture_output=True, text=True, check=True)
    return completed.stdout.replace("\\\n", " ")


@make
@pytest.mark.parametrize("source", ["official", "lium"])
def test_make_downloads_and_unpacks_the_list(tmp_path: Path, source: str) -> None:
    files, sets = listing.read_listing(FOLDER / "files.toml")
    lines = commands(tmp_path, "select", f"SOURCE={source}").splitlines()
    fetched = [line.split("files.toml ")[1].split()[0] for line in lines if "fetch.py" in line]
    unpacked = [line.split("archives/")[1].split()[0] for line in lines if "unpack.py" in line]
    assert sorted(fetched) == sorted(unpacked) == sorted(sets[source])
    unused = {text.rpartition(".")[0] for name in sets[source] for text in files[name].texts or ()}
    for line in lines:
        if "join.py" in line or " select " in line:
            unused -= {name for name in unused if re.search(rf"/text/{name}(\.fr)? ", line)}
    assert unused == (
        {"newstest2014"} if source == "lium" else set()
    )  # LIUM's tokenised test set is used instead


@make
def test_the_authors_selection_is_used_if_present(tmp_path: Path) -> None:
    (tmp_path / "data" / "archives").mkdir(parents=True)
    assert "bitexts.tgz" not in commands(tmp_path, "select")
    (tmp_path / "data" / "archives" / "bitexts.tgz").touch()
    lines = commands(tmp_path, "select")
    assert "bitexts.tgz" in lines and f"> {tmp_path}/bitext/tokenized" in lines
    assert " select " not in lines
    assert "bitexts.tgz" not in commands(tmp_path, "select", "SOURCE=official")


@make
def test_the_test_set_must_be_newstest2014_except_for_smoke(tmp_path: Path) -> None:
    assert commands(tmp_path, "select").count("--lines 3003") == 2
    assert "--lines" not in commands(tmp_path, "select", "SIZE=smoke")


@make
def test_mini_without_a_mirror_downloads_nothing(tmp_path: Path) -> None:
    words = ["make", "-f", str(FOLDER / "data.mk"), f"WORK={tmp_path}", "SIZE=mini", "download"]
    completed = subprocess.run(words, capture_output=True, text=True)
    assert completed.returncode == 2 and "SIZE=mini needs WMT_MIRROR=" in completed.stderr
    assert not list(tmp_path.rglob("*t*.*"))  # no archive, complete or partial
