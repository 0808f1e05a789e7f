"""Checkpoints: parameters and everything else that is needed to resume a training exactly.

    checkpoints/00012000/params.safetensors   the parameters by name
                         state.safetensors    tensors of the optimizer, states of the random
                                              generators
                         state.json           progress (`Progress`), numbers of the optimizer, and
                                              SHA-256 checksums of the other two files and of
                                              itself
    checkpoints/00012345.interrupted/         the same, saved because of a stop signal
    checkpoints/00012345.steady/              the same, saved before the learning rate cools down
    params.best.safetensors                   best averaged parameters, for inference
    params.last.safetensors                   averaged parameters of the last validation

A checkpoint is written under a hidden name and renamed, and renamed before it is removed: a folder
whose name begins with a digit is complete. A checkpoint that does not match its checksums is
renamed `00012000.damaged`, or `00012000.damaged2` if there is one. The checkpoint of an interrupted
training exists until the next one is written; neither it nor that of the steady part is averaged.
"""

import dataclasses
import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import torch
from torch import nn

from nmtkit.errors import ModelError, counted
from nmtkit.io.atomic_folder import atomic_folder
from nmtkit.io.checksums import CHECKSUM_KEY as STATE_CHECKSUM_KEY
from nmtkit.io.checksums import verify_checksum, with_checksum
from nmtkit.io.folder_files import read_regular, regular_file_sha256
from nmtkit.io.lines import file_sha256
from nmtkit.io.parameters import (
    CorruptFileError,
    Parameters,
    average_parameters,
    check_length,
    load_parameters,
    parameters_of,
    read_header,
    read_metadata,
    read_parameters,
    save_parameters,
)
from nmtkit.io.safe_json import parse_json
from nmtkit.io.sync import make_folder
from nmtkit.training.checkpoint_folder import (
    CHECKPOINTS,
    CheckpointKind,
    check_can_list,
    checkpoints_of,
    damaged_checkpoints,
    list_checkpoints,
    remove_checkpoint,
    remove_temporary_files,
    resumable_checkpoints,
    set_aside,
)
from nmtkit.training.optimizer_state import (
    CPU_GENERATOR,
    GENERATORS,
    check_optimizer_state,
    generator_states,
    optimizer_state,
    restore_generators,
    restore_optimizer,
)
from nmtkit.training.progress import Progress, parse_progress

log = logging.getLogger("nmtkit")

CHECKSUMMED_FILES = ("params.safetensors", "state.safetensors")

STATE_KEYS = {"progress", "optimizer", "sums", "interrupted", STATE_CHECKSUM_KEY}
"""Keys of a `state.json`."""

MAX_STATE_BYTES = 1 << 24
"""Maximum size of a `state.json`, which has about a hundred bytes for each parameter."""

_READ_ERRORS = (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError)
"""Errors that reading a damaged checkpoint may raise."""


def save_checkpoint(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    kind: CheckpointKind = CheckpointKind.VALIDATED,
) -> Path:
    """Write the checkpoint of `progress.updates` updates and return its folder.

    :raises OutputError: it cannot be written.
    """
    name = f"{progress.updates:08d}{kind.value}"
    target = folder / CHECKPOINTS / name
    make_folder(target.parent)
    steady = kind is CheckpointKind.STEADY
    replaced = checkpoints_of(folder, kind if steady else CheckpointKind.INTERRUPTED)
    tensors, numbers = optimizer_state(optimizer)
    tensors |= generator_states()
    with atomic_folder(target) as hidden:
        save_parameters(hidden / "params.safetensors", parameters_of(model), progress.updates)
        save_parameters(hidden / "state.safetensors", tensors)
        state = {
            "progress": dataclasses.asdict(progress),
            "optimizer": numbers,
            "interrupted": kind is CheckpointKind.INTERRUPTED,
            "sums": {name: file_sha256(hidden / name) for name in CHECKSUMMED_FILES},
        }
        text = json.dumps(with_checksum(state), indent=1)
        (hidden / "state.json").write_text(text, encoding="utf-8")
    for path in replaced:
        if path != target:
            remove_checkpoint(path)
    return target


def load_checkpoint(
    checkpoint: Path, model: nn.Module, optimizer: torch.optim.Optimizer
) -> Progress:
    """Load a checkpoint into a model, an optimizer and the random generators.

    :raises CorruptFileError: a file is missing or does not match its checksum.
    :raises ModelError: the checkpoint belongs to another model.
    """
    progress, generators = read_checkpoint(checkpoint, model, optimizer)
    restore_generators(generators)
    return progress


def read_checkpoint(
    checkpoint: Path, model: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[Progress, Parameters]:
    """Load a checkpoint into a model and an optimizer; return the random generators' states, too.

    :raises CorruptFileError: a file is missing or does not match its checksum.
    :raises ModelError: the checkpoint belongs to another model.
    """
    try:
        state = _read_state(checkpoint / "state.json")
        progress = parse_progress(state["progress"])
        _check_name(checkpoint, progress.updates, state.get("interrupted"))
        load_parameters(model, checkpoint / "params.safetensors")
        check_optimizer_state(checkpoint / "state.safetensors", optimizer)
        tensors = read_parameters(checkpoint / "state.safetensors")
        _check_checksums(checkpoint, state.get("sums", {}))  # last: the files may be endless
        names = [name for name in GENERATORS if name in tensors]
        generators = {name: tensors.pop(name) for name in names}
        torch.Generator().set_state(generators[CPU_GENERATOR])
        restore_optimizer(optimizer, tensors, state["optimizer"])
    except _READ_ERRORS as error:
        raise CorruptFileError(f"{checkpoint}: damaged checkpoint ({error})") from error
    return progress, generators


def verify_checkpoint(checkpoint: Path) -> Progress:
    """Compare a checkpoint with its checksums, without its model; return its progress.

    :raises CorruptFileError: a file is missing or does not match its checksum.
    """
    try:
        state = _read_state(checkpoint / "state.json")
        progress = parse_progress(state["progress"])
        _check_name(checkpoint, progress.updates, state.get("interrupted"))
        for name in CHECKSUMMED_FILES:
            read_header(checkpoint / name)
        _check_checksums(checkpoint, state.get("sums", {}))
    except _READ_ERRORS as error:
        raise CorruptFileError(f"{checkpoint}: damaged checkpoint ({error})") from error
    return progress


def _read_state(path: Path) -> dict[str, Any]:
    """Read a `state.json`.

    :raises ValueError: it is damaged; the message names it.
    """
    try:
        state: dict[str, Any] = parse_json(read_regular(path, MAX_STATE_BYTES).decode("utf-8"))
        verify_checksum(state)
        if not STATE_KEYS >= state.keys():  # a checksum whose key has changed is no missing one
            raise ValueError(f"unknown: {', '.join(sorted(state.keys() - STATE_KEYS))}")
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{path.name}: {error}") from error
    return state


def load_newest_checkpoint(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, average: int = 1
) -> Progress | None:
    """Load the newest undamaged checkpoint; return None if there is no checkpoint at all.

    Damaged checkpoints are logged and renamed, as are those whose next validation would average
    other checkpoints than it should.

    :param average: number of checkpoints that a validation averages.

    :raises ModelError: all checkpoints are damaged, or one belongs to another model.
    """
    check_can_list(folder)
    remove_temporary_files(folder)
    paths, damaged = resumable_checkpoints(folder), damaged_checkpoints(folder)
    for path in reversed(paths):
        try:
            progress = load_checkpoint(path, model, optimizer)
            _check_earlier(path, progress, average)
            return progress
        except CorruptFileError as error:
            log.warning("%s; trying the one before", error)
            set_aside(path)
    if paths or damaged:
        raise ModelError(
            f"{folder}: every checkpoint is damaged; restore one from a copy, or use --force to"
            " start again, or translate with params.best.safetensors if it can still be read"
        )
    return None


def average_with_checkpoints(folder: Path, current: Parameters, count: int) -> Parameters:
    """Return the mean of `current` and the parameters of the last `count` - 1 checkpoints."""
    earlier = list_checkpoints(folder)[1 - count :]
    if not earlier:
        return current
    mean, number = average_parameters(earlier), len(earlier)
    return {n: (mean[n] * number + value) / (number + 1) for n, value in current.items()}


def earlier_checksum(folder: Path, updates: int, average: int, kind: CheckpointKind) -> str:
    """Return the checksum of the checkpoints that the next validation after a checkpoint averages.

    :param updates: number of updates of that checkpoint, which is not among them.
    :param average: number of checkpoints that a validation averages, the current one counted.
    :param kind: that checkpoint's; without a validation it is never averaged.
    :return: "" if there are none.
    :raises CorruptFileError: one of them cannot be read.
    """
    count = average - 2 if kind is CheckpointKind.VALIDATED else average - 1
    paths = [path for path in list_checkpoints(folder) if int(path.name) < updates]
    chosen = paths[-count:] if count > 0 else []
    lines = [f"{path.name} {_parameters_checksum(path)}\n" for path in chosen]
    return hashlib.sha256("".join(lines).encode()).hexdigest() if lines else ""


def _parameters_checksum(checkpoint: Path) -> str:
    """Return the checksum that a checkpoint's parameters are compared with when they are read."""
    return read_metadata(checkpoint / "params.safetensors").sha256 or ""


def _check_earlier(checkpoint: Path, progress: Progress, average: int) -> None:
    """Raise CorruptFileError if checkpoints that are averaged later are missing or others."""
    folder = checkpoint.parents[1]
    kind = CheckpointKind(checkpoint.suffix)
    found = progress.earlier and earlier_checksum(folder, progress.updates, average, kind)
    if found != progress.earlier:
        raise CorruptFileError(
            f"{checkpoint}: cannot be resumed, as checkpoints before it have changed or are missing"
            " (training.average_checkpoints averages them)"
        )


def _check_name(checkpoint: Path, updates: int, interrupted: bool | None) -> None:
    """Raise ValueError if a checkpoint does not have the name that it was written under.

    :param interrupted: None in checkpoints of nmtkit 0.1.
    """
    number = checkpoint.stem
    is_interruption = checkpoint.suffix == CheckpointKind.INTERRUPTED.value
    if number.isdigit() and (int(number), is_interruption) != (
        updates,
        is_interruption if interrupted is None else interrupted,
    ):
        raise ValueError(f"it was written under another name, after {counted(updates, 'update')}")


def _check_checksums(checkpoint: Path, checksums: dict[str, str]) -> None:
    """Compare the files of a checkpoint with their checksums.

    :raises ValueError: a checksum differs.
    :raises CorruptFileError: a file has another length, which is checked before it is read.
    """
    for name in CHECKSUMMED_FILES:
        check_length(checkpoint / name)
    for name, checksum in checksums.items():
        if name in CHECKSUMMED_FILES and regular_file_sha256(checkpoint / name) != checksum:
            raise ValueError(f"the checksum of {name} differs")
