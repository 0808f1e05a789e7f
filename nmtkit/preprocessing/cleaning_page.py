"""The page of a cleaning report: one HTML file without scripts, which fetches nothing."""

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources

import nmtkit
from nmtkit.preprocessing.leakage import RULE as LEAK
from nmtkit.preprocessing.leakage import LeakagePolicy
from nmtkit.preprocessing.rules import RULES
from nmtkit.preprocessing.settings import CleaningSettings
from nmtkit.preprocessing.tally import MAX_LENGTH, MAX_RATIO, RATIO_STEPS, Sample, Tally

Leaks = list[tuple[str, tuple[int, int, int]]]
"""Numbers of pairs, source sides and target sides of the training data in each dev or test set."""

LENGTH_BIN = 5
"""Lengths that one bar of a histogram counts."""

_LEAK_NOTES: dict[LeakagePolicy, str] = {
    "report": "They stay in the training data, so that scores on these sets are too good. <code>"
    "--leakage drop</code> drops the pairs, <code>--leakage drop-any</code> also pairs with one"
    " side there.",
    "drop": "Those with both sides there are dropped. <code>--leakage drop-any</code> also drops"
    " pairs with one side there.",
    "drop-any": "They are dropped.",
}

_WIDTH, _HEIGHT, _BOTTOM = 400, 200, 38

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def describe_rule(rule: str, settings: CleaningSettings) -> str:
    """Say which pairs a rule drops, with its limit."""
    if rule in RULES:
        limit = settings.rules.get(rule, RULES[rule].default)
        return "Pairs " + RULES[rule].help.replace("LIMIT", f"{limit:g}")
    return {
        "invalid": "Lines that are not UTF-8",
        "empty": "Pairs with an empty side",
        "long": f"Pairs with a side of over {settings.max_length} words",
        "ratio": f"Pairs with a side of over {settings.max_ratio:g} times the other's words",
        "duplicate": "Copies of earlier pairs",
        "near-duplicate": "Pairs that differ from an earlier one only in case, digits, punctuation"
        " or whitespace",
        LEAK: "Pairs that also stand in a dev or test set",
    }[rule]


def render_page(
    tally: Tally, rules: Sequence[str], leaks: Leaks, settings: CleaningSettings
) -> str:
    """Return the HTML of a report; the same report gives the same page.

    :param rules: rules that dropped a pair, in the order in which they are tried.
    """
    total = tally.total()
    read, kept = sum(total.values()), total[""]
    share = f" ({100 * kept / read:.2f} %)" if read else ""
    style = resources.files("nmtkit.preprocessing").joinpath("cleaning.css").read_text("utf-8")
    content = "\n".join(
        [
            *_rule_table(tally, rules, settings),
            *_file_table(tally, rules),
            *_leak_section(leaks, tally.samples.get(LEAK, []), settings),
            *_histograms(tally),
            *_samples(tally, rules, settings),
        ]
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Cleaning of training data</title>
<style>{style}</style>
</head>
<body>
<h1>Cleaning of training data</h1>
<p class="lead">{kept:,} of {read:,} pairs are kept{share}. All dropped pairs are in
<code>dropped.tsv.gz</code>.</p>
{content}
<footer><p>Made by nmtkit {escape(nmtkit.__version__)}.</p></footer>
</body>
</html>
"""


def _table(header: Sequence[str], rows: Sequence[tuple[str | int, ...]], caption: str) -> str:
    """Return a table; numbers are right-aligned, texts are escaped."""
    if not rows:
        return ""
    numeric = [isinstance(cell, int) for cell in rows[0]]
    classes = [' class="number"' if number else "" for number in numeric]
    head = "".join(
        f'<th scope="col"{kind}>{escape(cell)}</th>'
        for kind, cell in zip(classes, header, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{kind}>{cell:,}</td>" if isinstance(cell, int) else f"<td>{escape(cell)}</td>"
            for kind, cell in zip(classes, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _rule_table(tally: Tally, rules: Sequence[str], settings: CleaningSettings) -> Iterator[str]:
    total = tally.total()
    rows: list[tuple[str | int, ...]] = [
        (rule, describe_rule(rule, settings), total[rule]) for rule in rules
    ]
    yield "<h2>By rule</h2>"
    yield _table(["rule", "drops", "pairs"], rows, "Dropped pairs by rule")
    if not rows:
        yield "<p>No pair is dropped.</p>"
    yield (
        '<p class="note">A pair is counted under the first rule that applies, in this order.</p>'
    )
    others = [name for name in settings.rules if name not in rules]
    if others:
        yield f'<p class="note">Rules that dropped no pair: {escape(", ".join(others))}.</p>'


def _file_table(tally: Tally, rules: Sequence[str]) -> Iterator[str]:
    rows: list[tuple[str | int, ...]] = [
        (file, *numbers) for file, numbers in tally.rows_by_file(rules)
    ]
    yield "<h2>By file</h2>"
    yield _table(["file", "read", "kept", *rules], rows, "Pairs by file and rule")


def _leak_section(
    leaks: Leaks, samples: Sequence[Sample], settings: CleaningSettings
) -> Iterator[str]:
    yield "<h2>Leakage</h2>"
    if not leaks:
        yield "<p>No line of the training data stands in a dev or test set that was compared.</p>"
        return
    rows: list[tuple[str | int, ...]] = [(name, *counts) for name, counts in leaks]
    yield '<p class="warning">Pairs of the training data also stand in a dev or test set.</p>'
    header = ["set", "pairs", "source sides", "target sides"]
    yield _table(header, rows, "Training pairs in dev and test sets")
    yield f'<p class="note">{_LEAK_NOTES[settings.leakage]}</p>'
    yield _sample_table(samples, "where")


def _histograms(tally: Tally) -> Iterator[str]:
    yield "<h2>Lengths</h2>"
    yield (
        '<p class="note"><span class="key kept"></span>kept<span class="key dropped"></span>'
        "dropped. Heights are on a logarithmic scale; point at a bar for its number.</p>"
    )
    yield '<div class="charts">'
    for side, title in ((0, "Source, in words"), (1, "Target, in words")):
        bars = [(dict[int, int](), label) for label in ("kept", "dropped")]
        for (where, kept, size), count in tally.lengths.items():
            if where == side:
                numbers = bars[not kept][0]
                numbers[size // LENGTH_BIN] = numbers.get(size // LENGTH_BIN, 0) + count
        size = MAX_LENGTH // LENGTH_BIN
        labels = {
            step: f"{step * LENGTH_BIN}" + ("+" if step == size else "")
            for step in range(0, size + 1, 10)
        }
        yield _histogram(title, bars, 0, size, labels)
    ratios = [
        ({step: count for (kept, step), count in tally.ratios.items() if kept == wanted}, label)
        for wanted, label in ((True, "kept"), (False, "dropped"))
    ]
    end = MAX_RATIO * RATIO_STEPS
    labels = {power * RATIO_STEPS: f"{2.0**power:g}" for power in range(-MAX_RATIO, MAX_RATIO + 1)}
    labels = {
        step: {"0.5": "½", "0.25": "¼", "0.125": "⅛", "0.0625": "¹⁄₁₆"}.get(text, text)
        for step, text in labels.items()
    }
    yield _histogram("Target length divided by source length", ratios, -end, end, labels)
    yield "</div>"


def _histogram(
    title: str,
    bars: Sequence[tuple[dict[int, int], str]],
    first: int,
    last: int,
    labels: dict[int, str],
) -> str:
    """Return a histogram in SVG, with the bars of two kinds side by side.

    :param bars: number of pairs by position, and the class of the bars.
    :param first, last: positions.
    :param labels: texts below positions.
    """
    width = _WIDTH / (last - first + 1)
    floor = _HEIGHT - _BOTTOM
    highest = max((count for numbers, _ in bars for count in numbers.values()), default=1)
    parts = [f'<line class="axis" x1="0" y1="{floor}" x2="{_WIDTH}" y2="{floor}"/>']
    for index, (numbers, kind) in enumerate(bars):
        for position, count in sorted((+Counter(numbers)).items()):  # those above 0
            height = floor * (count.bit_length() / highest.bit_length())
            x = (position - first + index / 2) * width
            parts.append(
                f'<rect class="{kind}" x="{x:.1f}" y="{floor - height:.1f}" width="{width / 2:.1f}"'
                f' height="{height:.1f}"><title>{kind}: {count:,}</title></rect>'
            )
    for position, text in labels.items():
        x = max(8.0, min(_WIDTH - 14.0, (position - first + 0.5) * width))
        parts.append(f'<text x="{x:.1f}" y="{floor + 18}">{escape(text)}</text>')
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {_WIDTH} {_HEIGHT}"'
        f' role="img" aria-label="{escape(title)}">{"".join(parts)}</svg></figure>'
    )


def _samples(tally: Tally, rules: Sequence[str], settings: CleaningSettings) -> Iterator[str]:
    rules = [rule for rule in rules if rule != LEAK]  # which has a section of its own
    if not rules:
        return
    total = tally.total()
    yield "<h2>Samples</h2>"
    for rule in rules:
        samples = tally.samples.get(rule, [])
        yield (
            f"<details><summary><strong>{escape(rule)}</strong>:"
            f" {escape(describe_rule(rule, settings))}"
            f' <span class="count">({len(samples):,} of {total[rule]:,})</span></summary>'
            f"{_sample_table(samples, 'value')}</details>"
        )


def _sample_table(samples: Sequence[Sample], value: str) -> str:
    """Return a table of samples in the order of their lines.

    :param value: header of the column of `Sample.value`.
    """
    if not samples:
        return ""
    rows = "".join(
        f"<tr><td>{escape(sample.value)}</td><td>{escape(sample.file)}:{sample.line}</td>"
        f'<td dir="auto">{_text(sample.src)}</td><td dir="auto">{_text(sample.tgt)}</td></tr>'
        for sample in sorted(samples, key=lambda sample: (sample.file, sample.line))
    )
    return (
        f'<table class="samples"><thead><tr><th scope="col">{value}</th><th scope="col">line</th>'
        f'<th scope="col">source</th><th scope="col">target</th></tr></thead><tbody>{rows}</tbody>'
        "</table>"
    )


def _text(line: str) -> str:
    """Return a line as HTML; control characters, which HTML forbids, become their pictures."""
    line = line.translate({code: 0x2400 + code for code in range(32) if code != 9})
    return escape(line.encode("utf-8", "replace").decode())
