"""BLEU's sufficient statistics equal plain counts, and their sums give the papers' BLEU."""

import math
import random

import numpy as np
import pytest

from nmtkit.evaluation.bleu_statistics import Reference, bleu, sentence_bleu
from nmtkit.evaluation.metrics import tokenized_bleu

WORDS = ["a", "b", "c", "d", "é", "x\u2028y", "\x85"]


def lines(seed, count=30, longest=12):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(0, longest))) for _ in range(count)]


def right_by_search(hypothesis, reference, n):
    """Count matching n-grams by removing each from the reference."""
    left = [tuple(reference[i : i + n]) for i in range(len(reference) - n + 1)]
    right = 0
    for i in range(len(hypothesis) - n + 1):
        if tuple(hypothesis[i : i + n]) in left:
            left.remove(tuple(hypothesis[i : i + n]))
            right += 1
    return right


@pytest.mark.parametrize("seed", range(3))
def test_n_grams_are_counted_and_clipped(seed):
    for hypothesis, reference in zip(lines(seed), lines(seed + 100), strict=True):
        h, r = hypothesis.split(" "), reference.split(" ")
        h, r = [w for w in h if w], [w for w in r if w]
        assert Reference(reference).statistics(hypothesis) == [
            *(right_by_search(h, r, n) for n in (1, 2, 3, 4)),
            *(max(0, len(h) - n + 1) for n in (1, 2, 3, 4)),
            len(r),
        ]


def counts(hypotheses, references):
    pairs = zip(hypotheses, references, strict=True)
    return np.array(
        [Reference(reference).statistics(hypothesis) for hypothesis, reference in pairs]
    )


@pytest.mark.parametrize("seed", range(5))
def test_sums_give_the_papers_bleu(seed):
    hypotheses, references = lines(seed), lines(seed + 100)
    hypotheses[::5] = references[::5]
    ours = bleu(counts(hypotheses, references).sum(axis=0))
    assert 100 * ours == pytest.approx(tokenized_bleu(hypotheses, references).value, abs=1e-9)
    assert ours > 0


@pytest.mark.parametrize(
    ("hypothesis", "reference"),
    [("", "a b"), ("a b", ""), ("", ""), ("a b c", "a b c"), ("a b c d", "a b c d"), ("a b", "c")],
)
def test_odd_corpora_have_the_papers_bleu(hypothesis, reference):
    ours = bleu(counts([hypothesis], [reference])[0])
    assert 100 * ours == pytest.approx(tokenized_bleu([hypothesis], [reference]).value, abs=1e-9)


def sentence_bleu_by_hand(hypothesis, reference):
    h, r = hypothesis.split(), reference.split()
    product = 1.0
    for n in (1, 2, 3, 4):
        right, total = right_by_search(h, r, n), max(0, len(h) - n + 1)
        if n > 1:
            right, total = right + 1, total + 1
        if right == 0:
            return 0.0
        product *= right / total
    return product**0.25 * min(1.0, math.exp(1 - len(r) / len(h)))


def test_sentence_bleu_adds_one_beyond_single_words():
    rng = random.Random(5)
    pairs = [
        tuple(" ".join(rng.choices("abc", k=rng.randint(0, 7))) for _ in range(2))
        for _ in range(200)
    ]
    actual = sentence_bleu(counts(*zip(*pairs, strict=True)))
    assert actual == pytest.approx([sentence_bleu_by_hand(*pair) for pair in pairs])
    assert 0 < np.count_nonzero(actual) < 200


def test_sentence_bleu_of_the_reference_is_one():
    assert sentence_bleu(counts(["a", "a b c d e"], ["a", "a b c d e"])) == pytest.approx([1, 1])
    assert sentence_bleu(counts(["", "x"], ["a", "a"])) == pytest.approx([0, 0])
