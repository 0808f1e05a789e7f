#!/usr/bin/env python3
"""Write a Markdown table of what files say.

    table.py 'model | paper | BLEU' 'RNNenc | 17.8 | bleu A/test.5.hyp B/test.5.hyp'

The first argument is the head, each other a row. A cell that begins with the name of a measure
(bleu, nll, perplexity, minutes) has files behind it, one for each seed: the table gets the mean
and, where there are several, each value. Any other cell is written as it is.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from measures import MEASURES


def cell(text: str) -> str:
    """What stands in a table's cell for one of the command line."""
    name, *files = text.split() or [""]
    if name not in MEASURES or not files:
        return text.strip()
    values = [MEASURES[name](Path(file)) for file in files]
    digits = 2 if name in ("perplexity", "nll") else 1
    each = " ".join(f"{value:.{digits}f}" for value in values)
    return f"{mean(values):.{digits}f} ({each})" if len(values) > 1 else each


def table(head: str, rows: Sequence[str]) -> str:
    """The Markdown: names to the left, all else to the right."""
    titles = [title.strip() for title in head.split("|")]
    rules = ["---"] + ["---:"] * (len(titles) - 1)
    cells = [titles, rules, *([cell(part) for part in row.split("|")] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def main(arguments: list[str] | None = None) -> None:
    """:param arguments: those of the command line; None takes them from there."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("head", metavar="HEAD")
    parser.add_argument("rows", metavar="ROW", nargs="+")
    options = parser.parse_args(arguments)
    print(table(options.head, options.rows), end="")


if __name__ == "__main__":
    main()
