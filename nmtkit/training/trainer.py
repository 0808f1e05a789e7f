"""The training loop: updates, validations, checkpoints, early stopping and learning rate decay."""

import dataclasses
import logging
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from nmtkit.config import TrainingConfig
from nmtkit.data.batch import Batch
from nmtkit.data.batching import Batches
from nmtkit.errors import ModelError, TrainingInterrupted, counted
from nmtkit.io.parameters import Parameters, parameters_of
from nmtkit.models import Model
from nmtkit.parallel.process_group import SINGLE_PROCESS, ProcessGroup
from nmtkit.training.checkpoint_folder import CheckpointKind, has_checkpoints, is_interrupted
from nmtkit.training.checkpoint_store import CheckpointStore
from nmtkit.training.curriculum import LengthCurriculum
from nmtkit.training.early_stopping import update_early_stopping
from nmtkit.training.gradient import WHOLE_SOFTMAX, Gradient, Update
from nmtkit.training.metrics_logger import MetricsLogger
from nmtkit.training.optimizer_state import broadcast_optimizer
from nmtkit.training.optimizers import learning_rate, make_optimizer, set_learning_rate
from nmtkit.training.progress import Progress
from nmtkit.training.schedule import Schedule
from nmtkit.training.signals import StopSignals
from nmtkit.training.stopwatch import Stopwatch
from nmtkit.training.time_limit import TimeLimit, last_validation_before
from nmtkit.training.validation import Validation, swapped_parameters

log = logging.getLogger("nmtkit")


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
        self.batches = batches
        self.stream: Iterator[Batch] = iter(batches)
        self.validate = validate
        self.config = config
        self.folder = folder
        self.metrics_logger = metrics_logger
        self.process_group = process_group
        self.stop_signals = StopSignals()
        self.optimizer = make_optimizer(model, config)
        self.store = CheckpointStore(
            folder, model, self.optimizer, config, check_lock, metrics_logger.checksum
        )
        self.gradient = Gradient(model, self.optimizer, config, process_group)
        self.schedule = Schedule.of(config)
        self.time_limit = TimeLimit.of(config)
        self.record_schedule: Callable[[Schedule], None] = lambda schedule: None
        self.show_samples: Callable[[Model, int], None] = lambda model, update: None
        self.stopwatch = Stopwatch()
        self.progress = Progress(corpus=batches.checksum, dev=dev_checksum)
        if config.curriculum_updates:
            curriculum = LengthCurriculum.of(batches.corpus, config.curriculum_updates)
            batches.allows = lambda length: curriculum.allows(length, self.progress.updates)

    def resume(self, rewind: bool = False) -> bool:
        """Load the newest checkpoint; return False if there is none.

        :param rewind: go back to before the cooldown, if there was one.
        :raises DataError: it was trained on another corpus.
        :raises ModelError: the best parameters so far are damaged.
        """
        progress = self.process_group.broadcast(lambda: self._load_newest(rewind))
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

    def _load_newest(self, rewind: bool) -> Progress | None:
        """Load the newest checkpoint; see `resume`."""
        prepared = Path(self.batches.corpus.src.stem).parent
        progress = self.store.load_newest(self.progress, prepared)
        if progress is None:
            return None
        if rewind:
            progress = self.store.rewind(progress, self.schedule.end)
        return dataclasses.replace(progress, corpus=self.progress.corpus, dev=self.progress.dev)

    def save_start(self) -> None:
        """Save a checkpoint before the first update, of parameters that cannot be drawn again."""
        if self.process_group.is_main:
            self.progress = self.store.save(self.progress, CheckpointKind.INTERRUPTED)

    def run(self) -> None:
        """Update, validate and save until a limit or early stopping ends the training.

        :raises TrainingInterrupted: a stop signal was received; everything is saved.
        :raises ModelError: too many updates in a row had a cost or gradient that is not finite.
        """
        with StopSignals() as self.stop_signals:
            self._count_time()
            is_first = True
            while not self.finished():
                previous = self.progress
                update = self.update()
                self.progress = dataclasses.replace(
                    previous,
                    updates=previous.updates + 1,
                    position=self.batches.position,
                    skipped=previous.skipped + update.skipped,
                    skipped_in_a_row=previous.skipped_in_a_row + 1 if update.skipped else 0,
                )
                seconds = self._count_time()
                self.metrics_logger.log_update(
                    self.progress, update.cost, update.tokens, update.norm
                )
                # the first update also waits for processes, memory and kernels
                old_schedule = self.schedule
                if self.time_limit is not None and not is_first:
                    self.time_limit.costs.add_update(seconds, update.tokens)
                    self._revise_schedule(self.time_limit)
                is_first = False
                validation_due = self._validation_due(previous) or bool(self._used_up())
                if validation_due:
                    self.validate_and_save()
                self._record_revision(old_schedule)
                signal = self._stop_signal(update)
                if signal is not None:
                    self._stop(signal, saved=validation_due)

    def finish(self) -> None:
        """Validate a training that was interrupted where it now ends, by a limit that was lowered.

        It would have been validated there, had it had this limit before.
        """
        if self.process_group.broadcast(lambda: is_interrupted(self.folder)):
            self.batches.find_progress()
            self.validate_and_save()

    def _count_time(self) -> float:
        """Add the time since the last call to the progress, and return it, in seconds."""
        seconds = self.stopwatch.lap()
        self.progress = dataclasses.replace(self.progress, seconds=self.progress.seconds + seconds)
        return seconds

    def _revise_schedule(self, time_limit: TimeLimit) -> None:
        """Move the end of the training to where the time will be over; all ranks follow rank 0."""
        progress = self.progress
        revised = self.process_group.broadcast(
            lambda: time_limit.revise(self.schedule, progress.updates, progress.seconds)
        )
        if revised.points != self.schedule.points:
            self.schedule = revised

    def _record_revision(self, old: Schedule) -> None:
        """Record the schedule if it was revised after this update.

        Before the cooldown begins a checkpoint is saved, from which a training with a higher limit
        can go on: after a validation of the same update, which counts in what follows.

        :param old: the schedule before.
        """
        if self.schedule is old or not self.process_group.is_main:
            return
        if not old.end:
            self.progress = self.store.save(self.progress, CheckpointKind.STEADY)
        self.record_schedule(self.schedule)

    def _stop_signal(self, update: Update) -> int | None:
        """Return the signal that stops this training after the update, or None.

        Several ranks take the signal from the summed gradients, so that all stop after the same
        update.
        """
        return self.stop_signals.signal if self.process_group.size == 1 else update.signal

    def _stop(self, signal: int, saved: bool) -> None:
        """Save a checkpoint unless this update has one, and raise TrainingInterrupted."""
        if not saved and self.process_group.is_main:
            self.progress = self.store.save(self.progress, CheckpointKind.INTERRUPTED)
        self.process_group.barrier()  # torchrun kills the other ranks when one has ended
        log.info("saved at update %d; the same command resumes from there", self.progress.updates)
        raise TrainingInterrupted(signal)

    def update(self) -> Update:
        """Update the parameters once, by the gradient of `gradient_accumulation` batches.

        :raises ModelError: too many updates in a row had a cost or gradient that is not finite.
        """
        batches = [next(self.stream) for _ in range(self.config.gradient_accumulation)]
        self.process_group.seed_per_rank(self.config.seed, self.progress.updates)
        number = self.progress.updates + 1
        update = self.gradient.compute(
            batches, number, self.stop_signals.signal, self._samples_words(), self._guidance()
        )
        if math.isfinite(update.cost + update.norm):
            self._optimizer_step(update.norm)
            return update
        self._skip_update(batches)
        return dataclasses.replace(update, skipped=True)

    def _samples_words(self) -> bool:
        """Return whether the softmax of the next update is over drawn words."""
        updates, config = self.progress.updates, self.config
        left = (config.max_updates - updates) / config.cooldown if config.cooldown else 1.0
        whole = left < WHOLE_SOFTMAX or self.schedule.has_fallen(updates, WHOLE_SOFTMAX)
        return not whole

    def _guidance(self) -> float:
        """Return the weight of the links that guide the attention in the next update."""
        config = self.config
        passed = self.progress.updates / config.guided_updates if config.guided_updates else 0.0
        return config.guided_alignment * max(0.0, 1 - passed)

    def _skip_update(self, batches: list[Batch]) -> None:
        """Log that an update is skipped, because its cost or gradient is not finite.

        :raises ModelError: `max_nonfinite` updates in a row were skipped.
        """
        update, in_a_row = self.progress.updates + 1, self.progress.skipped_in_a_row + 1
        lines = ", ".join(str(line) for batch in batches for line in batch.lines[:5])
        if in_a_row >= self.config.max_nonfinite:
            saved = "the last checkpoint is complete, but " if has_checkpoints(self.folder) else ""
            raise ModelError(
                f"cost or gradient is not finite at update {update} (training lines {lines}, ...),"
                f" {counted(in_a_row, 'time')} in a row; {saved}train again with a lower"
                " training.learning_rate or training.clip_norm"
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
            self.gradient.scale(clip / norm)
        progress = self.progress
        epochs = self.batches.epochs(progress.position)
        rate = learning_rate(self.config, progress.updates, epochs, progress.decays)
        rate *= self.schedule.factor(progress.updates)
        set_learning_rate(self.optimizer, rate)
        self.optimizer.step()

    def validate_and_save(self) -> None:
        """Validate the averaged parameters, and save them and a checkpoint."""
        self.averaged = self._averaged_parameters()
        with swapped_parameters(self.model, self.averaged):
            validation = self.validate(self.model)
            if math.isfinite(validation.cost_per_token):
                self.show_samples(self.model, self.progress.updates)
        self.progress = update_early_stopping(self.progress, validation, self.config)
        seconds = self._count_time()
        is_best = self.progress.stale == 0
        self.metrics_logger.log_validation(self.progress, validation, is_best)
        if self.process_group.is_main:
            self.progress = self.store.save_validated(self.progress, self.averaged, is_best)
        if self.time_limit is not None:
            self.time_limit.costs.add_validation(seconds + self._count_time())

    def _averaged_parameters(self) -> Parameters:
        """Return the mean of the current parameters and those of the last n - 1 checkpoints.

        n is `average_checkpoints`.
        """
        current = parameters_of(self.model)
        if self.config.average_checkpoints == 1:
            return current
        mean = {name: torch.empty_like(value) for name, value in current.items()}
        if self.process_group.is_main:
            mean = self.store.average(current)
        self.process_group.broadcast_parameters(mean.values())
        return mean

    def finished(self) -> bool:
        """Return whether a limit or early stopping has ended this training."""
        return bool(self.reached_limits())

    def reached_limits(self) -> list[str]:
        """Return the options and settings to raise, all of them, for a finished training."""
        patience = self.config.patience
        has_stopped_early = bool(patience and self.progress.stale >= patience)
        return [*self._used_up(), *(["training.patience"] if has_stopped_early else [])]

    def _validation_due(self, previous: Progress) -> bool:
        """Return whether a validation is due after the last update, besides that at the end.

        :param previous: progress before the last update.
        """
        every = self.config.validate_epochs
        if not every:
            updates, every_updates = self.progress.updates, self.config.validate_every
            end = self.schedule.end
            follows = end and updates > last_validation_before(end, every_updates)
            return updates % every_updates == 0 and not follows
        old, new = (self.batches.epochs(p.position) // every for p in (previous, self.progress))
        return new > old

    def _used_up(self) -> list[str]:
        """Return what sets `max_updates`, `max_epochs` or the schedule's end, if it is reached."""
        config, updates = self.config, self.progress.updates
        at_end = self.schedule.end and updates >= self.schedule.end
        at_updates = config.max_updates and updates >= config.max_updates
        epochs = config.max_epochs
        limits = {
            "--time": at_end and config.time_limit,
            "--updates": at_updates or (at_end and not config.time_limit),
            "training.max_epochs": epochs and self.batches.epochs(self.progress.position) >= epochs,
        }
        return [name for name, is_reached in limits.items() if is_reached]
