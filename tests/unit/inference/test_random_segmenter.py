"""Random segments: what decides them, and the file whose lengths they have."""

import json

import pytest

from nmtkit.errors import ConfigError, DataError
from nmtkit.inference.random_segmenter import (
    RandomSegmenter,
    random_lengths,
    with_random_confidences,
)
from tests.unit.inference.segmenters import LINES


def test_seed_and_line_number_decide_random_segments(translator):
    line = "a b c d e a b c d e"

    def sources(seed, first=1):
        segmenter = RandomSegmenter(translator, with_random_confidences(4), seed)
        [segmented] = segmenter.segment([line], first_line=first)
        return [segment.source for segment in segmented.segments]

    assert sources(1) == sources(1)
    assert len({tuple(sources(seed)) for seed in range(5)}) > 1
    assert len({tuple(sources(1, first)) for first in range(1, 6)}) > 1


def test_random_segments_are_as_long_as_those_of_a_file(written):
    draw = random_lengths(written, max_words=3)
    rows = [json.loads(line) for line in written.read_text(encoding="utf-8").splitlines()]
    file_lengths = [len(entry["source"].split()) for row in rows for entry in row]
    lengths = [len(line.split()) for line in LINES]
    drawn_lengths = [
        end - start for seed in range(200) for n in lengths for start, end in draw(n, seed)
    ]
    assert sum(drawn_lengths) / len(drawn_lengths) == pytest.approx(
        sum(file_lengths) / len(file_lengths), rel=0.05
    )


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", DataError, "has no segments"),
        ("[]\n[]\n", DataError, "has no segments"),
        ("[]\nun homme\n", DataError, ":2: not the segments of a line"),
        ('{"source": "a"}\n', DataError, ":1: not the segments"),
        ('[{"target": "a"}]\n', DataError, ":1: not the segments"),
        ('[{"source": " "}]\n', DataError, ":1: not the segments"),
        ('[{"source": 5}]\n', DataError, ":1: not the segments"),
        ("7\n", DataError, ":1: not the segments"),
        ("[" * 100_000, DataError, ":1: not the segments"),
        ('[{"source": "a b c d"}]\n', ConfigError, "of 4 words.* give --max-segment 4"),
    ],
)
def test_a_file_without_segments_is_an_error(tmp_path, text, error, message):
    (tmp_path / "lengths").write_text(text)
    with pytest.raises(error, match=message):
        random_lengths(tmp_path / "lengths", max_words=3)
