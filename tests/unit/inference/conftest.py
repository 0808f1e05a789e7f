"""Translators and segmenters of tiny models."""

from pathlib import Path

import pytest

from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.random_segmenter import RandomSegmenter, with_random_confidences
from nmtkit.inference.scorer import Scorer
from nmtkit.inference.segmenter import ConfidentSegmenter
from nmtkit.inference.segments_file import segments_line
from nmtkit.inference.translator import Translator
from tests.unit.conftest import MakeModel
from tests.unit.inference.segmenters import LINES, backwards


@pytest.fixture
def translator(make_model: MakeModel) -> Translator:
    """Return a translator that searches four sentences at a time."""
    return Translator(Ensemble((make_model(1),)), batch_size=4)


@pytest.fixture
def reverse(make_model: MakeModel) -> Scorer:
    """Return a scorer of the other direction."""
    model = backwards(make_model(2, src="vwxyz", tgt="abcde"))
    return Scorer(Ensemble((model,)), batch_size=5)


@pytest.fixture
def confident(translator: Translator, reverse: Scorer) -> ConfidentSegmenter:
    """Return a segmenter by confidence, of at most three words a segment."""
    return ConfidentSegmenter(translator, reverse, max_words=3)


@pytest.fixture
def at_random(translator: Translator) -> RandomSegmenter:
    """Return a segmenter by random confidences."""
    return RandomSegmenter(translator, with_random_confidences(3), seed=1)


@pytest.fixture
def written(tmp_path: Path, confident: ConfidentSegmenter) -> Path:
    """Return a file of the segments of `LINES`."""
    path = tmp_path / "segments"
    lines = [segments_line(line.segments) for line in confident.segment(LINES)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
