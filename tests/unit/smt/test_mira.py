"""MIRA: updates against plain loops, gains against corpus BLEU, and a separable list."""

import numpy as np
import pytest

from nmtkit.smt.mira import MiraConfig, bleu_gains, epoch_averages, mira, mira_update
from nmtkit.smt.nbest import parse
from nmtkit.smt.tuning_list import load_tuning_list


def separable(seed=0, sentences=12):
    """Return a list whose correct hypotheses have the greatest A - B, and a bad start."""
    random = np.random.default_rng(seed)
    references = [" ".join(random.choice(list("abcdef"), 6)) for _ in range(sentences)]
    rows = []
    for number, reference in enumerate(references):
        for wrong in random.permutation(6):
            words = " ".join(reference.split()[: 6 - wrong] + ["x"] * wrong)
            b = random.integers(-5, 6)
            rows.append(f"{number} ||| {words} ||| A= {b - wrong} B= {b} ||| 0")
    return [parse(row) for row in rows], references


def corpus_bleu(sums):
    """Compute BLEU of nine sums, one number at a time."""
    product = 1.0
    for n in range(4):
        if sums[n] <= 0:
            return 0.0
        product *= sums[n] / sums[4 + n]
    return product**0.25 * min(1.0, float(np.exp(1 - sums[8] / sums[4])))


def mira_by_hand(tuning, start, config):
    """Compute the average of the weights after each epoch in plain loops."""
    random = np.random.default_rng(config.seed)
    weights, total, steps = [float(w) for w in start], [0.0] * len(start), 0
    background = [1.0] * 9
    epoch_averages = []
    for _ in range(config.epochs):
        for sentence in random.permutation(len(tuning.offsets) - 1):
            result = []
            for line in range(tuning.offsets[sentence], tuning.offsets[sentence + 1]):
                features = [float(value) for value in tuning.features[line]]
                score = sum(w * h for w, h in zip(weights, features, strict=True))
                counts = [float(count) for count in tuning.statistics[line]]
                sums = [a + b for a, b in zip(counts, background, strict=True)]
                gain = corpus_bleu(sums) * sums[8]
                result.append((score + float(tuning.rest[line]), gain, features, counts))
            hope = max(result, key=lambda one: one[0] + one[1])
            fear = max(result, key=lambda one: one[0] - one[1])
            difference = [a - b for a, b in zip(hope[2], fear[2], strict=True)]
            square = sum(d * d for d in difference)
            violation = (hope[1] - fear[1]) - (hope[0] - fear[0])
            if square and violation > 0:
                length = min(config.c, violation / square)
                weights = [w + length * d for w, d in zip(weights, difference, strict=True)]
            background = [config.decay * b + c for b, c in zip(background, hope[3], strict=True)]
            total = [t + w for t, w in zip(total, weights, strict=True)]
            steps += 1
        epoch_averages.append([t / steps for t in total])
    return epoch_averages


@pytest.mark.parametrize("c", [0.01, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_weights_are_those_of_plain_loops(make_list, seed, c):
    entries, references = make_list(seed, sentences=15)
    tuning = load_tuning_list(entries, references, {"A": (0.3, 0.1), "B": (-0.2,)})
    config = MiraConfig(epochs=3, c=c, decay=0.9, seed=seed)
    start = np.array([-1.0, 0.5, -0.5])
    expected = mira_by_hand(tuning, start, config)
    assert np.array(list(epoch_averages(tuning, start, config))) == pytest.approx(
        np.array(expected)
    )
    assert expected[0] != pytest.approx(start)


def test_a_separable_list_is_solved():
    tuning = load_tuning_list(*separable())
    start = np.array([0.0, 1.0])
    assert tuning.bleu(start) < 0.7
    end = mira(tuning, start, MiraConfig(epochs=60, c=0.1))
    assert end.bleu == pytest.approx(1.0)
    assert tuning.bleu(end.weights) == end.bleu


@pytest.mark.parametrize("seed", range(4))
def test_the_result_is_never_below_the_start(make_list, seed):
    entries, references = make_list(seed, sentences=10, without=(3,))
    tuning = load_tuning_list(entries, references, {"A": (0.3, 0.1), "B": (-0.2,)})
    start = np.random.default_rng(seed).normal(size=3)
    end = mira(tuning, start, MiraConfig(epochs=3))
    assert end.bleu >= tuning.bleu(start)
    assert tuning.bleu(end.weights, end.rest) == end.bleu


def test_the_same_seed_gives_the_same_weights():
    tuning = load_tuning_list(*separable())
    start = np.array([0.0, 1.0])
    ends = [mira(tuning, start, MiraConfig(epochs=1, seed=seed)) for seed in (5, 5, 6)]
    assert ends[0].weights.tolist() == ends[1].weights.tolist()
    assert ends[0].weights.tolist() != ends[2].weights.tolist()


def test_an_update_closes_the_gap_or_has_maximum_size():
    difference = np.array([1.0, -2.0, 0.0])  # square 5
    assert mira_update(difference, gain=3.0, margin=1.0, c=1.0) == pytest.approx(difference * 2 / 5)
    weights = np.array([1.0, 0.0, 7.0])  # hope is 1 above fear
    moved = weights + mira_update(difference, 3.0, 1.0, 1.0)
    assert moved @ difference == pytest.approx(3.0)
    assert mira_update(difference, 3.0, 1.0, c=0.01) == pytest.approx(difference * 0.01)


@pytest.mark.parametrize(("gain", "margin"), [(1.0, 1.0), (1.0, 2.0), (0.0, 0.0)])
def test_a_large_margin_changes_nothing(gain, margin):
    assert mira_update(np.array([1.0, 2.0]), gain, margin, 1.0).tolist() == [0, 0]
    assert mira_update(np.zeros(2), 1.0, 0.0, 1.0).tolist() == [0, 0]


def test_a_gain_is_the_bleu_of_the_background_with_the_hypothesis():
    background = [40, 30, 20, 10, 50, 45, 40, 35, 52]
    hypotheses = [[5, 4, 3, 2, 5, 4, 3, 2, 5], [0, 0, 0, 0, 0, 0, 0, 0, 5]]
    expected = []
    for counts in hypotheses:
        sums = [a + b for a, b in zip(background, counts, strict=True)]
        expected.append(corpus_bleu(sums) * sums[8])
    actual = bleu_gains(np.array(hypotheses), np.array(background))
    assert actual == pytest.approx(expected)
    assert actual[0] > actual[1]


def test_improvements_are_logged():
    tuning = load_tuning_list(*separable())
    progress: list[str] = []
    mira(tuning, np.array([0.0, 1.0]), MiraConfig(epochs=60, c=0.1), progress.append)
    assert progress and progress[-1].endswith("BLEU 100.00")
