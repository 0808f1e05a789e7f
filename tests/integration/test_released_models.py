"""Models of every released version give what they gave when they were released.

Translations and alignments are the same; scores to a relative 1e-5, as machines and versions of
torch round otherwise. `tests/data/make.py` makes the models of a release.
"""

import json
from pathlib import Path
from typing import Any

import pytest

import nmtkit
from nmtkit import Aligner, Scorer, Translator

DATA = Path(__file__).parents[1] / "data"
MODELS = sorted(path.parent for path in DATA.glob("*/*/expected.json"))
KINDS = {"rnnsearch", "rnnsearch-v1", "rnnenc", "phrase-rnn", "grconv", "deep-lstm", "cslm"}
CLOSE: dict[str, Any] = {"rel": 1e-5, "abs": 1e-6}


def expected(folder):
    return json.loads((folder / "expected.json").read_text(encoding="utf-8"))


def released(output):
    """The models that have such an output."""
    found = [path for path in MODELS if output in expected(path)]
    return pytest.mark.parametrize("folder", found, ids=lambda f: f"{f.parent.name}-{f.name}")


def test_the_present_version_has_a_model_of_every_kind():
    assert {path.name for path in MODELS if path.parent.name == nmtkit.__version__} == KINDS
    assert sum(path.stat().st_size for path in DATA.rglob("*") if path.is_file()) < 200_000


@released("translations")
def test_translations_are_those_of_the_release(folder):
    told = expected(folder)
    n_best = max(map(len, told["translations"]))
    translator = Translator.load(folder, device="cpu").with_search(**told["search"])
    found = list(translator.translate(told["lines"], n_best=n_best))
    for of_line, before in zip(found, told["translations"], strict=True):
        assert [t.text for t in of_line] == [text for text, _, _ in before]
        scores = [score for t in of_line for score in (t.score, t.ranking_score)]
        assert scores == pytest.approx([s for _, *both in before for s in both], **CLOSE)


@released("scores")
def test_scores_are_those_of_the_release(folder):
    told = expected(folder)
    scorer = Scorer.load(folder, device="cpu")
    if scorer.reads_source:
        scores = scorer.score(zip(told["lines"], told["targets"], strict=True))
    else:
        scores = scorer.score_text(told["targets"])
    assert [score.log_prob for score in scores] == pytest.approx(told["scores"], **CLOSE)


@released("links")
def test_alignments_are_those_of_the_release(folder):
    told = expected(folder)
    pairs = zip(told["lines"], told["targets"], strict=True)
    found = [one.moses() for one in Aligner.load(folder, device="cpu").align(pairs)]
    assert found == told["links"]
