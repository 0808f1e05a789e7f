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
from nmtkit.errors import Interrupted, ModelError, is_out_of_memory
from nmtkit.io.parameters import (
    Parameters,
    average_parameters,
    parameters_of,
    write_parameters,
)
from nmtkit.models import Model
from nmtkit.parallel.process_group import SINGLE_PROCESS, ProcessGroup
from nmtkit.training.checkpoint import (
    Progress,
    checkpoints,
    load_newest,
    remove_old_checkpoints,
    save_checkpoint,
    share_optimizer,
)
from nmtkit.training.metrics_logger import MetricsLogger
from nmtkit.training.optimizers import learning_rate, make_optimizer, set_learning_rate
from nmtkit.training.signals import STOP_SIGNALS, StopSignals
from nmtkit.training.validation import Validation

log = logging.getLogger("nmtkit")

SAME_SIGNAL = 5.0
"""Seconds in which a rank takes a second signal for the first one, sent by others."""


@dataclass(frozen=True)
class Update:
    """What one update cost: sum of -log p (smoothed where training is), target tokens, the
    gradient's L2 norm before clipping; whether it left the parameters as they were, as cost or norm
    were not finite; and the signal that some rank had noted before gradients were added up."""

    cost: float
    tokens: int
    norm: float
    skipped: bool = False
    signal: int | None = None


class Trainer:
    """One model's training in its folder, from wherever it stands to its end.

    Ranks train together: each has a part of every batch, and all make the same update of equal
    parameters, by the gradient of the whole batch. Rank 0 alone reads and writes the folder.
    """

    def __init__(
        self,
        model: Model,
        batches: Batches,
        validate: Callable[[Model], Validation],
        config: TrainingConfig,
        folder: Path,
        monitor: MetricsLogger,
        process_group: ProcessGroup = SINGLE_PROCESS,
    ) -> None:
        """
        :param batches: of each, this rank's part.
        :param validate: measures the dev set with the parameters that the model has.
        """
        self.model = model
        self.device = next(model.parameters()).device
        self.batches = batches
        self.stream: Iterator[Batch] = iter(batches)
        self.validate = validate
        self.config = config
        self.folder = folder
        self.monitor = monitor
        self.process_group = process_group
        self.interruption = StopSignals()
        self.optimizer = make_optimizer(model, config)
        self.progress = Progress()

    def resume(self) -> bool:
        """Go back to the last checkpoint; False where there is none."""
        found = self.process_group.broadcast(
            lambda: load_newest(self.folder, self.model, self.optimizer)
        )
        self.process_group.broadcast_parameters(self.model.parameters())
        share_optimizer(self.optimizer, self.process_group)
        if found is None:
            self.monitor.resumed(0)
            return False
        self.progress = found
        self.batches.position = self.progress.position
        self.stream = iter(self.batches)
        self.monitor.resumed(self.progress.updates)
        return True

    def run(self) -> None:
        """Update, validate and save until the rules say that it is over.

        :raises Interrupted: a signal came; the next training goes on from where this one was.
        :raises ModelError: too many updates in a row had a cost or gradient that is not finite.
        """
        self.model.train()
        grace = SAME_SIGNAL if self.process_group.size > 1 else 0.0
        with StopSignals(grace) as self.interruption:
            while not self.finished():
                started, before = time.monotonic(), self.progress
                update = self.update()
                self.progress = dataclasses.replace(
                    before,
                    updates=before.updates + 1,
                    position=self.batches.position,
                    seconds=before.seconds + time.monotonic() - started,
                    skipped=before.skipped + update.skipped,
                    skipped_in_a_row=before.skipped_in_a_row + 1 if update.skipped else 0,
                )
                self.monitor.updated(self.progress, update.cost, update.tokens, update.norm)
                due = self._due(before) or self._at_limit()
                if due:
                    self.checkpoint()
                signal = self._noted(update)
                if signal is not None:
                    self._leave(signal, saved=due)
        self.monitor.close()

    def _noted(self, update: Update) -> int | None:
        """The signal that is to end this training now: where there are several ranks, one that all
        know of, so that all end at the same update."""
        return self.interruption.signal if self.process_group.size == 1 else update.signal

    def _leave(self, signal: int, saved: bool) -> None:
        if not saved and self.process_group.is_main:
            save_checkpoint(
                self.folder, self.model, self.optimizer, self.progress, interrupted=True
            )
        self.process_group.barrier()  # torchrun ends the others when one has ended
        self.monitor.close()
        log.info("saved at update %d; the same command resumes from there", self.progress.updates)
        raise Interrupted(signal)

    def update(self) -> Update:
        """Change the parameters once, by the gradient of `accumulate` batches.

        :raises ModelError: it is one of too many whose cost or gradient is not finite.
        """
        batches = [next(self.stream) for _ in range(self.config.gradient_accumulation)]
        self.process_group.seed_per_rank(self.config.seed, self.progress.updates)
        update = self._gradient(batches)
        if math.isfinite(update.cost + update.norm):
            self._step(update.norm)
            return update
        self._skip(batches)
        return dataclasses.replace(update, skipped=True)

    def _gradient(self, batches: list[Batch]) -> Update:
        """Compute the gradient of some batches together, in smaller ones where memory is short."""
        tokens = sum(batch.tokens for batch in batches)
        share = torch.tensor(
            1 / _divisor(self.config.loss_reduction, batches, tokens), device=self.device
        )
        while True:
            try:
                cost, norm, signal = self._summed(batches, share)
                return Update(cost, tokens, norm, signal=signal)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error) or len(max(batches, key=_pairs).lines) == 1:
                    raise
            batches = [half for batch in batches for half in batch.halves()]
            self.optimizer.zero_grad(set_to_none=True)
            if self.device.type == "cuda":
                torch.cuda.empty_cache()
            log.warning(
                "update %d: not enough memory; trying again with batches of at most %d pairs"
                " (data.batch_size sets the size of all)",
                self.progress.updates + 1,
                max(map(_pairs, batches)),
            )

    def _summed(self, batches: list[Batch], share: torch.Tensor) -> tuple[float, float, int | None]:
        """Cost and norm of the gradient of some batches, and a signal that some rank has noted; the
        host waits for the device once."""
        self.optimizer.zero_grad(set_to_none=True)
        figures = torch.zeros(
            1 + len(STOP_SIGNALS), device=self.device
        )  # the cost, then ranks a signal
        for batch in batches:
            if batch.lines:
                loss = self._loss(batch)
                loss.backward(share)  # type: ignore[no-untyped-call]
                figures[0] += loss.detach()
        if self.interruption.signal is not None:
            figures[1 + STOP_SIGNALS.index(self.interruption.signal)] = 1
        figures = self.process_group.all_reduce_gradients(self.model.parameters(), figures)
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(self._gradients())))
        cost, *noted, length = torch.cat([figures, norm.view(1)]).tolist()
        came = [number for number, count in zip(STOP_SIGNALS, noted, strict=True) if count]
        return cost, length, came[0] if came else None

    def _skip(self, batches: list[Batch]) -> None:
        """Leave an update out.

        :raises ModelError: so many were left out before it that something is wrong.
        """
        update, row = self.progress.updates + 1, self.progress.skipped_in_a_row + 1
        lines = ", ".join(str(line) for batch in batches for line in batch.lines[:5])
        if row >= self.config.max_nonfinite:
            raise ModelError(
                f"cost or gradient is not finite at update {update} (training lines {lines}, ...),"
                f" the {row}th time in a row; the last checkpoint is whole, but train anew with a"
                " lower training.learning_rate or training.clip_norm"
            )
        log.warning(
            "update %d: cost or gradient is not finite (training lines %s, ...); left out",
            update,
            lines,
        )

    def _step(self, norm: float) -> None:
        """Let the optimizer go on, the gradient shortened to `clip_norm` where it is longer."""
        clip = self.config.clip_norm
        if clip and norm > clip:
            torch._foreach_mul_(self._gradients(), clip / norm)
        done = self.progress
        epochs = self.batches.epochs(done.position)
        rate = learning_rate(self.config, done.updates, epochs, done.decays)
        set_learning_rate(self.optimizer, rate)
        self.optimizer.step()

    def _gradients(self) -> list[torch.Tensor]:
        return [p.grad for p in self.model.parameters() if p.grad is not None]

    def _loss(self, batch: Batch) -> torch.Tensor:
        """Sum of -log p over a batch, products in the type that `precision` says."""
        src, src_mask, tgt, tgt_mask = batch.to(self.device)[:4]
        lowered = self.config.precision == "bfloat16"
        with torch.autocast(self.device.type, torch.bfloat16, enabled=lowered):
            return self.model.loss(src, src_mask, tgt, tgt_mask, self.config.label_smoothing)

    def checkpoint(self) -> None:
        """Validate what would be used now, and save everything."""
        started = time.monotonic()
        found = self._validated()
        seconds = self.progress.seconds + time.monotonic() - started
        self.progress = dataclasses.replace(
            update_early_stopping(self.progress, found, self.config), seconds=seconds
        )
        better = self.progress.stale == 0
        self.monitor.validated(self.progress, found, better)
        if self.process_group.is_main:
            self._write(better)

    def _write(self, better: bool) -> None:
        for name in ("best", "last") if better else ("last",):
            write_parameters(self.folder / f"params.{name}.safetensors", self.candidate)
        save_checkpoint(self.folder, self.model, self.optimizer, self.progress)
        remove_old_checkpoints(
            self.folder, max(self.config.keep_checkpoints, self.config.average_checkpoints)
        )

    def _validated(self) -> Validation:
        """The dev figures of the mean of the last `average` checkpoints, this moment among them."""
        self.candidate = self._mean()
        with _parameters(self.model, self.candidate):
            return self.validate(self.model)

    def _mean(self) -> Parameters:
        own = parameters_of(self.model)
        if self.config.average_checkpoints == 1:
            return own
        mean = {name: torch.empty_like(value) for name, value in own.items()}
        if self.process_group.is_main:
            mean = self._mean_with_earlier(own)
        self.process_group.broadcast_parameters(mean.values())
        return mean

    def _mean_with_earlier(self, own: Parameters) -> Parameters:
        earlier = checkpoints(self.folder)[1 - self.config.average_checkpoints :]
        if not earlier:
            return own
        mean, count = average_parameters(earlier), len(earlier)
        return {name: (mean[name] * count + value) / (count + 1) for name, value in own.items()}

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
    return float(tokens if cost == "token-mean" else sum(batch.pairs for batch in batches))


def _pairs(batch: Batch) -> int:
    return len(batch.lines)


def update_early_stopping(
    progress: Progress, found: Validation, config: TrainingConfig
) -> Progress:
    """The counters after a validation: is it the best, and is the learning rate to decay?"""
    figure = found.cost_per_token
    if config.early_stopping_metric == "bleu" and found.bleu is not None:
        figure = -found.bleu
    better = _below(figure, progress.best)
    cheaper = _below(found.cost_per_token, progress.best_cost)
    stale_cost = 0 if cheaper else progress.stale_cost + 1
    decays = progress.decays
    if config.lr_decay_patience and stale_cost >= config.lr_decay_patience:
        decays, stale_cost = decays + 1, 0
        log.info("learning rate times %g from here on", config.lr_decay)
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
