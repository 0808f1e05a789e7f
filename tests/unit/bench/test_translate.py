"""The report on translation speed."""

import json
import shlex
import sys
from pathlib import Path

import pytest
import translate
from operations import SMALL
from systems import Data, Nmtkit, System, Task
from timing import BenchError, CommandCost


def reading(whole: float, line: float, words: int = 1000) -> translate.Reading:
    """Return a round with these wall-clock seconds and twice as many processor seconds."""
    return translate.Reading(
        CommandCost(whole, 2 * whole, 0), CommandCost(line, 2 * line, 0), words, bleu=30.0
    )


def test_start_up_does_not_count() -> None:
    assert reading(5.0, 3.0).speed("wall", start=3.0) == 500
    assert reading(5.0, 3.0).speed("cpu", start=6.0) == 250


def test_a_slow_start_affects_no_round() -> None:
    readings = [reading(5.0, line) for line in (3.0, 4.9, 3.0)]
    assert translate.median_start_up(readings, "wall") == 3
    report = translate.report(5, {"nmtkit": readings}, {"nmtkit": Nmtkit()}, "wall")
    assert "500 (500–500)" in report


def test_ratios_are_to_the_fastest_peer() -> None:
    readings = {
        "nmtkit": [reading(3.0, 1.0), reading(2.0, 1.0), reading(3.0, 1.0)],
        "nmtkit --quantize": [reading(1.5, 1.0)],
        "slow": [reading(11.0, 1.0)],
        "fast": [reading(5.0, 1.0)],
    }
    report = translate.report(5, readings, {name: Nmtkit() for name in readings}, "wall")
    rows = [line.strip("| ").split(" | ") for line in report.splitlines() if "|" in line][2:]
    ratios = {name: ratio for name, _, _, ratio, *_ in rows}
    assert ratios == {"nmtkit": "2.00", "nmtkit --quantize": "8.00", "slow": "0.40", "fast": "1.00"}
    assert rows[0] == ["nmtkit", "64", "500 (500–1,000)", "2.00", "3.00", "1.00", "30.00"]


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


def test_the_fastest_batch_is_searched_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def read(system: System, *_: object) -> translate.Reading:
        tried.append(system.batch(5))
        if system.batch(5) == 8:
            raise BenchError("too much memory")
        return reading({2: 4.0, 4: 3.0, 6: 5.0}[system.batch(5)], 1.0)

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
