"""Model folders: everything needed to use a trained model.

config.toml                 all settings; `format` is the version of the layout
vocab.src vocab.tgt         the shortlists, one word per line
bpe.src bpe.tgt             BPE merges, if the text is split into subwords
params.best.safetensors     the best parameters on the dev set; params.last: those of the last
                            validation
metrics.jsonl checkpoints/  metrics of the training, and checkpoints to resume it from
origin.json                 command, versions and data of the training (`training/provenance.py`)

A folder may come from an untrusted source. Its files are checked before they are read: only regular
files inside the folder, of plausible sizes, are opened; of a parameter file only the header is read
until names, types and shapes are known to fit the model.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from nmtkit.config import FORMAT, READABLE_FORMATS, Config, parse_config
from nmtkit.config_io import read_toml, write_toml
from nmtkit.errors import ConfigError, ModelError
from nmtkit.extras import installed_from
from nmtkit.io.atomic import atomic_folder
from nmtkit.io.lines import open_output
from nmtkit.io.parameters import load_parameters
from nmtkit.models import MODELS, Model, model_name
from nmtkit.models.base import TranslationModel
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text.subword import METHODS, method_of
from nmtkit.text.vocabulary import Vocabulary

PROVENANCE_FILE = "origin.json"
"""File that records how a model was trained (`training/provenance.py`)."""

MIB = 1 << 20
MAX_FILE_BYTES = {"config.toml": MIB, "vocab.src": 64 * MIB, "vocab.tgt": 64 * MIB}
MAX_FILE_BYTES |= {f"{name}.{side}": 64 * MIB for name in METHODS for side in ("src", "tgt")}
"""Maximum sizes of text files in a model folder; a vocabulary of a million words has 20 MiB."""

MAX_LINES = 2_000_000
"""Maximum number of lines of such a file: short lines take much more memory than bytes on disk."""


@dataclass(frozen=True)
class LoadedModel:
    """A model for inference, with its vocabularies and text pipelines.

    path: file that the parameters were read from, or None for a model in memory.
    """

    model: TranslationModel
    config: Config
    src_vocab: Vocabulary
    tgt_vocab: Vocabulary
    src_text: TextPipeline
    tgt_text: TextPipeline
    device: torch.device
    path: Path | None = None


def find_device(name: str) -> torch.device:
    """Return the device for the name "auto", "cpu" or "cuda".

    :raises ConfigError: the name is "cuda" and there is no CUDA device.
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError("--device cuda: torch finds no CUDA device here; use --device cpu")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def read_config(folder: Path) -> Config:
    """Read the settings of a model folder.

    :raises ModelError: it is not a model folder, has an unknown format, or has a file that is too
        large or not a regular file of the folder.
    """
    path = folder / "config.toml"
    if not path.exists():
        raise ModelError(f"{folder}: no config.toml; is this a folder that 'nmtkit train' made?")
    for name, max_bytes in MAX_FILE_BYTES.items():
        _check_file(folder, folder / name, max_bytes)
    table = read_toml(path)
    _check_format(table.get("format"), path)
    return parse_config(table, str(path))


def _check_format(version: object, path: Path) -> None:
    """Raise ModelError unless this version of nmtkit can read a format of model folders."""
    readable = " and ".join(map(str, READABLE_FORMATS))
    if type(version) is int and version > FORMAT:
        raise ModelError(
            f"{path}: format {version} was written by a later nmtkit, this one reads {readable};"
            f" install a newer nmtkit from where you got this one ({installed_from() or 'unknown'})"
        )
    if type(version) is not int or version not in READABLE_FORMATS:
        raise ModelError(
            f"{path}: format {version!r}, this nmtkit reads {readable}; use the version that wrote"
            " it"
        )


def _check_file(folder: Path, path: Path, max_bytes: int | None = None) -> None:
    """Check that a file, if it exists, is a regular file in the folder and not too large.

    :param max_bytes: maximum size; None: no limit.
    :raises ModelError: the file is not regular, is outside the folder, or is too large.
    """
    try:
        real = path.resolve(strict=True)
    except FileNotFoundError:
        return
    except (OSError, RuntimeError) as error:
        raise ModelError(f"{path}: the link cannot be followed: {error}") from error
    if not real.is_relative_to(folder.resolve()):
        raise ModelError(
            f"{path}: is a link that leads out of the model folder, to {real}; if you trust it, put"
            " a copy in its place"
        )
    if not real.is_file():
        raise ModelError(f"{path}: is not a regular file; get the model folder again")
    if max_bytes is not None:
        _check_size(path, max_bytes)


def _check_size(path: Path, max_bytes: int) -> None:
    """Raise ModelError if a file has too many bytes or lines."""
    size = path.stat().st_size
    actual, limit = f"{size:,} bytes", f"{max_bytes:,}"
    if size <= max_bytes:
        with open(path, "rb") as file:
            lines = sum(block.count(b"\n") for block in iter(lambda: file.read(MIB), b""))
        if lines <= MAX_LINES:
            return
        actual, limit = f"{lines:,} lines", f"{MAX_LINES:,}"
    raise ModelError(
        f"{path}: has {actual}, but such a file never has more than {limit}; get the model folder"
        " again"
    )


def check_links(folder: Path) -> None:
    """Raise ModelError if a link leads out of a folder, because training would write through it.

    The link's target need not exist.
    """
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() and not _leads_inside(path, folder):
            raise ModelError(
                f"{path}: is a link that leads out of the model folder, to {os.readlink(path)},"
                " which training would write to; remove it"
            )


def _leads_inside(link: Path, folder: Path) -> bool:
    """Return whether a link's target, existing or not, is inside the folder."""
    try:
        return link.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        return False


def build_model(config: Config, src_size: int, tgt_size: int) -> Model:
    """Build a model with newly initialised parameters."""
    return MODELS[model_name(config.model)](config.model, src_size, tgt_size)


def load_model(folder: str | Path, device: str = "auto", params: str = "best") -> LoadedModel:
    """Load a model from its folder, for inference.

    :param device: "auto", "cpu" or "cuda".
    :param params: "best", "last", or the path of a parameter file.
    :raises ModelError: a file is missing or does not fit.
    """
    folder = Path(folder)
    config = read_config(folder)
    src_vocab, tgt_vocab = read_vocabularies(folder)
    with torch.device("meta"):
        model = build_model(config, len(src_vocab), len(tgt_vocab))
    path = folder / f"params.{params}.safetensors"
    if path.exists():
        _check_file(folder, path)
    elif Path(params).is_file():
        path = Path(params)
    else:
        raise ModelError(
            f"{path}: no such file; training writes it at its first validation, so let it continue"
        )
    load_parameters(model, path)
    torch_device = find_device(device)
    model.to(torch_device).eval().requires_grad_(False)
    src_text = TextPipeline.load(folder, "src", config.text)
    tgt_text = TextPipeline.load(folder, "tgt", config.text)
    return LoadedModel(model, config, src_vocab, tgt_vocab, src_text, tgt_text, torch_device, path)


def read_vocabularies(folder: Path) -> tuple[Vocabulary, Vocabulary]:
    """Read the source and target shortlist of a prepared folder or a model folder."""
    return Vocabulary.load(folder / "vocab.src"), Vocabulary.load(folder / "vocab.tgt")


def create_model_folder(
    folder: Path, config: Config, prepared: Path, provenance: Mapping[str, Any] | None = None
) -> None:
    """Create a model folder with settings, shortlists and BPE merges, completely or not at all.

    :param provenance: content of origin.json.
    :raises ModelError: `folder` exists and is not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ModelError(
            f"{folder}: exists and is not a model folder; choose another name, or remove it"
        )
    files = {}
    for prepared_side, model_side in zip(config.data.sides, ("src", "tgt"), strict=True):
        subwords = [] if config.text.bpe == "none" else [method_of(prepared, prepared_side)]
        for name in ["vocab", *subwords]:
            files[f"{name}.{model_side}"] = (prepared / f"{name}.{prepared_side}").read_bytes()
    if provenance is not None:
        text = json.dumps(provenance, indent=2, ensure_ascii=False) + "\n"
        files[PROVENANCE_FILE] = text.encode("utf-8")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with atomic_folder(folder) as hidden:
        for name, content in files.items():
            (hidden / name).write_bytes(content)
        write_config(hidden, config)


def write_config(folder: Path, config: Config) -> None:
    """Write a model folder's settings atomically, replacing existing ones."""
    with open_output(folder / "config.toml", force=True) as file:
        file.write(write_toml(config))
