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

SIDES = {"source": "source", "reference": "reference", "both": "source and reference"}
TITLES = {
    "length": "words of the {}",
    "unknown": "unknown words of the {}, at most",
    "rank": "mean word-frequency rank of the {}",
}
COLUMNS = (
    *("by", "of", "low", "high", "place", "sentences", "system", "measure", "figure"),
    *("interval_low", "interval_high", "p", "signature"),
)
"""Columns of the CSV table; `p` belongs to the difference from the first system."""


def table(comparison: "Comparison") -> str:
    """Format as text: the whole test set, pairs of systems, then the buckets for each metric."""
    blocks = [_overall_table(comparison)]
    if comparison.whole.sentences < comparison.lines:
        blocks.append(f"{comparison.whole.sentences} of {comparison.lines} sentences")
    if comparison.whole.pairs:
        blocks.append(_pair_table(comparison.whole.pairs))
    for buckets in _group_by_bucketing(comparison):
        for name in comparison.whole.figures:
            blocks.append(_bucket_table(buckets, name, list(comparison.scores)))
    return "\n\n".join(blocks)


def as_json(
    comparison: "Comparison", files: Mapping[str, str], references: str | Sequence[str]
) -> str:
    """Format as JSON, with all figures.

    :param files: file of each system's translations, by system name.
    :param references: file of the references, or all files if they are several.
    """
    result = {
        "references": references,
        "lines": comparison.lines,
        "sentences": comparison.whole.sentences,
        "systems": [
            {
                "name": system,
                "hypotheses": files[system],
                "measures": [
                    {**asdict(m), "interval": _interval(comparison.whole.figures[m.name][system])}
                    for m in measures
                ],
            }
            for system, measures in comparison.scores.items()
        ],
        "pairs": [asdict(pair) for pair in comparison.whole.pairs],
        "strata": [_bucket_json(entry) for entry in comparison.buckets],
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
    for number, (name, figures) in enumerate(comparison.whole.figures.items()):
        for system, figure in figures.items():
            interval = [_format_interval(figure)] if figure.interval else []
            signature = comparison.scores[system][number].signature
            names = [name, system] if several else [name]
            rows.append([*names, f"{figure.value:6.2f}", *interval, signature])
    columns = len(rows[0])
    return _align_columns(rows, left={0, columns - 1, 1 if several else 0})


def _pair_table(pairs: Sequence["PairedDifference"]) -> str:
    names = list(dict.fromkeys(pair.measure for pair in pairs))
    rows = [["difference (p)", *names]]
    for first, second in dict.fromkeys((pair.first, pair.second) for pair in pairs):
        cells = [
            f"{pair.difference:+.2f} ({pair.p:.3f})"
            for pair in pairs
            if (pair.first, pair.second) == (first, second)
        ]
        rows.append([f"{second} - {first}", *cells])
    return _align_columns(rows)


def _bucket_table(buckets: Sequence["BucketResult"], measure: str, systems: Sequence[str]) -> str:
    bucketing = buckets[0].bucketing
    title = TITLES[bucketing.by].format(SIDES[bucketing.of])
    rows = [[title, "sentences", *systems]]
    for entry in buckets:
        figures = entry.result.figures.get(measure, {})
        cells = [_format_figure(figures[system]) if figures else "-" for system in systems]
        rows.append([_label(entry), str(entry.result.sentences), *cells])
    return f"{measure}\n{_align_columns(rows)}"


def _label(entry: "BucketResult") -> str:
    """Return the bounds of a bucket as text."""
    low, high, by = entry.bucket.low, entry.bucket.high, entry.bucketing.by
    if entry.bucketing.neighbours:
        return f"{low:g}-{high:g}" if by == "length" else f"{low:.0f}-{high:.0f}"
    if by == "unknown":
        return f"{high:g}"
    if math.isinf(low):
        return f"to {high:g}"
    if math.isinf(high):
        return f"over {low:g}"
    return f"{low + 1:g}-{high:g}" if by == "length" else f"{low:g}-{high:g}"


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
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            f"{cell:{width}}" if number in left else f"{cell:>{width}}"
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _bucket_json(entry: "BucketResult") -> dict[str, Any]:
    bucket, result = entry.bucket, entry.result
    return {
        "by": entry.bucketing.by,
        "of": entry.bucketing.of,
        "low": _number(bucket.low),
        "high": _number(bucket.high),
        "place": _number(bucket.position),
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
