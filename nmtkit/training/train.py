"""The training driver: from a prepared folder to a model folder, for the command and for Python.

from nmtkit import train
result = train("prepared", "model", recipe="rnnsearch-modern", settings={"training.seed": 2})
"""

import contextlib
import dataclasses
import functools
import logging
import math
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from nmtkit import __version__
from nmtkit.config import Config
from nmtkit.config_io import override_strings
from nmtkit.data.corpus import Corpus
from nmtkit.data.manifest import corpus_segments, read_manifest
from nmtkit.errors import ConfigError, ModelError, NmtkitError, OutputError, counted
from nmtkit.io.atomic_folder import remove_folder
from nmtkit.io.parameters import copy_parameters, read_metadata
from nmtkit.model_folder import (
    BEST_PARAMETERS,
    build_model,
    find_device,
    read_config,
    read_vocabularies,
)
from nmtkit.models import Model
from nmtkit.models.precision import limit_bfloat16_memory
from nmtkit.new_model_folder import write_config
from nmtkit.parallel.process_group import ProcessGroup, join_process_group
from nmtkit.text.term_words import TermWords
from nmtkit.training.checkpoint_folder import has_checkpoints
from nmtkit.training.dev_samples import DevSampler
from nmtkit.training.folder_lock import FolderLock
from nmtkit.training.gradient import word_sampler
from nmtkit.training.informed_start import InformedStart, check_informed_start, learn_word_pairs
from nmtkit.training.initial_model import InitialModel
from nmtkit.training.learning_curve import read_curve
from nmtkit.training.metrics_logger import MetricsLogger, NullMetricsLogger
from nmtkit.training.plan import CorpusFigures
from nmtkit.training.planning import corpus_figures
from nmtkit.training.schedule import Schedule
from nmtkit.training.start_checks import check_ranks_data
from nmtkit.training.stopwatch import Stopwatch
from nmtkit.training.trainer import Trainer
from nmtkit.training.training_batches import build_batches
from nmtkit.training.training_folder import TrainingFolder, TrainingRequest
from nmtkit.training.validation import build_validation
from nmtkit.training.watcher import TrainingWatcher
from nmtkit.value_types import PositiveInt, check_arguments, check_duration

log = logging.getLogger("nmtkit")


@dataclass(frozen=True)
class TrainingResult:
    """A model folder and the figures of its training, over all runs.

    updates: number of updates.
    best_dev_cost: lowest dev cost per token, natural log; None before the first validation.
    dev_bleu, dev_chrf: of the validation that chose `params.best`, in percent; None if not
        measured, or no longer in `metrics.jsonl`.
    seconds: time of the training, over all runs; starting and validations count.
    """

    folder: Path
    updates: int
    best_dev_cost: float | None
    dev_bleu: float | None
    seconds: float
    dev_chrf: float | None = None


@check_arguments
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
    time: float | str | None = None,
    default_recipe: str | None = None,
    started: float | None = None,
    updates: PositiveInt | None = None,
    watcher: TrainingWatcher | None = None,
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
    :param time: how long to train, from this call, over all runs: seconds, or a text such as
        "30m". The model's size and all that depends on the time are planned.
    :param default_recipe: the recipe of a new training for which no recipe, file or other model is
        given; a training that is resumed keeps its settings.
    :param started: when `time` began, by `time.monotonic()`; None: now.
    :param updates: end after this many updates; the settings of a planned training and its updates
        repeat it on any machine.
    :param watcher: is given figures and translations of the dev set as they come, such as
        `report.training_page.TrainingPage`.
    :raises NmtkitError: settings, data or folder do not fit, or another process trains in it.
    :raises TrainingInterrupted: on SIGINT, SIGTERM or SIGHUP; everything is saved, and the same
        call resumes.
    """
    request = TrainingRequest(
        Path(prepared),
        Path(output),
        recipe,
        None if config_file is None else Path(config_file),
        (*overrides, *override_strings(settings or {})),
        None if initial_model is None else InitialModel.at(initial_model),
        device,
        tensorboard,
        force,
        _limit(time, updates),
        updates,
        default_recipe,
    )
    stopwatch = Stopwatch(started)
    with (
        torch.random.fork_rng(devices=[]),  # the caller's own numbers are drawn as without it
        join_process_group(device) as process_group,
        contextlib.ExitStack() as stack,
    ):
        opened = TrainingFolder(request, stack)
        config, is_new = process_group.broadcast(lambda: opened.open(process_group.restarted))
        _log_start(config, request, process_group)
        try:
            trainer, start = _build_trainer(request, config, process_group, opened.lock)
            trainer.stopwatch = stopwatch
            if opened.parameters is not None:
                copy_parameters(trainer.model, opened.parameters.tensors)
        except NmtkitError:
            if is_new and opened.lock is not None and opened.lock.holds():  # nothing was learned
                remove_folder(request.output)
            raise
        with (
            contextlib.closing(trainer.metrics_logger),
            _watched(trainer, opened, config, watcher if process_group.is_main else None),
        ):
            _run(trainer, start, config, opened)
        return process_group.broadcast(lambda: _training_result(trainer, request.output))


@contextlib.contextmanager
def _watched(
    trainer: Trainer, opened: TrainingFolder, config: Config, watcher: TrainingWatcher | None
) -> Iterator[None]:
    """Tell a watcher of the training while the block runs."""
    request = opened.request
    if watcher is None:
        yield
        return
    vocabularies = read_vocabularies(request.output)
    dev = Corpus.open(request.prepared, "dev", vocabularies, config.data.sides)
    sampler = DevSampler(request.prepared, dev, vocabularies, config, find_device(request.device))

    def show_samples(model: Model, update: int) -> None:
        watcher.validated(update, sampler.translate(model))

    trainer.show_samples = show_samples
    trainer.metrics_logger.on_write = watcher.metrics_written
    watcher.start(request.output, config, opened.plan)
    try:
        yield
    except BaseException:
        watcher.finish(interrupted=True)
        raise
    watcher.finish(interrupted=False)


def _limit(time: float | str | None, updates: int | None) -> float | None:
    """Return the seconds that a training may take, or None.

    :raises ConfigError: it is no time, or a number of updates is given, too.
    """
    if updates is not None and time is not None:
        raise ConfigError("a training ends after a time or after updates; give one of the two")
    seconds = None if time is None else check_duration(time, "time")
    if seconds is not None and not 0 < seconds < math.inf:
        raise ConfigError(f"a training cannot take {seconds} seconds; give a time above 0")
    return seconds


def _run(trainer: Trainer, start: InformedStart, config: Config, opened: TrainingFolder) -> None:
    """Train to the end, from the last checkpoint if there is one.

    :param start: what the training knows of its words.
    :raises OutputError: the folder cannot be written.
    :raises ModelError: the folder was moved, or its files are damaged.
    """
    lock = opened.lock  # None on ranks that do not write
    folder = trainer.folder
    try:
        if trainer.resume(rewind=opened.goes_on):
            log.info("resuming from update %d", trainer.progress.updates)
        elif opened.request.initial is not None:
            trainer.save_start()
        else:
            start.initialise(trainer.model)
            # sums on a GPU, or on another processor, differ in their last digits
            trainer.process_group.broadcast_parameters(trainer.model.parameters())
        if lock is not None:
            _record_settings(folder, config, trainer.finished())
            trainer.record_schedule = functools.partial(_record_schedule, folder, config)
        if trainer.finished():
            trainer.finish()
            _check_success(trainer)
            log.info(
                "%s: training is finished after %s; raise %s to train further",
                folder,
                counted(trainer.progress.updates, "update"),
                " and ".join(trainer.reached_limits()),
            )
            return
        start.accompany(trainer.gradient)
        trainer.run()
    except (OSError, OutputError) as error:
        if lock is not None:
            lock.check()
        saved = (
            "what was saved before is complete, and the same command resumes from there"
            if has_checkpoints(folder)
            else "nothing was saved before; mend this, and the same command starts again"
        )
        raise OutputError(f"{error}; {saved}") from error
    _check_success(trainer)
    log.info("%s: finished after %s", folder, counted(trainer.progress.updates, "update"))


def _check_success(trainer: Trainer) -> None:
    """Raise ModelError if a training has ended without a model that can be used."""
    progress = trainer.progress
    if progress.best_cost is None or not math.isfinite(progress.best_cost):
        raise ModelError(
            f"{trainer.folder}: finished after {counted(progress.updates, 'update')}, but the dev"
            " cost was never finite, so no parameters can be used; train again with a lower"
            " training.learning_rate or training.clip_norm"
        )


def _record_settings(folder: Path, config: Config, is_finished: bool) -> None:
    """Write the settings; limits and settings of search may have changed.

    :param is_finished: the training has reached its limits. Lower ones than it had change nothing,
        so that a training with the limits of before goes on from its end.
    """
    if is_finished:
        old = read_config(folder)
        config = dataclasses.replace(config, training=old.training)
        if config == old:
            return
    write_config(folder, config)


def _record_schedule(folder: Path, config: Config, schedule: Schedule) -> None:
    """Write the settings with the schedule that a time limit has led to."""
    training = dataclasses.replace(config.training, schedule=schedule.texts())
    write_config(folder, dataclasses.replace(config, training=training))


def _training_result(trainer: Trainer, folder: Path) -> TrainingResult:
    """Return the figures of a training.

    BLEU is None if metrics.jsonl cannot be read, or lacks the best validation: that of a cooldown
    before which the training went back.
    """
    bleu = chrf = None
    with contextlib.suppress(NmtkitError):
        update = read_metadata(folder / BEST_PARAMETERS).update  # 0 if nmtkit 0.1 wrote them
        for point in read_curve(folder).validation:
            if point.best and update in (0, point.update):
                bleu, chrf = point.bleu, point.chrf
    progress = trainer.progress
    return TrainingResult(
        folder, progress.updates, progress.best_cost, bleu, progress.seconds, chrf
    )


def _build_trainer(
    request: TrainingRequest,
    config: Config,
    process_group: ProcessGroup,
    lock: FolderLock | None,
) -> tuple[Trainer, InformedStart]:
    """Build the model, its data and everything else that a `Trainer` needs.

    :param lock: the lock on the model folder; None on ranks that do not write.
    :raises DataError: the ranks have different data.
    """
    data, folder, device = request.prepared, request.output, find_device(request.device)
    if config.training.precision == "bfloat16":
        limit_bfloat16_memory()
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
    check_informed_start(model, config)
    corpus, dev = (
        process_group.main_process_first(
            lambda: Corpus.open(data, split, vocabularies, config.data.sides)  # noqa: B023
        )
        for split in ("train", "dev")
    )
    check_ranks_data(data, corpus, dev, process_group)
    vocabularies = vocabularies[0], corpus.tgt.counted(vocabularies[1])
    check_lock = (lambda: None) if lock is None else lock.check
    part = (process_group.rank, process_group.size)
    segments = process_group.broadcast(lambda: corpus_segments(read_manifest(data), data))
    word_pairs = functools.cache(functools.partial(learn_word_pairs, corpus, vocabularies))
    batches = build_batches(folder, config, corpus, vocabularies, part, word_pairs, segments)
    validation = build_validation(data, dev, vocabularies[1], config, device, process_group)
    metrics_logger = (
        MetricsLogger(folder, config.training, batches.progress, request.tensorboard, check_lock)
        if process_group.is_main
        else NullMetricsLogger()
    )
    log.info(
        "%s, %d parameters", counted(len(batches.corpus), "training pair"), _parameter_count(model)
    )
    trainer = Trainer(
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
    figures = corpus_figures(corpus, dev, vocabularies, config.data.max_length)
    _expect_validations(trainer, config, figures)
    trainer.gradient.sample_words(word_sampler(config.training, vocabularies[1]))
    term_words = TermWords.of(*vocabularies)
    return trainer, InformedStart(config.training, word_pairs, vocabularies[1], term_words)


def _expect_validations(trainer: Trainer, config: Config, figures: CorpusFigures) -> None:
    """Tell the time limit how long a validation takes, before there is one."""
    if trainer.time_limit is not None:
        training = config.training
        translated = training.dev_bleu or training.early_stopping_metric == "chrf"
        samples = bool(training.softmax_samples)
        tokens = figures.validation_tokens(config.model.hidden, translated, samples)
        trainer.time_limit.costs.validation_tokens = tokens


def _parameter_count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def _log_start(config: Config, request: TrainingRequest, process_group: ProcessGroup) -> None:
    log.info(
        "nmtkit %s, torch %s, Python %s, %s, process %d: %s to %s, seed %d",
        __version__,
        torch.__version__,
        platform.python_version(),
        counted(torch.get_num_threads(), "thread"),
        os.getpid(),
        request.prepared,
        request.output,
        config.training.seed,
    )
    if process_group.size > 1:
        log.info("%d processes train together, each on its part of every batch", process_group.size)
