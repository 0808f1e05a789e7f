"""Figures and tables that compare a phrase table with a model (Cho et al. 2014, section 4.3)."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nmtkit.evaluation.phrase_comparison import ComparedPhrase, PhraseComparison, ScoredPair
from nmtkit.io.lines import open_output
from nmtkit.report.figure_io import FONT, MAX_VECTOR_DOTS, default_style, new_figure, write_figure
from nmtkit.report.styles import COLOURS
from nmtkit.text.detokenizer import unescaped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKER_FILE = "phrases.json"
"""File that identifies a folder as a report on a phrase table."""

SAMPLES_SHOWN = 5
"""Number of samples per phrase in phrases.md (the paper's table 3); phrases.json has all."""

FIGURE_INCHES = (5.5, 4.0)  # the width of one and a half columns
DOT_COLOUR, LINE_COLOUR = COLOURS[0], "black"  # a blue that colour-blind readers can distinguish
TITLE = "Phrase pairs by their scores under a model and the translation model"
MODEL_AXIS = "model: log p(target | source)"
TABLE_AXIS = "translation model: log p(target | source)"

_MARKDOWN_ESCAPES = {ord(c): f"\\{c}" for c in "\\`*_[]|~#$"} | {
    ord("&"): "&amp;",
    ord("<"): "&lt;",
}


def write_phrase_report(
    folder: Path, comparison: PhraseComparison, about: dict[str, Any], kind: str = "png"
) -> None:
    """Write `scores.png`, `scores.tsv`, `phrases.md` and `phrases.json` into a folder.

    :param about: Provenance and settings: `table` and `model`, their names (without a model:
        `model_column`, its column), `samples` per phrase, `top`, `min_words`, and anything else
        to write into phrases.json.
    :param kind: Format of the figure: "png", "svg" or "pdf".
    :raises NmtkitError: Matplotlib is not installed.
    """
    plot_scores(folder / f"scores.{kind}", *_scores_of(comparison.drawn), comparison.total)
    with open_output(folder / "scores.tsv") as file:
        file.writelines(_tsv(comparison.drawn))
    with open_output(folder / "phrases.md") as file:
        file.write(format_phrase_tables(comparison, about))
    with open_output(folder / MARKER_FILE) as file:
        json.dump(phrase_report_json(comparison, about), file, ensure_ascii=False, indent=1)
        file.write("\n")


def plot_scores(
    path: str | Path,
    model_scores: ArrayLike,
    table_scores: ArrayLike,
    total: int,
    force: bool = False,
) -> None:
    """Write the figure of `draw_scores` to a file, complete or not at all.

    :param path: Output file; its suffix selects the format: `.png`, `.svg` or `.pdf`.
    :raises NmtkitError: Matplotlib is not installed.
    :raises OutputError: The suffix is unknown, or the file exists or cannot be written.
    """
    draw = partial(draw_scores, model_scores, table_scores, total)
    description = (
        f"{TABLE_AXIS} against {MODEL_AXIS}, a dot for each pair; on the diagonal both agree."
    )
    write_figure(Path(path), draw, (), force, TITLE, description)


def draw_scores(model_scores: ArrayLike, table_scores: ArrayLike, total: int) -> "Figure":
    """Draw phrase pairs as dots by their scores under both models (Cho et al. 2014, figure 3).

    x is the model's score, y that of the translation model, both natural logarithms. On the
    diagonal both models give a pair the same probability. Dots are transparent.

    :param model_scores: Shape: [pairs].
    :param table_scores: Shape: [pairs].
    :param total: Number of pairs in the table that these were drawn from.
    """
    xs, ys = np.asarray(model_scores, dtype=float), np.asarray(table_scores, dtype=float)
    font: dict[str, Any] = {"fontfamily": FONT}
    with default_style():
        figure = new_figure(FIGURE_INCHES)
        axes = figure.add_subplot()
        style: dict[str, Any] = {"alpha": 0.25, "markersize": 3, "markeredgewidth": 0}
        axes.plot(xs, ys, "o", color=DOT_COLOUR, rasterized=len(xs) > MAX_VECTOR_DOTS, **style)
        corner = float(min(ys.min(), -1.0))
        axes.plot([corner, 0], [corner, 0], color=LINE_COLOUR, linewidth=1, label="equally likely")
        axes.set_xlabel(MODEL_AXIS, **font)
        axes.set_ylabel(TABLE_AXIS, **font)
        axes.set_title(f"{len(xs):,} of {total:,} phrase pairs", fontsize=10, **font)
        axes.legend(loc="lower left", prop={"family": FONT, "size": 8})
    return figure


def format_phrase_tables(comparison: PhraseComparison, about: dict[str, Any]) -> str:
    """Return tables 2 and 3 of the paper and their provenance in Markdown."""
    groups = (("frequent", comparison.frequent), ("rare", comparison.rare))
    model = about["model"] or f"the model of column {about['model_column']}"
    lines = [
        f"# {_escape_markdown(about['table'])} and {_escape_markdown(model)}",
        "",
        *_explanation(comparison, about),
    ]
    for group, phrases in groups:
        lines += ["", f"## Long, {group} source phrases: the likeliest targets", ""]
        lines += _table(
            ["source", "count", "targets", "translation model", "log p", "model", "log p"],
            (row for phrase in phrases for row in _best_target_rows(phrase, about["top"])),
        )
    if any(phrase.samples or phrase.unfinished for _, phrases in groups for phrase in phrases):
        for group, phrases in groups:
            lines += ["", f"## Long, {group} source phrases: samples of the model", ""]
            lines += _table(
                ["source", "sample", f"times of {about['samples']}", "log p", "in the table"],
                (row for phrase in phrases for row in _sample_rows(phrase)),
            )
    return "\n".join([*lines, ""])


def phrase_report_json(comparison: PhraseComparison, about: dict[str, Any]) -> dict[str, Any]:
    """Return the report as JSON; scores are natural logarithms with six decimals."""
    pearson, spearman = comparison.correlations()
    return {
        "settings": about,
        "pairs": comparison.total,
        "drawn": len(comparison.drawn),
        "certain": comparison.certain,
        "pearson": None if pearson is None else round(pearson, 6),
        "spearman": None if spearman is None else round(spearman, 6),
        "eligible": comparison.eligible,
        "frequent": [_phrase_json(phrase, about["top"]) for phrase in comparison.frequent],
        "rare": [_phrase_json(phrase, about["top"]) for phrase in comparison.rare],
    }


def _scores_of(pairs: Sequence[ScoredPair]) -> tuple[list[float], list[float]]:
    return [pair.model for pair in pairs], [pair.table for pair in pairs]


def _tsv(pairs: Sequence[ScoredPair]) -> Iterator[str]:
    """Yield a header, and a line for each dot of the figure."""
    yield "source\ttarget\ttranslation_model\tmodel\n"
    for pair in pairs:
        src, tgt = (phrase.replace("\t", " ") for phrase in (pair.src, pair.tgt))
        yield f"{src}\t{tgt}\t{pair.table:.6f}\t{pair.model:.6f}\n"


def _explanation(comparison: PhraseComparison, about: dict[str, Any]) -> list[str]:
    """Return the Markdown lines that explain the tables."""
    return [
        f"{comparison.sentence()}. The translation model gives p = 1 to"
        f" {comparison.certain:,} of them.",
        "",
        f"{comparison.eligible:,} source phrases have {about['min_words']} or more words and"
        f" {about['top']} or more targets. The tables show phrases drawn from the most and the"
        " least frequent of them: `count` is how often a phrase was extracted from the training"
        " corpus, `targets` how many targets the phrase table has. Both models choose among these."
        " log p is the natural logarithm of p(target | source).",
    ]


def _table(header: Sequence[str], rows: Iterator[list[str]]) -> list[str]:
    lines = [list(header), ["---"] * len(header), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _best_target_rows(phrase: ComparedPhrase, top: int) -> Iterator[list[str]]:
    """Yield the rows of table 2."""
    cells = [_escape_markdown(phrase.src), f"{phrase.count:g}", str(len(phrase.pairs))]
    for table_best, model_best in zip(
        phrase.best_of_table(top), phrase.best_of_model(top), strict=True
    ):
        scores = f"{table_best.table:.2f}", f"{model_best.model:.2f}"
        yield [
            *cells,
            _escape_markdown(table_best.tgt),
            scores[0],
            _escape_markdown(model_best.tgt),
            scores[1],
        ]
        cells = ["", "", ""]


def _sample_rows(phrase: ComparedPhrase) -> Iterator[list[str]]:
    """Yield the rows of table 3."""
    source = _escape_markdown(phrase.src)
    for sample in phrase.samples[:SAMPLES_SHOWN]:
        in_table = "yes" if sample.in_table else "no"
        text = _escape_markdown(sample.text) or "(empty)"
        yield [source, text, str(sample.times), f"{sample.score:.2f}", in_table]
        source = ""
    if phrase.unfinished:
        yield [source, "(unfinished)", str(phrase.unfinished), "", ""]


def _phrase_json(phrase: ComparedPhrase, top: int) -> dict[str, Any]:
    return {
        "source": phrase.src,
        "count": phrase.count,
        "targets": len(phrase.pairs),
        "translation_model": [_pair_json(pair) for pair in phrase.best_of_table(top)],
        "model": [_pair_json(pair) for pair in phrase.best_of_model(top)],
        "samples": [
            {
                "target": sample.text,
                "times": sample.times,
                "score": round(sample.score, 6),
                "in_table": sample.in_table,
            }
            for sample in phrase.samples
        ],
        "unfinished": phrase.unfinished,
    }


def _pair_json(pair: ScoredPair) -> dict[str, Any]:
    scores = {"translation_model": round(pair.table, 6), "model": round(pair.model, 6)}
    return {"target": pair.tgt, **scores}


def _escape_markdown(text: str) -> str:
    """Escape a text so that Markdown shows it literally within a table cell.

    Entities that Moses writes for some characters are shown as these characters.
    """
    return " ".join(unescaped(text).splitlines()).translate(_MARKDOWN_ESCAPES)
