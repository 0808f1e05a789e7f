"""Checkpoints of a small linear model."""

import dataclasses
from typing import Any

import torch
from torch import nn

from nmtkit.config import TrainingConfig
from nmtkit.data.batching import Position
from nmtkit.training.checkpoint import save_checkpoint
from nmtkit.training.checkpoint_folder import CheckpointKind
from nmtkit.training.optimizers import make_optimizer
from nmtkit.training.progress import Progress

PROGRESS = Progress(
    updates=7,
    position=Position(1, 20, 3),
    decays=2,
    best=0.1 + 0.2,
    best_cost=1 / 3,
    stale=4,
    stale_cost=1,
    seconds=12.5,
)


def make(
    optimizer: Any = "adadelta", seed: int = 1, updates: int = 2, size: int = 3
) -> tuple[nn.Linear, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    model = nn.Linear(size, 2)
    optimizer_of_model = make_optimizer(
        model, TrainingConfig(optimizer=optimizer, learning_rate=0.1)
    )
    for _ in range(updates):
        update(model, optimizer_of_model)
    return model, optimizer_of_model


def update(model, optimizer):
    optimizer.zero_grad()
    (model(torch.randn(4, model.in_features)) ** 2).sum().backward()
    optimizer.step()


def three(tmp_path, damaged=()):
    """Save checkpoints 5, 6 (interrupted) and 7, and damage some of them."""
    for updates in (5, 6, 7):
        progress = dataclasses.replace(PROGRESS, updates=updates)
        path = save_checkpoint(
            tmp_path,
            *make(seed=updates),
            progress,
            CheckpointKind.INTERRUPTED if updates == 6 else CheckpointKind.VALIDATED,
        )
        if updates == 6:
            kept = path.rename(tmp_path / "kept")
    kept.rename(tmp_path / "checkpoints" / "00000006.interrupted")
    for path in (tmp_path / "checkpoints").iterdir():
        if int(path.name[:8]) in damaged:
            (path / "params.safetensors").write_bytes(b"no")
