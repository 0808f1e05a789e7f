"""What a training writes in its folder: parameters that were validated, and checkpoints."""

import dataclasses
import logging
from collections.abc import Callable
from pathlib import Path

import torch

from nmtkit.config import TrainingConfig
from nmtkit.durations import format_duration
from nmtkit.io.parameters import CorruptFileError, Parameters, write_parameters
from nmtkit.models import Model
from nmtkit.training.checkpoint import (
    average_with_checkpoints,
    earlier_checksum,
    load_checkpoint,
    load_newest_checkpoint,
    save_checkpoint,
    verify_checkpoint,
)
from nmtkit.training.checkpoint_folder import (
    CheckpointKind,
    remove_later_checkpoints,
    remove_old_checkpoints,
    set_aside,
    steady_checkpoint,
)
from nmtkit.training.progress import Progress
from nmtkit.training.resume_checks import (
    check_best_parameters,
    check_nothing_to_lose,
    check_same_data,
)

log = logging.getLogger("nmtkit")


class CheckpointStore:
    """Saves the state of one training in its folder, and loads it again; of rank 0 alone."""

    def __init__(
        self,
        folder: Path,
        model: Model,
        optimizer: torch.optim.Optimizer,
        config: TrainingConfig,
        check_lock: Callable[[], None],
        metrics_checksum: Callable[[], str],
    ) -> None:
        """Nothing is read or written yet.

        :param folder: the model folder.
        :param model, optimizer: what checkpoints hold; loading one changes them.
        :param check_lock: called before each write; raises ModelError if the folder is no longer
            the one that is locked.
        :param metrics_checksum: returns that of the metrics so far.
        """
        self._folder = folder
        self._model = model
        self._optimizer = optimizer
        self._config = config
        self._check_lock = check_lock
        self._metrics_checksum = metrics_checksum

    def load_newest(self, data: Progress, prepared: Path) -> Progress | None:
        """Load the newest checkpoint; return its progress, or None if there is none.

        :param data: has the checksums of the training data and of the dev set.
        :param prepared: the prepared folder, for messages.
        :raises DataError: it was trained on another corpus.
        :raises ModelError: the best parameters so far are damaged.
        """
        self._check_lock()
        progress = load_newest_checkpoint(
            self._folder, self._model, self._optimizer, self._config.average_checkpoints
        )
        if progress is None:
            check_nothing_to_lose(self._folder)
            return None
        check_same_data(progress, data, self._folder, prepared)
        check_best_parameters(self._folder, progress)
        self._remove_old()  # a process that was killed may have left them
        return progress

    def rewind(self, newest: Progress, end: int) -> Progress:
        """Go back to before the cooldown of a lower time limit; what was best so far stays best.

        The checkpoint of that time is saved anew before those of the cooldown are removed, oldest
        first, so that a process that is killed in between can do the same again.

        :param newest: progress in the newest checkpoint, which is loaded.
        :param end: number of updates of the whole training, 0 if it is open. If the training would
            end at the newest checkpoint or before, nothing is given up.
        :return: progress in the checkpoint that is loaded now.
        """
        if 0 < end <= newest.updates:
            return newest
        steady = steady_checkpoint(self._folder)
        if steady is None or newest.updates <= int(steady.stem):
            return newest
        try:
            verify_checkpoint(steady)  # before it takes the place of what is loaded
        except CorruptFileError as error:
            log.warning("%s; going on from the end instead", error)
            set_aside(steady)
            return newest
        progress = load_checkpoint(steady, self._model, self._optimizer)
        self._warn_if_in_vain(newest.seconds - progress.seconds, newest.seconds)
        kept = ("seconds", "best", "best_cost", "best_parameters", "corpus", "dev")
        values = {name: getattr(newest, name) for name in kept}
        kind = CheckpointKind.INTERRUPTED  # it is never averaged
        values["earlier"] = self._earlier_checksum(progress, kind)
        progress = dataclasses.replace(progress, stale=0, stale_cost=0, **values)
        save_checkpoint(self._folder, self._model, self._optimizer, progress, kind)
        remove_later_checkpoints(self._folder, progress.updates)
        log.info("going on from update %d, before the cooldown", progress.updates)
        return progress

    def _warn_if_in_vain(self, again: float, used: float) -> None:
        """Warn if less time is left than the cooldown took, which is done again.

        :param again: seconds of the cooldown. used: seconds until its end.
        """
        left = self._config.time_limit - used
        if self._config.time_limit and left < again:
            log.warning(
                "%s are left to do again what took %s, so the model will hardly be better; give"
                " more, such as --time %s",
                format_duration(left),
                format_duration(again),
                format_duration(used + 2 * again).replace(" ", ""),
            )

    def save(self, progress: Progress, kind: CheckpointKind = CheckpointKind.VALIDATED) -> Progress:
        """Write a checkpoint, with the checksums of the files that resuming from it relies on.

        :return: the progress with these checksums.
        """
        self._check_lock()
        progress = dataclasses.replace(
            progress,
            earlier=self._earlier_checksum(progress, kind),
            metrics=self._metrics_checksum(),
        )
        save_checkpoint(self._folder, self._model, self._optimizer, progress, kind)
        return progress

    def save_validated(self, progress: Progress, averaged: Parameters, is_best: bool) -> Progress:
        """Write the validated parameters and a checkpoint, and remove old checkpoints.

        :param averaged: the parameters that were validated.
        :return: the progress with the checksums of what was written.
        """
        for name in ("best", "last") if is_best else ("last",):
            self._check_lock()
            path = self._folder / f"params.{name}.safetensors"
            checksum = write_parameters(path, averaged, progress.updates)
        if is_best:
            progress = dataclasses.replace(progress, best_parameters=checksum)
        progress = self.save(progress)
        self._check_lock()
        self._remove_old()
        return progress

    def average(self, current: Parameters) -> Parameters:
        """Return the mean of these parameters and those of the last n - 1 checkpoints.

        n is `average_checkpoints`.
        """
        return average_with_checkpoints(self._folder, current, self._config.average_checkpoints)

    def _earlier_checksum(self, progress: Progress, kind: CheckpointKind) -> str:
        """Return the checksum of the checkpoints that the validation after this one averages."""
        average = self._config.average_checkpoints
        return earlier_checksum(self._folder, progress.updates, average, kind)

    def _remove_old(self) -> None:
        """Remove the checkpoints that are neither kept nor averaged."""
        keep = max(self._config.keep_checkpoints, self._config.average_checkpoints)
        remove_old_checkpoints(self._folder, keep)
