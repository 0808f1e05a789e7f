"""Feature weights in the format of Moses's moses.ini, section `[weight]`.

    [weight]
    LM0= 0.0840635
    TranslationModel0= 0.0630878 0.0227199 0.0700763 -0.0160794

A line has a name that ends in `=` and one value per value of the feature; `#` starts a comment,
as in Moses also after them. Other sections are skipped, so a whole moses.ini can be read. Two
extensions are our own:

The feature `Rest0` is a total minus the weighted sum of the printed features. Moses does not print
its penalty for unknown words (UnknownWordPenalty0) in an n-best list, but adds it to the total:
-100 per word, whatever the other weights are.

The section `[original-weight]` has the weights that Moses used for the list, from which `Rest0` is
computed.
"""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nmtkit.errors import DataError
from nmtkit.io.lines import read_lines
from nmtkit.smt.nbest import Features
from nmtkit.smt.numbers import MAX_NUMBER

WEIGHT_SECTION = "weight"
ORIGINAL_SECTION = "original-weight"

OLD_SECTIONS = ("weight-d", "weight-l", "weight-t", "weight-w")
"""Sections of weights that older versions of Moses write instead; their lines name no feature."""

REST_FEATURE = "Rest0"
"""Feature for the part of a total that the printed features do not explain."""

HIDDEN_PREFIX = "UnknownWordPenalty"
"""Prefix of the features that Moses does not print in a list."""


@dataclass(frozen=True)
class Weights:
    """Weights of features.

    values: by name of the feature, one weight per value.
    original: weights that the list's totals were computed with; None if unknown, and then `Rest0`
        cannot be computed.
    path: file of the weights, for messages. original_path: that of the original weights, if it is
        another one.
    """

    values: Features
    original: Features | None = None
    path: str = "the weights"
    original_path: str | None = None

    @property
    def text(self) -> str:
        """Content of a weights file; reading it restores exactly these numbers.

        A feature without values, which a list can have, has no line.
        """
        sections = [_section(WEIGHT_SECTION, self.values)]
        if self.original is not None:
            sections.append(_section(ORIGINAL_SECTION, self.original))
        return "\n".join(sections)


def read_weights(path: str | Path) -> Weights:
    """Read weights from a moses.ini or a file with only the weights.

    :raises DataError: the file cannot be read, has no section `[weight]`, or has a malformed line
        there.
    """
    sections: dict[str, Features] = {}
    for section, line, location in _lines(path):
        weights = sections.setdefault(section, {})
        if not line:
            continue
        name, values = _weight(line, location)
        if name in weights:
            raise DataError(f"{location}: '{name}' has weights twice; delete one line")
        weights[name] = values
    if WEIGHT_SECTION not in sections:
        raise _without_weights(path, sections)
    return Weights(sections[WEIGHT_SECTION], sections.get(ORIGINAL_SECTION), str(path))


def _without_weights(path: str | Path, sections: Collection[str]) -> DataError:
    if old := [f"[{name}]" for name in OLD_SECTIONS if name in sections]:
        return DataError(
            f"{path}: has no section [weight] but {', '.join(old)}, as older versions of Moses"
            " write them; write a section [weight] with a line for each feature of the list, such"
            " as 'lm= 0.08'"
        )
    return DataError(
        f"{path}: has no section [weight]; give a moses.ini or a file that 'nmtkit nbest tune'"
        " wrote"
    )


def _lines(path: str | Path) -> Iterator[tuple[str, str, str]]:
    """Yield section, line and FILE:LINE of the weights; for a section header the line is ""."""
    section = ""
    for number, text in enumerate(read_lines(path), start=1):
        line, location = text.partition("#")[0].strip(), f"{path}:{number}"
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
            if section in (WEIGHT_SECTION, ORIGINAL_SECTION, *OLD_SECTIONS):
                yield section, "", location
        elif line and section in (WEIGHT_SECTION, ORIGINAL_SECTION):
            yield section, line, location


def _weight(line: str, location: str) -> tuple[str, tuple[float, ...]]:
    """Parse name and weights of a line such as `TM0= 0.1 0.2`."""
    name, *words = line.split()
    if len(name) < 2 or not name.endswith("=") or not words:
        raise DataError(f"{location}: '{line}' is not a line of weights such as 'LM0= 0.08'")
    return name[:-1], tuple(_number(word, location) for word in words)


def _number(word: str, location: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not abs(value) <= MAX_NUMBER:
        raise DataError(
            f"{location}: the weight '{word}' is not a number, or too large; write one such as 0.08"
        )
    return value


def _section(name: str, values: Mapping[str, tuple[float, ...]]) -> str:
    rows = [
        f"{feature}= {' '.join(repr(float(w)) for w in weights)}\n"
        for feature, weights in values.items()
        if weights
    ]
    return f"[{name}]\n{''.join(rows)}"
