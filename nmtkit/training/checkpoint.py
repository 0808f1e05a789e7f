"""Checkpoints: parameters and everything else that a training needs to go on exactly.

    checkpoints/00012000/params.safetensors   the parameters by name
                         state.safetensors    the optimizer's tensors, the random generator
                         state.json           the place in training (`Progress`), the rest, and
                                              the SHA-256 of the other two
    checkpoints/00012345.interrupted/         the same, of a training that a signal has ended
    params.best.safetensors                   what validation chose, for use
    params.last.safetensors                   the same of the last validation

A checkpoint is written aside and renamed, and renamed before it is removed: a folder whose name
begins with a number is whole. One that a disk has damaged is found out by its sums and set aside as
`00012000.damaged`. The one of an interruption is there until the next: means are never of it.
"""

import dataclasses
import json
import logging
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nmtkit.data.batching import Position
from nmtkit.errors import DataError, ModelError
from nmtkit.io.lines import file_sha256
from nmtkit.io.parameters import (
    CorruptFileError,
    Parameters,
    load_parameters,
    parameters_of,
    read_header,
    read_parameters,
    tensor_spec,
    write_parameters,
)
from nmtkit.io.safe_json import parse_json, parse_natural
from nmtkit.parallel.process_group import ProcessGroup

log = logging.getLogger("nmtkit")

INTERRUPTED = ".interrupted"
DAMAGED = ".damaged"
UNFINISHED = (".config.toml.*", ".metrics.jsonl.*", ".params.*")
"""What files of a model folder are called while they are written."""

SUMMED = ("params.safetensors", "state.safetensors")

GENERATORS = ("random.cpu", "random.cuda")
"""What the states of random generators are called in a state."""

MOST_OF_GENERATOR = 100_000
"""Bytes of such a state; torch's have some five thousand."""

_FAULTS = (OSError, DataError, ValueError, KeyError, TypeError, AttributeError, RuntimeError)
"""What a description or state that is not what was written may raise."""


@dataclass(frozen=True)
class Progress:
    """Where a training stands.

    updates: done so far. position: of the next batch. decays: of the learning rate.
    best: the best dev figure, None before the first validation; lower is better (BLEU negated).
    best_cost: the lowest dev cost per token. stale: validations since `best`.
    stale_cost: validations since `best_cost`, or since the last decay.
    seconds: spent in updates and validations.
    skipped: updates that left the parameters as they were, as cost or gradient were not finite.
    skipped_in_a_row: of these, the last ones.
    """

    updates: int = 0
    position: Position = field(default_factory=Position)
    decays: int = 0
    best: float | None = None
    best_cost: float | None = None
    stale: int = 0
    stale_cost: int = 0
    seconds: float = 0.0
    skipped: int = 0
    skipped_in_a_row: int = 0


def save_checkpoint(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    interrupted: bool = False,
) -> Path:
    """Write the checkpoint of `progress.updates`; returns its folder.

    :param interrupted: it is not one of those that are due.
    """
    name = f"{progress.updates:08d}{INTERRUPTED if interrupted else ''}"
    target = folder / "checkpoints" / name
    aside = target.with_name(f".{target.name}.tmp")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    tensors, numbers = _optimizer_state(optimizer)
    tensors[GENERATORS[0]] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors[GENERATORS[1]] = torch.cuda.get_rng_state()
    write_parameters(aside / "params.safetensors", parameters_of(model))
    write_parameters(aside / "state.safetensors", tensors)
    state = {
        "progress": dataclasses.asdict(progress),
        "optimizer": numbers,
        "sums": {name: file_sha256(aside / name) for name in SUMMED},
    }
    _write_synced(aside / "state.json", json.dumps(state, indent=1).encode())
    before = _interruptions(folder)
    if target.exists():
        _remove(target)
    os.replace(aside, target)
    for path in before:
        if path != target:
            _remove(path)
    return target


def load_checkpoint(
    checkpoint: Path, model: nn.Module, optimizer: torch.optim.Optimizer
) -> Progress:
    """Put a checkpoint's state into model, optimizer and random generators.

    :raises Damaged: its files are not those that were written.
    :raises ModelError: it belongs to another model.
    """
    try:
        state = parse_json((checkpoint / "state.json").read_text(encoding="utf-8"))
        _check_sums(checkpoint, state.get("sums", {}))
        progress = _progress(state["progress"])
        load_parameters(model, checkpoint / "params.safetensors")
        _check_state(checkpoint / "state.safetensors", optimizer)
        tensors = read_parameters(checkpoint / "state.safetensors")
        torch.set_rng_state(tensors.pop(GENERATORS[0]))
        cuda = tensors.pop(GENERATORS[1], None)
        if cuda is not None and torch.cuda.is_available():
            torch.cuda.set_rng_state(cuda)
        _restore_optimizer(optimizer, tensors, state["optimizer"])
    except _FAULTS as error:
        raise CorruptFileError(f"{checkpoint}: damaged checkpoint ({error})") from error
    return progress


def load_newest(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer
) -> Progress | None:
    """Go back to the newest checkpoint that is sound; None where there is none at all.

    Damaged ones are told of and set aside under another name.

    :raises ModelError: all are damaged, or belong to another model.
    """
    _clean(folder)
    found = sorted([*checkpoints(folder), *_interruptions(folder)])
    for path in reversed(found):
        try:
            return load_checkpoint(path, model, optimizer)
        except CorruptFileError as error:
            log.warning("%s; going back to the one before", error)
            os.replace(path, path.with_name(f"{path.name}{DAMAGED}"))
    if found:
        raise ModelError(
            f"{folder}: no checkpoint is sound; use --force to start anew, or translate with"
            " params.best.safetensors, if that can still be read"
        )
    return None


def checkpoints(folder: Path) -> list[Path]:
    """The whole checkpoints of a model folder, oldest first."""
    found = (folder / "checkpoints").glob("[0-9]*")
    return sorted(path for path in found if path.name.isdigit())


def remove_old_checkpoints(folder: Path, keep: int) -> None:
    """Leave the last `keep` checkpoints."""
    for path in checkpoints(folder)[:-keep]:
        _remove(path)


def _interruptions(folder: Path) -> list[Path]:
    return sorted((folder / "checkpoints").glob(f"[0-9]*{INTERRUPTED}"))


def _remove(checkpoint: Path) -> None:
    """Remove a checkpoint, which is no checkpoint any more from the first moment on."""
    hidden = checkpoint.with_name(f".{checkpoint.name}.old")
    shutil.rmtree(hidden, ignore_errors=True)
    os.replace(checkpoint, hidden)
    shutil.rmtree(hidden)


def _clean(folder: Path) -> None:
    """Remove what a process that was killed has left half written or half removed."""
    for path in (folder / "checkpoints").glob(".*"):
        shutil.rmtree(path, ignore_errors=True)
    for pattern in UNFINISHED:
        for path in folder.glob(pattern):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _progress(table: dict[str, Any]) -> Progress:
    """:raises ValueError, TypeError, KeyError: the table is none of a progress."""
    position = Position(**table.pop("position"))
    progress = Progress(position=position, **table)
    for part in (position, progress):
        for field_ in dataclasses.fields(part):
            value = getattr(part, field_.name)
            if field_.type is int and not (type(value) is int and 0 <= value < 1 << 62):
                raise ValueError(f"{field_.name} is {value!r}")
            optional = field_.type == float | None
            if (field_.type is float or optional) and type(value) not in (float, int):
                if value is not None or not optional:
                    raise ValueError(f"{field_.name} is {value!r}")
    return progress


def _check_state(path: Path, optimizer: torch.optim.Optimizer) -> None:
    """See that a state fits the optimizer's parameters, before it is read.

    :raises ValueError: it does not.
    """
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for name, (dtype, shape) in read_header(path).items():
        if name in GENERATORS:
            fits = dtype == "U8" and len(shape) == 1 and shape[0] <= MOST_OF_GENERATOR
        else:
            index = parse_natural(name.partition(".")[0])
            if index is None or index >= len(parameters):
                raise ValueError(f"{path.name}: {name} is of no parameter")
            fits = (dtype, shape) in (tensor_spec(parameters[index]), ("F32", []))
        if not fits:
            raise ValueError(f"{path.name}: {name} is {dtype} {shape}")


def _check_sums(checkpoint: Path, sums: dict[str, str]) -> None:
    """:raises ValueError: a file is not what was written."""
    for name, written in sums.items():
        if name in SUMMED and file_sha256(checkpoint / name) != written:
            raise ValueError(f"the sum of {name} differs")


def _optimizer_state(optimizer: torch.optim.Optimizer) -> tuple[Parameters, dict[str, Any]]:
    """The optimizer's state as tensors by name ("3.exp_avg") and plain numbers beside them."""
    tensors: Parameters = {}
    numbers: dict[str, Any] = {}
    for index, values in optimizer.state_dict()["state"].items():
        for name, value in values.items():
            place = tensors if isinstance(value, Tensor) else numbers
            place[f"{index}.{name}"] = value
    return tensors, numbers


def _restore_optimizer(
    optimizer: torch.optim.Optimizer, tensors: Parameters, numbers: dict[str, Any]
) -> None:
    state = optimizer.state_dict()
    state["state"] = {}
    for key, value in [*tensors.items(), *numbers.items()]:
        index, _, name = key.partition(".")
        state["state"].setdefault(int(index), {})[name] = value
    optimizer.load_state_dict(state)


def share_optimizer(optimizer: torch.optim.Optimizer, process_group: ProcessGroup) -> None:
    """Give every rank the optimizer's state that rank 0 has read."""
    tensors, numbers = _optimizer_state(optimizer) if process_group.is_main else ({}, {})
    kinds = {name: (value.shape, value.dtype, value.device.type) for name, value in tensors.items()}
    numbers, kinds = process_group.broadcast(lambda: (numbers, kinds))
    if not process_group.is_main:
        tensors = {
            name: torch.empty(shape, dtype=dtype, device=device)
            for name, (shape, dtype, device) in kinds.items()
        }
    process_group.broadcast_parameters(tensors.values())
    if not process_group.is_main:
        _restore_optimizer(optimizer, tensors, numbers)


def _write_synced(path: Path, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
