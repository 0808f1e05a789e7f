"""The report of a race: tables of the figures, panels of a picture, and reading them again."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plotting import Panel
from timing import BenchError, Spread, table


@dataclass(frozen=True)
class Row:
    """What the report says of a system on a text after some minutes.

    updates: 0 where the system itself decides.
    """

    text: str
    minutes: float
    system: str
    setting: str
    updates: int
    wall_minutes: float | None
    bleu: float
    chrf: float

    def cells(self) -> list[str]:
        """Return the columns of the table."""
        wall = "" if self.wall_minutes is None else f"{self.wall_minutes:.2f}"
        updates = f"{self.updates:,}" if self.updates else ""
        names = [self.text, f"{self.minutes:g}", self.system, self.setting]
        return [*names, updates, wall, f"{self.bleu:.1f}", f"{self.chrf:.1f}"]


HEADER = ["text", "minutes", "system", "setting", "updates", "wall minutes", "BLEU", "chrF"]


def summary(rows: Sequence[Row]) -> str:
    """Return a table with a line for each text and system: BLEU / chrF by minutes."""
    marks = sorted({row.minutes for row in rows})
    scores: dict[tuple[str, str], dict[float, str]] = {}
    for row in rows:
        found = scores.setdefault((row.text, row.system), {})
        found[row.minutes] = f"{row.bleu:.1f} / {row.chrf:.1f}"
    header = ["text", "system", *(f"{mark:g} min" for mark in marks)]
    texts = list(dict.fromkeys(row.text for row in rows))
    ordered = sorted(scores, key=lambda place: texts.index(place[0]))
    lines = [[*place, *(scores[place].get(mark, "") for mark in marks)] for place in ordered]
    return table(header, lines)


def read_rows(files: Sequence[Path]) -> list[Row]:
    """Return the rows that earlier races wrote.

    :raises BenchError: a file does not hold such rows.
    """
    try:
        rows = [Row(**row) for file in files for row in json.loads(file.read_bytes())]
    except (OSError, ValueError, TypeError) as error:
        raise BenchError(f"--results: not figures of a race: {error}") from error
    if files and not rows:
        raise BenchError("--results: there are no figures")
    return rows


def panels_of(rows: Sequence[Row]) -> list[Panel]:
    """Return a panel for each text: BLEU by minutes."""
    lines: dict[str, dict[str, list[tuple[float, Spread]]]] = {}
    marks = sorted({row.minutes for row in rows})
    for row in sorted(rows, key=lambda row: row.minutes):
        points = lines.setdefault(row.text, {}).setdefault(row.system, [])
        points.append((row.minutes, Spread.of([row.bleu])))
    return [
        Panel(text, "minutes of training", "BLEU", systems, logarithmic="x", ticks=marks)
        for text, systems in lines.items()
    ]
