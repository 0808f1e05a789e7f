"""The report of a comparison of translation speed: readings, and the table of one beam."""

from dataclasses import dataclass

from systems import System
from timing import CLOCKS, CommandCost, Spread, table, with_spread


@dataclass(frozen=True)
class Reading:
    """One round of one system.

    whole: the command on all lines; line: on one line; words: number of output words without
    `</s>`; bleu: on words, in percent.
    """

    whole: CommandCost
    line: CommandCost
    words: int
    bleu: float

    def speed(self, clock: str, start: float) -> float:
        """Return output words per second without start-up."""
        return self.words / max(self.whole.by(clock) - start, 1e-9)


def median_start_up(readings: list[Reading], clock: str) -> float:
    """Return the start-up time in seconds as the median of all rounds.

    A single slow start would make the rest of its round look fast.
    """
    return Spread.of([reading.line.by(clock) for reading in readings]).median


def report(
    beam: int, readings_by_system: dict[str, list[Reading]], rows: dict[str, System], clock: str
) -> str:
    """Return the Markdown of one beam."""
    speeds = {}
    for name, readings in readings_by_system.items():
        start = median_start_up(readings, clock)
        speeds[name] = Spread.of([reading.speed(clock, start) for reading in readings])
    others = [speed.median for name, speed in speeds.items() if not name.startswith("nmtkit")]
    header = ["system", "batch", f"output words a {CLOCKS[clock]}", "relative to the fastest peer"]
    header += ["all lines, s", "one line, s", "BLEU"]
    cells = []
    for name, readings in readings_by_system.items():
        whole = Spread.of([reading.whole.by(clock) for reading in readings])
        ratio = f"{speeds[name].median / max(others):.2f}" if others else ""
        row = [name, str(rows[name].batch(beam)), with_spread(speeds[name]), ratio]
        cells.append(
            [
                *row,
                f"{whole.median:.2f}",
                f"{median_start_up(readings, clock):.2f}",
                f"{readings[0].bleu:.2f}",
            ]
        )
    return f"### Beam {beam}\n\n{table(header, cells)}"
