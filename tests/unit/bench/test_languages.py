"""Settings, numbers of updates and scores of the comparison on several pairs of languages."""

import json
from pathlib import Path

import languages
import pytest
from languages import Direction, RecipeNmtkit, Run
from opennmt_systems import OpenNMTRecurrent
from scoring import scores_of
from systems import System, Task
from timing import BenchError, run_command


def test_nmtkit_accepts_its_settings(task: Task) -> None:
    from nmtkit.training.settings import make_config

    arguments = RecipeNmtkit().write_training(task)
    config = make_config(config_file=arguments[arguments.index("--config") + 1])
    assert config.model.hidden == task.sizes.hidden
    assert (config.training.max_updates, config.training.cooldown) == (7, 3)


def test_the_fastest_of_the_measured_speeds_counts(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    systems = [RecipeNmtkit(), OpenNMTRecurrent(Path("python"))]
    runs = [Run(Direction("en", t, Path()), s, task) for t in ("ja", "de") for s in systems]
    seconds = {systems[0].name: iter([0.5, 0.25, 0.75]), systems[1].name: iter([2.0, 2.5, 3.0])}
    monkeypatch.setattr(languages, "seconds_per_update", lambda run: next(seconds[run.system.name]))
    record = task.folder.parent / "seconds.json"
    for _ in range(2):  # the second time, what was measured is read
        assert languages.updates_of(runs, 5, record) == [1200, 150, 1200, 150]
    assert languages.updates_of(runs, 10, record) == [2400, 300, 2400, 300]


def test_a_system_that_is_installed_later_is_measured(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "opennmt/bin/python"
    found = [languages.systems_of(tmp_path)]
    python.parent.mkdir(parents=True)
    python.touch()
    found.append(languages.systems_of(tmp_path))
    assert [len(systems) for systems in found] == [1, 3]
    monkeypatch.setattr(languages, "seconds_per_update", lambda run: 0.5)
    for systems in found:
        runs = [Run(Direction("en", "de", Path()), system, task) for system in systems]
        assert languages.updates_of(runs, 5, tmp_path / "seconds") == [600] * len(systems)


def test_a_comparison_goes_on_where_it_was_interrupted(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(Direction("en", "ja", Path()), RecipeNmtkit(), task)
    task.folder.mkdir()
    scores = iter([languages.Score(50.0, 20.0, 7, 1.5), languages.Score(51.0, 21.0, 8, 1.5)])
    monkeypatch.setattr(languages, "measure", lambda run, updates, beam: next(scores))
    found = [languages.measured(run, updates, 5).chrf for updates in (7, 7, 8)]
    assert found == [50.0, 50.0, 51.0]


def test_text_of_a_pair_stands_in_the_folder_of_the_other_language(tmp_path: Path) -> None:
    (tmp_path / "ja").mkdir()
    for name in ("test.en.gz", "test.ja"):
        (tmp_path / "ja" / name).touch()
    for direction in (Direction("en", "ja", tmp_path), Direction("ja", "en", tmp_path)):
        assert direction.text("test", "en").name == "test.en.gz"
        assert direction.text("test", "ja").name == "test.ja"
    with pytest.raises(BenchError, match=r"has no val\.ja"):
        direction.text("val", "ja")


@pytest.mark.parametrize("system", [RecipeNmtkit(), OpenNMTRecurrent(Path("python"))])
def test_a_kept_translation_has_its_figures(system: System, task: Task, tmp_path: Path) -> None:
    folder = tmp_path / "help" / "de"
    folder.mkdir(parents=True)
    (folder / "test.de").write_text("Der Hund schläft heute lange.\nJa.\n")
    run = Run(Direction("en", "de", tmp_path / "help"), system, task)
    task.folder.mkdir()
    run.translation.write_text("Der Hund schläft heute nicht.\nJa.\n")
    run_command(run.keep_command(tmp_path / "kept", 7, 4), task.folder / "log")
    (path,) = (tmp_path / "kept").glob("*.json")
    record = json.loads(path.read_text())
    chrf, bleu = scores_of(run.translation, run.reference, "de")
    values = {name: figure["value"] for name, figure in record["figures"][0]["values"].items()}
    assert values == {"BLEU (sacreBLEU)": pytest.approx(bleu), "chrF": pytest.approx(chrf)}
    assert record["system"] == f"{system.name}, 7 updates"
    assert record["commands"] == ["python bench/languages.py --data help --pairs en-de --minutes 4"]


@pytest.mark.parametrize("pair", ["ende", "en-", "de-fr", "en-en"])
def test_a_pair_without_english_is_refused(pair: str, tmp_path: Path) -> None:
    options = ["--data", str(tmp_path), "--pairs", pair, "--work", str(tmp_path / "work")]
    with pytest.raises(BenchError, match=f"--pairs {pair}: expected SRC-TGT"):
        languages.main(options)


def test_figures_of_another_size_are_not_mixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(languages, "runs_of", lambda options: [])
    monkeypatch.setattr(languages, "updates_of", lambda *_: [])
    same = ["--data", str(tmp_path), "--work", str(tmp_path / "work")]
    assert (
        languages.main([*same, "--minutes", "1"]) == languages.main([*same, "--minutes", "2"]) == 0
    )
    for option in ("--hidden", "--beam", "--size"):
        with pytest.raises(BenchError, match=f"has figures of {option[2:]} "):
            languages.main([*same, option, "64"])
