"""Parameters and gradients of a trainer, and their comparison."""

import torch


def parameters(trainer):
    return {name: value.detach().clone() for name, value in trainer.model.named_parameters()}


def gradients(trainer):
    return {name: value.grad.clone() for name, value in trainer.model.named_parameters()}


def equal(first, second):
    return first.keys() == second.keys() and all(
        torch.equal(first[name], second[name]) for name in first
    )


def close(actual, expected, **tolerance):
    assert actual.keys() == expected.keys()
    for name in actual:
        torch.testing.assert_close(actual[name], expected[name], **tolerance, msg=name)
