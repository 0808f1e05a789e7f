"""Parameters in safetensors files, written atomically and checked before they are read.

The header of a file, with the types and shapes of its tensors, is compared with the model before
memory is allocated for tensors.
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

TensorSpecs = dict[str, tuple[str, list[int]]]
"""Type and shape of each tensor of a safetensors file, by name."""

DTYPE_NAMES = {torch.float32: "F32", torch.uint8: "U8"}
"""Names that safetensors files use for the types written by this module."""

MAX_HEADER_BYTES = 1 << 20
"""Maximum size of a file's header, which has about a hundred bytes for each tensor."""

MAX_NAMES_SHOWN = 10
"""Maximum number of parameters that a message names."""


class CorruptFileError(ModelError):
    """An unreadable file of parameters, or a checkpoint whose content has changed."""


def average_parameters(paths: list[Path]) -> Parameters:
    """Return the mean of the parameters of several checkpoints."""
    total = read_parameters(paths[0] / "params.safetensors")
    for path in paths[1:]:
        for name, value in read_parameters(path / "params.safetensors").items():
            total[name] += value
    return {name: value / len(paths) for name, value in total.items()}


def parameters_of(model: nn.Module) -> Parameters:
    """Return the parameters by name, on the CPU; without a copy if they are on the CPU."""
    return {name: value.detach().cpu() for name, value in model.named_parameters()}


def write_parameters(path: Path, tensors: Parameters) -> None:
    """Write a safetensors file atomically; an existing one is replaced.

    :raises OutputError: the file cannot be written.
    """
    try:
        with atomic_path(path, force=True) as hidden:
            save_file({name: value.contiguous() for name, value in tensors.items()}, hidden)
    except (OSError, SafetensorError) as error:
        raise OutputError(f"{path}: cannot be written: {error}") from error


def read_parameters(path: Path) -> Parameters:
    """Read the parameters of a file.

    :raises CorruptFileError: the file is missing, or not a complete safetensors file.
    """
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise CorruptFileError(f"{path}: cannot be read as parameters ({error})") from error


def read_header(path: Path) -> TensorSpecs:
    """Read only the types and shapes in the header of a safetensors file.

    The data may still be incomplete, which `read_parameters` detects.

    :raises CorruptFileError: the file is missing, or has no valid header.
    """
    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > MAX_HEADER_BYTES:
                raise ValueError(f"its header would have {length:,} bytes")
            head = parse_json(file.read(length).decode("utf-8"))
        parts = {name: part for name, part in head.items() if name != "__metadata__"}
        return {name: (part["dtype"], part["shape"]) for name, part in parts.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptFileError(f"{path}: cannot be read as parameters ({error})") from error


def tensor_spec(tensor: Tensor) -> tuple[str, list[int]]:
    """Return the type and shape of a tensor as in a safetensors header."""
    return DTYPE_NAMES.get(tensor.dtype, str(tensor.dtype)), list(tensor.shape)


def _check_header(path: Path, actual: TensorSpecs, expected: TensorSpecs) -> None:
    """Raise ModelError if the tensors of a file are not those of a model."""
    if actual.keys() != expected.keys():
        names = sorted(actual.keys() ^ expected.keys())
        shown = ", ".join(names[:MAX_NAMES_SHOWN]) + (
            ", ..." if len(names) > MAX_NAMES_SHOWN else ""
        )
        raise ModelError(f"{path}: does not belong to this model's config.toml; differing: {shown}")
    for name, (dtype, shape) in actual.items():
        if (dtype, shape) != expected[name]:
            raise ModelError(
                f"{path}: {name} is {dtype} {shape}, but config.toml and the vocabularies need"
                f" {expected[name][0]} {expected[name][1]}; they do not belong together"
            )


def _is_finite(value: Tensor) -> bool:
    """Return whether all values are finite; checking the sum first is faster."""
    return bool(value.sum().isfinite()) or bool(value.isfinite().all())


def load_parameters(model: nn.Module, path: Path) -> None:
    """Load a file's parameters into a model; a model on the device "meta" moves to the CPU.

    The parameters are copied: tensors of a mapped file are seldom aligned to 64 bytes, and matrix
    products with them take up to 8 % longer.

    :raises ModelError: names, shapes or types differ from the model's, which is checked before
        tensors are read; or a value is not finite.
    """
    parameters = dict(model.named_parameters())
    _check_header(
        path, read_header(path), {name: tensor_spec(parameters[name]) for name in parameters}
    )
    tensors = read_parameters(path)
    for name, value in tensors.items():
        if not _is_finite(value):
            raise ModelError(
                f"{path}: {name} has values that are not finite: the file is damaged, or training"
                " diverged; use other parameters"
            )
    if any(parameter.is_meta for parameter in parameters.values()):
        copies = {name: value.clone() for name, value in tensors.items()}
        model.load_state_dict(copies, assign=True)
        return
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[name])
