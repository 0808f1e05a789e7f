"""Files of segments: what is written of each line."""

import json

import pytest

from nmtkit.inference.segments_file import segments_line
from tests.unit.inference.segmenters import LINES


def test_segments_are_written_as_json(written, confident):
    rows = [json.loads(line) for line in written.read_text(encoding="utf-8").splitlines()]
    for row, segmented in zip(rows, confident.segment(LINES), strict=True):
        for entry, segment in zip(row, segmented.segments, strict=True):
            best = segment.translation
            assert (entry["source"], entry["target"]) == (segment.source, best.text)
            assert entry["score"] == pytest.approx(best.score, abs=1e-4)
            assert entry["confidence"] == pytest.approx(segment.confidence, abs=1e-4)


def test_a_random_segment_has_no_confidence(at_random):
    [segmented] = at_random.segment(["a é ||| b"])
    [entry, *_] = json.loads(segments_line(segmented.segments))
    assert set(entry) == {"source", "target", "score"} and "\n" not in segments_line(
        segmented.segments
    )
