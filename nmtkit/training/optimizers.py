"""The papers' optimizers and today's, and how the learning rate moves."""

import torch
from torch import nn

from nmtkit.config import TrainingConfig


def make_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """Adadelta (Zeiler 2012, as in Bahdanau et al. 2015 B.2), Adam (Kingma and Ba 2015) or SGD.

    `config.rho` is Adadelta's decay, `config.epsilon` is Adadelta's or Adam's.
    """
    parameters = list(model.parameters())
    rate = config.learning_rate
    if config.optimizer == "adadelta":
        return torch.optim.Adadelta(parameters, lr=rate, rho=config.rho, eps=config.epsilon)
    if config.optimizer == "adam":
        return torch.optim.Adam(parameters, lr=rate, eps=config.epsilon, fused=True)
    return torch.optim.SGD(parameters, lr=rate)


def learning_rate(config: TrainingConfig, updates: int, epochs: float, decays: int) -> float:
    """The rate of the update after `updates` others.

    :param epochs: done so far, parts counted.
    :param decays: how often validation has decayed it.
    """
    if config.lr_decay_after and epochs >= config.lr_decay_after:
        decays += 1 + int((epochs - config.lr_decay_after) / config.lr_decay_every)
    warming = min(1.0, (updates + 1) / config.warmup) if config.warmup else 1.0
    left = config.max_updates - updates
    cooling = min(1.0, left / config.cooldown) if config.cooldown else 1.0
    return config.learning_rate * config.lr_decay**decays * warming * cooling


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Use `rate` from the next update on."""
    for group in optimizer.param_groups:
        group["lr"] = rate
