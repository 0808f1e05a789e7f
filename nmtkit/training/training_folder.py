"""The folder of a training: made for a new one, compared with its settings when it is resumed."""

import contextlib
import dataclasses
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmtkit.config import Config, TextConfig
from nmtkit.data.manifest import read_manifest, text_config
from nmtkit.durations import format_duration
from nmtkit.errors import ConfigError, ModelError, NmtkitError
from nmtkit.io.atomic_folder import check_can_make, is_free, remove_folder
from nmtkit.io.folder_files import check_folder
from nmtkit.model_folder import find_device, read_config
from nmtkit.new_model_folder import check_is_free, new_model_folder, shortlists
from nmtkit.training.checkpoint_folder import has_checkpoints
from nmtkit.training.folder_lock import FolderLock, lock_model_folder
from nmtkit.training.initial_model import (
    InitialModel,
    InitialParameters,
    default_settings,
    settings_of,
)
from nmtkit.training.limits import with_time, with_updates
from nmtkit.training.metrics_logger import require_tensorboard
from nmtkit.training.planning import Planner
from nmtkit.training.provenance import (
    PLANNED_KEY,
    check_subword_files,
    data_checksums,
    provenance_of,
    read_provenance,
    train_command,
)
from nmtkit.training.settings import make_config
from nmtkit.training.start_checks import (
    check_inputs,
    check_output_matrix,
    check_prepared,
    check_same_training,
)

log = logging.getLogger("nmtkit")

MUCH_LONGER = 4
"""Times the time of a plan, from which on another plan is better than to go on with it."""


@dataclass(frozen=True)
class TrainingRequest:
    """What a training was asked for; see `train` for the fields."""

    prepared: Path
    output: Path
    recipe: str | None
    config_file: Path | None
    overrides: tuple[str, ...]
    initial: InitialModel | None
    device: str
    tensorboard: bool
    force: bool
    seconds: float | None = None
    updates: int | None = None
    default_recipe: str | None = None

    @property
    def names_settings(self) -> bool:
        """Return whether it says which settings the training begins with."""
        return bool(self.recipe or self.config_file or self.initial)


class TrainingFolder:
    """The model folder that a training writes.

    config: the settings of the training, those of its text included.
    is_new: the folder was made for it; otherwise the training there is resumed.
    parameters: those of another model, if the training starts from them.
    lock: held until the stack closes.
    is_planned: its settings follow from the time that it has.
    plan: sentences about the plan of a training that is planned.
    goes_on: the training ended, or was to end, at a lower time limit.
    """

    config: Config
    is_new: bool
    parameters: InitialParameters | None = None
    lock: FolderLock | None = None
    is_planned: bool = False
    plan: Sequence[str] = ()
    goes_on: bool = False

    def __init__(self, request: TrainingRequest, stack: contextlib.ExitStack) -> None:
        """Open nothing yet; only the process that writes does so."""
        self.request = request
        self._stack = stack
        self._manifest: dict[str, Any] = {}

    def open(self, restarted: bool) -> tuple[Config, bool]:
        """Make the folder, or find that it is that of this training; return `config`, `is_new`.

        :param restarted: torchrun has started the processes again, so nothing is to be deleted.
        :raises NmtkitError: settings, data or folder do not fit, or another process trains there.
        """
        request, folder = self.request, self.request.output
        force = request.force and not restarted
        self.is_new = force or not (folder / "config.toml").is_file()
        self.is_planned = self.is_new and bool(request.seconds) and not request.names_settings
        check_folder(folder)
        if self.is_new:  # before the time of a plan is spent
            _check_place(folder, request.prepared if force else None)
        self.config = self._settings()
        if self.is_new:
            check_output_matrix(self.config)
        check_prepared(request.prepared)
        if request.tensorboard:
            require_tensorboard()
        if request.initial is not None and (self.is_new or not has_checkpoints(folder)):
            self.parameters = request.initial.read(self.config, request.prepared)
        if force:
            if folder.exists():
                check_inputs(request.prepared, self.config, self._manifest)
            _remove_model_folder(folder)
        if self.is_new:
            self._create()
        else:
            self.lock = self._stack.enter_context(lock_model_folder(folder))
            check_same_training(folder, self.config, request.prepared)
            if self.parameters is not None:
                self.parameters.check_same_record(folder)
        return self.config, self.is_new

    def _settings(self) -> Config:
        """Return the settings, with those of the prepared text."""
        request = self.request
        config = self._with_limit(self._planned() if self.is_planned else self._given())
        self._manifest = read_manifest(request.prepared)
        text = _text_config(request.prepared, self._manifest, config.data.swap_sides)
        return dataclasses.replace(config, text=text)

    def _given(self) -> Config:
        """Return the settings of the recipe, the file, the other model, or the folder."""
        request = self.request
        default = default_settings(request.initial, request.output, self.is_new)
        recipe = request.recipe
        if not request.names_settings:
            if self.is_new:
                recipe = request.default_recipe
            else:
                default = settings_of(request.output)
        return make_config(recipe, request.config_file, request.overrides, default)

    def _planned(self) -> Config:
        """Plan the training, log the plan, and return its settings."""
        request = self.request
        check_prepared(request.prepared)
        planner = Planner(
            request.prepared, request.seconds or 0.0, request.overrides, request.device
        )
        plan = planner.plan()
        self.plan = planner.describe(plan)
        for warning in planner.warnings(plan):
            log.warning("%s", warning)
        for sentence in self.plan:
            log.info("%s", sentence)
        return planner.settings(plan)

    def _with_limit(self, config: Config) -> Config:
        """Return the settings with the time or the updates that the training may take.

        What has been laid out for an earlier run stays; with a higher limit it is taken back.
        """
        old = None if self.is_new else read_config(self.request.output).training
        if self.request.updates:
            training = with_updates(config.training, self.request.updates, old)
        else:
            training = with_time(config.training, self.request.seconds, old)
        self.goes_on = old is not None and bool(old.schedule) and training.schedule != old.schedule
        if self.goes_on:
            self._warn_of_short_plan()
        return dataclasses.replace(config, training=training)

    def _warn_of_short_plan(self) -> None:
        """Warn if the settings were planned for much less time than the training has now."""
        output, seconds = self.request.output, self.request.seconds or 0.0
        planned = (read_provenance(output) or {}).get(PLANNED_KEY)
        if planned and seconds >= MUCH_LONGER * planned:
            log.warning(
                "%s: keeps the size, dropout and batches that were planned for %s; give another"
                " --output to have them planned for %s",
                output,
                format_duration(planned),
                format_duration(seconds),
            )

    def _named_recipe(self) -> str | None:
        """Return the recipe that the settings began with, by name or by default."""
        request = self.request
        if request.names_settings or self.is_planned:
            return request.recipe
        return request.default_recipe

    def _create(self) -> None:
        """Make the folder, with the record of what it is made from, and lock it.

        :raises ModelError: another process has made it since this one began.
        """
        request = self.request
        command = train_command(
            request.prepared,
            request.output,
            self._named_recipe(),
            request.config_file,
            request.overrides,
            None if request.initial is None else request.initial.given,
            request.seconds,
            request.updates,
        )
        record = None if self.parameters is None else self.parameters.record
        check_subword_files(request.prepared, self._manifest)
        shortlists(request.prepared, self.config.data)  # damage is there, not in the copy
        checksums = data_checksums(request.prepared, self._manifest)
        device = find_device(request.device).type
        planned = request.seconds if self.is_planned else None
        provenance = provenance_of(command, self._manifest, checksums, device, record, planned)
        folder = request.output
        try:
            with new_model_folder(folder, self.config, request.prepared, provenance) as hidden:
                # it has its lock before others can find it
                self.lock = self._stack.enter_context(lock_model_folder(hidden))
        except NmtkitError as error:
            if not (folder / "config.toml").is_file():
                raise
            with lock_model_folder(folder):  # or the other process trains there
                raise ModelError(
                    f"{folder}: another training made this folder while this one started; give the"
                    " same command again to resume it, or choose another --output"
                ) from error
        self.lock.folder = folder


def _text_config(data: Path, manifest: dict[str, Any], swapped: bool) -> TextConfig:
    """Return the text settings of a prepared folder.

    :param swapped: the model translates from the folder's target to its source.
    :raises ConfigError: it does, and source lines have tags.
    """
    text = text_config(manifest, data)
    if not swapped:
        return text
    if text.tags:
        raise ConfigError(
            f"{data}: source lines have the tags {', '.join(text.tags)}, and data.swap_sides would"
            " make them part of the translations; prepare the other direction"
        )
    return dataclasses.replace(text, src_language=text.tgt_language, tgt_language=text.src_language)


def _check_place(folder: Path, replacing: Path | None) -> None:
    """Check that a model folder can be made, and what is there be removed.

    :param replacing: the prepared folder of a training that replaces what is there, or None.
    :raises OutputError: it cannot be written.
    :raises ModelError: something else is there.
    """
    if replacing is None:
        check_is_free(folder)
    else:
        _check_removable(folder, replacing)
    check_can_make(folder)


def _check_removable(folder: Path, prepared: Path) -> None:
    """Raise ModelError if `folder` is neither a model folder nor empty, or holds the data."""
    if not is_free(folder) and not (folder / "config.toml").is_file():
        raise ModelError(
            f"{folder}: is not a model folder, which has a file config.toml, so --force does not"
            " remove it"
        )
    if prepared.resolve().is_relative_to(folder.resolve()):
        raise ModelError(
            f"{prepared}: is in {folder}, which --force removes; choose another --output, or move"
            " the prepared folder"
        )


def _remove_model_folder(folder: Path) -> None:
    """Remove an existing model folder, or raise ModelError if a training runs there."""
    if not folder.exists():
        return
    is_model_folder = (folder / "config.toml").is_file()
    with lock_model_folder(folder) if is_model_folder else contextlib.nullcontext():
        leftover = remove_folder(folder)
    if leftover:
        log.warning("%s: part of the old model folder cannot be removed; remove it", leftover)
