"""Training from a prepared folder into a model folder; also from Python.

from nmtkit import train
train("prepared", "model", recipe="rnnsearch-modern", overrides=["training.seed=2"])
"""

import contextlib
import dataclasses
import functools
import logging
import os
import platform
import shutil
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import nn

from nmtkit.config import Config, TextConfig, parse_config, parse_section, rename_settings
from nmtkit.config_io import (
    merged,
    parse_override,
    read_toml,
    recipe_table,
    warn_of_old_names,
    with_base,
    write_toml,
)
from nmtkit.data.batching import Batches, in_order
from nmtkit.data.corpus import Corpus
from nmtkit.data.manifest import MANIFEST, read_manifest
from nmtkit.errors import ConfigError, DataError, ModelError, NmtkitError, OutputError
from nmtkit.evaluation.metrics import tokenized_bleu
from nmtkit.io.lines import read_lines
from nmtkit.model_folder import (
    build_model,
    check_links,
    create_model_folder,
    find_device,
    read_config,
    read_vocabularies,
    write_config,
)
from nmtkit.models import Model
from nmtkit.parallel.process_group import ProcessGroup, join_process_group
from nmtkit.search.beam import beam_search
from nmtkit.text.subword.bpe import undo_bpe
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.metrics_logger import MetricsLogger, NullMetricsLogger, require_tensorboard
from nmtkit.training.provenance import provenance_of, train_command
from nmtkit.training.signals import locked
from nmtkit.training.trainer import Trainer
from nmtkit.training.validation import Validation, validate

log = logging.getLogger("nmtkit")
MAY_CHANGE = {
    "training.max_updates",
    "training.max_epochs",
    "training.patience",
    "training.keep_checkpoints",
}
VALIDATION_BATCH = 64  # sentences


def make_config(
    recipe: str | None = None,
    config_file: str | Path | None = None,
    overrides: Sequence[str] = (),
) -> Config:
    """Settings from a recipe, then a file (whose `base` may name a recipe), then `overrides`.

    :param overrides: "section.key=value" each.
    :raises ConfigError: a key, value or recipe that does not exist.
    """
    table: dict[str, Any] = recipe_table(recipe) if recipe else {}
    where = f"recipe {recipe}" if recipe else "settings"
    renamed: dict[str, str] = {}
    if config_file is not None:
        where = str(config_file)
        from_file, renamed = rename_settings(read_toml(config_file), where)
        table = merged(table, with_base(from_file, where))
    if overrides:
        given = functools.reduce(merged, map(parse_override, overrides))
        given, renamed_overrides = rename_settings(given, "--set")
        renamed |= renamed_overrides
        table = merged(table, given)
        where = f"{where} with --set"
    warn_of_old_names(renamed)
    return parse_config(table, where)


def describe_settings(
    recipe: str | None, config_file: str | Path | None, overrides: Sequence[str]
) -> str:
    """The settings that `train` would use, as TOML; `[text]` is the prepared folder's."""
    return write_toml(make_config(recipe, config_file, overrides))


def train(
    prepared: str | Path,
    output: str | Path,
    recipe: str | None = None,
    config_file: str | Path | None = None,
    overrides: Sequence[str] = (),
    device: str = "auto",
    tensorboard: bool = False,
    force: bool = False,
) -> None:
    """Train a model, or go on with one: the same call resumes exactly where training stood.

    In processes that torchrun has started together each trains on its part of every batch.

    :param prepared: a folder of `nmtkit prepare` with shortlists in it.
    :param output: the model folder.
    :param force: throw away what `output` holds and start anew.
    :raises NmtkitError: settings, data or folder do not fit, or another process trains there.
    :raises Interrupted: SIGINT or SIGTERM came; everything is saved, and the same call goes on.
    """
    data, folder = Path(prepared), Path(output)
    with join_process_group(device) as process_group, contextlib.ExitStack() as stack:

        def ready() -> tuple[Config, bool]:
            config = make_config(recipe, config_file, overrides)
            manifest = read_manifest(data)
            text = _text_config(data, manifest, config.data.swap_sides)
            config = dataclasses.replace(config, text=text)
            _check_prepared(data)
            if tensorboard:
                require_tensorboard()
            check_links(folder)
            if force and not process_group.restarted:
                _remove_model_folder(folder)

            def origin() -> dict[str, Any]:
                command = train_command(prepared, output, recipe, config_file, overrides)
                return provenance_of(command, manifest, find_device(device).type)

            return config, _ready_folder(folder, config, data, origin, stack)

        config, fresh = process_group.broadcast(ready)
        _log_start(config, data, folder, process_group)
        try:
            training = _training(
                data, folder, config, find_device(device), tensorboard, process_group
            )
        except NmtkitError:
            if fresh and process_group.is_main:  # nothing was learned: leave nothing
                shutil.rmtree(folder)
            raise
        _run(training, folder)


def _ready_folder(
    folder: Path,
    config: Config,
    data: Path,
    origin: Callable[[], dict[str, Any]],
    stack: contextlib.ExitStack,
) -> bool:
    """Make or check a model folder; whether it is new. It is locked until `stack` is left.

    :param origin: what a new one notes of how it was made.
    """
    fresh = not (folder / "config.toml").is_file()
    if fresh:
        create_model_folder(folder, config, data, origin())
    stack.enter_context(locked(folder))
    if not fresh:
        _check_same(read_config(folder), config, folder)
        _check_same_words(data, folder, config.data.sides)
        write_config(folder, config)  # with the limits and search settings of today
    return fresh


def _run(training: Trainer, folder: Path) -> None:
    """Train to the end, from wherever the folder stands.

    :raises OutputError: the folder cannot be written.
    """
    if training.resume():
        log.info("going on from update %d", training.progress.updates)
    if training.finished():
        log.info(
            "%s: training is finished after %d updates; raise training.max_updates, "
            "training.max_epochs or training.patience to go on",
            folder,
            training.progress.updates,
        )
        return
    try:
        training.run()
    except (OSError, OutputError) as error:
        raise OutputError(
            f"{error}; what was saved before is whole, and the same command goes on from there"
        ) from error
    log.info("%s: finished after %d updates", folder, training.progress.updates)


def _training(
    data: Path,
    folder: Path,
    config: Config,
    device: torch.device,
    tensorboard: bool,
    process_group: ProcessGroup,
) -> Trainer:
    """Everything that `Trainer` works on, put together."""
    if config.training.precision == "bfloat16":
        # Of products in bfloat16 oneDNN keeps a copy of the matrix for each shape that it met.
        os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
    torch.manual_seed(config.training.seed)
    vocabularies = process_group.broadcast(lambda: read_vocabularies(folder))
    model = build_model(config, len(vocabularies[0]), len(vocabularies[1])).to(device)
    if config.training.dev_bleu and not model.reads_source:
        raise ConfigError(
            "training.dev_bleu: a language model has no translations to measure; set it to false"
        )
    corpus, dev = (
        process_group.main_process_first(
            lambda: Corpus.open(data, split, vocabularies, config.data.sides)  # noqa: B023
        )
        for split in ("train", "dev")
    )
    part = (process_group.rank, process_group.size)
    batches = Batches(corpus, config.data, config.training.seed, part=part)
    monitor = (
        MetricsLogger(folder, config.training, batches.progress, tensorboard)
        if process_group.is_main
        else NullMetricsLogger()
    )
    log.info("%d training pairs, %d parameters", len(batches.corpus), _size(model))
    measure = _validation(data, dev, vocabularies[1], config, device, process_group)
    return Trainer(model, batches, measure, config.training, folder, monitor, process_group)


def _size(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def _validation(
    data: Path,
    dev: Corpus,
    words: Vocabulary,
    config: Config,
    device: torch.device,
    process_group: ProcessGroup,
) -> Callable[[Model], Validation]:
    """What measures the dev set: its cost, and BLEU where it is asked for; each rank a part of it.

    :param words: of the target.
    """
    if not len(dev):
        raise DataError(f"{data}: the dev set is empty; prepare again with --dev or --held-out")
    targets = read_lines(data / f"dev.{config.data.sides[1]}")
    references = [" ".join(undo_bpe(line.split(" "))) for line in targets]
    batches = list(in_order(dev, VALIDATION_BATCH))[process_group.rank :: process_group.size]
    search = dataclasses.replace(config.search, beam=config.training.dev_beam)

    def dev_bleu(model: Model) -> float:
        found: dict[int, str] = {}
        ready = model.for_inference()
        for batch in batches:
            src, src_mask = batch.src.to(device), batch.src_mask.to(device)
            for line, best in zip(
                batch.lines, beam_search([ready], src, src_mask, search, n_best=1), strict=True
            ):
                found[line] = " ".join(undo_bpe(words.tokens(best[0].words)))
        for part in process_group.all_gather(found):
            found |= part
        return tokenized_bleu([found[line + 1] for line in range(len(dev))], references).value

    def measure(model: Model) -> Validation:
        bleu = (lambda: dev_bleu(model)) if config.training.dev_bleu else None
        return validate(model, batches, device, bleu, process_group)

    return measure


def _text_config(data: Path, manifest: dict[str, Any], swapped: bool) -> TextConfig:
    """How a prepared folder's text was prepared, as a model sees it that may translate back."""
    text = parse_section(TextConfig, manifest["text"], f"{data / MANIFEST}: text")
    if not swapped:
        return text
    return dataclasses.replace(text, src_language=text.tgt_language, tgt_language=text.src_language)


def _check_prepared(data: Path) -> None:
    """Refuse a folder that cannot be trained on, before anything is made of it."""
    for side in ("src", "tgt"):
        if not (data / f"dev.{side}").is_file():
            raise DataError(
                f"{data}: has no dev set to validate on; prepare again with --dev or --held-out"
            )
        if not (data / f"vocab.{side}").is_file():
            raise DataError(
                f"{data}: no shortlist vocab.{side}; make it with 'nmtkit shortlist {data}'"
            )


def _check_same_words(data: Path, folder: Path, sides: tuple[str, str]) -> None:
    """Refuse to go on with other shortlists than a model was begun with."""
    for theirs, ours in zip(sides, ("src", "tgt"), strict=True):
        words = data / f"vocab.{theirs}"
        if words.read_bytes() != (folder / f"vocab.{ours}").read_bytes():
            raise DataError(
                f"{words}: not the shortlist that {folder} was begun with; restore it, or "
                "use --force to start anew"
            )


def _remove_model_folder(folder: Path) -> None:
    """Remove what stands where a model is to be trained anew, if it is a model folder."""
    if not folder.exists():
        return
    trained = (folder / "config.toml").is_file()
    if not trained and not (folder.is_dir() and not any(folder.iterdir())):
        raise ModelError(f"{folder}: is no model folder, so --force does not remove it")
    with locked(folder) if trained else contextlib.nullcontext():
        shutil.rmtree(folder)


def _check_same(old: Config, new: Config, folder: Path) -> None:
    """Refuse to go on with other settings than a model was begun with."""
    for section in ("model", "data", "training", "text"):
        before, now = getattr(old, section), getattr(new, section)
        if type(before) is not type(now):
            raise ConfigError(f"{folder}: was begun with another model; use --force to start anew")
        for name in (f.name for f in dataclasses.fields(before)):
            values = getattr(before, name), getattr(now, name)
            if values[0] != values[1] and f"{section}.{name}" not in MAY_CHANGE:
                raise ConfigError(
                    f"{folder}: was begun with {section}.{name} = {values[0]!r}, now it is "
                    f"{values[1]!r}; use --force to start anew or another --output"
                )


def _log_start(config: Config, data: Path, folder: Path, process_group: ProcessGroup) -> None:
    log.info(
        "nmtkit %s, torch %s, Python %s, %d threads, process %d: %s to %s, seed %d",
        version("nmtkit"),
        torch.__version__,
        platform.python_version(),
        torch.get_num_threads(),
        os.getpid(),
        data,
        folder,
        config.training.seed,
    )
    if process_group.size > 1:
        log.info("%d ranks train together, each on its part of every batch", process_group.size)
