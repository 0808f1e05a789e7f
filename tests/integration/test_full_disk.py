"""A disk that is full, or a folder that cannot be written: one sentence, and nothing is lost.

A limit on the size of files stands for the full disk: writing beyond it fails as on one, for any
user and on any file system.
"""

import contextlib
import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

Nmtkit = Callable[..., Result]

LIST = "".join(
    f"{s} ||| {words} ||| LM0= -{s}.5 TM0= {n} -2.25 ||| -4.5\n"
    for s in range(4)
    for n, words in enumerate(["un deux", "trois un quatre", "six"])
)
TABLE = (
    "one ||| un ||| 0.5 1 0.25 1 ||| 0-0 ||| 2 2 2\none two ||| un deux ||| 1 1 1 1 ||| ||| 1 1 1\n"
)

COMMANDS = {
    "translate": ["translate", "-m", "{model}", "{text}.en", "-o", "{out}"],
    "n-best list": ["translate", "-m", "{model}", "{text}.en", "--n-best", "5", "-o", "{out}"],
    "alignments": ["translate", "-m", "{model}", "{text}.en", "--alignments", "{out}"],
    "score": ["score", "-m", "{model}", "{text}.en", "{text}.fr", "-o", "{out}"],
    "score a list": ["nbest", "score", "-m", "{lm}", "{list}", "-o", "{out}"],
    "score a table": ["phrase-table", "score", "-m", "{model}", "{table}", "-o", "{out}"],
    "rerank": ["nbest", "rerank", "{list}", "-o", "{out}"],
    "reranked list": ["nbest", "rerank", "{list}", "--list", "{out}"],
    "tune": "nbest tune {list} {text}.fr --method mira --epochs 2 -o {out}".split(),
    "align": ["align", "-m", "{model}", "{text}.en", "{text}.fr", "-o", "{out}"],
    "lexicon": ["align", "-m", "{model}", "{text}.en", "{text}.fr", "--lexicon", "{out}"],
    "shortlist": ["shortlist", "{text}.fr", "--size", "50", "--output", "{out}"],
    "select": [
        "select", "--tokenized", "--domain", "{text}.en", "{text}.fr", "--pool", "{text}.en",
        "{text}.fr", "--pairs", "3", "--output", "{out}", "{other}", "--workers", "1",
    ],
}  # fmt: skip
"""What is written -> a command line that writes it under {out}."""


@pytest.fixture
def given(tmp_path: Path, corpus: Path, model: Path, language_model: Path) -> dict[str, Path]:
    (tmp_path / "list").write_text(LIST)
    (tmp_path / "table").write_text(TABLE)
    (tmp_path / "to").mkdir()
    out, other = tmp_path / "to/out", tmp_path / "to/other"
    paths = {"model": model, "lm": language_model, "text": corpus / "test", "out": out}
    return {**paths, "other": other, "list": tmp_path / "list", "table": tmp_path / "table"}


def filled(arguments: list[str], given: dict[str, Path]) -> list[str]:
    return [word.format(**given) for word in arguments]


@contextlib.contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file grows beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def assert_one_line(result: Result, told: str) -> None:
    last = result.stderr.splitlines()[-1]
    assert last.startswith("nmtkit: error: ") and told in last and "Traceback" not in result.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_leaves_existing_files_alone(name, nmtkit, given):
    given["out"].write_text("what was there")
    words = filled(COMMANDS[name], given)
    with full_disk(3):
        result = nmtkit(*words, "--force", status=1)
    assert_one_line(result, "cannot be written: File too large")
    assert given["out"].read_text() == "what was there"
    assert list(given["out"].parent.iterdir()) == [given["out"]]
    nmtkit(*words, "--force")  # and with room it is made
    assert given["out"].read_text() != "what was there"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_device_is_reported(name, nmtkit, given):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    given["out"] = Path("/dev/full")
    result = nmtkit(*filled(COMMANDS[name], given), status=1)
    assert_one_line(result, "/dev/full: cannot be written: No space left on device")


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unwritable_path_is_reported_before_any_work(name, nmtkit, given, tmp_path):
    (tmp_path / "file").touch()
    for place, told in (("file/out", "its folder does not exist"), ("to", "is a folder")):
        given["out"] = tmp_path / place
        assert_one_line(nmtkit(*filled(COMMANDS[name], given), status=1), f"{place}: {told}")


@pytest.mark.parametrize("name", ["n-best list", "score a table", "rerank"])
def test_an_unwritable_folder_is_reported(name, nmtkit, given, tmp_path):
    """One that this user may not write in; /proc, where root may not either."""
    given["out"] = Path("/proc/out")
    if os.geteuid():
        (tmp_path / "to").chmod(0o500)
        given["out"] = tmp_path / "to/out"
    elif not Path("/proc").is_dir():
        pytest.skip("root may write everywhere here")
    result = nmtkit(*filled(COMMANDS[name], given), status=1)
    assert_one_line(result, "/out: cannot be written")
    assert not list((tmp_path / "to").iterdir())


@pytest.mark.parametrize("limit", [0, 30, 200, 1000])
def test_a_prepared_folder_is_whole_or_absent(nmtkit, corpus, tmp_path, limit):
    """Wherever the disk is full: in the text, the BPE codes, or the manifest."""
    (tmp_path / "to").mkdir()
    out = tmp_path / "to/prepared"
    files = [corpus / "train.en", corpus / "train.fr"]
    words = ["prepare", "--train", *files, "--bpe", "20", "--held-out", "3", "--workers", "1"]
    with full_disk(limit):
        result = nmtkit(*words, "--output", out, status=1)
    assert_one_line(result, "prepared: cannot be written: File too large")
    assert not list((tmp_path / "to").iterdir())
    nmtkit(*words, "--output", out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with full_disk(limit):
        nmtkit(*words, "--output", out, "--force", status=1)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert list((tmp_path / "to").iterdir()) == [out]


@pytest.mark.parametrize("limit", [0, 20])
def test_both_vocabularies_are_written_or_neither(nmtkit, prepared, tmp_path, limit):
    folder = tmp_path / "prepared"
    folder.mkdir()
    for path in prepared.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with full_disk(limit):
        result = nmtkit("shortlist", folder, "--size", 7, "--force", status=1)
    assert_one_line(result, "cannot be written: File too large")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_picture_is_whole_or_absent(nmtkit, given, tmp_path):
    pytest.importorskip("matplotlib")
    words = filled(["align", "-m", "{model}", "{text}.en", "{text}.fr", "-o", "{out}"], given)
    with full_disk(2000):
        result = nmtkit(*words, "--plot", tmp_path / "to/pictures", status=1)
    assert_one_line(result, "000001.png: cannot be written: File too large")
    assert not [path for path in (tmp_path / "to").rglob("*") if path.is_file()]
