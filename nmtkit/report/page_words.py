"""Names and phrases of a report's page, used by several of its parts."""

from collections.abc import Iterable

from nmtkit.evaluation.comparison import BucketResult
from nmtkit.evaluation.translation_errors import ErrorCount

ERROR_TITLES = {
    "missing": "missing words",
    "uncovered": "source words without attention",
    "added": "added words",
    "repeated": "repeated words",
    "differs": "numbers or names differ",
    "unknown": "unknown words",
    "unfinished": "unfinished",
}
"""Kinds of errors as the page calls them."""

ERROR_SENTENCES = {
    "missing": "lack a content word of the reference and have nothing in its place",
    "uncovered": "leave a content word of the source with hardly any attention",
    "added": "have a content word that nothing in the reference corresponds to",
    "repeated": "repeat words that the reference has once",
    "differs": "lose a number or a name, or invent a number",
    "unknown": "have a word that the model does not know",
    "unfinished": "reach the maximum length before their end",
}
"""The same as verbs of "sentences"."""


def listed(parts: Iterable[str], conjunction: str = "and") -> str:
    """Return `one`, `one and two`, or `one, two and three`."""
    *first, last = parts
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def percent(count: ErrorCount) -> str:
    """Return a share with its interval: `12.3 % [9.1, 16.4]`."""
    if count.interval is None:
        return "–"
    return f"{count.share:.1f} % [{count.interval.low:.1f}, {count.interval.high:.1f}]"


def bucket_phrase(entry: BucketResult) -> str:
    """Return `of 11–20 words`, to follow "sentences"."""
    label = entry.label("–")
    if entry.bucketing.by == "length":
        return f"of {'up ' if label.startswith('to') else ''}{label} words"
    if entry.bucketing.by == "unknown":
        return f"with at most {label} unknown word{'' if label == '1' else 's'}"
    return f"with a mean word-frequency rank {'of ' if label[0].isdigit() else ''}{label}"
