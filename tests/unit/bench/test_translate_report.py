"""The report on translation speed: start-up, and ratios to the fastest peer."""

from systems import Nmtkit
from timing import CommandCost
from translate_report import Reading, median_start_up, report


def reading(whole: float, line: float, words: int = 1000) -> Reading:
    """Return a round with these wall-clock seconds and twice as many processor seconds."""
    return Reading(
        CommandCost(whole, 2 * whole, 0), CommandCost(line, 2 * line, 0), words, bleu=30.0
    )


def test_start_up_does_not_count() -> None:
    assert reading(5.0, 3.0).speed("wall", start=3.0) == 500
    assert reading(5.0, 3.0).speed("cpu", start=6.0) == 250


def test_a_slow_start_affects_no_round() -> None:
    readings = [reading(5.0, line) for line in (3.0, 4.9, 3.0)]
    assert median_start_up(readings, "wall") == 3
    table = report(5, {"nmtkit": readings}, {"nmtkit": Nmtkit()}, "wall")
    assert "500 (500–500)" in table


def test_ratios_are_to_the_fastest_peer() -> None:
    readings = {
        "nmtkit": [reading(3.0, 1.0), reading(2.0, 1.0), reading(3.0, 1.0)],
        "nmtkit --quantize": [reading(1.5, 1.0)],
        "slow": [reading(11.0, 1.0)],
        "fast": [reading(5.0, 1.0)],
    }
    table = report(5, readings, {name: Nmtkit() for name in readings}, "wall")
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if "|" in line][2:]
    ratios = {name: ratio for name, _, _, ratio, *_ in rows}
    assert ratios == {"nmtkit": "2.00", "nmtkit --quantize": "8.00", "slow": "0.40", "fast": "1.00"}
    assert rows[0] == ["nmtkit", "64", "500 (500–1,000)", "2.00", "3.00", "1.00", "30.00"]
