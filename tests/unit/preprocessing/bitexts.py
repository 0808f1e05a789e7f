"""Files of a bitext, and of what is prepared from it."""

from pathlib import Path

from nmtkit.config import TextConfig
from nmtkit.io.lines import read_lines

Files = tuple[Path, Path]
JOINT = TextConfig(subwords="joint")
SEPARATE = TextConfig(subwords="separate")

PAIRS = [
    ("The dog's house is well-known.", "La maison du chien est bien-connue."),
    ("", "vide"),
    ("empty", " \t\u00a0"),
    ("He eats, in the U.S.", "Il mange l'été."),
    ("word " * 6, "mot"),
    ("The dog's house is well-known.", "La maison du chien est bien-connue."),
    ("the dog\u2028the house\r", "le chien\x0cla maison\r"),
    ("The dog's house is well-known. ", "La maison du chien est bien-connue."),
    ("dog dog dog dog dog dog dog dog dog", "chien chien"),
]
"""Pairs that cleaning keeps, changes, and drops by each of its rules."""


def write(folder: Path, name: str, pairs: list[tuple[str, str]]) -> Files:
    files = folder / f"{name}.en", folder / f"{name}.fr"
    for side, path in enumerate(files):
        path.write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8", newline="")
    return files


def bitext(folder: Path, name: str, lines: list[str]) -> tuple[Path, Path]:
    """Write a bitext with the same lines on both sides."""
    paths = (folder / f"{name}.src", folder / f"{name}.tgt")
    for path in paths:
        path.write_text("".join(f"{line}\n" for line in lines))
    return paths


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def lines(path: Path) -> list[str]:
    return list(read_lines(path))


def alone(tmp_path: Path) -> bool:
    """Return whether no temporary folder was left behind."""
    return not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
