"""Reading the text that `nmtkit evaluate` writes: figures, then signatures."""

import re


def figures(text: str) -> list[tuple[str, str]]:
    """Return name and figure of each line of the first block but the ratio of lengths."""
    rows = [line.split("  ") for line in text.split("\n\n")[0].splitlines()]
    named = [[cell.strip() for cell in row if cell] for row in rows]
    return [(row[0], row[1]) for row in named if row[0] != "length ratio"]


def signatures(text: str) -> dict[str, str]:
    """Return the signatures of the last block by the metrics' names, without line breaks."""
    last = text.rstrip("\n").split("\n\n")[-1]
    last = last.replace("|\n  ", "|").replace(":\n  ", ": ")
    return dict(re.split(": ", line, maxsplit=1) for line in last.splitlines())


def rows(text: str) -> list[tuple[str, str, str]]:
    """Return name, figure and signature of each metric of one system."""
    signature_of = signatures(text)
    return [(name, value, signature_of[name]) for name, value in figures(text)]
