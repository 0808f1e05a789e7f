"""A phrase table beside a model: pictures and tables as in Cho et al. 2014, section 4.3."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nmtkit.evaluation.phrase_comparison import ComparedPhrase, Comparison, ScoredPair
from nmtkit.io.lines import open_output
from nmtkit.report.figure_io import DOTS_PER_INCH, FONT, MANY, plain_settings, write_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLES = "phrases.json"
"""The file by which a folder is known to be such a report."""

SAMPLES_SHOWN = 5
"""Of each phrase, in phrases.md (the paper's table 3); phrases.json has them all."""

SIZE = (5.5, 4.0)  # inches: the width of a column and a half
DOTS, LINE = "#0072B2", "black"  # a blue that the colour-blind see, too
MODEL_AXIS = "model: log p(target | source)"
TABLE_AXIS = "translation model: log p(target | source)"

_MARKED = {ord(c): f"\\{c}" for c in "\\`*_[]|~#$"} | {ord("&"): "&amp;", ord("<"): "&lt;"}


def write_phrase_report(
    folder: Path, found: Comparison, about: dict[str, Any], kind: str = "png"
) -> None:
    """Write `scores.png`, `scores.tsv`, `phrases.md` and `phrases.json` into a folder.

    :param about: where it came from and how it was chosen: `table` and `model`, their names (no
        model: `model_column`, its column), `samples` of each phrase, `top`, `min_words`, and
        whatever else phrases.json shall tell.
    :param kind: of the picture: "png", "svg" or "pdf".
    :raises NmtkitError: matplotlib is not installed.
    """
    plot_scores(folder / f"scores.{kind}", *_axes_of(found.drawn), found.total)
    with open_output(folder / "scores.tsv") as file:
        file.writelines(_tsv(found.drawn))
    with open_output(folder / "phrases.md") as file:
        file.write(phrase_tables(found, about))
    with open_output(folder / TABLES) as file:
        json.dump(phrase_json(found, about), file, ensure_ascii=False, indent=1)
        file.write("\n")


def plot_scores(
    path: str | Path,
    model_scores: ArrayLike,
    table_scores: ArrayLike,
    total: int,
    force: bool = False,
) -> None:
    """Write the picture of `scores_figure` to a file: whole, or not at all.

    :param path: its ending says which kind of picture: `.png`, `.svg` or `.pdf`.
    :raises NmtkitError: matplotlib is not installed.
    :raises OutputError: the ending is another, the file exists or cannot be written.
    """
    write_picture(Path(path), lambda: scores_figure(model_scores, table_scores, total), (), force)


def scores_figure(model_scores: ArrayLike, table_scores: ArrayLike, total: int) -> "Figure":
    """Draw pairs by their scores (Cho et al. 2014, figure 3): a dot each, darker where many are.

    The model's scores stand along x, those of the translation model along y, both natural
    logarithms. On the line both models find a pair equally likely.

    :param model_scores: Shape: [pairs].
    :param table_scores: Shape: [pairs].
    :param total: pairs of the table that these were drawn from.
    """
    xs, ys = np.asarray(model_scores, dtype=float), np.asarray(table_scores, dtype=float)
    font: dict[str, Any] = {"fontfamily": FONT}
    with plain_settings():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=SIZE, dpi=DOTS_PER_INCH)
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        look: dict[str, Any] = {"alpha": 0.25, "markersize": 3, "markeredgewidth": 0}
        axes.plot(xs, ys, "o", color=DOTS, rasterized=len(xs) > MANY, **look)
        corner = float(min(ys.min(), -1.0))
        axes.plot([corner, 0], [corner, 0], color=LINE, linewidth=1, label="equally likely")
        axes.set_xlabel(MODEL_AXIS, **font)
        axes.set_ylabel(TABLE_AXIS, **font)
        axes.set_title(f"{len(xs):,} of {total:,} phrase pairs", fontsize=10, **font)
        axes.legend(loc="lower left", prop={"family": FONT, "size": 8})
    return figure


def phrase_tables(found: Comparison, about: dict[str, Any]) -> str:
    """Tables 2 and 3 in Markdown, and how they came about; ends with a newline."""
    kinds = (("frequent", found.frequent), ("rare", found.rare))
    model = about["model"] or f"the model of column {about['model_column']}"
    lines = [f"# {_marked(about['table'])} and {_marked(model)}", "", *_facts(found, about)]
    for kind, phrases in kinds:
        lines += ["", f"## Long, {kind} source phrases: the likeliest targets", ""]
        lines += _table(
            ["source", "count", "targets", "translation model", "log p", "model", "log p"],
            (row for phrase in phrases for row in _preferred(phrase, about["top"])),
        )
    if any(phrase.samples or phrase.unfinished for _, phrases in kinds for phrase in phrases):
        for kind, phrases in kinds:
            lines += ["", f"## Long, {kind} source phrases: samples of the model", ""]
            lines += _table(
                ["source", "sample", f"times of {about['samples']}", "log p", "in the table"],
                (row for phrase in phrases for row in _drawn(phrase)),
            )
    return "\n".join([*lines, ""])


def phrase_json(found: Comparison, about: dict[str, Any]) -> dict[str, Any]:
    """The same for programs; scores are natural logarithms, six digits after the point."""
    pearson, spearman = found.correlations()
    return {
        "settings": about,
        "pairs": found.total,
        "drawn": len(found.drawn),
        "certain": found.certain,
        "pearson": None if pearson is None else round(pearson, 6),
        "spearman": None if spearman is None else round(spearman, 6),
        "eligible": found.eligible,
        "frequent": [_phrase_json(phrase, about["top"]) for phrase in found.frequent],
        "rare": [_phrase_json(phrase, about["top"]) for phrase in found.rare],
    }


def _axes_of(pairs: Sequence[ScoredPair]) -> tuple[list[float], list[float]]:
    return [pair.model for pair in pairs], [pair.table for pair in pairs]


def _tsv(pairs: Sequence[ScoredPair]) -> Iterator[str]:
    """A line for each dot of the picture, and a header."""
    yield "source\ttarget\ttranslation_model\tmodel\n"
    for pair in pairs:
        src, tgt = (phrase.replace("\t", " ") for phrase in (pair.src, pair.tgt))
        yield f"{src}\t{tgt}\t{pair.table:.6f}\t{pair.model:.6f}\n"


def _facts(found: Comparison, about: dict[str, Any]) -> list[str]:
    """What a reader must know of the figures."""
    return [
        f"{found.sentence()}. The translation model gives {found.certain:,} of them p = 1.",
        "",
        f"{found.eligible:,} source phrases have {about['min_words']} or more words and"
        f" {about['top']} or more targets. Those shown were drawn from the most and the least"
        " frequent of them: `count` is how often a phrase was extracted from the training corpus,"
        " `targets` how many the phrase table has for it. Both models choose among these."
        " log p is the natural logarithm of p(target | source).",
    ]


def _table(header: Sequence[str], rows: Iterator[list[str]]) -> list[str]:
    lines = [list(header), ["---"] * len(header), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _preferred(phrase: ComparedPhrase, top: int) -> Iterator[list[str]]:
    """Rows of table 2."""
    first = [_marked(phrase.src), f"{phrase.count:g}", str(len(phrase.pairs))]
    for ours, theirs in zip(phrase.best_of_table(top), phrase.best_of_model(top), strict=True):
        scores = f"{ours.table:.2f}", f"{theirs.model:.2f}"
        yield [*first, _marked(ours.tgt), scores[0], _marked(theirs.tgt), scores[1]]
        first = ["", "", ""]


def _drawn(phrase: ComparedPhrase) -> Iterator[list[str]]:
    """Rows of table 3."""
    first = _marked(phrase.src)
    for sample in phrase.samples[:SAMPLES_SHOWN]:
        known = "yes" if sample.in_table else "no"
        text = _marked(sample.text) or "(empty)"
        yield [first, text, str(sample.times), f"{sample.score:.2f}", known]
        first = ""
    if phrase.unfinished:
        yield [first, "(unfinished)", str(phrase.unfinished), "", ""]


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


def _marked(text: str) -> str:
    """Text that Markdown shows letter for letter: `&apos;` and `<unk>` as well, within a row."""
    return " ".join(text.splitlines()).translate(_MARKED)
