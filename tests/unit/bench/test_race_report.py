"""Figures of races: reported, read again, and those of the documents."""

import itertools
import json
from dataclasses import asdict
from pathlib import Path

import pytest
from race import main
from race_report import Row, read_rows
from timing import ROOT, BenchError

DOCUMENT = ROOT / "docs/explanation/training-time.md"

TEXTS = {
    "help pages English–German": "de en-de",
    "help pages English–Japanese": "ja en-ja",
    "laws English–French": "laws en-fr",
    "Multi30k English–French": "multi30k en-fr",
}
"""Names of the texts in the races' files, by those in the document."""

SYSTEMS = {
    "nmtkit": "nmtkit --time",
    "OpenNMT-py, RNN": "OpenNMT-py 3.5.1, RNN without input feeding",
    "OpenNMT-py, Transformer": "OpenNMT-py 3.5.1, Transformer",
    "JoeyNMT, RNN": "JoeyNMT 2.3.0, RNN",
    "JoeyNMT, Transformer": "JoeyNMT 2.3.0, Transformer",
    "Marian, RNN": "Marian, RNN",
    "Marian, Transformer": "Marian, Transformer",
}


def test_figures_are_read_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        Row("laws en-fr", 2, "nmtkit --time", "planned", 100, 1.99, 20.0, 40.0),
        Row("laws en-fr", 5, "OpenNMT-py", "n = 128", 1000, None, 21.0, 41.0),
    ]
    (tmp_path / "race.json").write_text(json.dumps([asdict(row) for row in rows]))
    output = tmp_path / "again.md"
    assert main(["--results", str(tmp_path / "race.json"), "--output", str(output)]) == 0
    assert capsys.readouterr().out == output.read_text()
    assert (
        "| laws en-fr | 5 | OpenNMT-py | n = 128 | 1,000 |  | 21.0 | 41.0 |" in output.read_text()
    )
    assert read_rows([output.with_suffix(".json")]) == rows
    assert output.read_text().endswith(
        "| text | system | 2 min | 5 min |\n| --- | ---: | ---: | ---: |\n"
        "| laws en-fr | nmtkit --time | 20.0 / 40.0 |  |\n"
        "| laws en-fr | OpenNMT-py |  | 21.0 / 41.0 |\n\n"
    )
    with pytest.raises(BenchError, match="not figures of a race"):
        read_rows([output])


def kept_rows() -> list[Row]:
    """Return the rows of the races whose figures are kept."""
    text = (ROOT / "bench" / "race_zen4.json").read_text()
    return [Row(**row) for row in json.loads(text)]


def test_the_document_has_the_figures_of_the_races_and_no_others() -> None:
    lines = DOCUMENT.read_text().split("BLEU / chrF after so many minutes:")[1].splitlines()[2:]
    header, _, *rows = itertools.takewhile(lambda line: line.startswith("|"), lines)
    minutes = [float(cell) for cell in header.strip("| ").split("|")[2:]]
    said: dict[tuple[str, str, float], str] = {}
    text = ""
    for row in rows:
        name, system, *cells = [cell.strip() for cell in row[1:].rstrip("|").split("|")]
        text = TEXTS[name] if name else text
        figures = zip(minutes, cells, strict=True)
        said |= {(text, SYSTEMS[system], time): cell for time, cell in figures if cell}
    measured = kept_rows()
    assert said == {(r.text, r.system, r.minutes): f"{r.bleu} / {r.chrf}" for r in measured}
    assert len(said) == len(measured)


def test_the_table_of_planned_trainings_has_the_figures_of_the_races() -> None:
    table = DOCUMENT.read_text().split("\n| text | pairs | minutes |")[1].split("\n\n")[0]
    said: dict[tuple[str, float], list[str]] = {}
    text = ""
    for line in table.splitlines()[2:]:
        name, _, minutes, _, *figures = [cell.strip() for cell in line[1:].rstrip("|").split("|")]
        text = text if name == "the same" else name
        said[TEXTS.get(text, text), float(minutes)] = figures
    planned = [row for row in kept_rows() if row.system == SYSTEMS["nmtkit"]]
    assert planned
    for row in planned:
        assert said[row.text, row.minutes] == row.cells()[4:]


def test_the_tutorial_has_the_figures_of_the_race() -> None:
    page = (ROOT / "docs/tutorials/own-bitext.md").read_text(encoding="utf-8")
    table = page.split("\n| corpus | pairs | after 5 minutes | after 20 |\n")[1].split("\n\n")[0]
    _, *lines = ([cell.strip() for cell in line.split("|")[3:5]] for line in table.splitlines())
    names = ["multi30k en-fr", "de en-de", "ja en-ja", "laws en-fr"]
    for name, cells in zip(names, lines, strict=True):
        for minutes, cell in zip((5, 20), cells, strict=True):
            found = [
                row
                for row in kept_rows()
                if (row.text, row.minutes) == (name, minutes) and row.system.startswith("nmtkit")
            ]
            assert cell in [f"{row.bleu:.1f} / {row.chrf:.1f}" for row in found]


def test_figures_of_kept_translations_are_those_of_the_races() -> None:
    rows = {f"{r.text}, {r.minutes:g} min: {r.system}, {r.setting}": r for r in kept_rows()}
    document, compared = DOCUMENT.read_text(), 0
    for path in (ROOT / "examples/outputs/race").rglob("*.json"):
        record = json.loads(path.read_text())
        values = {name: f for figure in record["figures"] for name, f in figure["values"].items()}
        bleu, chrf = (f"{values[name]['value']:.1f}" for name in ("BLEU (sacreBLEU)", "chrF"))
        assert f"{bleu} / {chrf}" in document
        if row := rows.get(record["system"].removesuffix(", learning rate × 1")):
            assert (bleu, chrf) == (str(row.bleu), str(row.chrf))
            compared += 1
    assert compared >= 4


def test_results_without_figures_are_refused(tmp_path: Path) -> None:
    (tmp_path / "race.json").write_text("[]")
    with pytest.raises(BenchError, match="there are no figures"):
        main(["--results", str(tmp_path / "race.json")])
