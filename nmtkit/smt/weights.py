"""Weights of features, as Moses has them in the section `[weight]` of its moses.ini.

    [weight]
    LM0= 0.0840635
    TranslationModel0= 0.0630878 0.0227199 0.0700763 -0.0160794

A name that ends in `=` and as many values as the feature has; `#` begins a line of comment. Other
sections are passed over, so a whole moses.ini can be read. Two things are our own:

The feature `Rest0` is what the totals of a list have beyond the weighted sum of the features that
it prints. Moses prints a list without its penalty of unknown words (UnknownWordPenalty0), but
counts it in the total: minus 100 for each, whatever is tuned.

A section `[original-weight]` says of which weights `Rest0` is measured: those that Moses had when
it made the list.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nmtkit.errors import DataError
from nmtkit.io.lines import read_lines
from nmtkit.smt.nbest import Features

SECTION = "weight"
ORIGINAL = "original-weight"

REST = "Rest0"
"""The feature that is the total without the weighted sum of the features printed."""

HIDDEN = "UnknownWordPenalty"
"""How the names of the features begin that Moses never prints in a list."""


@dataclass(frozen=True)
class Weights:
    """What each feature counts.

    values: the weights of a feature by its name, one for each of its values.
    original: those that the totals of the list were made with; None where they are not known, and
        then nothing can be said of what the list does not print.
    path: the file that they come from, for messages.
    """

    values: Features
    original: Features | None = None
    path: str = "the weights"

    @property
    def text(self) -> str:
        """As it stands in a file; every number is read again as it is."""
        sections = [_section(SECTION, self.values)]
        if self.original is not None:
            sections.append(_section(ORIGINAL, self.original))
        return "\n".join(sections)


def read_weights(path: str | Path) -> Weights:
    """The weights of a file of their own or of a moses.ini.

    :raises DataError: it cannot be read, has no section `[weight]`, or a line there is none.
    """
    sections: dict[str, Features] = {}
    for section, line, where in _lines(path):
        found = sections.setdefault(section, {})
        if not line:
            continue
        name, values = _weight(line, where)
        if name in found:
            raise DataError(f"{where}: the weights of '{name}' are there twice; leave out one")
        found[name] = values
    if SECTION not in sections:
        raise DataError(
            f"{path}: has no section [weight]; give a moses.ini, or what 'nmtkit tune' has written"
        )
    return Weights(sections[SECTION], sections.get(ORIGINAL), str(path))


def _lines(path: str | Path) -> Iterator[tuple[str, str, str]]:
    """Section, line and place of what is in the sections of weights; first "" for each section."""
    section = ""
    for number, whole in enumerate(read_lines(path), start=1):
        line, where = whole.strip(), f"{path}:{number}"
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
            if section in (SECTION, ORIGINAL):
                yield section, "", where
        elif line and not line.startswith("#") and section in (SECTION, ORIGINAL):
            yield section, line, where


def _weight(line: str, where: str) -> tuple[str, tuple[float, ...]]:
    """Name and weights of a line such as `TM0= 0.1 0.2`."""
    name, *words = line.split()
    if len(name) < 2 or not name.endswith("=") or not words:
        raise DataError(f"{where}: '{line}' is no line of weights such as 'LM0= 0.08'")
    return name[:-1], tuple(_number(word, where) for word in words)


def _number(word: str, where: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{where}: the weight '{word}' is no number; write one such as 0.08")
    return value


def _section(name: str, values: Mapping[str, tuple[float, ...]]) -> str:
    rows = [
        f"{feature}= {' '.join(repr(float(w)) for w in weights)}\n"
        for feature, weights in values.items()
    ]
    return f"[{name}]\n{''.join(rows)}"
