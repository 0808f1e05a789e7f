"""Commands that train, convert and translate with CTranslate2."""

from pathlib import Path

import translate
from ctranslate2_system import CTranslate2
from systems import Task


def test_a_trained_transformer_is_converted(task: Task) -> None:
    system = CTranslate2(Path("there/python"))
    shell, _, command = system.train(task)
    assert shell == "sh"
    train, convert = str(command).split(" && ")
    assert "onmt.bin.train" in train
    assert f"{task.folder}/model_step_{task.updates}.pt" in convert
    assert str(system.model(task).parent) in convert


def test_it_translates_what_it_reads(task: Task) -> None:
    system = CTranslate2(Path("there/python"), "int8")
    words = [str(word) for word in system.translate(task, Path("s"), Path("o"), 5)]
    assert words[1].endswith("peers/ctranslate.py")
    assert words[2:] == [str(task.folder / "converted"), "int8", "2", "5", "64", "100"]
    assert system.streams(Path("s"), Path("o")) == {"stdin": Path("s"), "stdout": Path("o")}


def test_both_kinds_have_rows_and_share_a_model(tmp_path: Path, task: Task) -> None:
    (tmp_path / "opennmt" / "bin").mkdir(parents=True)
    (tmp_path / "opennmt" / "bin" / "python").touch()
    arguments = ["--peers", str(tmp_path), "--transformer-updates", "9", "--work", str(tmp_path)]
    options = translate.options_of(arguments)
    rows = translate.rows_of(options)
    transformers = [system for name, system in rows.items() if name.startswith("CTranslate2")]
    assert [system.name.split(", ")[-1] for system in transformers] == ["float32", "int8"]
    tasks = [translate.task_of(system, task.data, options) for system in transformers]
    assert tasks[0] == tasks[1] and tasks[0].updates == 9
