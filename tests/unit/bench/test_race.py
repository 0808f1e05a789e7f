"""Texts, commands and the choice of settings of the race against the clock."""

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import race
from corpus import Text
from languages import scores_of
from plotting import Panel, figure_of
from race import Entry, PlannedNmtkit, Result, Row, Setting, best_of, main, panels_of
from race_systems import MarianRecurrent
from systems import Data, Task
from timing import ROOT, BenchError, CommandCost, Spread


@pytest.fixture
def text(tmp_path: Path) -> Text:
    folder = tmp_path / "laws"
    folder.mkdir()
    for name in ("train.en", "train.fr.gz", "test2016.en", "test2016.fr"):
        (folder / name).write_text("x\n")
    return Text.parse(f"en-fr={folder}")


def test_a_text_has_a_name_and_files(text: Text) -> None:
    assert text.name == "laws en-fr"
    assert text.file("train", "fr").name == "train.fr.gz"
    assert text.file("test", "en").name == "test2016.en"
    with pytest.raises(BenchError, match=r"has no val\*\.en"):
        text.file("val", "en")


@pytest.mark.parametrize("option", ["en-fr", "en-fr=/nowhere", "enfr=/tmp"])
def test_a_malformed_text_is_refused(option: str) -> None:
    with pytest.raises(BenchError, match="expected SRC-TGT=FOLDER"):
        Text.parse(option)


def test_nmtkit_has_nothing_but_its_time(task: Task) -> None:
    arguments = PlannedNmtkit(2.5).write_training(task)
    assert arguments[arguments.index("--time") + 1] == "150s"
    assert not {"--set", "--config", "--recipe"} & set(arguments)
    fixed = PlannedNmtkit(2.5, "model.hidden=192 model.dropout=0")
    assert fixed.write_training(task)[-4:] == [
        *("--set", "model.hidden=192"),
        *("--set", "model.dropout=0"),
    ]
    assert fixed.name == "nmtkit --time model.hidden=192 model.dropout=0"
    assert "--tokenized" not in fixed.translate(task, Path("a"), Path("b"), 5)


def test_of_a_systems_settings_the_best_counts(text: Text, data: Data, tmp_path: Path) -> None:
    entry = Entry(text, data, tmp_path, PlannedNmtkit(2), Setting("a"), 2, 1)
    entries = [replace(entry, setting=Setting(name)) for name in "abc"]
    for one, bleu in zip(entries, (10.0, 30.0, 20.0), strict=True):
        one.task.folder.mkdir(parents=True)
        result = Result(bleu, 50.0, 100, 2.0)
        assert not one.is_measured
        (one.task.folder / "result.json").write_text(json.dumps(asdict(result)))
        assert one.is_measured
    best = best_of(entries)
    (winner,) = best
    assert (winner.text, winner.minutes, winner.system) == ("laws en-fr", 2, "nmtkit --time")
    assert (winner.setting, winner.bleu) == ("b", 30.0)
    (panel,) = panels_of(best)
    assert [x for x, _ in panel.lines["nmtkit --time"]] == [2]


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
    assert race.read_rows([output.with_suffix(".json")]) == rows
    assert output.read_text().endswith(
        "| text | system | 2 min | 5 min |\n| --- | ---: | ---: | ---: |\n"
        "| laws en-fr | nmtkit --time | 20.0 / 40.0 |  |\n"
        "| laws en-fr | OpenNMT-py |  | 21.0 / 41.0 |\n\n"
    )
    with pytest.raises(BenchError, match="not figures of a race"):
        race.read_rows([output])


TEXTS = {
    "multi30k en-fr": "Multi30k English–French",
    "de en-de": "help pages English–German",
    "ja en-ja": "help pages English–Japanese",
    "laws en-fr": "laws English–French",
}
"""Texts of the measured races, as the documents call them."""


def name_in_documents(system: str) -> str:
    """Return a system's name without its version, as the documents have it."""
    if system.startswith("nmtkit --time"):
        return "nmtkit, *slower*" if "slower" in system else "nmtkit"
    return re.sub(r" [\d.]+,", ",", system).removesuffix(" without input feeding")


def test_the_table_in_the_documents_has_the_figures_that_were_measured() -> None:
    rows = race.read_rows(sorted((ROOT / "bench").glob("race_*.json")))
    measured = {
        (TEXTS[row.text], name_in_documents(row.system), f"{row.minutes:g}"): (
            f"{row.bleu:.1f} / {row.chrf:.1f}"
        )
        for row in rows
    }
    assert len(measured) == len(rows) > 40  # one setting of each system at each time
    page = (ROOT / "docs/explanation/training-time.md").read_text(encoding="utf-8")
    table = page.split("\nBLEU / chrF after so many minutes:\n\n")[1].split("\n\n")[0]
    head, _, *lines = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()
    )
    documented: dict[tuple[str, str, str], str] = {}
    text = ""
    for cells in lines:
        text = cells[0] or text
        figures = zip(head[2:], cells[2:], strict=True)
        documented |= {(text, cells[1], minutes): figure for minutes, figure in figures if figure}
    assert documented == measured


def test_the_tutorial_has_the_figures_of_the_race() -> None:
    rows = race.read_rows(sorted((ROOT / "bench").glob("race_*.json")))
    page = (ROOT / "docs/tutorials/own-bitext.md").read_text(encoding="utf-8")
    table = page.split("\n| corpus | pairs | after 5 minutes | after 20 |\n")[1].split("\n\n")[0]
    _, *lines = ([cell.strip() for cell in line.split("|")[3:5]] for line in table.splitlines())
    names = ["multi30k en-fr", "de en-de", "ja en-ja", "laws en-fr"]
    for name, cells in zip(names, lines, strict=True):
        for minutes, cell in zip((5, 20), cells, strict=True):
            found = [
                row
                for row in rows
                if (row.text, row.minutes) == (name, minutes) and row.system.startswith("nmtkit")
            ]
            assert cell in [f"{row.bleu:.1f} / {row.chrf:.1f}" for row in found]


def test_a_system_has_the_same_style_in_all_panels() -> None:
    points = [(2.0, Spread.of([1.0])), (40.0, Spread.of([2.0]))]
    panels = [
        Panel("first", "x", "y", {"a": points, "b": points}, logarithmic="x"),
        Panel("second", "x", "y", {"b": points}, logarithmic="x", ticks=[5]),
    ]
    figure = figure_of(panels)
    colours = [{line.get_label(): line.get_color() for line in a.lines} for a in figure.axes]
    assert colours[0]["b"] == colours[1]["b"] != colours[0]["a"]
    assert [list(axes.get_xticks()) for axes in figure.axes] == [[2, 40], [2, 5, 40]]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.texts] == ["a", "b"]


@pytest.mark.parametrize(
    ("language", "lines"),
    [("fr", ["Le chat dort là.", "Oui, merci."]), ("ja", ["猫が寝ています。", "はい、どうも。"])],
)
def test_a_kept_translation_has_the_figures_of_the_race(
    language: str, lines: list[str], data: Data, tmp_path: Path
) -> None:
    folder = tmp_path / "laws"
    folder.mkdir()
    (folder / f"test.{language}").write_text("\n".join(lines) + "\n")
    text = Text("en", language, folder)
    entry = Entry(text, data, tmp_path, PlannedNmtkit(2), Setting("planned"), 2, 1)
    with pytest.raises(BenchError, match="missing; remove result.json"):
        entry.keep(tmp_path / "kept")
    entry.translation.parent.mkdir(parents=True)
    entry.translation.write_text(f"{lines[0][:-2]}\n{lines[1]}\n")
    chrf, bleu = scores_of(entry.translation, entry.reference, language)
    entry.keep(tmp_path / "kept")
    (path,) = (tmp_path / "kept").rglob("*.json")
    record = json.loads(path.read_text())
    values = {name: figure["value"] for name, figure in record["figures"][0]["values"].items()}
    assert values == {"BLEU (sacreBLEU)": pytest.approx(bleu), "chrF": pytest.approx(chrf)}
    assert record["commands"] == [f"python bench/race.py --text en-{language}=laws --minutes 2"]
    assert str(tmp_path) not in path.read_text()


def test_the_kept_command_of_a_peer_has_its_setting(text: Text, data: Data, tmp_path: Path) -> None:
    peer = MarianRecurrent(Path("python"))
    entry = Entry(text, data, tmp_path, peer, Setting.of_peer(128, 800, 2), 20, 1)
    entry.task.folder.mkdir(parents=True)
    (entry.task.folder / "result.json").write_text(json.dumps(asdict(Result(1, 2, 5040, 20))))
    command = entry.keep_command(tmp_path / "kept")
    assert command[command.index("--command") + 1] == (
        "python bench/race.py --text en-fr=laws --minutes 20 --peers PEERS --only 'Marian, RNN'"
        " --hidden 128 --batch-tokens 800 --rates 2 --updates 5040 --threads 1"
    )


def test_the_updates_of_a_peer_fill_the_time(
    text: Text, data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Peer(PlannedNmtkit):
        def time_training(self, task: Task, warmup: int) -> None:  # type: ignore[override]
            task.folder.mkdir(parents=True)
            readings = [[0.5 * number, 0, 0] for number in range(task.updates)]
            (task.folder / "record.json").write_text(json.dumps({"updates": readings}))

    monkeypatch.setattr(race, "run_command", lambda *_: CommandCost(10.5, 1, 1))
    entry = Entry(text, data, tmp_path, Peer(2), Setting.of_peer(128, 800, 2), 2, 1)
    assert entry._updates() == (120 - 10) / 0.5
