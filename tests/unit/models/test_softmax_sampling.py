"""A softmax over sampled words: the law of its normaliser, its limits, and an independent cost."""

import numpy as np
import pytest
import torch

from nmtkit.models.rnnsearch import RNNsearch, RNNsearchConfig
from nmtkit.models.softmax_sampling import WordSampler

COUNTS = [40, 0, 300, 100, 50, 20, 10, 5, 3, 2, 1, 1]
K = len(COUNTS)


def frequencies() -> np.ndarray:
    counts = np.maximum(np.array(COUNTS, float), 1)
    return counts / counts.sum()


def draw_targets(size: int) -> torch.Tensor:
    return torch.multinomial(torch.tensor(frequencies()), size, replacement=True)


@pytest.mark.parametrize("size", [1, 4, 9])
@pytest.mark.parametrize("batch", [1, 7])
def test_the_expectation_of_the_normaliser_is_that_of_all_words(size: int, batch: int) -> None:
    torch.manual_seed(size + batch)
    sampler = WordSampler(COUNTS, size)
    exponentials = torch.rand(K, dtype=torch.float64) * 5
    estimates = []
    for _ in range(4000):
        sample = sampler.draw(draw_targets(batch))
        estimates.append(float((exponentials[sample.words] / sample.log_probabilities.exp()).sum()))
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert np.mean(estimates) == pytest.approx(float(exponentials.sum()), abs=4.5 * error)


def test_as_many_words_are_drawn_as_asked_for() -> None:
    torch.manual_seed(1)
    rarest = torch.tensor([1])
    for size in (2, 6):
        sampler = WordSampler(COUNTS, size)
        mean = np.mean([len(sampler.draw(rarest).words) for _ in range(2000)])
        assert (
            size - 0.1 <= mean <= size + 1.1
        )  # the batch's own word comes on top, if it is not drawn


def test_targets_are_always_there_and_are_found_again() -> None:
    torch.manual_seed(2)
    sampler = WordSampler(COUNTS, 3)
    for _ in range(50):
        targets = draw_targets(5)
        sample = sampler.draw(targets)
        assert torch.equal(sample.words[sample.targets], targets)
        assert torch.equal(sample.words, sample.words.unique())
        assert (sample.log_probabilities <= 0).all()


def test_with_all_words_it_is_the_whole_softmax() -> None:
    sample = WordSampler(COUNTS, K).draw(torch.tensor([3, 3, 1]))
    assert torch.equal(sample.words, torch.arange(K))
    assert sample.targets.tolist() == [3, 3, 1]
    assert not sample.log_probabilities.any()


def test_without_counts_all_words_are_as_likely() -> None:
    torch.manual_seed(3)
    sampler = WordSampler([0] * 10, 5)
    drawn = torch.zeros(10)
    for _ in range(2000):
        drawn[sampler.draw(torch.tensor([0])).words] += 1
    assert drawn[0] == 2000
    assert torch.allclose(drawn[1:] / 2000, torch.tensor(0.5), atol=0.06)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_cost_is_that_of_a_softmax_over_the_drawn_words(
    monkeypatch: pytest.MonkeyPatch, smoothing: float
) -> None:
    torch.manual_seed(4)
    model = RNNsearch(RNNsearchConfig(3, 4, 3, 2), 7, K).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_(-1, 1)
    src, tgt = torch.tensor([[2, 3, 0], [5, 0, 0]]), torch.tensor([[4, 0], [11, 0]])
    masks = torch.tensor([[True, True, True], [True, True, False]]), tgt >= 0
    sampler = WordSampler(COUNTS, 4)
    targets = tgt.t().flatten()  # position by position
    sample = sampler.draw(targets)
    monkeypatch.setattr(sampler, "draw", lambda words: sample)

    readouts: list[torch.Tensor] = []
    forced = model.teacher_forced

    def keep(*arguments: object) -> object:
        result = forced(*arguments)  # type: ignore[arg-type]
        readouts.append(result.readout.detach())
        assert torch.equal(result.words, targets)
        return result

    monkeypatch.setattr(model, "teacher_forced", keep)
    cost = model.loss(src, masks[0], tgt, masks[1], smoothing, sampler)

    W, b = model.output_words().detach().numpy(), model.b_y.detach().numpy()
    expected = 0.0
    words, pi = sample.words.numpy(), sample.log_probabilities.double().exp().numpy()
    for readout, target in zip(readouts[0].numpy(), targets.tolist(), strict=True):
        scores = {w: readout @ W[w] + b[w] - np.log(p) for w, p in zip(words, pi, strict=True)}
        log_z = np.log(sum(np.exp(value) for value in scores.values()))
        uniform = np.mean([log_z - value for value in scores.values()])
        expected += (1 - smoothing) * (log_z - scores[target]) + smoothing * uniform
    assert float(cost.detach()) == pytest.approx(expected)
    cost.backward()
    absent = sorted(set(range(K)) - set(words.tolist()))
    assert absent and model.b_y.grad is not None and not model.b_y.grad[absent].any()
