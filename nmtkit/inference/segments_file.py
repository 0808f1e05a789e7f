"""Segments of translated lines, one JSON list for each line.

`nmtkit translate --segment --segments FILE` writes them. A list has an object for each segment of
its line: `source` and `target`, both tokenised and without the tag of the line, `score`, the
log-probability of the translation, and `confidence`, but for random segments.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from nmtkit.errors import DataError
from nmtkit.inference.segmenter import Segment
from nmtkit.io.lines import read_lines
from nmtkit.io.safe_json import parse_json


def segments_line(segments: Sequence[Segment]) -> str:
    """Format the segments of a line as JSON: objects with `source`, `target` and numbers."""
    return json.dumps([_segment_json(segment) for segment in segments], ensure_ascii=False)


def _segment_json(segment: Segment) -> dict[str, str | float]:
    best = segment.translation
    entry: dict[str, str | float] = {"source": segment.source, "target": best.text}
    entry["score"] = round(best.score, 6)
    if segment.confidence is not None:
        entry["confidence"] = round(segment.confidence, 6)
    return entry


def read_lengths(path: str | Path) -> list[list[int]]:
    """Return the number of words of each segment of each line of a file.

    :raises DataError: the file cannot be read, or a line is malformed.
    """
    return [_lengths(line, f"{path}:{n}") for n, line in enumerate(read_lines(path), 1)]


def _lengths(line: str, where: str) -> list[int]:
    """Return the number of words of each segment of a line."""
    try:
        lengths = [len(entry["source"].split()) for entry in parse_json(line)]
    except (ValueError, KeyError, TypeError, AttributeError):
        lengths = [0]
    if 0 in lengths:
        raise DataError(
            f"{where}: not the segments of a line, as 'nmtkit translate --segment --segments'"
            " writes them"
        )
    return lengths
