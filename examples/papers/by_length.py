#!/usr/bin/env python3
"""BLEU by source length: a Markdown table, a CSV file and a figure.

    by_length.py --lengths 10 20 30 --output fig2 'RNNenc | A/every.5.hyp B/every.5.hyp' ...

writes fig2.md, fig2.csv and fig2.svg. An argument is a system's name and its translations, one file
per seed. A length is a number of words; each of `--lengths` is the inclusive end of a range. Longer
sentences and empty ranges are left out. The table has means over the seeds, the CSV file each
value, the figure a line for the mean and a band from the lowest to the highest. Each --note is a
line below the table.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from measures import bleu_within, lines_of, text_of
from table import with_notes

from nmtkit.errors import NmtkitError
from nmtkit.report.figure_io import FONT, default_style
from nmtkit.report.figure_text import describe_lines, label_svg
from nmtkit.report.styles import COLOURS, curve_style

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from corpora import CorpusError, run_program  # noqa: E402 (found beside this folder, from any one)

STYLES = {
    "rnnsearch-50": 0,
    "rnnenc-50": 1,
    "seq2seq-lstm": 2,
    "rnnsearch-30": 3,
    "rnnenc-30": 4,
    "whole sentences": 4,  # translated by rnnenc-30
}
"""Colour, dashes and marker of a system, the same in every figure: its index in `COLOURS`."""
Ranges = list[tuple[int, int]]
BleuByRange = Mapping[str, list[list[float]]]  # system -> range -> seed -> BLEU


def ranges_of(ends: Sequence[int]) -> Ranges:
    """Return first and last length of each range."""
    return [(before + 1, end) for before, end in zip([0, *ends], ends, strict=False)]


def bleu_of_range(path: Path, first: int, last: int) -> float:
    """Return BLEU on the sentences with source lengths in a range.

    :raises CorpusError: the file is not a translation of its set.
    """
    try:
        texts = lines_of(path), text_of(path, "tgt"), text_of(path, "src")
        return bleu_within(texts, first, last)
    except (ValueError, NmtkitError) as error:
        raise CorpusError(f"{path}: not a translation of its set: {error}") from error


def measure(systems: Mapping[str, list[Path]], ranges: Ranges) -> BleuByRange:
    """Return every system's BLEU by range and seed."""
    return {
        name: [[bleu_of_range(path, *ends) for path in paths] for ends in ranges]
        for name, paths in systems.items()
    }


def table(bleu: BleuByRange, ranges: Ranges, counts: Sequence[int]) -> str:
    """Return a Markdown table with ranges as columns and systems as rows."""
    rows = [
        ["source words", *(f"{first}-{last}" for first, last in ranges)],
        ["---", *("---:" for _ in ranges)],
        ["sentences", *map(str, counts)],
        *([name, *(f"{mean(seeds):.1f}" for seeds in row)] for name, row in bleu.items()),
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def csv_lines(bleu: BleuByRange, ranges: Ranges) -> Iterator[str]:
    """Yield a line for each system, range and seed."""
    yield "system,first,last,seed,bleu\n"
    for name, row in bleu.items():
        for (first, last), seeds in zip(ranges, row, strict=True):
            for seed, value in enumerate(seeds, start=1):
                yield f"{name},{first},{last},{seed},{value:.3f}\n"


def style_indices(systems: Sequence[str]) -> dict[str, int]:
    """Return the style of each system: its own, or the last ones that no system here has."""
    known = {name: STYLES[name] for name in systems if name in STYLES}
    free = [n for n in reversed(range(len(COLOURS))) if n not in known.values()]
    others = [name for name in systems if name not in known]
    return known | {name: free[n % len(free)] for n, name in enumerate(others)}


def draw(path: Path, bleu: BleuByRange, ranges: Ranges) -> None:
    """Write the figure as SVG."""
    with default_style():
        import matplotlib
        from matplotlib.figure import Figure

        settings: Any = {"font.size": 9, "font.family": FONT}
        matplotlib.rcParams.update(settings)
        figure = Figure(figsize=(5.2, 3.4), layout="constrained")
        axes = figure.add_subplot()
        across = [(first + last) / 2 for first, last in ranges]
        styles = style_indices(list(bleu))
        for name, row in bleu.items():
            style = curve_style(styles[name], len(across))
            axes.plot(across, [mean(seeds) for seeds in row], label=name, **style)
            low, high = [min(seeds) for seeds in row], [max(seeds) for seeds in row]
            axes.fill_between(across, low, high, color=style["color"], alpha=0.2, linewidth=0)
        axes.set_xticks(across, [f"{first}-{last}" for first, last in ranges])
        axes.set_xlabel("source words")
        axes.set_ylabel("BLEU")
        axes.set_ylim(0)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        figure.savefig(path, metadata={"Date": None, "Creator": None})
    title = f"BLEU by the number of source words: {', '.join(bleu)}"
    path.write_bytes(label_svg(path.read_bytes(), title, describe_lines(figure)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program.

    :param arguments: Command line; None: sys.argv.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lengths", type=int, nargs="+", required=True, metavar="N")
    parser.add_argument("--output", type=Path, required=True, metavar="NAME", help="without suffix")
    parser.add_argument("--note", dest="notes", action="append", default=[], metavar="TEXT")
    parser.add_argument("systems", nargs="+", metavar="'NAME | FILES'")
    options = parser.parse_args(arguments)
    named = (system.partition("|")[::2] for system in options.systems)
    systems = {name.strip(): [Path(file) for file in files.split()] for name, files in named}
    for name, files in systems.items():
        if not files:
            parser.error(f"'{name}' has no files; expected 'NAME | FILES'")
    lengths = [len(line.split()) for line in text_of(next(iter(systems.values()))[0], "src")]
    sentences = {
        (first, last): sum(first <= length <= last for length in lengths)
        for first, last in ranges_of(options.lengths)
    }
    ranges = [ends for ends, count in sentences.items() if count]
    counts = [sentences[ends] for ends in ranges]
    bleu = measure(systems, ranges)
    markdown = with_notes(table(bleu, ranges, counts), options.notes)
    options.output.with_suffix(".md").write_text(markdown, encoding="utf-8")
    text = "".join(csv_lines(bleu, ranges))
    options.output.with_suffix(".csv").write_text(text, encoding="utf-8")
    draw(options.output.with_suffix(".svg"), bleu, ranges)
    print(markdown, end="")


if __name__ == "__main__":
    sys.exit(run_program("by_length", main, None))
