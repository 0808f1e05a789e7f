"""Checks before a training starts: settings, prepared folder, and the data of all ranks."""

import dataclasses
from pathlib import Path
from typing import Any

from nmtkit.config import Config, DataConfig
from nmtkit.config_io import toml_value
from nmtkit.data.corpus import Corpus
from nmtkit.errors import ConfigError, DataError
from nmtkit.io.checksums import check_sums
from nmtkit.io.folder_files import read_regular
from nmtkit.io.text_content import shell_name
from nmtkit.model_folder import MAX_FILE_BYTES, PROVENANCE_FILE, SUMMED_FILES, read_config
from nmtkit.new_model_folder import shortlists, source_shortlist
from nmtkit.parallel.process_group import ProcessGroup
from nmtkit.text.names import NAMES
from nmtkit.text.subword import SUBWORD_FILES
from nmtkit.text.truecaser import TRUECASE
from nmtkit.training.provenance import check_subword_files
from nmtkit.training.resume_checks import check_nothing_missing, check_same_files, other_data_remedy

CHANGEABLE_SETTINGS = {
    "training.max_updates",
    "training.max_epochs",
    "training.patience",
    "training.time_limit",
    "training.schedule",
    "training.keep_checkpoints",
    "training.cuda_graphs",
}
"""Settings of training that may differ when a training is resumed, besides those of search."""


def check_output_matrix(config: Config) -> None:
    """Raise ConfigError if a new training sets two ranks for the output matrix.

    Where an old one did, `tied` counts.
    """
    model = config.model
    rank = getattr(model, "softmax_rank", 0)
    if rank and rank != type(model).softmax_rank and model.tied:
        raise ConfigError(
            f"model.softmax_rank = {rank}: the rank of a tied output matrix is model.embedding;"
            " leave it out, or set model.tied to false"
        )


def check_same_training(folder: Path, config: Config, data: Path) -> None:
    """Check that settings, shortlists and data are those that a training was started with.

    :raises NmtkitError: they are not, or files of the model folder are damaged.
    """
    _check_same_settings(read_config(folder), config, folder)
    check_sums(folder, [*SUMMED_FILES, PROVENANCE_FILE])
    check_nothing_missing(folder)
    _check_same_shortlists(data, folder, config.data)
    check_same_files(folder, data)


def check_ranks_data(data: Path, corpus: Corpus, dev: Corpus, process_group: ProcessGroup) -> None:
    """Raise DataError unless all ranks have the same training data and dev set."""
    for split, name, part in (("train", "training data", corpus), ("dev", "dev set", dev)):
        checksums = process_group.all_gather(part.checksum)
        for rank, checksum in enumerate(checksums):
            if checksum != checksums[0]:
                raise DataError(
                    f"{data / split}.src, {split}.tgt: the {name} of rank {rank} is not that of"
                    " rank 0; copy the prepared folder to all machines"
                )


def check_prepared(data: Path) -> None:
    """Raise DataError if a prepared folder lacks training data, a dev set or shortlists."""
    for side in ("src", "tgt"):
        if not (data / f"train.{side}").is_file():
            raise DataError(
                f"{data / f'train.{side}'}: no such file; is this a folder that 'nmtkit prepare'"
                " made?"
            )
        if not (data / f"dev.{side}").is_file():
            raise DataError(
                f"{data}: has no dev.{side} to validate on; prepare again with --dev or --held-out"
            )
        if not (data / f"vocab.{side}").is_file():
            raise DataError(
                f"{data}: no shortlist vocab.{side}; make it: nmtkit shortlist {shell_name(data)}"
            )


def _check_same_shortlists(data: Path, folder: Path, config: DataConfig) -> None:
    """Raise DataError if the shortlists have changed since the training started."""
    limit = MAX_FILE_BYTES["vocab.src"]
    tgt = read_regular(data / f"vocab.{config.sides[1]}", limit)
    contents = source_shortlist(data, config), tgt
    for side, name, content in zip(config.sides, ("src", "tgt"), contents, strict=True):
        vocab = data / f"vocab.{side}"
        if content != read_regular(folder / f"vocab.{name}", limit):
            raise DataError(
                f"{vocab}: not the shortlist that {folder} was started with;"
                f" {other_data_remedy(folder)}"
            )


def check_inputs(data: Path, config: Config, manifest: dict[str, Any]) -> None:
    """Check that a training can start, before `--force` removes the old model for it.

    :raises NmtkitError: a file of the prepared folder is missing or cannot be used.
    """
    check_subword_files(data, manifest)
    sides = config.data.sides
    for name in [
        f"{method}.{side}" for method in (*SUBWORD_FILES, TRUECASE, NAMES) for side in sides
    ]:
        if (data / name).exists() or (data / name).is_symlink():
            read_regular(data / name, MAX_FILE_BYTES["vocab.src"])
    for name in [f"vocab.{side}" for side in sides]:
        read_regular(data / name, MAX_FILE_BYTES["vocab.src"])
    vocabularies = shortlists(data, config.data)
    for split in ("train", "dev"):
        Corpus.open(data, split, vocabularies, sides)


def _check_same_settings(old: Config, new: Config, folder: Path) -> None:
    """Raise ConfigError if a setting that cannot change has changed since the training started."""
    for section in ("model", "data", "training", "text"):
        old_section, new_section = getattr(old, section), getattr(new, section)
        if type(old_section) is not type(new_section):
            raise ConfigError(
                f"{folder}: was started with another model; use --force to start anew"
            )
        for name in (f.name for f in dataclasses.fields(old_section)):
            values = getattr(old_section, name), getattr(new_section, name)
            if values[0] != values[1] and f"{section}.{name}" not in CHANGEABLE_SETTINGS:
                remedy = "use another --output, or --force to start anew"
                if section != "model":  # else the parameters do not fit
                    start = f"with --from {folder} to start from the parameters of this model"
                    remedy = f"use another --output, {start}, or --force to start anew"
                raise ConfigError(
                    f"{folder}: was started with {section}.{name} = {toml_value(values[0])}, now"
                    f" it is {toml_value(values[1])}; {remedy}"
                )
