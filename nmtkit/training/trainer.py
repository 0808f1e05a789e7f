"""The training loop: updates, validations, checkpoints, early stopping and learning rate decay."""

import dataclasses
import logging
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from nmtkit.config import TrainingConfig
from nmtkit.data.batch import Batch
from nmtkit.data.batching import Batches
from nmtkit.errors import ModelError, TrainingInterrupted, is_out_of_memory
from nmtkit.io.parameters import (
    Parameters,
    parameters_of,
    write_parameters,
)
from nmtkit.models import Model
from nmtkit.models.fast.torch_private import gradient_norm, scale_gradients_
from nmtkit.parallel.process_group import SINGLE_PROCESS, ProcessGroup
from nmtkit.training.checkpoint import (
    average_with_checkpoints,
    earlier_checksum,
    load_newest_checkpoint,
    remove_old_checkpoints,
    save_checkpoint,
)
from nmtkit.training.early_stopping import update_early_stopping
from nmtkit.training.metrics_logger import MetricsLogger
from nmtkit.training.optimizer_state import broadcast_optimizer
from nmtkit.training.optimizers import learning_rate, make_optimizer, set_learning_rate
from nmtkit.training.progress import Progress
from nmtkit.training.resume_checks import (
    check_best_parameters,
    check_nothing_to_lose,
    check_same_data,
)
from nmtkit.training.signals import STOP_SIGNALS, StopSignals
from nmtkit.training.validation import Validation, swapped_parameters

log = logging.getLogger("nmtkit")

SIGNAL_GRACE = 5.0
"""Seconds after a stop signal in which another one counts as the same signal, forwarded again."""


@dataclass(frozen=True)
class Update:
    """Figures of one update.

    cost: sum of -log p, with label smoothing if training uses it. tokens: target tokens.
    norm: L2 norm of the gradient before clipping.
    skipped: cost or norm was not finite, so the parameters were left as they were.
    signal: stop signal that any rank received before the gradients were summed, or None.
    """

    cost: float
    tokens: int
    norm: float
    skipped: bool = False
    signal: int | None = None


class Trainer:
    """Trains one model in its folder, from the last checkpoint to the end.

    Data-parallel: each rank computes the gradient of its part of every batch, gradients are summed,
    and all ranks make the same update of equal parameters. Only rank 0 reads and writes the folder.
    """

    def __init__(
        self,
        model: Model,
        batches: Batches,
        validate: Callable[[Model], Validation],
        config: TrainingConfig,
        folder: Path,
        metrics_logger: MetricsLogger,
        process_group: ProcessGroup = SINGLE_PROCESS,
        check_lock: Callable[[], None] = lambda: None,
        dev_checksum: str = "",
    ) -> None:
        """Build the optimizer; nothing is read or trained yet.

        :param batches: this rank's part of each batch.
        :param validate: measures a model on the dev set.
        :param folder: the model folder.
        :param check_lock: called before each write; raises ModelError if the folder is no longer
            the one that is locked.
        :param dev_checksum: checksum of the dev set, as `Corpus.checksum`.
        """
        self.model = model
        self.device = next(model.parameters()).device
        self.batches = batches
        self.stream: Iterator[Batch] = iter(batches)
        self.validate = validate
        self.config = config
        self.folder = folder
        self.metrics_logger = metrics_logger
        self.process_group = process_group
        self.check_lock = check_lock
        self.stop_signals = StopSignals()
        self.optimizer = make_optimizer(model, config)
        self.progress = Progress(corpus=batches.checksum, dev=dev_checksum)

    def resume(self) -> bool:
        """Load the newest checkpoint; return False if there is none.

        :raises DataError: it was trained on another corpus.
        :raises ModelError: the best parameters so far are damaged.
        """
        progress = self.process_group.broadcast(self._load_newest)
        self.process_group.broadcast_parameters(self.model.parameters())
        broadcast_optimizer(self.optimizer, self.process_group)
        if progress is None:
            self.metrics_logger.resume(Progress())
            return False
        self.progress = progress
        self.batches.position = progress.position
        self.stream = iter(self.batches)
        self.metrics_logger.resume(progress)
        return True

    def _load_newest(self) -> Progress | None:
        """Load the newest checkpoint, and compare it with the data and the best parameters."""
        self.check_lock()
        progress = load_newest_checkpoint(
            self.folder, self.model, self.optimizer, self.config.average_checkpoints
        )
        if progress is None:
            check_nothing_to_lose(self.folder)
            return None
        prepared = Path(self.batches.corpus.src.stem).parent
        check_same_data(progress, self.progress, self.folder, prepared)
        check_best_parameters(self.folder, progress)
        self._remove_old_checkpoints()  # a process that was killed may have left them
        return dataclasses.replace(progress, corpus=self.progress.corpus, dev=self.progress.dev)

    def save_start(self) -> None:
        """Save a checkpoint before the first update, of parameters that cannot be drawn again."""
        if self.process_group.is_main:
            self._save_checkpoint(interrupted=True)

    def run(self) -> None:
        """Update, validate and save until a limit or early stopping ends the training.

        :raises TrainingInterrupted: a stop signal was received; everything is saved.
        :raises ModelError: too many updates in a row had a cost or gradient that is not finite.
        """
        self.model.train()
        grace = SIGNAL_GRACE if self.process_group.size > 1 else 0.0
        with StopSignals(grace) as self.stop_signals:
            while not self.finished():
                started, previous = time.monotonic(), self.progress
                update = self.update()
                self.progress = dataclasses.replace(
                    previous,
                    updates=previous.updates + 1,
                    position=self.batches.position,
                    seconds=previous.seconds + _elapsed(started),
                    skipped=previous.skipped + update.skipped,
                    skipped_in_a_row=previous.skipped_in_a_row + 1 if update.skipped else 0,
                )
                self.metrics_logger.log_update(
                    self.progress, update.cost, update.tokens, update.norm
                )
                validation_due = self._validation_due(previous) or self._limit_reached()
                if validation_due:
                    self.validate_and_save()
                signal = self._stop_signal(update)
                if signal is not None:
                    self._stop(signal, saved=validation_due)
        self.metrics_logger.close()

    def _stop_signal(self, update: Update) -> int | None:
        """Return the signal that stops this training after the update, or None.

        Several ranks take the signal from the summed gradients, so that all stop after the same
        update.
        """
        return self.stop_signals.signal if self.process_group.size == 1 else update.signal

    def _stop(self, signal: int, saved: bool) -> None:
        """Save a checkpoint unless this update has one, and raise TrainingInterrupted."""
        if not saved and self.process_group.is_main:
            self._save_checkpoint(interrupted=True)
        self.process_group.barrier()  # torchrun kills the other ranks when one has ended
        self.metrics_logger.close()
        log.info("saved at update %d; the same command resumes from there", self.progress.updates)
        raise TrainingInterrupted(signal)

    def update(self) -> Update:
        """Update the parameters once, by the gradient of `gradient_accumulation` batches.

        :raises ModelError: too many updates in a row had a cost or gradient that is not finite.
        """
        batches = [next(self.stream) for _ in range(self.config.gradient_accumulation)]
        self.process_group.seed_per_rank(self.config.seed, self.progress.updates)
        update = self._compute_gradient(batches)
        if math.isfinite(update.cost + update.norm):
            self._optimizer_step(update.norm)
            return update
        self._skip_update(batches)
        return dataclasses.replace(update, skipped=True)

    def _compute_gradient(self, batches: list[Batch]) -> Update:
        """Compute the summed gradient of some batches; if memory runs out, halve the batches."""
        tokens = sum(batch.tokens for batch in batches)
        divisor = _loss_divisor(self.config.loss_reduction, batches, tokens)
        scale = torch.tensor(1 / divisor, device=self.device)
        while True:
            try:
                cost, norm, signal = self._sum_gradients(batches, scale)
                return Update(cost, tokens, norm, signal=signal)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error) or max(map(_size, batches)) == 1:
                    raise
            batches = [half for batch in batches for half in batch.halves()]
            self.optimizer.zero_grad(set_to_none=True)
            if self.device.type != "cpu":
                getattr(torch, self.device.type).empty_cache()  # of cuda or mps
            log.warning(
                "update %d: not enough memory; trying again with batches of at most %d pairs"
                " (data.batch_size sets the size of all)",
                self.progress.updates + 1,
                max(map(_size, batches)),
            )

    def _sum_gradients(
        self, batches: list[Batch], scale: torch.Tensor
    ) -> tuple[float, float, int | None]:
        """Sum the gradients of some batches over all ranks.

        The host waits for the device only once, for all figures together.

        :param scale: factor of the loss in the gradient. Shape: [].
        :return: cost, norm of the gradient, and the stop signal that any rank received, or None.
        """
        self.optimizer.zero_grad(set_to_none=True)
        # the cost, then for each stop signal the number of ranks that received it
        figures = torch.zeros(1 + len(STOP_SIGNALS), device=self.device)
        for batch in batches:
            if batch.lines:
                loss = self._loss(batch)
                loss.backward(scale)  # type: ignore[no-untyped-call]
                figures[0] += loss.detach()
        if self.stop_signals.signal is not None:
            figures[1 + STOP_SIGNALS.index(self.stop_signals.signal)] = 1
        figures = self.process_group.all_reduce_gradients(self.model.parameters(), figures)
        norm = gradient_norm(self._gradients())
        cost, *counts, length = torch.cat([figures, norm.view(1)]).tolist()
        received = [number for number, count in zip(STOP_SIGNALS, counts, strict=True) if count]
        return cost, length, received[0] if received else None

    def _skip_update(self, batches: list[Batch]) -> None:
        """Log that an update is skipped, because its cost or gradient is not finite.

        :raises ModelError: `max_nonfinite` updates in a row were skipped.
        """
        update, in_a_row = self.progress.updates + 1, self.progress.skipped_in_a_row + 1
        lines = ", ".join(str(line) for batch in batches for line in batch.lines[:5])
        if in_a_row >= self.config.max_nonfinite:
            raise ModelError(
                f"cost or gradient is not finite at update {update} (training lines {lines}, ...),"
                f" the {in_a_row}th time in a row; the last checkpoint is complete, but train again"
                " with a lower training.learning_rate or training.clip_norm"
            )
        log.warning(
            "update %d: cost or gradient is not finite (training lines %s, ...); skipped",
            update,
            lines,
        )

    def _optimizer_step(self, norm: float) -> None:
        """Clip the gradient to `clip_norm`, set the learning rate and step the optimizer.

        :param norm: L2 norm of the gradient.
        """
        clip = self.config.clip_norm
        if clip and norm > clip:
            scale_gradients_(self._gradients(), clip / norm)
        progress = self.progress
        epochs = self.batches.epochs(progress.position)
        rate = learning_rate(self.config, progress.updates, epochs, progress.decays)
        set_learning_rate(self.optimizer, rate)
        self.optimizer.step()

    def _gradients(self) -> list[torch.Tensor]:
        return [p.grad for p in self.model.parameters() if p.grad is not None]

    def _loss(self, batch: Batch) -> torch.Tensor:
        """Return the sum of -log p over a batch, with matrix products in the type `precision`."""
        src, src_mask, tgt, tgt_mask = batch.to(self.device)[:4]  # [B, T_x], [B, T_y]
        bfloat16 = self.config.precision == "bfloat16"
        with torch.autocast(self.device.type, torch.bfloat16, enabled=bfloat16):
            return self.model.loss(src, src_mask, tgt, tgt_mask, self.config.label_smoothing)

    def validate_and_save(self) -> None:
        """Validate the averaged parameters, and save them and a checkpoint."""
        started = time.monotonic()
        self.averaged = self._averaged_parameters()
        with swapped_parameters(self.model, self.averaged):
            validation = self.validate(self.model)
        seconds = self.progress.seconds + _elapsed(started)
        progress = update_early_stopping(self.progress, validation, self.config)
        self.progress = dataclasses.replace(progress, seconds=seconds)
        is_best = self.progress.stale == 0
        self.metrics_logger.log_validation(self.progress, validation, is_best)
        if self.process_group.is_main:
            self._save(is_best)

    def _save(self, is_best: bool) -> None:
        """Write the validated parameters and a checkpoint, and remove old checkpoints."""
        for name in ("best", "last") if is_best else ("last",):
            self.check_lock()
            path = self.folder / f"params.{name}.safetensors"
            checksum = write_parameters(path, self.averaged, self.progress.updates)
        if is_best:
            self.progress = dataclasses.replace(self.progress, best_parameters=checksum)
        self._save_checkpoint()
        self.check_lock()
        self._remove_old_checkpoints()

    def _remove_old_checkpoints(self) -> None:
        """Remove the checkpoints that are neither kept nor averaged."""
        keep = max(self.config.keep_checkpoints, self.config.average_checkpoints)
        remove_old_checkpoints(self.folder, keep)

    def _save_checkpoint(self, interrupted: bool = False) -> None:
        """Write a checkpoint, with the checksums of the files that resuming from it relies on."""
        self.check_lock()
        average = self.config.average_checkpoints
        self.progress = dataclasses.replace(
            self.progress,
            earlier=earlier_checksum(self.folder, self.progress.updates, average, interrupted),
            metrics=self.metrics_logger.checksum(),
        )
        save_checkpoint(self.folder, self.model, self.optimizer, self.progress, interrupted)

    def _averaged_parameters(self) -> Parameters:
        """Return the mean of the current parameters and those of the last n - 1 checkpoints.

        n is `average_checkpoints`.
        """
        current = parameters_of(self.model)
        if self.config.average_checkpoints == 1:
            return current
        mean = {name: torch.empty_like(value) for name, value in current.items()}
        if self.process_group.is_main:
            mean = average_with_checkpoints(self.folder, current, self.config.average_checkpoints)
        self.process_group.broadcast_parameters(mean.values())
        return mean

    def finished(self) -> bool:
        """Return whether a limit or early stopping has ended this training."""
        patience = self.config.patience
        return self._limit_reached() or bool(patience and self.progress.stale >= patience)

    def _validation_due(self, previous: Progress) -> bool:
        """Return whether a validation is due after the last update.

        :param previous: progress before the last update.
        """
        every = self.config.validate_epochs
        if not every:
            return self.progress.updates % self.config.validate_every == 0
        old, new = (self.batches.epochs(p.position) // every for p in (previous, self.progress))
        return new > old

    def _limit_reached(self) -> bool:
        """Return whether `max_updates` or `max_epochs` is reached."""
        updates, epochs = self.config.max_updates, self.config.max_epochs
        return bool(
            (updates and self.progress.updates >= updates)
            or (epochs and self.batches.epochs(self.progress.position) >= epochs)
        )


def _elapsed(started: float) -> float:
    """Return the seconds since a time of the monotonic clock; none if that clock has gone back."""
    return max(0.0, time.monotonic() - started)


def _loss_divisor(reduction: str, batches: list[Batch], tokens: int) -> float:
    """Return the number by which the summed loss is divided.

    :param tokens: target tokens of the batches.
    """
    if reduction == "batch-sum":
        return 1.0
    return float(tokens if reduction == "token-mean" else sum(batch.pairs for batch in batches))


def _size(batch: Batch) -> int:
    return len(batch.lines)
