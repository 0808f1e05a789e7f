"""The report on translation speed."""

import gzip
import json
import shlex
import sys
from pathlib import Path

import pytest
import translate
from operations import SMALL
from systems import Data, Nmtkit, System, Task
from timing import BenchError, CommandCost
from translate_report import Reading


def test_each_option_has_a_row() -> None:
    both = translate.options_of(["--quantize", "--candidates", "lex.gz"])
    assert list(translate.rows_of(both)) == [
        "nmtkit",
        "nmtkit --quantize",
        "nmtkit --candidates",
        "nmtkit --quantize --candidates",
    ]
    assert list(translate.rows_of(translate.options_of([]))) == ["nmtkit"]


class Shell(System):
    """A program that translates by a shell command."""

    name = "shell"

    def __init__(self, shell: str) -> None:
        super().__init__(Path(sys.executable))
        self.shell = shell

    def translate(self, task: Task, source: Path, output: Path, beam: int) -> list[str | Path]:
        files = f"{shlex.quote(str(source))} > {shlex.quote(str(output))}"
        return ["sh", "-c", f"{self.shell} {files}"]


def test_missing_output_lines_are_an_error(tmp_path: Path) -> None:
    for name, text in {"test2016.src": "a b c d e\nf\n", "test2016.tgt": "a b c d e\ng\n"}.items():
        (tmp_path / name).write_text(text)
    task = Task(Data(tmp_path, tmp_path), tmp_path / "task", SMALL, 1, 1)
    task.folder.mkdir()
    line = tmp_path / "line.txt"
    line.write_text("a\n")
    measured = translate.read(Shell("cat"), task, line, 5)
    assert measured.words == 6
    assert 0 < measured.bleu < 100
    with pytest.raises(BenchError, match="1 lines, not 2"):
        translate.read(Shell("head -n 1"), task, line, 5)


class Words(Shell, Nmtkit):
    """nmtkit, in whose place a shell command translates."""

    def __init__(self) -> None:
        super().__init__("cat")


@pytest.mark.parametrize(("system", "read"), [(Words(), "abc d\n"), (Shell("cat"), "a@@ bc d\n")])
def test_all_outputs_are_counted_in_words_and_nmtkit_splits_them_itself(
    tmp_path: Path, system: Shell, read: str
) -> None:
    for side, text in {"src": "a@@ bc d\n", "tgt": "a@@ bc d\n"}.items():
        (tmp_path / f"test2016.{side}").write_text(text)
    task = Task(Data(tmp_path, tmp_path), tmp_path / "task", SMALL, 1, 1)
    task.folder.mkdir()
    line = tmp_path / "line.txt"
    line.write_text("a\n")
    assert translate.read(system, task, line, 5).words == 2
    assert (task.folder / "test2016.src.5.out").read_text() == read


def test_kept_translations_are_the_words_whose_bleu_is_reported(tmp_path: Path) -> None:
    prepared = tmp_path / "short" / "prepared"
    prepared.mkdir(parents=True)
    for side, text in {"src": "a b c@@ d e f\n", "tgt": "a b c@@ d e g\n"}.items():
        (prepared / f"test.{side}").write_text(text)
    data = Data(prepared, tmp_path)
    task = Task(data, tmp_path / "task", SMALL, 1, 1)
    task.folder.mkdir()
    (tmp_path / "line.txt").write_text("a\n")
    kept = tmp_path / "kept"
    options = translate.options_of(["--work", str(tmp_path), "--test", "test", "--keep", str(kept)])
    words = translate.text_of("Shell 1.0 --fast", 5, options)
    measured = translate.read(Shell("cat"), task, tmp_path / "line.txt", 5, "test", words)
    translate.keep("Shell 1.0 --fast", 5, data, options)
    record = json.loads((kept / "speed-short-test.Shell-1.0-fast.beam-5.json").read_text())
    with gzip.open(kept / "speed-short-test.Shell-1.0-fast.beam-5.gz", "rt") as lines:
        assert lines.read() == "a b cd e f\n"
    assert record["figures"][0]["values"]["BLEU (multi-bleu)"]["value"] == measured.bleu


def test_the_fastest_batch_is_searched_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def read(system: System, *_: object) -> Reading:
        tried.append(system.batch(5))
        if system.batch(5) == 8:
            raise BenchError("too much memory")
        seconds = {2: 4.0, 4: 3.0, 6: 5.0}[system.batch(5)]
        return Reading(CommandCost(seconds, seconds, 0), CommandCost(1, 1, 0), 1000, bleu=30.0)

    monkeypatch.setattr(translate, "read", read)
    (tmp_path / "translate").mkdir()
    options = translate.options_of(["--work", str(tmp_path), "--batches", "2", "4", "6", "8"])
    for _ in range(2):
        shell = Shell("cat")
        translate.choose_batches(5, {"shell": shell}, Data(tmp_path, tmp_path), options)
        assert shell.batch(5) == 4
    assert tried == [2, 4, 6, 8]
    for other in (["--size", "wide"], ["--test", "news"]):
        words = ["--work", str(tmp_path), "--batches", "2", "4", *other]
        translate.choose_batches(
            5, {"shell": Shell("cat")}, Data(tmp_path, tmp_path), translate.options_of(words)
        )
    assert tried[4:] == [2, 4] * 2


def test_without_a_file_candidates_come_from_the_models_alignments() -> None:
    named = translate.options_of(["--candidates", "lex.gz"])
    default = translate.options_of(["--candidates", "--updates", "7", "--work", "there"])
    assert translate.lexicon_of(named) == Path("lex.gz").absolute()
    folder = translate.folder_of("nmtkit", 7, default)
    assert translate.lexicon_of(default) == (folder / "lexicon").absolute()


@pytest.mark.parametrize(
    "other", [["--size", "wide"], ["--learning-rate", "0.5"], ["--batch", "20"]]
)
def test_a_model_with_other_settings_has_another_folder(other: list[str]) -> None:
    folders = [translate.folder_of("m", 7, translate.options_of(words)) for words in ([], other)]
    assert folders[0] != folders[1]


def test_the_makefile_measures_the_model_that_is_trained_by_default() -> None:
    options = translate.options_of(["--work", "work"])
    folder = translate.folder_of("nmtkit", options.updates, options)
    makefile = Path(__file__).parents[3] / "Makefile"
    assert f"$(BENCH_OUTPUT)/{folder}/model " in makefile.read_text(encoding="utf-8")


def test_models_of_other_data_and_other_subwords_are_refused(tmp_path: Path) -> None:
    prepared, work = tmp_path / "prepared", tmp_path / "work"
    prepared.mkdir()
    sums = {"train.src": "1", "train.tgt": "2"}

    def write(**outputs: str) -> None:
        manifest = {"format": 2, "inputs": {}, "text": {}, "splits": {}, "outputs": outputs}
        (prepared / "manifest.json").write_text(json.dumps(manifest))

    write(**sums)
    with pytest.raises(BenchError, match="has no shortlists"):
        translate.check_data(prepared, work)
    (prepared / "vocab.tgt").touch()
    translate.check_data(prepared, work)
    write(**sums, **{"sentencepiece.src": "3"})
    with pytest.raises(BenchError, match="pieces of SentencePiece"):
        translate.check_data(prepared, work)
    write(**sums, **{"bpe.src": "3"})
    translate.check_data(prepared, work)
    write(**{**sums, "train.tgt": "4"})
    with pytest.raises(BenchError, match="has figures of training data"):
        translate.check_data(prepared, work)
