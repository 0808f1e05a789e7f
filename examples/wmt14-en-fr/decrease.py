#!/usr/bin/env python3
"""Draw how much BLEU falls as sentences may have more unknown words.

    nmtkit evaluate ... --by unknown --csv > unknown.csv
    decrease.py unknown.csv --plot decrease.svg

As figure 3 of Pouget-Abadie et al. 2014: BLEU of the sentences with at most k unknown words, less
that of the sentences without any, for each k and each system. The table is written to stdout. A
system without sentences of known words has no decrease and is left out.
"""

import argparse
import csv
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nmtkit.report.figure_io import default_style, new_figure, write_figure
from nmtkit.report.styles import curve_style, draw_legend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curves = Mapping[str, Mapping[int, float]]
"""system -> largest number of unknown words -> BLEU, or its decrease."""


def read_bleu(path: Path) -> Curves:
    """Return BLEU by the largest number of unknown words that is allowed."""
    curves: dict[str, dict[int, float]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["by"] == "unknown" and row["figure"]:
                bleu = curves.setdefault(row["system"], {})
                bleu[int(float(row["high"]))] = float(row["figure"])
    return curves


def decreases(bleu: Curves) -> Curves:
    """Return the difference of each figure from that without unknown words."""
    return {
        system: {allowed: value - values[0] for allowed, value in values.items()}
        for system, values in bleu.items()
        if 0 in values
    }


def table(curves: Curves) -> str:
    """Return a Markdown table with systems as rows."""
    allowed = sorted({number for values in curves.values() for number in values})
    rows = [
        ["unknown words, at most", *map(str, allowed)],
        ["---", *("---:" for _ in allowed)],
        *(
            [system, *(f"{values[n]:+.2f}" if n in values else "" for n in allowed)]
            for system, values in curves.items()
        ),
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def draw(curves: Curves) -> "Figure":
    """Draw one line for each system."""
    with default_style():
        figure = new_figure((6.0, 3.6))
        axes = figure.add_subplot()
        for number, (name, values) in enumerate(curves.items()):
            numbers = sorted(values)
            style = curve_style(number, len(numbers))
            axes.plot(numbers, [values[n] for n in numbers], **style, label=name)
        axes.set_xlabel("Max. number of unknown words")
        axes.set_ylabel("BLEU decrease")
        axes.grid(visible=True, color="0.85", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.locator_params(axis="x", integer=True)
        draw_legend(axes, list(curves), axes.get_lines())
    return figure


def main(arguments: list[str] | None = None) -> None:
    """Run the program.

    :param arguments: Command line; None: sys.argv.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("csv", type=Path, metavar="CSV")
    parser.add_argument("--plot", type=Path, required=True, metavar="FILE")
    options = parser.parse_args(arguments)
    curves = decreases(read_bleu(options.csv))
    title = f"BLEU decrease with unknown words: {', '.join(curves)}"
    write_figure(options.plot, lambda: draw(curves), list(curves), force=True, title=title)
    print(table(curves), end="")


if __name__ == "__main__":
    main()
