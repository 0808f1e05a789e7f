"""Sums of sentence statistics give the figure of any subset of a test set."""

import random

import numpy as np
import pytest

from nmtkit.errors import DataError
from nmtkit.evaluation.metrics import METRICS, evaluate
from nmtkit.evaluation.retokenize import Retokenizer
from nmtkit.evaluation.sufficient_statistics import collect_statistics, extend_signature


def corpus(seed: int, size: int = 25) -> tuple[list[str], list[str]]:
    """Return random sentences, some with odd spaces, some empty, and noisy copies of them."""
    rng = random.Random(seed)
    words = ["la", "maison", "l'", "été", "x\u2028y", ",", "."]
    references = [" ".join(rng.choices(words, k=rng.randrange(14))) for _ in range(size)]
    noisy = [[w for w in line.split(" ") if rng.random() < 0.85] for line in references]
    return [" ".join([*line, "."] if rng.random() < 0.3 else line) for line in noisy], references


@pytest.mark.parametrize("seed", range(3))
def test_any_subset_has_the_figure_of_its_sentences_alone(seed: int) -> None:
    hypotheses, references = corpus(seed)
    collected = collect_statistics(hypotheses, references)
    rng = random.Random(seed)
    for size in (1, 2, 7, 25):
        part = rng.sample(range(25), k=size)
        alone = [hypotheses[i] for i in part], [references[i] for i in part]
        for statistics, metric in zip(collected, METRICS.values(), strict=True):
            value = metric.corpus_score(*alone).value
            assert statistics.figure(np.array(part)) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("part", [[], ["bleu"], ["ter", "chrf"]])
def test_statistics_give_the_scores_of_evaluate(part: list[str]) -> None:
    def split(line: str) -> str:
        return line.replace("l'", "l ' ")

    both = corpus(5)
    split_up, joined = Retokenizer("split", split), Retokenizer("join", lambda line: line.upper())
    scores = dict(zip(METRICS, evaluate(*both, tokenize=split_up, detokenize=joined), strict=True))
    expected = tuple(scores[name] for name in scores if name in (part or scores))
    assert evaluate(*both, tokenize=split_up, detokenize=joined, metrics=part) == expected
    collected = collect_statistics(*both, tokenize=split_up, detokenize=joined, metrics=part)
    assert tuple(statistics.score for statistics in collected) == expected


def test_figures_of_many_sums_are_vectorised() -> None:
    for statistics in collect_statistics(*corpus(1)):
        rows = statistics.per_sentence
        both = statistics.metric.figures(np.array([rows[:9].sum(0), rows[9:].sum(0)]))
        alone = [statistics.figure(np.arange(9)), statistics.figure(np.arange(9, 25))]
        assert both.tolist() == alone


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_refuses_different_numbers_of_lines(name: str) -> None:
    with pytest.raises(DataError, match="2 lines in out but 1 in test"):
        collect_statistics(["a", "b"], ["a"], ("out", "test"), metrics=[name])
    with pytest.raises(DataError, match="no lines in out and test"):
        collect_statistics([], [], ("out", "test"), metrics=[name])


def test_a_signature_is_extended_where_sacrebleu_does_it() -> None:
    assert (
        extend_signature("nrefs:1|case:lc", {"bs": 5, "seed": 1}) == "nrefs:1|bs:5|seed:1|case:lc"
    )
    assert extend_signature("nrefs:1|case:lc", {}) == "nrefs:1|case:lc"
