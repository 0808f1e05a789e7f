"""The training driver: from a prepared folder to a model folder, for the command and for Python.

from nmtkit import train
result = train("prepared", "model", recipe="rnnsearch-modern", settings={"training.seed": 2})
"""

import contextlib
import dataclasses
import functools
import logging
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from nmtkit import __version__
from nmtkit.config import Config, TextConfig, parse_config, rename_settings
from nmtkit.config_io import (
    merge_tables,
    override_strings,
    parse_override,
    read_toml,
    recipe_table,
    warn_of_old_names,
    with_base,
    write_toml,
)
from nmtkit.data.corpus import Corpus
from nmtkit.data.manifest import corpus_segments, read_manifest, text_config
from nmtkit.errors import ConfigError, ModelError, NmtkitError, OutputError
from nmtkit.io.atomic import remove_folder
from nmtkit.io.folder_files import check_folder
from nmtkit.io.parameters import copy_parameters
from nmtkit.model_folder import (
    build_model,
    create_model_folder,
    find_device,
    read_vocabularies,
    write_config,
)
from nmtkit.parallel.process_group import ProcessGroup, join_process_group
from nmtkit.training.checkpoint import has_checkpoints
from nmtkit.training.folder_lock import FolderLock, lock_model_folder
from nmtkit.training.initial_model import (
    InitialModel,
    InitialParameters,
    default_settings,
    settings_of,
)
from nmtkit.training.learning_curve import read_curve
from nmtkit.training.metrics_logger import MetricsLogger, NullMetricsLogger, require_tensorboard
from nmtkit.training.provenance import (
    check_subword_files,
    data_checksums,
    provenance_of,
    train_command,
)
from nmtkit.training.start_checks import (
    check_inputs,
    check_prepared,
    check_ranks_data,
    check_same_training,
)
from nmtkit.training.trainer import Trainer
from nmtkit.training.training_batches import build_batches
from nmtkit.training.validation import build_validation

log = logging.getLogger("nmtkit")


@dataclass(frozen=True)
class TrainingResult:
    """A model folder and the figures of its training, over all runs.

    updates: number of updates.
    best_dev_cost: lowest dev cost per token, natural log; None before the first validation.
    dev_bleu, dev_chrf: of the validation that chose `params.best`, in percent; None if not
        measured.
    seconds: time spent in updates and validations.
    """

    folder: Path
    updates: int
    best_dev_cost: float | None
    dev_bleu: float | None
    seconds: float
    dev_chrf: float | None = None


def make_config(
    recipe: str | None = None,
    config_file: str | Path | None = None,
    overrides: Sequence[str] = (),
    default: Mapping[str, Any] | None = None,
) -> Config:
    """Read settings from a recipe, then a file (whose `base` may name a recipe), then overrides.

    :param overrides: settings as "section.key=value".
    :param default: settings to begin with if no recipe is named.
    :raises ConfigError: a key, value or recipe does not exist.
    """
    table: dict[str, Any] = recipe_table(recipe) if recipe else dict(default or {})
    where = f"recipe {recipe}" if recipe else "settings"
    renamed: dict[str, str] = {}
    if config_file is not None:
        where = str(config_file)
        from_file, renamed = rename_settings(read_toml(config_file), where)
        if "base" in from_file and not recipe:
            table = {}
        table = merge_tables(table, with_base(from_file, where))
    if overrides:
        override_table = functools.reduce(merge_tables, map(parse_override, overrides))
        override_table, renamed_overrides = rename_settings(override_table, "--set")
        renamed |= renamed_overrides
        table = merge_tables(table, override_table)
        where = f"{where} with --set"
    warn_of_old_names(renamed)
    return parse_config(table, where)


def describe_settings(
    recipe: str | None,
    config_file: str | Path | None,
    overrides: Sequence[str],
    initial_model: str | Path | None = None,
) -> str:
    """Return the settings that `train` would use, as TOML.

    `[text]` has the defaults; `train` takes it from the prepared folder.
    """
    default = None if initial_model is None else settings_of(InitialModel.at(initial_model).folder)
    return write_toml(make_config(recipe, config_file, overrides, default))


def train(
    prepared: str | Path,
    output: str | Path,
    recipe: str | None = None,
    config_file: str | Path | None = None,
    overrides: Sequence[str] = (),
    device: str = "auto",
    tensorboard: bool = False,
    force: bool = False,
    settings: Mapping[str, object] | None = None,
    initial_model: str | Path | None = None,
) -> TrainingResult:
    """Train a model, or resume its training exactly where it stopped.

    Under torchrun each process trains on its part of every batch.

    :param prepared: folder made by `nmtkit prepare`, with shortlists.
    :param output: the model folder.
    :param recipe: name of a recipe; a config file and the settings below override it.
    :param config_file: TOML file with settings.
    :param overrides: settings as "section.key=value".
    :param device: "auto", "cpu", "cuda", "cuda:1" or "mps".
    :param tensorboard: also write TensorBoard files into the model folder.
    :param force: delete an existing model folder `output`, and start again.
    :param settings: settings by name, such as {"training.seed": 2}; they override `overrides`.
    :param initial_model: a model folder, or a file of parameters in it, that a new training takes
        its first parameters from; without a recipe it has that model's settings, too.
    :raises NmtkitError: settings, data or folder do not fit, or another process trains in it.
    :raises TrainingInterrupted: on SIGINT or SIGTERM; everything is saved, and the same call
        resumes.
    """
    data, folder = Path(prepared), Path(output)
    overrides = [*overrides, *override_strings(settings or {})]
    with join_process_group(device) as process_group, contextlib.ExitStack() as stack:
        lock: FolderLock | None = None
        parameters: InitialParameters | None = None
        initial = None if initial_model is None else InitialModel.at(initial_model)

        def open_folder() -> tuple[Config, bool]:
            nonlocal lock, parameters
            force_now = force and not process_group.restarted
            is_new = force_now or not (folder / "config.toml").is_file()
            default = default_settings(initial, folder, is_new)
            config = make_config(recipe, config_file, overrides, default)
            manifest = read_manifest(data)
            text = _text_config(data, manifest, config.data.swap_sides)
            config = dataclasses.replace(config, text=text)
            check_prepared(data)
            if tensorboard:
                require_tensorboard()
            check_folder(folder)
            if initial is not None and (is_new or not has_checkpoints(folder)):
                parameters = initial.read(config, data)
            if force_now:
                if folder.exists():
                    check_inputs(data, config, manifest)
                _remove_model_folder(folder)
            if is_new:
                command = train_command(
                    prepared, output, recipe, config_file, overrides, initial_model
                )
                record = None if parameters is None else parameters.record
                check_subword_files(data, manifest)
                checksums = data_checksums(data, manifest)
                provenance = provenance_of(
                    command, manifest, checksums, find_device(device).type, record
                )
                create_model_folder(folder, config, data, provenance)
            lock = stack.enter_context(lock_model_folder(folder))
            if not is_new:
                check_same_training(folder, config, data)
                if parameters is not None:
                    parameters.check_same_record(folder)
            return config, is_new

        config, is_new = process_group.broadcast(open_folder)
        _log_start(config, data, folder, process_group)
        try:
            trainer = _build_trainer(
                data, folder, config, find_device(device), tensorboard, process_group, lock
            )
            if parameters is not None:
                copy_parameters(trainer.model, parameters.tensors)
        except NmtkitError:
            if is_new and lock is not None and lock.holds():  # nothing was learned yet
                remove_folder(folder)
            raise
        _run(trainer, config, lock, starts_from_model=initial is not None)
        return process_group.broadcast(lambda: _training_result(trainer, folder))


def _run(
    trainer: Trainer, config: Config, lock: FolderLock | None, starts_from_model: bool
) -> None:
    """Train to the end, from the last checkpoint if there is one.

    :param lock: the lock on the model folder; None on ranks that do not write.
    :param starts_from_model: the first parameters are those of another model.
    :raises OutputError: the folder cannot be written.
    :raises ModelError: the folder was moved, or its files are damaged.
    """
    folder = trainer.folder
    try:
        if trainer.resume():
            log.info("resuming from update %d", trainer.progress.updates)
        elif starts_from_model:
            trainer.save_start()
        if lock is not None:
            write_config(folder, config)  # limits and search settings may have changed
        if trainer.finished():
            log.info(
                "%s: training is finished after %d updates; raise training.max_updates, "
                "training.max_epochs or training.patience to train further",
                folder,
                trainer.progress.updates,
            )
            return
        trainer.run()
    except (OSError, OutputError) as error:
        if lock is not None:
            lock.check()
        raise OutputError(
            f"{error}; what was saved before is complete, and the same command resumes from there"
        ) from error
    log.info("%s: finished after %d updates", folder, trainer.progress.updates)


def _training_result(trainer: Trainer, folder: Path) -> TrainingResult:
    """Return the figures of a training; BLEU is None if metrics.jsonl cannot be read."""
    bleu = chrf = None
    with contextlib.suppress(NmtkitError):
        best = [point for point in read_curve(folder).validation if point.best]
        bleu, chrf = (best[-1].bleu, best[-1].chrf) if best else (None, None)
    progress = trainer.progress
    return TrainingResult(
        folder, progress.updates, progress.best_cost, bleu, progress.seconds, chrf
    )


def _build_trainer(
    data: Path,
    folder: Path,
    config: Config,
    device: torch.device,
    tensorboard: bool,
    process_group: ProcessGroup,
    lock: FolderLock | None,
) -> Trainer:
    """Build the model, its data and everything else that a `Trainer` needs.

    :param lock: the lock on the model folder; None on ranks that do not write.
    :raises DataError: the ranks have different data.
    """
    if config.training.precision == "bfloat16":
        # oneDNN caches a copy of the matrix for each shape of a bfloat16 product
        os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
    torch.manual_seed(config.training.seed)
    vocabularies = process_group.broadcast(lambda: read_vocabularies(folder))
    model = build_model(config, len(vocabularies[0]), len(vocabularies[1])).to(device)
    if config.training.dev_bleu and not model.reads_source:
        raise ConfigError(
            "training.dev_bleu: a language model does not translate, so there is no BLEU; set it"
            " to false"
        )
    if config.training.early_stopping_metric == "chrf" and not model.reads_source:
        raise ConfigError(
            "training.early_stopping_metric: a language model does not translate, so there is no"
            " chrF; set it to cost"
        )
    corpus, dev = (
        process_group.main_process_first(
            lambda: Corpus.open(data, split, vocabularies, config.data.sides)  # noqa: B023
        )
        for split in ("train", "dev")
    )
    check_ranks_data(data, corpus, dev, process_group)
    check_lock = (lambda: None) if lock is None else lock.check
    part = (process_group.rank, process_group.size)
    segments = process_group.broadcast(lambda: corpus_segments(read_manifest(data), data))
    batches = build_batches(folder, config, corpus, vocabularies, part, segments)
    metrics_logger = (
        MetricsLogger(folder, config.training, batches.progress, tensorboard, check_lock)
        if process_group.is_main
        else NullMetricsLogger()
    )
    log.info("%d training pairs, %d parameters", len(batches.corpus), _parameter_count(model))
    validation = build_validation(data, dev, vocabularies[1], config, device, process_group)
    return Trainer(
        model,
        batches,
        validation,
        config.training,
        folder,
        metrics_logger,
        process_group,
        check_lock,
        dev.checksum,
    )


def _parameter_count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


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


def _remove_model_folder(folder: Path) -> None:
    """Remove an existing model folder, or raise ModelError if `folder` is something else."""
    if not folder.exists():
        return
    is_model_folder = (folder / "config.toml").is_file()
    if not is_model_folder and not (folder.is_dir() and not any(folder.iterdir())):
        raise ModelError(
            f"{folder}: is not a model folder, which has a file config.toml, so --force does not"
            " remove it"
        )
    with lock_model_folder(folder) if is_model_folder else contextlib.nullcontext():
        leftover = remove_folder(folder)
    if leftover:
        log.warning("%s: part of the old model folder cannot be removed; remove it", leftover)


def _log_start(config: Config, data: Path, folder: Path, process_group: ProcessGroup) -> None:
    log.info(
        "nmtkit %s, torch %s, Python %s, %d threads, process %d: %s to %s, seed %d",
        __version__,
        torch.__version__,
        platform.python_version(),
        torch.get_num_threads(),
        os.getpid(),
        data,
        folder,
        config.training.seed,
    )
    if process_group.size > 1:
        log.info("%d processes train together, each on its part of every batch", process_group.size)
