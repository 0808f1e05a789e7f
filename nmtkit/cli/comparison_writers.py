"""Comparisons of systems, formatted as a table, JSON or CSV."""

import csv
import io
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmtkit.evaluation.comparison import (
        BucketResult,
        Comparison,
        Figure,
        PairedDifference,
        SubsetResult,
    )
    from nmtkit.evaluation.metrics import MetricScore

SIDES = {"source": "source", "reference": "reference", "both": "source and reference"}
TITLES = {
    "length": "words of the {}",
    "unknown": "unknown words of the {}, at most",
    "rank": "mean word-frequency rank of the {}",
}
MAX_WIDTH = 80
"""Maximum width of text."""

MAX_NAME = 24
"""Maximum width of the name of a system in text."""

LENGTH_RATIO = "length ratio"

COLUMNS = (
    *("by", "of", "low", "high", "position", "sentences", "system", "measure", "figure"),
    *("interval_low", "interval_high", "p", "signature"),
)
"""Columns of the CSV table; `p` belongs to the difference from the first system."""


def table(comparison: "Comparison") -> str:
    """Format as text: the whole test set, pairs of systems, then the buckets for each metric."""
    blocks = [_overall_table(comparison)]
    first, *_ = comparison.scores.values()
    if comparison.whole.sentences < comparison.lines:
        blocks.append(f"{comparison.whole.sentences} of {comparison.lines} sentences")
    if comparison.whole.pairs:
        blocks.append(_pair_table(comparison.whole.pairs))
    for buckets in _group_by_bucketing(comparison):
        for name in comparison.whole.figures:
            blocks.append(_bucket_table(buckets, name, list(comparison.scores)))
    blocks.append(_signatures(first))
    return "\n\n".join(blocks)


def scores_table(scores: Sequence["MetricScore"]) -> str:
    """Format the scores of one system as text: figures, the ratio of lengths, signatures."""
    rows = [[score.name, f"{score.value:.2f}", ""] for score in scores]
    rows += [[LENGTH_RATIO, *ratio] for ratio in _length_ratio(scores)]
    return f"{_align_columns(rows, left={0, 2})}\n\n{_signatures(scores)}"


def _length_ratio(scores: Sequence["MetricScore"]) -> list[tuple[str, str]]:
    """Return the ratio of lengths, and both lengths in words; nothing without BLEU."""
    from nmtkit.evaluation.metrics import bleu_with_lengths

    bleu = bleu_with_lengths(scores)
    if bleu is None:
        return []
    lengths = f"{bleu.hypothesis_length} / {bleu.reference_length} words"
    return [(f"{bleu.length_ratio:.3f}", f"({lengths})")]


def _signatures(scores: Iterable["MetricScore"]) -> str:
    """Format the signature of each metric; one that is too wide begins a line, or is broken."""
    return "\n".join(line for score in scores for line in _signature_lines(score))


def _signature_lines(score: "MetricScore") -> Iterator[str]:
    line = f"{score.name}: {score.signature}"
    if len(line) <= MAX_WIDTH:
        yield line
        return
    yield f"{score.name}:"
    line = ""
    for field in score.signature.split("|"):
        if line and len(f"  {line}|{field}|") > MAX_WIDTH:
            yield f"  {line}|"
            line = field
        else:
            line = f"{line}|{field}" if line else field
    yield f"  {line}"


def as_json(
    comparison: "Comparison", files: Mapping[str, str], references: str | Sequence[str]
) -> str:
    """Format as JSON, with all figures.

    :param files: file of each system's translations, by system name.
    :param references: file of the references, or all files if they are several.
    """
    from nmtkit.evaluation.metrics import bleu_with_lengths

    result = {
        "references": references,
        "lines": comparison.lines,
        "sentences": comparison.whole.sentences,
        "systems": [
            {
                "name": system,
                "hypotheses": files[system],
                "length_ratio": bleu.length_ratio
                if (bleu := bleu_with_lengths(measures))
                else None,
                "measures": [
                    {**asdict(m), "interval": _interval(comparison.whole.figures[m.name][system])}
                    for m in measures
                ],
            }
            for system, measures in comparison.scores.items()
        ],
        "pairs": [asdict(pair) for pair in comparison.whole.pairs],
        "buckets": [_bucket_json(entry) for entry in comparison.buckets],
    }
    return json.dumps(result, ensure_ascii=False, indent=2)


def as_csv(comparison: "Comparison") -> str:
    """Format as CSV, one row per figure; rows of the whole test set are first, with empty `by`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_rows(comparison, comparison.whole, ["", "", "", "", ""]))
    for entry in comparison.buckets:
        bucket = entry.bucket
        numbers = [_number(x) for x in (bucket.low, bucket.high, bucket.position)]
        where = [entry.bucketing.by, entry.bucketing.of, *numbers]
        writer.writerows(_rows(comparison, entry.result, where))
    return text.getvalue().rstrip("\n")


def _overall_table(comparison: "Comparison") -> str:
    """Format the figures of the whole test set, one line per metric and system."""
    several = len(comparison.scores) > 1
    rows = []
    for name, figures in comparison.whole.figures.items():
        for system, figure in figures.items():
            interval = _format_interval(figure) if figure.interval else ""
            names = [name, _short(system)] if several else [name]
            rows.append([*names, f"{figure.value:.2f}", interval])
    for system, scores in comparison.scores.items():
        names = [LENGTH_RATIO, _short(system)] if several else [LENGTH_RATIO]
        for ratio in _length_ratio(scores):
            rows.append([*names, *ratio])
    return _align_columns(rows, left={0, len(rows[0]) - 1, 1 if several else 0})


def _short(name: str) -> str:
    """Return the name of a system, cut at its beginning if it is long."""
    return name if len(name) <= MAX_NAME else f"…{name[1 - MAX_NAME :]}"


def _pair_table(pairs: Sequence["PairedDifference"]) -> str:
    names = list(dict.fromkeys(pair.measure for pair in pairs))
    rows = [["difference (p)", *names]]
    for first, second in dict.fromkeys((pair.first, pair.second) for pair in pairs):
        cells = [
            f"{pair.difference:+z.2f} ({pair.p:.3f})"
            for pair in pairs
            if (pair.first, pair.second) == (first, second)
        ]
        rows.append([f"{_short(second)} - {_short(first)}", *cells])
    if _width(text := _align_columns(rows)) <= MAX_WIDTH:
        return text
    rows[0][0] = "systems"
    return _one_cell_a_line(rows, ["measure", "difference (p)"])


def _bucket_table(buckets: Sequence["BucketResult"], measure: str, systems: Sequence[str]) -> str:
    bucketing = buckets[0].bucketing
    title = TITLES[bucketing.by].format(SIDES[bucketing.of])
    rows = [[title, "sentences", *map(_short, systems)]]
    for entry in buckets:
        figures = entry.result.figures.get(measure, {})
        cells = [_format_figure(figures[system]) if figures else "-" for system in systems]
        rows.append([entry.label(), str(entry.result.sentences), *cells])
    if _width(text := _align_columns(rows)) <= MAX_WIDTH:
        return f"{measure}\n{text}"
    text = _one_cell_a_line(rows, ["system", "figure"], 2)
    if _width(text) <= MAX_WIDTH:
        return f"{measure}\n{text}"
    rows[0][0] = ""
    return f"{measure}\n{title}:\n{_one_cell_a_line(rows, ['system', 'figure'], 2)}"


def _width(text: str) -> int:
    """Return the width of the widest line."""
    from nmtkit.columns import columns

    return max(map(columns, text.split("\n")))


def _one_cell_a_line(rows: Sequence[Sequence[str]], titles: Sequence[str], labels: int = 1) -> str:
    """Align a table with a line for each cell, for tables that are too wide.

    :param titles: of the two columns that stand in that case for the columns of cells: the title of
        a column, and its cell.
    :param labels: number of columns at the left that say what a row is about.
    """
    head, *body = rows
    tall = [[*head[:labels], *titles]]
    for row in body:
        for title, cell in zip(head[labels:], row[labels:], strict=True):
            tall.append([*row[:labels], title, cell])
    return _align_columns(tall, {0, labels})


def _format_figure(figure: "Figure") -> str:
    return f"{figure.value:.2f}" + (f" {_format_interval(figure)}" if figure.interval else "")


def _format_interval(figure: "Figure") -> str:
    assert figure.interval
    return f"[{figure.interval.low:.2f}, {figure.interval.high:.2f}]"


def _group_by_bucketing(comparison: "Comparison") -> Iterable[list["BucketResult"]]:
    bucketings: dict[Any, list[BucketResult]] = {}
    for entry in comparison.buckets:
        bucketings.setdefault(entry.bucketing, []).append(entry)
    return bucketings.values()


def _align_columns(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """Align columns, those in `left` to the left and the others to the right."""
    from nmtkit.columns import columns

    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        padded = []
        for number, (cell, width) in enumerate(zip(row, widths, strict=True)):
            space = " " * (width - columns(cell))
            padded.append(cell + space if number in left else space + cell)
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def _bucket_json(entry: "BucketResult") -> dict[str, Any]:
    bucket, result = entry.bucket, entry.result
    return {
        "by": entry.bucketing.by,
        "of": entry.bucketing.of,
        "low": _number(bucket.low),
        "high": _number(bucket.high),
        "position": _number(bucket.position),
        "sentences": result.sentences,
        "figures": {
            name: {
                system: {"value": f.value, "interval": _interval(f)}
                for system, f in by_system.items()
            }
            for name, by_system in result.figures.items()
        },
        "pairs": [asdict(pair) for pair in result.pairs],
    }


def _interval(figure: "Figure") -> dict[str, float] | None:
    if figure.interval is None:
        return None
    return {**asdict(figure.interval), "margin": figure.interval.margin}


def _rows(
    comparison: "Comparison", result: "SubsetResult", where: Sequence[object]
) -> Iterator[list[object]]:
    first, *_ = comparison.scores
    p = {(x.second, x.measure): x.p for x in result.pairs if x.first == first}
    for number, name in enumerate(comparison.whole.figures):
        for system, measures in comparison.scores.items():
            figure = result.figures.get(name, {}).get(system)
            interval = figure.interval if figure else None
            yield [
                *where,
                result.sentences,
                system,
                name,
                figure.value if figure else None,
                interval.low if interval else None,
                interval.high if interval else None,
                p.get((system, name)),
                measures[number].signature,
            ]


def _number(value: float) -> float | None:
    """Return None for non-finite values, which JSON cannot hold."""
    return float(value) if math.isfinite(value) else None
