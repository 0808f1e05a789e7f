"""How translations and alignments are written as lines of text."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmtkit.inference.aligner import Alignment
    from nmtkit.inference.translator import Translation

Form = Callable[[int, "list[Translation]"], list[str]]
"""The number of a line, from 0, and its translations in; lines of output out."""


def form_of(counts: bool, listed: bool, scores: bool) -> Form:
    if counts:
        return counted_lines
    if listed:
        return n_best_lines
    return _scored_line if scores else _line


def _line(_: int, translations: "list[Translation]") -> list[str]:
    return [translations[0].text]


def _scored_line(_: int, translations: "list[Translation]") -> list[str]:
    best = translations[0]
    mark = "" if best.finished else "\tunfinished"
    return [f"{best.score:.6f}\t{best.text}{mark}"]


def n_best_lines(number: int, translations: "list[Translation]") -> list[str]:
    """Moses's format; the bars that part its fields are escaped in the text, as Moses does."""
    return [_n_best_line(number, t) for t in translations]


def counted_lines(number: int, translations: "list[Translation]") -> list[str]:
    """The same, each different translation once, with how often it is there."""
    from nmtkit.inference.translator import counted

    return [_n_best_line(number, t, f" count= {times}") for t, times in counted(translations)]


def _n_best_line(number: int, t: "Translation", more: str = "") -> str:
    text = t.text.replace("|", "&#124;") if "|||" in t.text else t.text
    return f"{number} ||| {text} ||| nmtkit0= {t.score:.6f}{more} ||| {t.ranking_score:.6f}"


def alignment_line(alignment: "Alignment", form: str) -> str:
    """An alignment as Moses's links ("hard") or as JSON ("soft"), six digits a weight."""
    if form == "hard":
        return alignment.moses()
    weights = [[round(weight, 6) for weight in row] for row in alignment.matrix.tolist()]
    table = {"source": alignment.columns, "target": alignment.rows, "alignment": weights}
    return json.dumps(table, ensure_ascii=False)
