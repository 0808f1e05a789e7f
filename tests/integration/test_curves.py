"""`nmtkit curves` on trained models."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Nmtkit = Callable[..., Result]


def test_the_table_has_the_logged_metrics(model: Path, nmtkit: Nmtkit) -> None:
    header, *rows = (line.split("\t") for line in nmtkit("curves", model).stdout.splitlines())
    lines = [json.loads(line) for line in (model / "metrics.jsonl").read_text().splitlines()]
    records = [dict(zip(header, row, strict=True)) for row in rows]
    assert len(records) == len(lines) == 2
    for row, line in zip(records, lines, strict=True):
        assert (row["model"], row["kind"]) == ("model", "validation")
        assert int(row["update"]) == line["update"]
        assert float(row["cost_per_token"]) == line["dev_cost_per_token"]
        assert float(row["epoch"]) == line["epoch"]


def test_json_has_the_rows_of_the_table(model: Path, nmtkit: Nmtkit, tmp_path: Path) -> None:
    header, *rows = (line.split("\t") for line in nmtkit("curves", model).stdout.splitlines())
    nmtkit("curves", "-m", model, "--json", "-o", tmp_path / "curves.json")
    records = json.loads((tmp_path / "curves.json").read_text())
    assert [list(record) for record in records] == [header] * len(rows)
    for row, record in zip(rows, records, strict=True):
        cells = dict(zip(header, row, strict=True))
        assert (record["model"], record["kind"]) == (cells["model"], cells["kind"])
        for name in ("update", "epoch", "seconds", "cost_per_token", "bleu"):
            assert record[name] == (pytest.approx(float(cells[name])) if cells[name] else None)
        assert record["best"] == bool(int(cells["best"]))


@pytest.mark.parametrize("axis", ["updates", "epochs", "seconds"])
def test_several_models_in_one_figure(
    axis: str, model: Path, language_model: Path, nmtkit: Nmtkit, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "curves.pdf"
    plot = ["curves", model, language_model, "--plot", picture, "--x-axis", axis]
    assert nmtkit(*plot).stdout == ""
    assert picture.read_bytes().startswith(b"%PDF")
    assert "exists already" in nmtkit(*plot, "-o", tmp_path / "curves.tsv", status=1).stderr
    assert not (tmp_path / "curves.tsv").exists()
    nmtkit(*plot, "--force", "-o", tmp_path / "curves.tsv")
    assert {line.split("\t")[0] for line in (tmp_path / "curves.tsv").read_text().splitlines()} == {
        "model",
        "lm",
    }


def test_invalid_and_damaged_folders_are_refused(
    model: Path, nmtkit: Nmtkit, tmp_path: Path
) -> None:
    assert "no such file" in nmtkit("curves", tmp_path, status=1).stderr
    assert "given twice" in nmtkit("curves", model, model, status=1).stderr
    copy = shutil.copytree(model, tmp_path / "copy")
    with open(copy / "metrics.jsonl", "a") as file:
        file.write("rubbish\n")
    stderr = nmtkit("curves", model, copy, "-o", tmp_path / "t.tsv", status=1).stderr
    assert "copy/metrics.jsonl:3: not a metrics line of 'nmtkit train'" in stderr
    assert not (tmp_path / "t.tsv").exists()


@pytest.mark.parametrize(
    "wrong", [[], ["model", "--x-axis", "updates"], ["m", "--x-axis", "hours"]]
)
def test_wrong_usage(nmtkit: Nmtkit, wrong: list[str]) -> None:
    nmtkit("curves", *wrong, status=2)
