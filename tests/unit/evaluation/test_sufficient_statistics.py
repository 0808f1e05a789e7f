"""Counts of sentences: their sums give the figure of any part of a test set."""

import random
from collections.abc import Callable

import numpy as np
import pytest

from nmtkit.errors import DataError
from nmtkit.evaluation.metrics import (
    Measure,
    Rewriting,
    chrf,
    evaluate,
    sacrebleu_bleu,
    ter,
    tokenized_bleu,
)
from nmtkit.evaluation.sufficient_statistics import MEASURES, count, extended

ALL: list[Callable[..., Measure]] = [tokenized_bleu, sacrebleu_bleu, chrf, ter]


def corpus(seed: int, size: int = 25) -> tuple[list[str], list[str]]:
    """Random sentences, some with odd spaces, some empty, and noisy copies of them."""
    rng = random.Random(seed)
    words = ["la", "maison", "l'", "été", "x\u2028y", ",", "."]
    references = [" ".join(rng.choices(words, k=rng.randrange(14))) for _ in range(size)]
    noisy = [[w for w in line.split(" ") if rng.random() < 0.85] for line in references]
    return [" ".join([*line, "."] if rng.random() < 0.3 else line) for line in noisy], references


@pytest.mark.parametrize("seed", range(3))
def test_any_part_has_the_figure_that_it_has_alone(seed: int) -> None:
    hypotheses, references = corpus(seed)
    counts = count(hypotheses, references)
    rng = random.Random(seed)
    for size in (1, 2, 7, 25):
        part = rng.sample(range(25), k=size)
        alone = [hypotheses[i] for i in part], [references[i] for i in part]
        for counted, measure in zip(counts, ALL, strict=True):
            assert counted.of(np.array(part)) == pytest.approx(measure(*alone).value, abs=1e-9)


@pytest.mark.parametrize("part", [[], ["bleu"], ["ter", "chrf"]])
def test_the_measures_are_those_of_evaluate(part: list[str]) -> None:
    def split(line: str) -> str:
        return line.replace("l'", "l ' ")

    both = corpus(5)
    split_up, joined = Rewriting("split", split), Rewriting("join", lambda line: line.upper())
    wanted = dict(zip(MEASURES, evaluate(*both, tokenize=split_up, detokenize=joined), strict=True))
    found = [c.measure for c in count(*both, tokenize=split_up, detokenize=joined, measures=part)]
    expected = [wanted[name] for name in wanted if name in (part or wanted)]
    assert [(m.name, m.signature) for m in found] == [(m.name, m.signature) for m in expected]
    assert [m.value for m in found] == pytest.approx([m.value for m in expected])
    assert [type(m) for m in found] == [type(m) for m in expected]


def test_many_sums_are_measured_at_once() -> None:
    for counted in count(*corpus(1)):
        both = counted.figures(np.array([counted.numbers[:9].sum(0), counted.numbers[9:].sum(0)]))
        assert both.tolist() == [counted.of(np.arange(9)), counted.of(np.arange(9, 25))]


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_refuses_uneven_lines_with_both_counts(name: str) -> None:
    with pytest.raises(DataError, match="2 lines in out but 1 in test"):
        count(["a", "b"], ["a"], ("out", "test"), measures=[name])
    with pytest.raises(DataError, match="no lines in out and test"):
        count([], [], ("out", "test"), measures=[name])


def test_a_signature_is_extended_where_sacrebleu_does_it() -> None:
    assert extended("nrefs:1|case:lc", {"bs": 5, "seed": 1}) == "nrefs:1|bs:5|seed:1|case:lc"
    assert extended("nrefs:1|case:lc", {}) == "nrefs:1|case:lc"
