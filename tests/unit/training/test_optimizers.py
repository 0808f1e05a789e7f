"""One and several steps of each optimizer against its paper's formulas in NumPy."""

import numpy as np
import pytest
import torch
from torch import nn

from nmtkit.config import TrainingConfig
from nmtkit.training.optimizers import learning_rate, make_optimizer, set_learning_rate

START = np.array([[0.5, -1.0], [2.0, 0.25]])
GRADIENTS = [
    np.array([[0.3, -2.0], [0.0, 1e-4]]),
    np.array([[-0.1, -1.0], [0.7, 3e-4]]),
    np.array([[5.0, 0.2], [-0.7, 0.0]]),
]


def stepped(**settings):
    """Return the parameter after each gradient."""
    module = nn.Linear(2, 2, bias=False).double()
    with torch.no_grad():
        module.weight.copy_(torch.from_numpy(START))
    optimizer = make_optimizer(module, TrainingConfig(**settings))
    parameters = []
    for gradient in GRADIENTS:
        module.weight.grad = torch.from_numpy(gradient.copy())
        optimizer.step()
        parameters.append(module.weight.detach().numpy().copy())
    return parameters


@pytest.mark.parametrize(("rho", "epsilon", "rate"), [(0.95, 1e-6, 1.0), (0.5, 1e-3, 0.3)])
def test_adadelta_equals_zeilers_equations(rho, epsilon, rate):
    x, squares, changes = START, np.zeros((2, 2)), np.zeros((2, 2))
    expected = []
    for g in GRADIENTS:
        squares = rho * squares + (1 - rho) * g**2
        change = -np.sqrt(changes + epsilon) / np.sqrt(squares + epsilon) * g
        changes = rho * changes + (1 - rho) * change**2
        x = x + rate * change
        expected.append(x)
    positions = stepped(optimizer="adadelta", learning_rate=rate, rho=rho, epsilon=epsilon)
    np.testing.assert_allclose(positions, expected, rtol=1e-12)


@pytest.mark.parametrize(("epsilon", "rate"), [(1e-8, 0.001), (1e-3, 0.5)])
def test_adam_equals_kingma_and_bas_equations(epsilon, rate):
    x, m, v = START, np.zeros((2, 2)), np.zeros((2, 2))
    expected = []
    for t, g in enumerate(GRADIENTS, start=1):
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g**2
        x = x - rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + epsilon)
        expected.append(x)
    positions = stepped(optimizer="adam", learning_rate=rate, epsilon=epsilon)
    np.testing.assert_allclose(positions, expected, rtol=1e-10)


def test_sgd_has_no_momentum():
    expected = START - 0.7 * np.cumsum(GRADIENTS, axis=0)
    np.testing.assert_allclose(stepped(optimizer="sgd", learning_rate=0.7), expected)


def test_the_papers_adadelta_is_the_default():
    optimizer = make_optimizer(nn.Linear(2, 2), TrainingConfig())
    assert isinstance(optimizer, torch.optim.Adadelta)
    (group,) = optimizer.param_groups
    assert (group["rho"], group["eps"], group["lr"], group["weight_decay"]) == (0.95, 1e-6, 1, 0)


def test_a_set_learning_rate_is_used():
    module = nn.Linear(1, 1, bias=False)
    optimizer = make_optimizer(module, TrainingConfig(optimizer="sgd", learning_rate=9.0))
    before = module.weight.item()
    set_learning_rate(optimizer, 0.5)
    module.weight.grad = torch.ones(1, 1)
    optimizer.step()
    assert module.weight.item() == pytest.approx(before - 0.5)


def rates(updates, decays=0, **settings):
    config = TrainingConfig(**{"learning_rate": 0.8, "lr_decay": 0.5, **settings})
    return [learning_rate(config, update, 0.0, decays) for update in updates]


def test_the_rate_is_constant_by_default():
    assert rates([0, 1, 10**6]) == [0.8] * 3


def test_warmup_is_linear_from_the_first_update_on():
    assert rates(range(6), warmup=4) == pytest.approx([0.2, 0.4, 0.6, 0.8, 0.8, 0.8])


def test_each_decay_multiplies():
    config = TrainingConfig(learning_rate=0.8, lr_decay=0.5)
    assert [learning_rate(config, 7, 0.0, decays) for decays in range(3)] == [0.8, 0.4, 0.2]


def test_cooldown_is_linear_to_the_last_update():
    cooldown_rates = rates(range(10), max_updates=10, cooldown=4)
    assert cooldown_rates == pytest.approx([0.8] * 7 + [0.6, 0.4, 0.2])


def test_warmup_cooldown_and_decay_multiply():
    combined_rates = rates([0, 1, 2, 3], decays=1, warmup=2, max_updates=4, cooldown=2)
    assert combined_rates == pytest.approx([0.2, 0.4, 0.4, 0.2])


def test_the_rate_is_halved_every_half_epoch_after_the_fifth():
    """As in Sutskever et al. 2014, section 3.4: first after five epochs."""
    config = TrainingConfig(learning_rate=0.7, lr_decay=0.5, lr_decay_after=5.0, lr_decay_every=0.5)
    epochs = [0.0, 4.99, 5.0, 5.49, 5.5, 6.0, 7.4]
    factors = [learning_rate(config, 1000, epoch, 0) / 0.7 for epoch in epochs]
    assert factors == pytest.approx([1, 1, 1 / 2, 1 / 2, 1 / 4, 1 / 8, 1 / 32])
    assert learning_rate(config, 1000, 5.5, decays=1) == pytest.approx(0.7 / 8)
