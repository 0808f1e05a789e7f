"""On a full disk or in an unwritable folder a command prints one error line and loses nothing.

A limit on file sizes simulates the full disk: writing beyond it fails for any user and on any file
system.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.full_disk import full_disk

pytestmark = pytest.mark.time_limit(90)

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
        "select", "-s", "en", "-t", "fr", "--tokenized", "--domain", "{text}.en", "{text}.fr",
        "--pool", "{text}.en", "{text}.fr", "--pairs", "3", "--output", "{out}", "{other}",
        "--workers", "1",
    ],
}  # fmt: skip
"""A name for the output -> a command line that writes it to {out}."""


@pytest.fixture
def paths(tmp_path: Path, corpus: Path, model: Path, language_model: Path) -> dict[str, Path]:
    (tmp_path / "list").write_text(LIST)
    (tmp_path / "table").write_text(TABLE)
    (tmp_path / "to").mkdir()
    out, other = tmp_path / "to/out", tmp_path / "to/other"
    inputs = {"model": model, "lm": language_model, "text": corpus / "test", "out": out}
    return {**inputs, "other": other, "list": tmp_path / "list", "table": tmp_path / "table"}


def fill_in(arguments: list[str], paths: dict[str, Path]) -> list[str]:
    return [word.format(**paths) for word in arguments]


def assert_one_error_line(result: Result, message: str) -> None:
    last = result.stderr.splitlines()[-1]
    assert (
        last.startswith("nmtkit: error: ") and message in last and "Traceback" not in result.stderr
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_leaves_existing_files_alone(name, nmtkit, paths):
    paths["out"].write_text("previous content")
    words = fill_in(COMMANDS[name], paths)
    with full_disk(3):
        result = nmtkit(*words, "--force", status=1)
    assert_one_error_line(result, "cannot be written: File too large")
    assert paths["out"].read_text() == "previous content"
    assert list(paths["out"].parent.iterdir()) == [paths["out"]]
    nmtkit(*words, "--force")  # with enough space it is written
    assert paths["out"].read_text() != "previous content"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_device_is_reported(name, nmtkit, paths):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    paths["out"] = Path("/dev/full")
    result = nmtkit(*fill_in(COMMANDS[name], paths), status=1)
    assert_one_error_line(result, "/dev/full: cannot be written: No space left on device")


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unwritable_path_is_reported_before_any_work(name, nmtkit, paths, tmp_path):
    (tmp_path / "file").touch()
    for output, message in (("file/out", "its folder does not exist"), ("to", "is a folder")):
        paths["out"] = tmp_path / output
        assert_one_error_line(
            nmtkit(*fill_in(COMMANDS[name], paths), status=1), f"{output}: {message}"
        )


@pytest.mark.parametrize("name", ["n-best list", "score a table", "rerank"])
def test_an_unwritable_folder_is_reported(name, nmtkit, paths, tmp_path):
    """Use a read-only folder, or for root /proc, where root cannot write either."""
    paths["out"] = Path("/proc/out")
    if os.geteuid():
        (tmp_path / "to").chmod(0o500)
        paths["out"] = tmp_path / "to/out"
    elif not Path("/proc").is_dir():
        pytest.skip("root can write everywhere on this system")
    result = nmtkit(*fill_in(COMMANDS[name], paths), status=1)
    assert_one_error_line(result, "/out: cannot be written")
    assert not list((tmp_path / "to").iterdir())


@pytest.mark.parametrize("limit", [0, 30, 200, 1000])
def test_a_prepared_folder_is_whole_or_absent(nmtkit, corpus, tmp_path, limit):
    """The disk fills up while the text, the BPE codes or the manifest is written."""
    (tmp_path / "to").mkdir()
    out = tmp_path / "to/prepared"
    files = [corpus / "train.en", corpus / "train.fr"]
    words = [
        "prepare",
        "-s",
        "en",
        "-t",
        "fr",
        "--train",
        *files,
        "--bpe",
        "20",
        "--held-out",
        "3",
        "--workers",
        "1",
    ]
    with full_disk(limit):
        result = nmtkit(*words, "--output", out, status=1)
    assert_one_error_line(result, "prepared: cannot be written: File too large")
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
    assert_one_error_line(result, "cannot be written: File too large")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_full_disk_in_training_says_what_is_saved(nmtkit, prepared, small, tmp_path):
    words = ["train", prepared, "-o", tmp_path / "model", "-r", "toy", "--device", "cpu", *small]
    with full_disk(12_000):  # settings fit, parameters do not
        result = nmtkit(*words, status=1)
    assert_one_error_line(result, "; nothing was saved before")
    nmtkit(*words)
    with full_disk(12_000):
        result = nmtkit(*words, "--set", "training.max_updates=4", status=1)
    assert_one_error_line(result, "; what was saved before is complete")


def test_a_picture_is_whole_or_absent(nmtkit, paths, tmp_path):
    pytest.importorskip("matplotlib")
    words = fill_in(["align", "-m", "{model}", "{text}.en", "{text}.fr", "-o", "{out}"], paths)
    with full_disk(2000):
        result = nmtkit(*words, "--plot", tmp_path / "to/pictures", status=1)
    assert_one_error_line(result, "000001.png: cannot be written: File too large")
    assert not [path for path in (tmp_path / "to").rglob("*") if path.is_file()]
