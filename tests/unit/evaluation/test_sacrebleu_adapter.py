"""SacreBLEU's private methods are there, and their statistics give its public figures."""

import inspect
from pathlib import Path

import numpy as np
import pytest

from nmtkit.errors import NmtkitError
from nmtkit.evaluation.sacrebleu_adapter import (
    PRIVATE_METHODS,
    TESTED_VERSION,
    SacrebleuMetric,
    multi_bleu_result,
)

HYPOTHESES = ["Un chien court sur l' herbe .", "Oui, il dort !", "", "trois mots de plus ici"]
REFERENCES = ["Un chien noir court sur l' herbe .", "Oui , il dort .", "rien", "deux mots de plus"]
CLASSES = ["BLEU", "CHRF", "TER"]


def adapter(name: str) -> SacrebleuMetric:
    return SacrebleuMetric(name, {"force": True} if name == "BLEU" else {})


@pytest.mark.parametrize("name", CLASSES)
def test_sacrebleu_has_the_private_methods(name: str) -> None:
    extract, compute = (getattr(adapter(name).metric, method) for method in PRIVATE_METHODS)
    assert list(inspect.signature(extract).parameters) == ["hypotheses", "references"]
    assert list(inspect.signature(compute).parameters) == ["stats"]


@pytest.mark.parametrize("name", CLASSES)
def test_sums_of_statistics_give_the_public_figure_and_signature(name: str) -> None:
    ours, theirs = adapter(name), adapter(name).metric
    statistics = ours.statistics(HYPOTHESES, REFERENCES)
    assert statistics.shape[0] == len(HYPOTHESES)
    for lines in (slice(0, 4), slice(0, 2), slice(3, 4)):
        expected = theirs.corpus_score(HYPOTHESES[lines], [REFERENCES[lines]]).score
        assert float(ours.figures(statistics[lines].sum(axis=0))) == expected
        assert ours.score(statistics[lines].sum(axis=0)).score == expected
    assert ours.signature({}) == str(theirs.get_signature())
    assert "|detok:x|" in ours.signature({"detok": "x"})


def test_the_public_function_of_bleu_takes_sums() -> None:
    result = multi_bleu_result([5, 3, 2, 1], [6, 5, 4, 3], 6, 7)
    assert (result.sys_len, result.ref_len) == (6, 7)
    assert result.score == pytest.approx(
        100 * np.exp(1 - 7 / 6) * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25
    )


@pytest.mark.parametrize("method", PRIVATE_METHODS)
def test_a_sacrebleu_without_a_private_method_is_refused(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    metric = SacrebleuMetric("TER")
    monkeypatch.setattr(metric.metric, method, None)
    with pytest.raises(NmtkitError, match=rf"has no TER.{method}.*sacrebleu=={TESTED_VERSION}"):
        metric.figures(metric.statistics(HYPOTHESES, REFERENCES).sum(axis=0))


def test_the_tested_version_is_the_one_that_constraints_pin() -> None:
    constraints = Path(__file__).parents[3] / "constraints.txt"
    assert f"sacrebleu=={TESTED_VERSION}" in constraints.read_text("utf-8").splitlines()
