#!/usr/bin/env python3
"""Write a Markdown table of numbers read from files.

    table.py 'model | paper | BLEU' 'RNNenc | 17.8 | bleu A/test.5.hyp B/test.5.hyp'

The first argument is the header, each other one a row. A cell that starts with the name of a
measure (bleu, nll, perplexity, minutes) lists files, one per seed: the table shows the mean and,
for several seeds, each value. Any other cell is copied. Each --note is a line below the table.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from measures import MEASURES

from nmtkit.errors import NmtkitError

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from corpora import CorpusError, run_program  # noqa: E402 (found beside this folder, from any one)


def cell(text: str) -> str:
    """Return the text of a table cell for a cell of the command line."""
    name, *files = text.split() or [""]
    if name not in MEASURES or not files:
        return text.strip()
    values = [value_of(name, Path(file)) for file in files]
    digits = 2 if name in ("perplexity", "nll") else 1
    numbers = " ".join(f"{value:.{digits}f}" for value in values)
    return f"{mean(values):.{digits}f} ({numbers})" if len(values) > 1 else numbers


def value_of(name: str, path: Path) -> float:
    """Return a measure of a file.

    :raises CorpusError: the file does not have it.
    """
    try:
        return MEASURES[name](path)
    except (ValueError, ZeroDivisionError, NmtkitError) as error:
        raise CorpusError(f"{path}: has no {name}: {error}") from error


def table(head: str, rows: Sequence[str]) -> str:
    """Return the Markdown table, the first column aligned left, others right."""
    titles = [title.strip() for title in head.split("|")]
    rules = ["---"] + ["---:"] * (len(titles) - 1)
    cells = [titles, rules, *([cell(part) for part in row.split("|")] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def with_notes(text: str, notes: Sequence[str]) -> str:
    """Return a table with notes below it."""
    return text + (f"\n{' '.join(notes)}\n" if notes else "")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program.

    :param arguments: Command line; None: sys.argv.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--note", dest="notes", action="append", default=[], metavar="TEXT")
    parser.add_argument("head", metavar="HEAD")
    parser.add_argument("rows", metavar="ROW", nargs="+")
    options = parser.parse_args(arguments)
    print(with_notes(table(options.head, options.rows), options.notes), end="")


if __name__ == "__main__":
    sys.exit(run_program("table", main, None))
