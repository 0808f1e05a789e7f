"""Checkpoints: parameters and everything else that a training needs to go on exactly.

    checkpoints/00012000/params.safetensors   the parameters by name
                         state.safetensors    the optimizer's tensors, the random generator
                         state.json           the place in training (`Progress`) and the rest
    params.best.safetensors                   what validation chose, for use
    params.last.safetensors                   the same of the last validation

A checkpoint is written aside and renamed: a folder with a number for a name is whole.
"""

import dataclasses
import json
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from nmtkit.data.batching import Position
from nmtkit.errors import ModelError

Parameters = dict[str, Tensor]


@dataclass(frozen=True)
class Progress:
    """Where a training stands.

    updates: done so far. position: of the next batch. decays: of the learning rate.
    best: the best dev figure, None before the first validation; lower is better (BLEU negated).
    best_cost: the lowest dev cost per token. stale: validations since `best`.
    stale_cost: validations since `best_cost`, or since the last decay.
    seconds: spent in updates and validations.
    """

    updates: int = 0
    position: Position = field(default_factory=Position)
    decays: int = 0
    best: float | None = None
    best_cost: float | None = None
    stale: int = 0
    stale_cost: int = 0
    seconds: float = 0.0


def save_checkpoint(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress
) -> Path:
    """Write the checkpoint of `progress.updates`; returns its folder."""
    target = folder / "checkpoints" / f"{progress.updates:08d}"
    aside = target.with_name(f".{target.name}.tmp")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    tensors, numbers = _optimizer_state(optimizer)
    tensors["random.cpu"] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors["random.cuda"] = torch.cuda.get_rng_state()
    write_parameters(aside / "params.safetensors", parameters_of(model))
    write_parameters(aside / "state.safetensors", tensors)
    state = {"progress": dataclasses.asdict(progress), "optimizer": numbers}
    _write_synced(aside / "state.json", json.dumps(state, indent=1).encode())
    if target.exists():
        shutil.rmtree(target)
    os.replace(aside, target)
    return target


def load_checkpoint(
    checkpoint: Path, model: nn.Module, optimizer: torch.optim.Optimizer
) -> Progress:
    """Put a checkpoint's state into model, optimizer and random generators.

    :raises ModelError: it is damaged or belongs to another model.
    """
    load_parameters(model, checkpoint / "params.safetensors")
    tensors = read_parameters(checkpoint / "state.safetensors")
    try:
        state = json.loads((checkpoint / "state.json").read_text(encoding="utf-8"))
        position = Position(**state["progress"].pop("position"))
        progress = Progress(position=position, **state["progress"])
        torch.set_rng_state(tensors.pop("random.cpu"))
        cuda = tensors.pop("random.cuda", None)
        if cuda is not None and torch.cuda.is_available():
            torch.cuda.set_rng_state(cuda)
        _restore_optimizer(optimizer, tensors, state["optimizer"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{checkpoint}: damaged checkpoint ({error}); remove it") from error
    return progress


def checkpoints(folder: Path) -> list[Path]:
    """The whole checkpoints of a model folder, oldest first."""
    found = (folder / "checkpoints").glob("[0-9]*")
    return sorted(path for path in found if path.name.isdigit())


def remove_old_checkpoints(folder: Path, keep: int) -> None:
    """Leave the last `keep` checkpoints."""
    for path in checkpoints(folder)[:-keep]:
        shutil.rmtree(path)


def average_parameters(paths: list[Path]) -> Parameters:
    """The mean of the parameters of several checkpoints."""
    total = read_parameters(paths[0] / "params.safetensors")
    for path in paths[1:]:
        for name, value in read_parameters(path / "params.safetensors").items():
            total[name] += value
    return {name: value / len(paths) for name, value in total.items()}


def parameters_of(model: nn.Module) -> Parameters:
    """The parameters by name, on the CPU, not copied where they are there already."""
    return {name: value.detach().cpu() for name, value in model.named_parameters()}


def write_parameters(path: Path, tensors: Parameters) -> None:
    """Write a safetensors file that appears whole or not at all."""
    aside = path.with_name(f".{path.name}.tmp")
    save_file({name: value.contiguous() for name, value in tensors.items()}, aside)
    with open(aside, "rb") as file:
        os.fsync(file.fileno())
    os.replace(aside, path)


def read_parameters(path: Path) -> Parameters:
    """:raises ModelError: the file is missing or not a whole safetensors file."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: cannot be read as parameters ({error})") from error


def load_parameters(model: nn.Module, path: Path) -> None:
    """Put a file's parameters into a model; one on the device "meta" comes to be on the CPU.

    They are copied: where a file is only mapped, they seldom begin at a multiple of 64 bytes, and
    products take up to 8 % longer.

    :raises ModelError: names, shapes or types are not the model's.
    """
    tensors = read_parameters(path)
    wanted = dict(model.named_parameters())
    if tensors.keys() != wanted.keys():
        names = ", ".join(sorted(tensors.keys() ^ wanted.keys()))
        raise ModelError(f"{path}: does not belong to this model's config; differing: {names}")
    for name, value in tensors.items():
        if value.shape != wanted[name].shape or value.dtype != wanted[name].dtype:
            raise ModelError(
                f"{path}: {name} is {value.dtype} {list(value.shape)}, the config asks for "
                f"{wanted[name].dtype} {list(wanted[name].shape)}"
            )
    if any(parameter.is_meta for parameter in wanted.values()):
        own = {name: value.clone() for name, value in tensors.items()}
        model.load_state_dict(own, assign=True)
        return
    with torch.no_grad():
        for name, parameter in wanted.items():
            parameter.copy_(tensors[name])


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


def _write_synced(path: Path, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
