"""The lines of a text, and what ends each, so that a translation has the same."""

from collections.abc import Iterable

PLAIN = ".txt"
"""Ending of the name of a file of lines."""


def split_text(text: str) -> tuple[list[str], list[str]]:
    r"""Return the lines of a text, and what ends each: `\n`, `\r\n`, or nothing at the end."""
    lines, endings = [], []
    for line in text.split("\n"):
        ending = "\r\n" if line.endswith("\r") else "\n"
        lines.append(line.removesuffix("\r"))
        endings.append(ending)
    endings[-1] = endings[-1].removesuffix("\n")
    return lines, endings


def count_lines(text: str) -> int:
    """Return the number of lines of a text; nothing behind the last line feed is not a line."""
    return text.count("\n") + (not text.endswith("\n"))


def joined_text(lines: Iterable[str], endings: Iterable[str]) -> str:
    """Return a text of lines and what ends each."""
    return "".join(line + ending for line, ending in zip(lines, endings, strict=True))
