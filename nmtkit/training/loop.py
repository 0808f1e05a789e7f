"""Training: updates, validations, checkpoints, and the rules by which it ends."""

import dataclasses
import logging
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from nmtkit.config import TrainingConfig
from nmtkit.data.batch import Batch
from nmtkit.data.batching import Batches
from nmtkit.errors import ModelError
from nmtkit.models import Model
from nmtkit.training.checkpoint import (
    Progress,
    average_parameters,
    checkpoints,
    load_checkpoint,
    parameters_of,
    remove_old_checkpoints,
    save_checkpoint,
    write_parameters,
)
from nmtkit.training.monitor import Monitor
from nmtkit.training.optimizers import learning_rate, make_optimizer, set_learning_rate
from nmtkit.training.validation import Validation

log = logging.getLogger("nmtkit")


@dataclass(frozen=True)
class Update:
    """What one update cost: sum of -log p (smoothed where training is), target tokens, the
    gradient's L2 norm before clipping."""

    cost: float
    tokens: int
    norm: float


class Training:
    """One model's training in its folder, from wherever it stands to its end."""

    def __init__(
        self,
        model: Model,
        batches: Batches,
        validate: Callable[[Model], Validation],
        config: TrainingConfig,
        folder: Path,
        monitor: Monitor,
    ) -> None:
        """:param validate: measures the dev set with the parameters that the model has."""
        self.model = model
        self.device = next(model.parameters()).device
        self.batches = batches
        self.stream: Iterator[Batch] = iter(batches)
        self.validate = validate
        self.config = config
        self.folder = folder
        self.monitor = monitor
        self.optimizer = make_optimizer(model, config)
        self.progress = Progress()

    def resume(self) -> bool:
        """Go back to the last checkpoint; False where there is none."""
        saved = checkpoints(self.folder)
        if not saved:
            self.monitor.resumed(0)
            return False
        self.progress = load_checkpoint(saved[-1], self.model, self.optimizer)
        self.batches.position = self.progress.position
        self.stream = iter(self.batches)
        self.monitor.resumed(self.progress.updates)
        return True

    def run(self) -> None:
        """Update, validate and save until the rules say that it is over."""
        self.model.train()
        while not self.finished():
            started, before = time.monotonic(), self.progress
            update = self.update()
            self.progress = dataclasses.replace(
                before,
                updates=before.updates + 1,
                position=self.batches.position,
                seconds=before.seconds + time.monotonic() - started,
            )
            self.monitor.updated(self.progress, update.cost, update.tokens, update.norm)
            if self._due(before) or self._at_limit():
                self.checkpoint()
        self.monitor.close()

    def update(self) -> Update:
        """Change the parameters once, by the gradient of `accumulate` batches."""
        self.optimizer.zero_grad(set_to_none=True)
        batches = [next(self.stream) for _ in range(self.config.accumulate)]
        tokens = sum(int(batch.tgt_mask.sum()) for batch in batches)
        share = torch.tensor(1 / _divisor(self.config.cost, batches, tokens), device=self.device)
        cost = torch.zeros((), device=self.device)
        for batch in batches:
            loss = self._loss(batch)
            loss.backward(share)  # type: ignore[no-untyped-call]
            cost += loss.detach()
        norm = self._clip_gradient()
        if not norm < float("inf"):
            lines = ", ".join(str(line) for batch in batches for line in batch.lines[:5])
            raise ModelError(
                f"the gradient is not finite at update {self.progress.updates + 1} (training lines "
                f"{lines}, ...); the last checkpoint is whole, but train anew with a lower "
                "training.learning_rate or training.clip_norm"
            )
        done = self.progress
        epochs = self.batches.epochs(done.position)
        rate = learning_rate(self.config, done.updates, epochs, done.decays)
        set_learning_rate(self.optimizer, rate)
        self.optimizer.step()
        return Update(float(cost), tokens, norm)

    def _loss(self, batch: Batch) -> torch.Tensor:
        """Sum of -log p over a batch, products in the type that `precision` says."""
        src, src_mask, tgt, tgt_mask, _ = batch.to(self.device)
        lowered = self.config.precision == "bfloat16"
        with torch.autocast(self.device.type, torch.bfloat16, enabled=lowered):
            return self.model.loss(src, src_mask, tgt, tgt_mask, self.config.label_smoothing)

    def _clip_gradient(self) -> float:
        """Shorten the gradient to `clip_norm` where it is longer; its norm before."""
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        norm = float(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients))))
        clip = self.config.clip_norm
        if clip and norm > clip:
            torch._foreach_mul_(gradients, clip / norm)
        return norm

    def checkpoint(self) -> None:
        """Validate what would be used now, and save everything."""
        started = time.monotonic()
        found = self._validated()
        seconds = self.progress.seconds + time.monotonic() - started
        self.progress = dataclasses.replace(
            judged(self.progress, found, self.config), seconds=seconds
        )
        better = self.progress.stale == 0
        self.monitor.validated(self.progress, found, better)
        for name in ("best", "last") if better else ("last",):
            write_parameters(self.folder / f"params.{name}.safetensors", self.candidate)
        save_checkpoint(self.folder, self.model, self.optimizer, self.progress)
        remove_old_checkpoints(self.folder, max(self.config.keep, self.config.average))

    def _validated(self) -> Validation:
        """The dev figures of the mean of the last `average` checkpoints, this moment among them."""
        own = parameters_of(self.model)
        earlier = (
            checkpoints(self.folder)[1 - self.config.average :] if self.config.average > 1 else []
        )
        self.candidate = own
        if earlier:
            mean, count = average_parameters(earlier), len(earlier)
            self.candidate = {
                name: (mean[name] * count + value) / (count + 1) for name, value in own.items()
            }
        with _parameters(self.model, self.candidate):
            return self.validate(self.model)

    def finished(self) -> bool:
        """Whether a limit or early stopping has ended this training."""
        patience = self.config.patience
        return self._at_limit() or bool(patience and self.progress.stale >= patience)

    def _due(self, before: Progress) -> bool:
        """Whether the update after `before` is one that a validation follows."""
        every = self.config.validate_epochs
        if not every:
            return self.progress.updates % self.config.validate_every == 0
        then, now = (self.batches.epochs(p.position) // every for p in (before, self.progress))
        return now > then

    def _at_limit(self) -> bool:
        updates, epochs = self.config.max_updates, self.config.max_epochs
        return bool(
            (updates and self.progress.updates >= updates)
            or (epochs and self.batches.epochs(self.progress.position) >= epochs)
        )


class _parameters:
    """For a while, let a module have other parameters."""

    def __init__(self, module: nn.Module, values: dict[str, torch.Tensor]) -> None:
        self.model = module
        self.values = values

    @torch.no_grad()
    def __enter__(self) -> None:
        self.own = {name: p.detach().clone() for name, p in self.model.named_parameters()}
        self._put(self.values)

    @torch.no_grad()
    def __exit__(self, *_: object) -> None:
        self._put(self.own)

    def _put(self, values: dict[str, torch.Tensor]) -> None:
        for name, parameter in self.model.named_parameters():
            parameter.copy_(values[name])


def _divisor(cost: str, batches: list[Batch], tokens: int) -> float:
    if cost == "batch-sum":
        return 1.0
    return float(tokens if cost == "token-mean" else sum(len(batch.lines) for batch in batches))


def judged(progress: Progress, found: Validation, config: TrainingConfig) -> Progress:
    """The counters after a validation: is it the best, and is the learning rate to decay?"""
    figure = found.cost_per_token
    if config.stop_on == "bleu" and found.bleu is not None:
        figure = -found.bleu
    better = _below(figure, progress.best)
    cheaper = _below(found.cost_per_token, progress.best_cost)
    stale_cost = 0 if cheaper else progress.stale_cost + 1
    decays = progress.decays
    if config.decay_patience and stale_cost >= config.decay_patience:
        decays, stale_cost = decays + 1, 0
        log.info("learning rate times %g from here on", config.decay)
    return dataclasses.replace(
        progress,
        best=figure if better else progress.best,
        best_cost=found.cost_per_token if cheaper else progress.best_cost,
        stale=0 if better else progress.stale + 1,
        stale_cost=stale_cost,
        decays=decays,
    )


def _below(figure: float, best: float | None) -> bool:
    """Whether a figure is the lowest so far; what is not a number never is."""
    return not math.isnan(figure) and (best is None or figure < best)
