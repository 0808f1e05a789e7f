"""What commands show in a terminal: one progress bar, and a hint when they wait for input."""

import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from nmtkit.data.word_pairs import WordPairs
from tests.terminal import Shown, run_in_terminal

Nmtkit = Callable[..., Result]

HINT = "nmtkit: reading from the terminal: type lines, end with Ctrl-D"


@pytest.fixture
def lines(corpus: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Write a bitext of 400 pairs; return both files."""
    files = []
    for language in ("en", "fr"):
        files.append(tmp_path / f"long.{language}")
        files[-1].write_text((corpus / f"train.{language}").read_text("utf-8") * 20, "utf-8")
    return files[0], files[1]


def bars(shown: Shown) -> list[str]:
    return [frame for frame in shown.frames if not frame.startswith("nmtkit: ")]


def assert_clean(shown: Shown, columns: int) -> None:
    """Check that each drawn line fits the terminal, and that no bar is left."""
    assert shown.status == 0, shown.text
    assert "\x1b" not in shown.text
    assert all(len(bar) < columns for bar in bars(shown))
    assert all(line.startswith("nmtkit: ") for line in shown.screen)


@pytest.mark.parametrize("columns", [80, 40])
def test_translating_a_file_shows_how_far_it_is(
    model: Path, lines: tuple[Path, Path], tmp_path: Path, columns: int
) -> None:
    command = ["translate", "-m", model, lines[0], "-o", tmp_path / "out", "--batch-size", 4]
    shown = run_in_terminal(command, tmp_path / "stdout", columns)
    assert_clean(shown, columns)
    assert any(re.match(r"(translate: )?\d+ of 400 lines", bar) for bar in bars(shown))
    assert shown.output == "" and len((tmp_path / "out").read_text().splitlines()) == 400


def test_a_file_translated_in_place_shows_how_far_it_is(
    model: Path, lines: tuple[Path, Path], tmp_path: Path
) -> None:
    """Its sentences are counted, not its lines, which stood at 0; nor is it read as plain text."""
    page = tmp_path / "page.html"
    sentences = lines[0].read_text("utf-8").splitlines()
    page.write_text("<html>" + "".join(f"<p>{line}</p>\n" for line in sentences), "utf-8")
    command = ["translate", "-m", model, page, "--format", "html", "-o", tmp_path / "out"]
    shown = run_in_terminal([*command, "--batch-size", 4], tmp_path / "stdout")
    assert_clean(shown, 80)
    assert any(re.match(r"translate: [1-9]\d* sentences", bar) for bar in bars(shown)), shown.text
    assert "plain text" not in shown.text


COMMANDS: dict[str, tuple[list[object], str]] = {
    "score": (["score", "-m", "MODEL", "SRC", "TGT"], r"score: \d+ of 400 lines"),
    "align": (["align", "-m", "MODEL", "SRC", "TGT"], r"align: \d+ of 400 pairs"),
    "report": (
        ["report", "MODEL", "--source", "SRC", "--reference", "TGT", "-o", "OUT"],
        r"translate by model: \d+ of 400 sentences",
    ),
    "evaluate": (
        ["evaluate", "TGT", "TGT", "--system", "b", "TGT", "-t", "fr"],
        r"bootstrap: \d+ of 1,000 samples",
    ),
    "evaluate one": (
        ["evaluate", "SRC", "TGT", "-t", "fr"],
        r"measure (BLEU|CHRF|TER): \d+ of 400 sentences",
    ),
    "select": (
        ["select", "--domain", "SRC", "TGT", "--pool", "SRC", "TGT", "--pairs", 5]
        + ["-s", "en", "-t", "fr", "-o", "OUT.en", "OUT.fr", "--workers", 1],
        r"score: \d+ of 400 pairs",
    ),
    "check": (["check", "MODEL"], r"check: "),
    "calibrate": (
        ["calibrate", "COPY", "--dev", "SRC", "TGT"],
        r"translate the dev set: \d+ of 400 lines",
    ),
    "prepare": (
        ["prepare", "--train", "MANY.en", "MANY.fr", "-o", "OUT"]
        + ["-s", "en", "-t", "fr", "--subword", "bpe", "--workers", 1],
        r"(prepare words|learn subwords): ",  # so few merges may be learned before a bar moves
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_shows_how_far_it_is(
    name: str, model: Path, lines: tuple[Path, Path], tmp_path: Path
) -> None:
    words, expected = COMMANDS[name]
    places = {"MODEL": model, "SRC": lines[0], "TGT": lines[1], "OUT": tmp_path / "out.html"}
    places |= {f"OUT.{side}": tmp_path / f"out.{side}" for side in ("en", "fr")}
    places["COPY"] = shutil.copytree(model, tmp_path / "copy")
    for file in lines:  # 400 lines may be split into words before a bar is drawn
        many = places[f"MANY{file.suffix}"] = tmp_path / f"many{file.suffix}"
        many.write_text(file.read_text("utf-8") * 50, "utf-8")
    shown = run_in_terminal([places.get(str(w), w) for w in words], tmp_path / "stdout")
    assert_clean(shown, 80)
    assert any(re.match(expected, bar) for bar in bars(shown)), shown.text


@pytest.mark.parametrize(
    ("name", "threads"),
    [("translate", 1), ("translate", 2), ("sample", 1), ("score", 1), ("align", 1), ("report", 1)],
)
def test_a_bar_moves_while_a_window_of_lines_is_still_in_work(
    name: str, threads: int, model: Path, lines: tuple[Path, Path], tmp_path: Path
) -> None:
    """All 400 lines are one window; bars stood at 0 until its end, minutes with a large model."""
    out, unit = tmp_path / "out", "pairs" if name == "align" else "lines"
    command: list[object] = [name, "-m", model, *lines, "-o", out]
    if name in ("translate", "sample"):
        command = ["translate", "-m", model, lines[0], "-o", out]
        command += ["--sample", 2] if name == "sample" else ["--beam", 5]
    elif name == "report":
        command = [name, model, "--source", lines[0], "--reference", lines[1], "-o", out]
        unit = "sentences"
    command += ["--batch-size", 25, "--threads", threads]
    shown = run_in_terminal(command, tmp_path / "stdout", forked=threads == 1)
    assert_clean(shown, 80)
    counts = [re.search(rf"(\d+) of 400 {unit}", bar) for bar in bars(shown)]
    numbers = [int(count[1]) for count in counts if count and "measure" not in count.string]
    assert any(0 < number < 400 and number % 25 == 0 for number in numbers), shown.text
    assert numbers == sorted(numbers)


def test_tuning_shows_its_epochs(tmp_path: Path) -> None:
    rows = [f"{n} ||| a b c {w} ||| F= {i} ||| {i}" for n in range(60) for i, w in enumerate("xyz")]
    (tmp_path / "list").write_text("\n".join(rows) + "\n")
    (tmp_path / "ref").write_text("a b c x\n" * 60)
    command = ["nbest", "tune", tmp_path / "list", tmp_path / "ref", "--method", "mira"]
    shown = run_in_terminal(command, tmp_path / "stdout")
    assert_clean(shown, 80)
    assert any(re.match(r"tune: \d+ of 60 epochs", bar) for bar in bars(shown)), shown.text


@pytest.mark.parametrize("columns", [80, 40])
def test_the_line_of_a_training_fits_and_has_cost_dev_bleu_and_time_left(
    prepared: Path, small: list[str], tmp_path: Path, columns: int
) -> None:
    settings = ["--set", "training.max_updates=200", "--set", "training.validate_every=60"]
    command = ["train", prepared, "-o", tmp_path / "model", "--recipe", "toy", "--device", "cpu"]
    shown = run_in_terminal([*command, *small, *settings], tmp_path / "stdout", columns)
    assert_clean_training(shown, columns)
    wanted = r"cost \d+\.\d{3}, dev BLEU \d+\.\d\d, \d+:\d\d left$"
    complete = [bar for bar in bars(shown) if re.search(wanted, bar)]
    assert complete, shown.text
    if columns == 80:
        assert all(re.match(r"update \d+ of 200, epoch \d+\.\d\d, ", bar) for bar in complete)
        epochs = {re.findall(r"epoch ([\d.]+)", bar)[0] for bar in complete}
        assert len(epochs) > 2  # the current one, not that of the last line of the log
    assert any(bar.startswith("validate") for bar in bars(shown))


def test_what_a_training_learns_before_its_first_update_is_shown(
    prepared: Path, small: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimate = WordPairs.estimate

    def estimate_slowly(*arguments: Any) -> WordPairs:
        time.sleep(0.5)  # so few words may be learned before a bar is drawn on a busy machine
        return estimate(*arguments)

    monkeypatch.setattr(WordPairs, "estimate", estimate_slowly)
    settings = ["--set", "training.max_updates=1", "--guided"]
    command = ["train", prepared, "-o", tmp_path / "model", "--recipe", "toy", "--device", "cpu"]
    shown = run_in_terminal([*command, *small, *settings], tmp_path / "stdout")
    assert_clean_training(shown, 80)
    assert any(re.match(r"learn which words .*: 0:0\d so far$", bar) for bar in bars(shown))


def assert_clean_training(shown: Shown, columns: int) -> None:
    """Check as `assert_clean`; the sparklines of the validations stay."""
    assert shown.status == 0 and "\x1b" not in shown.text
    assert all(len(bar) < columns for bar in bars(shown))
    assert not any(line.startswith(("update", "validate")) for line in shown.screen)


@pytest.mark.parametrize("quiet", [True, False])
def test_a_bar_is_drawn_neither_when_quiet_nor_over_results(
    model: Path, lines: tuple[Path, Path], tmp_path: Path, quiet: bool
) -> None:
    command = ["translate", "-m", model, lines[0], *(["-q"] if quiet else [])]
    shown = run_in_terminal(command, tmp_path / "stdout", terminal_stdout=not quiet)
    assert shown.status == 0 and "of 400 lines" not in shown.text
    assert (bars(shown) == []) is quiet


def test_without_a_terminal_stderr_has_the_log_alone(
    nmtkit: Nmtkit, model: Path, lines: tuple[Path, Path]
) -> None:
    log = nmtkit("translate", "-m", model, lines[0]).stderr
    assert "\r" not in log and all(line.startswith("nmtkit: ") for line in log.splitlines())
    assert nmtkit("score", "-m", model, *lines).stderr.count("\n") == 1


def test_an_error_wipes_the_bar(model: Path, lines: tuple[Path, Path], tmp_path: Path) -> None:
    lines[1].write_text(lines[1].read_text("utf-8") + "un\n", encoding="utf-8")
    command = ["score", "-m", model, *lines, "-o", tmp_path / "out", "--batch-size", 4]
    shown = run_in_terminal(command, tmp_path / "stdout")
    assert shown.status == 1
    assert len(shown.screen) > 0 and not any("of 401" in line for line in shown.screen[1:])
    assert shown.screen[0].startswith("nmtkit: error: ")


def test_waiting_for_a_terminals_input_is_said_once(model: Path, tmp_path: Path) -> None:
    shown = run_in_terminal(
        ["translate", "-m", model], tmp_path / "stdout", typed=b"one two\nthree\n\x04"
    )
    assert shown.status == 0 and len(shown.output.splitlines()) == 2
    assert shown.text.count(HINT) == 1


@pytest.mark.parametrize("arguments", [["-q"], ["SRC"]])
def test_the_hint_is_for_those_who_are_waited_for(
    model: Path, lines: tuple[Path, Path], tmp_path: Path, arguments: list[str]
) -> None:
    words = [lines[0] if word == "SRC" else word for word in arguments]
    command = ["translate", "-m", model, *words]
    shown = run_in_terminal(command, tmp_path / "stdout", typed=b"one\n\x04")
    assert shown.status == 0 and "terminal" not in shown.text
