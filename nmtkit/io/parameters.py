"""Files of parameters: safetensors, written whole, looked at before they are read.

What a file says that it holds is compared with the model before any memory is taken for it.
"""

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from nmtkit.errors import ModelError, OutputError
from nmtkit.io.atomic import atomic_path
from nmtkit.io.safe_json import parse_json

Parameters = dict[str, Tensor]

Description = dict[str, tuple[str, list[int]]]
"""Type and shape of each tensor of a safetensors file, by its name."""

DTYPES = {torch.float32: "F32", torch.uint8: "U8"}
"""What a safetensors file calls the types of tensors that are written here."""

MOST_OF_HEAD = 1 << 20
"""Bytes of the head of a safetensors file, which has some hundred for each tensor."""

NAMED = 10
"""Names that a message tells at most."""


class CorruptFileError(ModelError):
    """A file of parameters that cannot be read, or a checkpoint that is not what was written."""


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
    """Write a safetensors file that appears whole or not at all.

    :raises OutputError: it cannot be written.
    """
    try:
        with atomic_path(path, force=True) as hidden:
            save_file({name: value.contiguous() for name, value in tensors.items()}, hidden)
    except (OSError, SafetensorError) as error:
        raise OutputError(f"{path}: cannot be written: {error}") from error


def read_parameters(path: Path) -> Parameters:
    """:raises Damaged: the file is missing or not a whole safetensors file."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise CorruptFileError(f"{path}: cannot be read as parameters ({error})") from error


def described(path: Path) -> Description:
    """What a safetensors file says that it holds; no more of it is read or mapped.

    Whether it holds that is seen when it is read.

    :raises Damaged: the file is missing, or does not begin as such a file.
    """
    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > MOST_OF_HEAD:
                raise ValueError(f"its head would have {length:,} bytes")
            head = parse_json(file.read(length).decode("utf-8"))
        parts = {name: part for name, part in head.items() if name != "__metadata__"}
        return {name: (part["dtype"], part["shape"]) for name, part in parts.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptFileError(f"{path}: cannot be read as parameters ({error})") from error


def like(tensor: Tensor) -> tuple[str, list[int]]:
    """How a tensor is described in a safetensors file."""
    return DTYPES.get(tensor.dtype, str(tensor.dtype)), list(tensor.shape)


def _check_described(path: Path, found: Description, wanted: Description) -> None:
    """:raises ModelError: they are not the same."""
    if found.keys() != wanted.keys():
        names = sorted(found.keys() ^ wanted.keys())
        told = ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
        raise ModelError(f"{path}: does not belong to this model's config.toml; differing: {told}")
    for name, (dtype, shape) in found.items():
        if (dtype, shape) != wanted[name]:
            raise ModelError(
                f"{path}: {name} is {dtype} {shape}, config.toml and vocabularies ask for"
                f" {wanted[name][0]} {wanted[name][1]}; they do not belong together"
            )


def _is_finite(value: Tensor) -> bool:
    """Whether all of its values are numbers; their sum tells, unless it is too large itself."""
    return bool(value.sum().isfinite()) or bool(value.isfinite().all())


def load_parameters(model: nn.Module, path: Path) -> None:
    """Put a file's parameters into a model; one on the device "meta" comes to be on the CPU.

    They are copied: where a file is only mapped, they seldom begin at a multiple of 64 bytes, and
    products take up to 8 % longer.

    :raises ModelError: names, shapes or types are not the model's, which is found out before
        anything is read; or a value is no number.
    """
    wanted = dict(model.named_parameters())
    _check_described(path, described(path), {name: like(wanted[name]) for name in wanted})
    tensors = read_parameters(path)
    for name, value in tensors.items():
        if not _is_finite(value):
            raise ModelError(
                f"{path}: {name} has values that are no numbers: the file is damaged, or training"
                " diverged; use other parameters"
            )
    if any(parameter.is_meta for parameter in wanted.values()):
        own = {name: value.clone() for name, value in tensors.items()}
        model.load_state_dict(own, assign=True)
        return
    with torch.no_grad():
        for name, parameter in wanted.items():
            parameter.copy_(tensors[name])
