#!/usr/bin/env python3
"""Draw the alignments that `nmtkit align --soft` wrote, without Moses's escapes.

    alignments.py soft.jsonl --output folder

draws folder/000001.svg and so on. `nmtkit align --plot` draws tokens as they are, and the text of
this example has `&apos;` for an apostrophe.
"""

import argparse
import html
import json
from collections.abc import Sequence
from pathlib import Path

from nmtkit.report.alignment import plot_alignment


def plain(words: Sequence[str]) -> list[str]:
    """Return words without Moses's escapes."""
    return [html.unescape(word) for word in words]


def main(arguments: list[str] | None = None) -> None:
    """Run the program.

    :param arguments: Command line; None: sys.argv.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("alignments", type=Path, metavar="FILE")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    lines = options.alignments.read_text(encoding="utf-8").split("\n")[:-1]
    for number, pair in enumerate(map(json.loads, lines), start=1):
        path = options.output / f"{number:06d}.svg"
        source, target = plain(pair["source"]), plain(pair["target"])
        plot_alignment(path, source, target, pair["alignment"], force=True)


if __name__ == "__main__":
    main()
