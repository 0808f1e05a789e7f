"""Texts, commands and the choice of settings of the race against the clock."""

import json
import shlex
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import race
from corpus import Text
from race import Entry, PlannedNmtkit, Result, Setting, best_of
from race_report import panels_of
from race_systems import MarianRecurrent
from scoring import scores_of
from systems import Data, Task
from timing import BenchError, CommandCost, select_names


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


@pytest.mark.parametrize(
    ("language", "lines"),
    [
        ("fr", ["Le chat dort là.", "Oui, merci."]),
        ("ja", ["猫が寝ています。", "はい、どうも。"]),
        ("ko", ["고양이가 저기서 자고 있습니다.", "네, 고맙습니다."]),
        ("th", ["แมวนอนอยู่ที่นั่น", "ใช่ขอบคุณ"]),
    ],
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
    command = f"python bench/race.py --text en-{language}=laws --minutes 2"
    assert record["commands"] == [f"{command} --only 'nmtkit --time' --threads 1"]
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


@pytest.mark.parametrize("given", [0, 40])
def test_minutes_are_reported_where_they_decided_the_updates(
    given: int, text: Text, data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(race, "run_command", lambda *_, **__: CommandCost(90, 1, 1))
    monkeypatch.setattr(race, "join_pieces", lambda *_: None)
    monkeypatch.setattr(race, "scores_of", lambda *_: (1.0, 2.0))
    monkeypatch.setattr(Entry, "_updates", lambda _: 30)
    peer = MarianRecurrent(Path("python"))
    entry = Entry(text, data, tmp_path, peer, Setting.of_peer(128, 800, 2), 2, 1, given)
    entry.task.folder.mkdir(parents=True)
    result = entry.result()
    assert result.updates == (given or 30)
    assert result.minutes == (None if given else 1.5)


def test_the_kept_command_of_other_settings_has_them(
    text: Text, data: Data, tmp_path: Path
) -> None:
    system = PlannedNmtkit(2, "model.hidden=128 model.dropout=0")
    entry = Entry(text, data, tmp_path, system, Setting("settings"), 2, 2)
    command = entry.keep_command(tmp_path)
    words = shlex.split(str(command[command.index("--command") + 1]))
    options = race.options_of(words[2:])
    assert options.variant == ["model.hidden=128 model.dropout=0"] and options.threads == 2
    names = [system.name for system, _ in race.systems_of(options, 2)]
    assert select_names(names, options.only, whole=True) == [system.name]


def test_figures_of_other_threads_are_refused(text: Text, data: Data, tmp_path: Path) -> None:
    entry = Entry(text, data, tmp_path, PlannedNmtkit(2), Setting("planned"), 2, threads=1)
    entry.task.folder.mkdir(parents=True)
    for recorded in (0, 1):  # 0: unknown
        result = Result(10.0, 50.0, 100, 2.0, recorded)
        (entry.task.folder / "result.json").write_text(json.dumps(asdict(result)))
        assert entry.result() == result
    with pytest.raises(BenchError, match="measured with 1 threads, not 2"):
        replace(entry, threads=2).result()
