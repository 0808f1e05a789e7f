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
import enum
import hashlib
import itertools
import json
import logging
import os
import shutil
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
from nmtkit.io.sync import make_folder, sync_folder
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

CHECKPOINTS = "checkpoints"
"""Folder of the checkpoints in a model folder."""


class CheckpointKind(enum.Enum):
    """Why a checkpoint was saved; the value is the end of its name.

    VALIDATED: after a validation. INTERRUPTED: because of a stop signal. STEADY: before the
    learning rate cools down because of a time limit.
    """

    VALIDATED = ""
    INTERRUPTED = ".interrupted"
    STEADY = ".steady"


DAMAGED_SUFFIX = ".damaged"
TEMPORARY_FILES = (".config.toml.*", ".metrics.jsonl.*", ".params.*")
"""Patterns of the hidden names that files of a model folder have while they are written."""

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
    replaced = _checkpoints_of(folder, kind if steady else CheckpointKind.INTERRUPTED)
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
            _remove(path)
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


def has_checkpoints(folder: Path) -> bool:
    """Return whether a model folder has a checkpoint, damaged or not."""
    return any(not path.name.startswith(".") for path in _checkpoint_files(folder))


def load_newest_checkpoint(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, average: int = 1
) -> Progress | None:
    """Load the newest undamaged checkpoint; return None if there is no checkpoint at all.

    Damaged checkpoints are logged and renamed, as are those whose next validation would average
    other checkpoints than it should.

    :param average: number of checkpoints that a validation averages.

    :raises ModelError: all checkpoints are damaged, or one belongs to another model.
    """
    _check_checkpoints_folder(folder / CHECKPOINTS)
    _remove_temporary_files(folder)
    paths = resumable_checkpoints(folder)
    damaged = [path for path in _checkpoint_files(folder) if DAMAGED_SUFFIX in path.name]
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


def _check_checkpoints_folder(checkpoints: Path) -> None:
    """Raise ModelError if the folder of checkpoints exists, but cannot be listed.

    A training would start from the beginning, and replace the parameters that are there.
    """
    try:
        os.listdir(checkpoints)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise ModelError(f"{checkpoints}: cannot be read: {error.strerror}") from error


def set_aside(checkpoint: Path) -> None:
    """Rename a damaged checkpoint, so that nothing reads it again."""
    os.replace(checkpoint, _damaged_name(checkpoint))


def _damaged_name(checkpoint: Path) -> Path:
    """Return a new name for a damaged checkpoint; there may be several of the same update."""
    name = f"{checkpoint.name}{DAMAGED_SUFFIX}"
    names = itertools.chain([name], (f"{name}{number}" for number in itertools.count(2)))
    return next(path for path in map(checkpoint.with_name, names) if not os.path.lexists(path))


def list_checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints of a model folder, oldest first, without those of interruptions."""
    return _checkpoints_of(folder, CheckpointKind.VALIDATED)


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


def remove_old_checkpoints(folder: Path, keep: int) -> None:
    """Remove all but the last `keep` checkpoints."""
    for path in list_checkpoints(folder)[:-keep]:
        _remove(path)


def remove_later_checkpoints(folder: Path, updates: int) -> None:
    """Remove the checkpoints of later updates, oldest first, but not that of the steady part."""
    for path in resumable_checkpoints(folder):
        if int(path.stem) > updates:
            _remove(path)


def resumable_checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints that the same command resumes from, oldest first: not the steady."""
    return _checkpoints_of(folder, CheckpointKind.VALIDATED, CheckpointKind.INTERRUPTED)


def is_interrupted(folder: Path) -> bool:
    """Return whether the newest checkpoint was saved without a validation."""
    newest = resumable_checkpoints(folder)[-1:]
    return any(path.suffix == CheckpointKind.INTERRUPTED.value for path in newest)


def steady_checkpoint(folder: Path) -> Path | None:
    """Return the checkpoint that was saved before the learning rate cooled down, or None."""
    return next(reversed(_checkpoints_of(folder, CheckpointKind.STEADY)), None)


def _checkpoints_of(folder: Path, *kinds: CheckpointKind) -> list[Path]:
    """Return the checkpoints of some kinds, oldest first."""
    suffixes = [kind.value for kind in kinds]
    paths = _checkpoint_files(folder)
    return [path for path in paths if path.suffix in suffixes and path.stem.isdigit()]


def _checkpoint_files(folder: Path) -> list[Path]:
    """Return all that is in a model folder's `checkpoints`, sorted by name.

    :raises OSError: it cannot be listed. (`Path.glob` would find nothing there, and a training
        would begin anew, or average other checkpoints.)
    """
    try:
        return sorted((folder / CHECKPOINTS).iterdir())
    except FileNotFoundError:
        return []


def _remove(checkpoint: Path) -> None:
    """Rename a checkpoint, then remove it, so that no incomplete checkpoint is ever visible."""
    hidden = checkpoint.with_name(f".{checkpoint.name}.old")
    shutil.rmtree(hidden, ignore_errors=True)
    os.replace(checkpoint, hidden)
    sync_folder(checkpoint.parent)  # else the files could be gone before the name after a power cut
    if hidden.is_dir():
        shutil.rmtree(hidden)
    else:
        hidden.unlink()


def _remove_temporary_files(folder: Path) -> None:
    """Remove files that a killed process left half written or half removed."""
    for path in _checkpoint_files(folder):
        if path.name.startswith("."):
            shutil.rmtree(path, ignore_errors=True)
    for pattern in TEMPORARY_FILES:
        for path in folder.glob(pattern):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


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
