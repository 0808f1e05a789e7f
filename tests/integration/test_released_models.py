"""Models of every released version still give the outputs of their release.

Translations and alignments must be equal, and scores equal to a relative 1e-5, because machines and
torch versions round differently. `tests/data/make.py` creates the models of a release.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import nmtkit
from nmtkit import Aligner, Scorer, Translator
from nmtkit.config_io import write_toml
from nmtkit.model_folder import read_config

DATA = Path(__file__).parents[1] / "data"
MODELS = sorted(path.parent for path in DATA.glob("*/*/expected.json"))
KINDS = {"rnnsearch", "rnnsearch-v1", "rnnenc", "phrase-rnn", "grconv", "deep-lstm", "cslm"}
TOLERANCE: dict[str, Any] = {"rel": 1e-5, "abs": 1e-6}


def expected(folder):
    return json.loads((folder / "expected.json").read_text(encoding="utf-8"))


def released(output):
    """Parametrise a test with the models that have this expected output."""
    folders = [path for path in MODELS if output in expected(path)]
    return pytest.mark.parametrize("folder", folders, ids=lambda f: f"{f.parent.name}-{f.name}")


def test_the_present_version_has_a_model_of_every_kind():
    assert {path.name for path in MODELS if path.parent.name == nmtkit.__version__} == KINDS
    assert sum(path.stat().st_size for path in DATA.rglob("*") if path.is_file()) < 200_000


@released("scores")
def test_settings_that_a_release_does_not_know_have_a_later_format(folder):
    old = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))
    new = tomllib.loads(write_toml(read_config(folder)))
    if any(new[key].keys() - old[key].keys() for key in new if key != "format"):
        assert new["format"] > old["format"]


@released("translations")
def test_translations_are_those_of_the_release(folder):
    release = expected(folder)
    n_best = max(map(len, release["translations"]))
    translator = Translator.load(folder, device="cpu").with_search(**release["search"])
    translations = list(translator.translate(release["lines"], n_best=n_best))
    for hypotheses, expected_list in zip(translations, release["translations"], strict=True):
        assert [t.text for t in hypotheses] == [text for text, _, _ in expected_list]
        scores = [score for t in hypotheses for score in (t.score, t.ranking_score)]
        assert scores == pytest.approx([s for _, *both in expected_list for s in both], **TOLERANCE)


@released("scores")
def test_scores_are_those_of_the_release(folder):
    release = expected(folder)
    scorer = Scorer.load(folder, device="cpu")
    if scorer.reads_source:
        scores = scorer.score(zip(release["lines"], release["targets"], strict=True))
    else:
        scores = scorer.score_text(release["targets"])
    assert [score.log_prob for score in scores] == pytest.approx(release["scores"], **TOLERANCE)


@released("links")
def test_alignments_are_those_of_the_release(folder):
    release = expected(folder)
    pairs = zip(release["lines"], release["targets"], strict=True)
    alignments = Aligner.load(folder, device="cpu").align(pairs, rounds=0)
    links = [alignment.moses() for alignment in alignments]
    assert links == release["links"]
