"""Optimizers, and the schedule of the learning rate."""

import torch
from torch import nn

from nmtkit.config import TrainingConfig


def make_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """Build the optimizer that the settings name.

    Adadelta (Zeiler 2012, as in Bahdanau et al. 2015 B.2) uses `config.rho` and `config.epsilon`,
    Adam (Kingma and Ba 2015) uses `config.epsilon`; SGD has only the learning rate.
    """
    parameters = list(model.parameters())
    rate = config.learning_rate
    if config.optimizer == "adadelta":
        return torch.optim.Adadelta(parameters, lr=rate, rho=config.rho, eps=config.epsilon)
    if config.optimizer == "adam":
        return torch.optim.Adam(parameters, lr=rate, eps=config.epsilon, fused=True)
    return torch.optim.SGD(parameters, lr=rate)


def learning_rate(config: TrainingConfig, updates: int, epochs: float, decays: int) -> float:
    """Return the learning rate of the next update.

    :param updates: number of updates so far.
    :param epochs: number of epochs so far, as a float.
    :param decays: number of decays by validation so far.
    """
    if config.lr_decay_after and epochs >= config.lr_decay_after:
        decays += 1 + int((epochs - config.lr_decay_after) / config.lr_decay_every)
    warmup = min(1.0, (updates + 1) / config.warmup) if config.warmup else 1.0
    updates_left = config.max_updates - updates
    cooldown = min(1.0, updates_left / config.cooldown) if config.cooldown else 1.0
    return config.learning_rate * config.lr_decay**decays * warmup * cooldown


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of the next updates."""
    for group in optimizer.param_groups:
        group["lr"] = rate
