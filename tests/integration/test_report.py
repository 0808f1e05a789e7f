"""`nmtkit phrase-table report` from a phrase table and a model to a folder."""

import gzip
import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from nmtkit.extras import install_command

Nmtkit = Callable[..., Result]

WORDS = {"one": "un", "two": "deux", "three": "trois"}
FILES = ["phrases.json", "phrases.md", "scores.png", "scores.tsv"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a gzipped Moses table of all phrases of 3 and 4 words with three targets each."""
    lines = []
    for length in (3, 4):
        for number, words in enumerate(itertools.product(WORDS, repeat=length), start=1):
            target = " ".join(WORDS[word] for word in words)
            for joint, text in ((3, target), (2, f"le {target}"), (1, f"{target} ,")):
                scores = f"0.5 0.5 {joint / 6:.6g} 0.5"
                counts = f"{joint} {6 * number} {joint}"
                src = " ".join(words)
                lines.append(f"{src} ||| {text} ||| {scores} ||| 0-0 ||| {counts} ||| |||")
    path = tmp_path_factory.mktemp("moses") / "phrase-table.gz"
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    return path


@pytest.fixture
def report(model: Path, nmtkit: Nmtkit, tmp_path: Path) -> Callable[..., Result]:
    """Return a function: `report(table, ...)` writes a small report to `tmp_path / "out"`."""

    def call(table: object, *options: object, **settings: object) -> Result:
        run = ["phrase-table", "report", table, "-o", tmp_path / "out", "--device", "cpu"]
        small = ["--pairs", 50, "--phrases", 2, "--sample", 4]
        return nmtkit(*run, *small, *options, **settings)

    return call


def read_report(folder: Path) -> dict[str, object]:
    content: dict[str, object] = json.loads((folder / "phrases.json").read_text(encoding="utf-8"))
    return content


def test_a_report_of_a_model(
    report: Callable[..., Result], table: Path, model: Path, nmtkit: Nmtkit, tmp_path: Path
) -> None:
    """Plotted scores equal those of `score`; frequent phrases have higher counts than rare ones."""
    pytest.importorskip("matplotlib")
    result = report(table, "-m", model)
    out = tmp_path / "out"
    assert result.stdout == "" and "50 of 324 phrase pairs drawn" in result.stderr
    assert sorted(path.name for path in out.iterdir()) == FILES
    assert (out / "scores.png").read_bytes().startswith(b"\x89PNG")
    rows = [line.split("\t") for line in (out / "scores.tsv").read_text().splitlines()[1:]]
    for number, name in enumerate(("src", "tgt")):
        (tmp_path / name).write_text("".join(f"{row[number]}\n" for row in rows))
    score = ["score", "-m", model, "--device", "cpu", "--tokenized", tmp_path / "src"]
    scores = nmtkit(*score, tmp_path / "tgt").stdout.split()
    assert len(rows) == len(scores) == 50
    for row, expected in zip(rows, scores, strict=True):
        assert float(row[3]) == pytest.approx(float(expected), abs=1e-3)
    content = json.loads((out / "phrases.json").read_text(encoding="utf-8"))
    assert content["settings"]["model"] == str(model) and content["eligible"] == 81
    for kind, min_count, max_count in (("frequent", 41 * 6, 81 * 6), ("rare", 6, 40 * 6)):
        assert len(content[kind]) == 2
        for phrase in content[kind]:
            assert min_count <= phrase["count"] <= max_count and phrase["targets"] == 3
            assert len(phrase["source"].split()) == 4
            times = sum(sample["times"] for sample in phrase["samples"])
            assert times + phrase["unfinished"] == 4
            for scorer in ("translation_model", "model"):
                scores = [pair[scorer] for pair in phrase[scorer]]
                assert len(scores) == 3 and scores == sorted(scores, reverse=True)
            assert phrase["source"] in (out / "phrases.md").read_text(encoding="utf-8")


def test_the_scored_table_gives_the_same_report(
    report: Callable[..., Result], table: Path, model: Path, nmtkit: Nmtkit, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    report(table, "-m", model)
    expected = read_report(tmp_path / "out")
    scored = tmp_path / "scored.gz"
    score = ["phrase-table", "score", "-m", model, "--device", "cpu", table, "--logs"]
    nmtkit(*score, "-o", scored)
    report(scored, "--column", 5, "--logs", "--force")
    content = read_report(tmp_path / "out")
    for key in ("pearson", "spearman"):
        assert content[key] == pytest.approx(expected[key], abs=1e-3)
    for kind in ("frequent", "rare"):
        phrases, others = content[kind], expected[kind]
        assert isinstance(phrases, list) and isinstance(others, list)
        for phrase, other in zip(phrases, others, strict=True):
            assert phrase["samples"] == [] and other["samples"]
            assert [p["target"] for p in phrase["model"]] == [p["target"] for p in other["model"]]
    assert "the model of column 5" in (tmp_path / "out" / "phrases.md").read_text()


def test_the_seed_determines_every_byte(
    report: Callable[..., Result], table: Path, model: Path, tmp_path: Path
) -> None:
    """The report is the same from a file and from a pipe."""
    pytest.importorskip("matplotlib")
    contents = []
    text = gzip.decompress(table.read_bytes())
    for source, seed in ((table, 1), ("-", 1), (table, 2)):
        options = ["-m", model, "--seed", seed, "--format", "pdf", "--force"]
        report(source, *options, input=text if source == "-" else None)
        files = ["scores.pdf", "scores.tsv"]
        contents.append([(tmp_path / "out" / name).read_bytes() for name in files])
        contents[-1].append(str(read_report(tmp_path / "out")["frequent"]).encode())
    assert contents[0] == contents[1]
    assert all(one != other for one, other in zip(contents[0], contents[2], strict=True))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a ||| b ||| 1 1 1 1 ||| 0-0 ||| 1 1 1\na ||| b\n", "table:2: 2 fields"),
        ("a ||| b ||| 1 1 1 1 ||| 0-0 ||| 1 1 1\na ||| c ||| 1 1 1\n", ":2: the counts"),
        ("a ||| b ||| 1 1 1 1 ||| 0-0 ||| 1 1 1\n", "table: no source phrase of 4 or more words"),
        ("a ||| b ||| 1 1 ||| 0-0 ||| 1 1 1\n", "table:1: there is no score 3"),
        ("", "table: the phrase table is empty"),
    ],
)
def test_an_unusable_table_leaves_no_folder(
    report: Callable[..., Result], model: Path, tmp_path: Path, text: str, message: str
) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "table").write_text(text)
    stderr = report(tmp_path / "table", "-m", model, status=1).stderr
    assert message in stderr and stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


def test_unsuitable_models_and_folders_are_refused(
    report: Callable[..., Result], table: Path, model: Path, language_model: Path, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    assert "language model" in report(table, "-m", language_model, status=1).stderr
    assert "no-model" in report(table, "-m", tmp_path / "no-model", status=1).stderr
    assert "no-table" in report(tmp_path / "no-table", "-m", model, status=1).stderr
    assert not list(tmp_path.iterdir())
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").touch()
    stderr = report(table, "-m", model, "--force", status=1).stderr
    assert "out: exists and is not a report on a phrase table" in stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.tex"]


def test_without_matplotlib_nothing_is_computed(
    report: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    stderr = report("no-table", "-m", "no-model", status=1).stderr
    assert install_command("plots") in stderr and stderr.count("\n") == 1


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        ["-m", "model", "--logs"],
        ["--column", 0],
        ["-m", "model", "--top", 0],
        ["-m", "model", "--format", "gif"],
    ],
)
def test_wrong_usage(report: Callable[..., Result], tmp_path: Path, wrong: list[object]) -> None:
    report("table", *wrong, status=2)
    assert not list(tmp_path.iterdir())
