r"""Parameters in safetensors files, written atomically and checked when they are read.

The header of a file, with the types and shapes of its tensors, is compared with the model before
memory is allocated for tensors. Its metadata holds a checksum of all tensors:

    "__metadata__": {"nmtkit": "{\"sha256\": \"...\", \"update\": 12000}"}

(one key, because safetensors writes several in an order that changes from run to run). It is the
SHA-256 of the SHA-256 of each tensor (name, type, shape and bytes), in the order of names. So a
file carries its checksum with it, and both change in one step. The update is that of the training
after which the parameters were written. Files of nmtkit 0.1 have no checksum, and are accepted.
The files are read, not mapped: a file that shrinks or a disk that fails while a mapped file is used
would end the process with a signal.
"""

import errno
import hashlib
import json
import math
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor, nn

from nmtkit.errors import ModelError, OutputError
from nmtkit.io.atomic import atomic_path
from nmtkit.io.folder_files import open_regular
from nmtkit.io.safe_json import parse_json

Parameters = dict[str, Tensor]

TensorSpecs = dict[str, tuple[str, list[int]]]
"""Type and shape of each tensor of a safetensors file, by name."""

DTYPE_NAMES = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64", torch.uint8: "U8"}
"""Names in safetensors files of the types that this module reads."""

_DTYPES = {name: dtype for dtype, name in DTYPE_NAMES.items()}

METADATA_KEY = "nmtkit"
"""Key in the metadata of a file."""

_METADATA_KEYS = {METADATA_KEY, "format"}
"""Keys that the metadata of a file may have; other programs write "format"."""

CHECKSUM_KEY, UPDATE_KEY = "sha256", "update"
"""Keys of the checksum of all tensors, and of the number of the update."""

MAX_HEADER_BYTES = 1 << 20
"""Maximum size of a file's header, which has about a hundred bytes for each tensor."""

_READ_ERRORS = (OSError, ValueError, TypeError, OverflowError, RuntimeError)
"""Errors that a damaged file may raise; torch raises RuntimeError for shapes beyond memory."""

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


def write_parameters(path: Path, tensors: Parameters, update: int | None = None) -> str:
    """Write a safetensors file atomically, with a checksum; an existing one is replaced.

    :param update: number of the update of the training, to be written too.
    :return: the checksum of the tensors.
    :raises OutputError: the file cannot be written.
    """
    try:
        with atomic_path(path, force=True) as hidden:
            return save_parameters(hidden, tensors, update)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error}") from error


def save_parameters(path: Path, tensors: Parameters, update: int | None = None) -> str:
    """Write a safetensors file with a checksum into a folder that is itself written atomically.

    :return: the checksum of the tensors.
    :raises OSError: the file cannot be written.
    """
    contiguous = {name: value.cpu().contiguous() for name, value in tensors.items()}
    checksum = tensors_sha256(contiguous)
    metadata: dict[str, object] = {CHECKSUM_KEY: checksum}
    metadata |= {} if update is None else {UPDATE_KEY: update}
    path.touch()
    mode = path.stat().st_mode  # of the user's umask; safetensors lets only the owner read
    try:
        save_file(contiguous, path, {METADATA_KEY: json.dumps(metadata)})
    except SafetensorError as error:
        raise OSError(errno.EIO, str(error), str(path)) from error
    path.chmod(mode)
    return checksum


def tensors_sha256(tensors: Mapping[str, Tensor]) -> str:
    """Return the checksum of contiguous tensors that files have in their metadata."""
    sums = {name: _tensor_sha256(name, value) for name, value in tensors.items()}
    return hashlib.sha256(b"".join(sums[name] for name in sorted(sums))).hexdigest()


def _tensor_sha256(name: str, value: Tensor) -> bytes:
    dtype, shape = tensor_spec(value)
    digest = hashlib.sha256(f"{name} {dtype} {shape}\n".encode())
    digest.update(_bytes_of(value))
    return digest.digest()


def _bytes_of(tensor: Tensor) -> memoryview:
    """Return the memory of a contiguous tensor on the CPU as writable bytes."""
    memory: memoryview = tensor.detach().view(-1).view(torch.uint8).numpy().data
    return memory


class FileMetadata(NamedTuple):
    """What a file of parameters says of them.

    sha256: checksum of the tensors; None in files of nmtkit 0.1 and other programs.
    update: number of the training's update after which they were written; 0 if it is unknown.
    """

    sha256: str | None = None
    update: int = 0


class _Header(NamedTuple):
    """Header of a safetensors file.

    specs: type and shape by name. offsets: first byte and end of each tensor, by name.
    start: position in the file of the first tensor.
    """

    specs: TensorSpecs
    offsets: dict[str, tuple[int, int]]
    start: int
    metadata: FileMetadata


def read_parameters(path: Path) -> Parameters:
    """Read the parameters of a file.

    :raises CorruptFileError: the file is missing, not a complete safetensors file, or does not
        match its checksum.
    """
    return read_with_metadata(path)[0]


def read_with_metadata(
    path: Path, expected: TensorSpecs | None = None
) -> tuple[Parameters, FileMetadata]:
    """Read the parameters of a file, and what it says of them; their checksum is never missing.

    :param expected: types and shapes by name that the file must have, checked before tensors are
        read; None: any.
    :raises ModelError: the file has other parameters than expected.
    :raises CorruptFileError: see `read_parameters`.
    """
    try:
        with open_regular(path) as file:
            header = _parse_header(file)
            if expected is not None:
                _check_specs(path, header.specs, expected)
            tensors = _read_tensors(file, header)
    except _READ_ERRORS as error:
        raise CorruptFileError(
            f"{path}: cannot be read as parameters ({error}); restore it from a copy"
        ) from error
    checksum = tensors_sha256(tensors)
    if header.metadata.sha256 not in (None, checksum):
        raise CorruptFileError(
            f"{path}: damaged: its parameters do not match their checksum; restore it from a copy"
        )
    return tensors, header.metadata._replace(sha256=checksum)


def read_header(path: Path) -> TensorSpecs:
    """Read only the types and shapes in the header of a safetensors file.

    :raises CorruptFileError: the file is missing, or has no valid header.
    """
    return _read_header(path)[0].specs


def read_metadata(path: Path) -> FileMetadata:
    """Read what a file says of its parameters, without reading them.

    :raises CorruptFileError: the file is missing, or has no valid header.
    """
    return _read_header(path)[0].metadata


def parameters_sha256(path: Path) -> str:
    """Return the checksum of a file's parameters, which are read only if it does not hold it.

    :raises CorruptFileError: the file is missing or damaged.
    """
    checksum = read_metadata(path).sha256
    return tensors_sha256(read_parameters(path)) if checksum is None else checksum


def check_length(path: Path) -> None:
    """Check that a safetensors file ends where its last tensor does, without reading tensors.

    :raises CorruptFileError: the file is missing, has no valid header, or another length.
    """
    header, size = _read_header(path)
    ends = [end for _, end in header.offsets.values()]
    if size not in (ends or [0]) or any(end > size for end in ends):
        raise CorruptFileError(f"{path}: damaged: its length is not that of its parameters")


def _read_header(path: Path) -> tuple[_Header, int]:
    """Read the header of a safetensors file; return it and the number of bytes after it.

    :raises CorruptFileError: the file is missing, or has no valid header.
    """
    try:
        with open_regular(path) as file:
            header = _parse_header(file)
            return header, file.seek(0, 2) - header.start
    except (OSError, ValueError) as error:
        raise CorruptFileError(f"{path}: cannot be read as parameters ({error})") from error


def _parse_header(file: BufferedReader) -> _Header:
    """Parse the header at the beginning of a safetensors file.

    :raises ValueError: there is no valid header.
    """
    length = int.from_bytes(file.read(8), "little")
    if length > MAX_HEADER_BYTES:
        raise ValueError(f"its header would have {length:,} bytes")
    try:
        head = parse_json(file.read(length).decode("utf-8"))
        texts = head.pop("__metadata__", {})
        metadata = dict(parse_json(texts.get(METADATA_KEY, "{}")))
        specs = {name: (part["dtype"], part["shape"]) for name, part in head.items()}
        offsets = {name: tuple(part["data_offsets"]) for name, part in head.items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"invalid header: {error}") from error
    # a checksum whose key has changed is no missing one
    unknown = (texts.keys() - _METADATA_KEYS) | (metadata.keys() - {CHECKSUM_KEY, UPDATE_KEY})
    if unknown:
        raise ValueError(f"unknown metadata: {', '.join(sorted(unknown))}")
    return _Header(specs, offsets, 8 + length, _metadata_of(metadata))


def _metadata_of(table: dict[str, Any]) -> FileMetadata:
    """Return the metadata of a file.

    :raises ValueError: a value is of another type.
    """
    checksum, update = table.get(CHECKSUM_KEY), table.get(UPDATE_KEY, 0)
    if not isinstance(checksum, str | None) or type(update) is not int or update < 0:
        raise ValueError(f"invalid metadata: {table}")
    return FileMetadata(checksum, update)


def _read_tensors(file: BufferedReader, header: _Header) -> Parameters:
    """Read all tensors of a file whose position is at the end of its header.

    :raises ValueError: the tensors do not fill the file, one after another.
    """
    size = file.seek(0, 2) - header.start
    file.seek(header.start)
    tensors, position = {}, 0
    for name, (begin, end) in sorted(header.offsets.items(), key=lambda item: item[1]):
        count = _byte_count(*header.specs[name])
        if (begin, end) != (position, position + count) or end > size:
            raise ValueError(f"the bytes of {name} are not those of its type and shape")
        dtype, shape = header.specs[name]
        tensors[name] = torch.empty(shape, dtype=_DTYPES[dtype])
        _fill(_bytes_of(tensors[name]), file)
        position = end
    if position != size:
        raise ValueError(f"it has {size - position:,} bytes that belong to no parameter")
    return tensors


def _byte_count(dtype: Any, shape: Any) -> int:
    """Return the number of bytes of a tensor with a type and shape from a header.

    :raises ValueError: they are not valid, or the type is not one that nmtkit uses.
    """
    if dtype not in _DTYPES:
        raise ValueError(f"the type {dtype!r} is not supported")
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"the shape {shape!r} is not valid")
    return math.prod(shape) * _DTYPES[dtype].itemsize


def _fill(memory: memoryview, file: BufferedReader) -> None:
    """Fill memory from a file.

    :raises ValueError: the file ends before.
    """
    position = 0
    while position < len(memory):
        count = file.readinto(memory[position:])
        if not count:
            raise ValueError("it has been cut short")
        position += count


def tensor_spec(tensor: Tensor) -> tuple[str, list[int]]:
    """Return the type and shape of a tensor as in a safetensors header."""
    return DTYPE_NAMES.get(tensor.dtype, str(tensor.dtype)), list(tensor.shape)


def _check_specs(path: Path, actual: TensorSpecs, expected: TensorSpecs) -> None:
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


def load_parameters(model: nn.Module, path: Path) -> FileMetadata:
    """Load a file's parameters into a model; a model on the device "meta" moves to the CPU.

    :return: what the file says of them; their checksum is never missing.
    :raises ModelError: names, shapes or types differ from the model's, which is checked before
        tensors are read; or a value is not finite.
    :raises CorruptFileError: as `read_parameters`.
    """
    parameters = dict(model.named_parameters())
    expected = {name: tensor_spec(value) for name, value in parameters.items()}
    tensors, metadata = read_with_metadata(path, expected)
    for name, value in tensors.items():
        if not _is_finite(value):
            raise ModelError(
                f"{path}: {name} has values that are not finite: the file is damaged, or training"
                " diverged; use other parameters"
            )
    if any(parameter.is_meta for parameter in parameters.values()):
        model.load_state_dict(tensors, assign=True)
    else:
        copy_parameters(model, tensors)
    return metadata


def copy_parameters(model: nn.Module, tensors: Parameters) -> None:
    """Overwrite a model's parameters by tensors of the same names and shapes."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[name])
