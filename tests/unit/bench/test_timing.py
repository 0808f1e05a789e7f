"""Commands are run in turns, and their cost is reported."""

import argparse
import json
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from timing import (
    BenchError,
    Spread,
    check_settings,
    exit_with,
    in_turns,
    positive,
    run_command,
    select_names,
    table,
    with_spread,
    write_report,
)

from nmtkit.errors import DataError


def test_a_spread_has_the_median_and_the_extremes() -> None:
    assert Spread.of([5.0, 1.0, 3.0]) == Spread(3.0, 1.0, 5.0, 3)
    with pytest.raises(ValueError):
        Spread.of([])


def test_the_text_of_a_spread() -> None:
    assert with_spread(Spread.of([4050.4])) == "4,050"
    assert with_spread(Spread.of([1.0, 2.0, 4.0]), 1) == "2.0 (1.0–4.0)"


def test_each_round_starts_with_the_next_command() -> None:
    order: list[str] = []
    runs = {name: lambda name=name: order.append(name) for name in "abc"}
    in_turns(runs, 3, lambda _: None)
    assert order == ["a", "b", "c", "b", "c", "a", "c", "a", "b"]


def test_failed_commands_are_left_out_and_the_others_continue() -> None:
    tries = []

    def fails() -> int:
        tries.append(1)
        raise BenchError("it broke")

    messages: list[str] = []
    results = in_turns({"good": lambda: 1, "bad": fails}, 3, messages.append)
    assert results == {"good": [1, 1, 1]}
    assert len(tries) == 1
    assert "bad is skipped: it broke" in messages


def test_a_failed_benchmark_ends_with_one_line() -> None:
    def fails(arguments: Sequence[str]) -> int:
        raise BenchError("it broke")

    with pytest.raises(SystemExit, match="^bench: it broke$"):
        exit_with(fails)
    with pytest.raises(SystemExit, match="^3$"):
        exit_with(lambda _: 3)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (DataError("a.en:3: not UTF-8"), "bench: a.en:3: not UTF-8"),
        (FileNotFoundError(2, "No such file", "text"), "bench: text: No such file"),
        (UnicodeDecodeError("utf-8", b"a\xe9", 1, 2, "unexpected end"), "byte 2"),
        (KeyboardInterrupt(), "130"),
    ],
    ids=["nmtkit", "no file", "no UTF-8", "interrupted"],
)
def test_what_a_user_can_mend_is_one_line(error: BaseException, line: str) -> None:
    def fails(arguments: Sequence[str]) -> int:
        raise error

    with pytest.raises(SystemExit) as found:
        exit_with(fails)
    assert line in str(found.value.code) and "\n" not in str(found.value.code)


def test_a_defect_keeps_its_traceback() -> None:
    def fails(arguments: Sequence[str]) -> int:
        raise OSError("of no file")

    with pytest.raises(OSError, match="of no file"):
        exit_with(fails)


def test_numbers_of_things_are_at_least_one() -> None:
    assert positive("3") == 3
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("--rounds", type=positive)
    for wrong in ("0", "-2", "x"):
        with pytest.raises(argparse.ArgumentError):
            parser.parse_args(["--rounds", wrong])


def test_figures_of_other_settings_are_not_taken_for_these(tmp_path: Path) -> None:
    work = tmp_path / "work"
    check_settings(work, {"beam": 5, "data": tmp_path})
    check_settings(work, {"beam": 5, "data": tmp_path})
    check_settings(work, {"hidden": [128]})
    with pytest.raises(BenchError, match="has figures of beam 5, not 1; .*another --work"):
        check_settings(work, {"beam": 1, "data": tmp_path})
    with pytest.raises(BenchError, match=r"hidden \[128\], not \[256\]"):
        check_settings(work, {"hidden": [256]})


def test_systems_are_selected_by_the_beginnings_of_their_names() -> None:
    names = ["ours", "ours, fast", "theirs", "theirs, large"]
    assert select_names(names, None) == names
    assert select_names(names, ["th", "ours, f"]) == names[1:]
    assert select_names(names, ["ours"]) == names[:2]
    assert select_names(names, ["ours", "theirs, "], whole=True) == ["ours", "theirs, large"]
    with pytest.raises(BenchError, match="--only other: no such system; there are ours, "):
        select_names(names, ["ours", "other"])


def test_a_command_is_measured(tmp_path: Path) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_text("words")
    code = "import sys; print(sys.stdin.read(), end=''); print('log', file=sys.stderr)"
    log = tmp_path / "new" / "log"
    cost = run_command([sys.executable, "-c", code], log, stdin=source, stdout=output)
    assert output.read_text() == "words"
    assert log.read_text() == "log\n"
    assert 0 < cost.cpu < 60 and 0 < cost.seconds < 60
    own_peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # part of a child's
    assert 1e6 < cost.peak <= max(own_peak, 1e8)  # bytes of an idle Python


def test_memory_and_time_of_a_command(tmp_path: Path) -> None:
    code = "x = b'x' * 1_500_000_000"  # more than the test process uses
    cost = run_command([sys.executable, "-c", code], tmp_path / "log")
    assert cost.peak == pytest.approx(1510e6, rel=0.05)
    assert (cost.by("wall"), cost.by("cpu")) == (cost.seconds, cost.cpu)


def test_the_environment_is_extended(tmp_path: Path) -> None:
    code = "import os; print(os.environ['BENCH_X'], 'PATH' in os.environ)"
    command = [sys.executable, "-c", code]
    run_command(command, tmp_path / "log", {"BENCH_X": "7"})
    assert (tmp_path / "log").read_text() == "7 True\n"


def test_a_failed_command_reports_its_last_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with pytest.raises(BenchError, match=r"exit status 3: the end \(full log: .*log\)"):
        code = "import sys; print('begin\\nthe end'); sys.exit(3)"
        run_command([sys.executable, "-c", code], log)
    with pytest.raises(BenchError, match="no-such-program: cannot be run"):
        run_command([tmp_path / "no-such-program"], log)


def test_a_table_is_markdown() -> None:
    assert table(["a", "b"], [["x", "1"]]) == "| a | b |\n| --- | ---: |\n| x | 1 |\n"


def test_a_report_is_printed_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "new" / "train.md"
    write_report(output, "text", {"é": [1]})
    assert capsys.readouterr().out == "text\n"
    assert output.read_text() == "text\n"
    assert json.loads(output.with_suffix(".json").read_text(encoding="utf-8")) == {"é": [1]}
