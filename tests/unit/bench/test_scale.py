"""Corpora of any size, and the cost of an additional pair."""

from pathlib import Path

import pytest
import scale
from plotting import Panel, draw
from timing import BenchError, CommandCost, Spread


@pytest.mark.parametrize("lines", [1, 3, 7, 300])
def test_lines_are_repeated_in_order(tmp_path: Path, lines: int, monkeypatch) -> None:
    monkeypatch.setattr(scale, "BLOCK_LINES", 5)
    (tmp_path / "a").write_bytes("1\n\u2028\n\r3\n".encode())
    scale.write_repeated(tmp_path / "a", tmp_path / "b", lines)
    written = (tmp_path / "b").read_bytes().split(b"\n")
    assert written.pop() == b""
    assert written == ((tmp_path / "a").read_bytes().split(b"\n")[:-1] * lines)[:lines]


def test_an_empty_corpus_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(BenchError, match="no line"):
        scale.write_repeated(tmp_path / "a", tmp_path / "b", 5)


def test_linear_time_gives_a_constant_marginal_cost() -> None:
    spreads = {size: Spread.of([2.0 + size * 1e-5]) for size in (1000, 10_000, 100_000)}
    costs = scale.marginal_microseconds(spreads)
    assert [round(cost, 6) for cost in costs.values()] == [2010, 10, 10]
    guide = dict(scale.proportional({size: Spread.of([3e-5 * size]) for size in spreads}))
    assert guide == pytest.approx({size: 3e-5 * size for size in spreads})


def test_a_figure_is_drawn(tmp_path: Path) -> None:
    points = [(10.0, Spread.of([1.0, 2.0])), (100.0, Spread.of([5.0]))]
    panels = [
        Panel("time & memory", "pairs", "s", {"one": points, "other": points[:1]}, logarithmic="xy")
    ]
    for name in ("a", "b"):
        draw(tmp_path / f"{name}.svg", panels, "Cost")
    svg = (tmp_path / "a.svg").read_bytes()
    assert svg == (tmp_path / "b.svg").read_bytes()
    assert svg.count(b">time &amp; memory<") == 1 and b">other<" in svg
    assert b"<title>Cost</title>" in svg and b"one: from 1.5 at 10 to 5 at 100;" in svg
    assert b">100</text>" in svg  # numbers on a logarithmic axis are text without exponents


def test_each_command_runs_on_each_size(tmp_path: Path) -> None:
    for side in ("src", "tgt"):
        (tmp_path / side).write_text("one two .\nthree\n")
    arguments = ["--corpus", str(tmp_path / "src"), str(tmp_path / "tgt"), "--sizes", "30", "9"]
    arguments += ["--threads", "1", "--work", str(tmp_path / "work")]
    output = ["--output", str(tmp_path / "scale.md"), "--plot", str(tmp_path / "scale.svg")]
    assert scale.main(arguments + output) == 0
    rows = (tmp_path / "scale.md").read_text().splitlines()
    for command in scale.COMMANDS:
        assert [row.split(" | ")[1] for row in rows if row.startswith(f"| {command} |")] == [
            "9",
            "30",
        ]
    assert (tmp_path / "scale.svg").is_file()
    assert list((tmp_path / "work" / "scale").iterdir()) == []
    with pytest.raises(BenchError, match="no size could be measured"):
        scale.main([*arguments, "--corpus", str(tmp_path / "src"), str(tmp_path)])


def test_the_median_of_the_rounds_is_reported() -> None:
    runs = [CommandCost(seconds, 2 * seconds, 1 << 20) for seconds in (1.0, 5.0, 2.0)]
    rows = scale.rows({"prepare": {1000: runs}}, "cpu")
    assert rows == [["prepare", "1,000", "4.00 (2.00–10.00)", "4000.0", "1"]]
