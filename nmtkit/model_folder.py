"""A model folder: all that using a trained model needs, and how it is made and opened.

config.toml                 every setting; `format` is the layout's version
vocab.src vocab.tgt         the shortlists, line n is word n
bpe.src bpe.tgt             where the text was split into subwords
params.best.safetensors     the parameters that validation chose; params.last beside it
metrics.jsonl checkpoints/  what training wrote and goes on from
origin.json                 the command, versions and data of the training (`origin.py`)

A folder may come from anyone. Nothing in it names a file elsewhere, and what is in it is looked at
before it is read: only ordinary files within the folder, of sizes that such files have; parameters
by the head of their file alone, until names, types and shapes are those that the model has.
"""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from nmtkit.config import FORMAT, READABLE_FORMATS, Config, parse_config
from nmtkit.config_io import read_toml, write_toml
from nmtkit.errors import ConfigError, ModelError
from nmtkit.io.lines import open_output
from nmtkit.io.parameters import load_parameters
from nmtkit.io.temporary import hidden_name, locked, remove_leftovers
from nmtkit.models import MODELS, Model, model_name
from nmtkit.models.base import TranslationModel
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text.subword import METHODS, method_of
from nmtkit.text.vocabulary import Vocabulary

ORIGIN = "origin.json"
"""Where a model folder says how it was made (`training/provenance.py`)."""

MIB = 1 << 20
MOST = {"config.toml": MIB, "vocab.src": 64 * MIB, "vocab.tgt": 64 * MIB}
MOST |= {f"{name}.{side}": 64 * MIB for name in METHODS for side in ("src", "tgt")}
"""Bytes that files of a model folder have at most; a vocabulary of a million words has 20 MiB."""

MOST_LINES = 2_000_000
"""Lines that such files have at most: short ones take much more memory than they have bytes."""


@dataclass(frozen=True)
class LoadedModel:
    """A model ready for use, with what turns text into its ids and back.

    path: the file of its parameters, if they were read from one.
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
    """The device that `auto`, `cpu` or `cuda` means here.

    :raises ConfigError: "cuda" where there is none.
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError("--device cuda: torch finds no CUDA device here; use --device cpu")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def read_config(folder: Path) -> Config:
    """The settings of a model folder.

    :raises ModelError: it is no model folder, of a format that this version does not know, or has
        a file that is none of such a folder.
    """
    path = folder / "config.toml"
    if not path.exists():
        raise ModelError(f"{folder}: no config.toml; is this a folder that 'nmtkit train' made?")
    for name, most in MOST.items():
        _check_file(folder, folder / name, most)
    table = read_toml(path)
    _check_format(table.get("format"), path)
    return parse_config(table, str(path))


def _check_format(version: object, path: Path) -> None:
    """Raise ModelError unless this nmtkit reads model folders of a format."""
    readable = " and ".join(map(str, READABLE_FORMATS))
    if type(version) is int and version > FORMAT:
        raise ModelError(
            f"{path}: format {version} is of a later nmtkit, this one reads {readable}; install a"
            " newer nmtkit (pip install --upgrade nmtkit)"
        )
    if type(version) is not int or version not in READABLE_FORMATS:
        raise ModelError(
            f"{path}: format {version!r}, this nmtkit reads {readable}; use the version that wrote"
            " it"
        )


def _check_file(folder: Path, path: Path, most: int | None = None) -> None:
    """Refuse what is no ordinary file, lies elsewhere or is too large; what is missing is not.

    :param most: bytes; any number where None.
    :raises ModelError: it is such a file.
    """
    try:
        real = path.resolve(strict=True)
    except FileNotFoundError:
        return
    except (OSError, RuntimeError) as error:
        raise ModelError(f"{path}: cannot be followed: {error}") from error
    if not real.is_relative_to(folder.resolve()):
        raise ModelError(
            f"{path}: is a link that leads out of the model folder, to {real}; if you trust it, put"
            " a copy in its place"
        )
    if not real.is_file():
        raise ModelError(f"{path}: is no ordinary file; get the model folder anew")
    if most is not None:
        _check_size(path, most)


def _check_size(path: Path, most: int) -> None:
    """:raises ModelError: the file has more bytes, or more lines, than any such file."""
    size = path.stat().st_size
    told, allowed = f"{size:,} bytes", f"{most:,}"
    if size <= most:
        with open(path, "rb") as file:
            lines = sum(block.count(b"\n") for block in iter(lambda: file.read(MIB), b""))
        if lines <= MOST_LINES:
            return
        told, allowed = f"{lines:,} lines", f"{MOST_LINES:,}"
    raise ModelError(
        f"{path}: has {told}, where no such file has more than {allowed}; get the model folder anew"
    )


def check_links(folder: Path) -> None:
    """Refuse to train where a link leads out: what it leads to would be written, or emptied.

    :raises ModelError: there is one, whether what it leads to exists or not.
    """
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() and not _leads_inside(path, folder):
            raise ModelError(
                f"{path}: is a link that leads out of the model folder, to {os.readlink(path)},"
                " which training would write to; remove it"
            )


def _leads_inside(link: Path, folder: Path) -> bool:
    """Whether what a link leads to, there or not, is in the folder; one to itself leads nowhere."""
    try:
        return link.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        return False


def build_model(config: Config, src_size: int, tgt_size: int) -> Model:
    """A model with fresh parameters."""
    return MODELS[model_name(config.model)](config.model, src_size, tgt_size)


def load_model(folder: str | Path, device: str = "auto", params: str = "best") -> LoadedModel:
    """Open a model folder for translating, scoring or aligning.

    :param params: which parameters: "best", "last", or a file's path.
    :raises ModelError: something is missing or does not fit.
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
            f"{path}: no such file; training writes it at its first validation, so let it run on"
        )
    load_parameters(model, path)
    target = find_device(device)
    model.to(target).eval().requires_grad_(False)
    src_text, tgt_text = (
        TextPipeline.load(folder, "src", config.text),
        TextPipeline.load(folder, "tgt", config.text),
    )
    return LoadedModel(model, config, src_vocab, tgt_vocab, src_text, tgt_text, target, path)


def read_vocabularies(folder: Path) -> tuple[Vocabulary, Vocabulary]:
    """Source and target shortlist of a prepared or model folder."""
    return Vocabulary.load(folder / "vocab.src"), Vocabulary.load(folder / "vocab.tgt")


def create_model_folder(
    folder: Path, config: Config, prepared: Path, origin: Mapping[str, Any] | None = None
) -> None:
    """Make a model folder before training: settings, vocabularies, BPE codes; whole or not at all.

    :param origin: what origin.json shall hold.
    :raises ModelError: something is there already.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ModelError(f"{folder}: exists and is not a model folder; choose another or remove it")
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder)
    aside = hidden_name(folder)
    aside.mkdir()
    try:
        with locked(aside):
            for theirs, ours in zip(config.data.sides, ("src", "tgt"), strict=True):
                subwords = [] if config.text.bpe == "none" else [method_of(prepared, theirs)]
                for name in ["vocab", *subwords]:
                    shutil.copyfile(prepared / f"{name}.{theirs}", aside / f"{name}.{ours}")
            write_config(aside, config)
            if origin is not None:
                text = json.dumps(origin, indent=2, ensure_ascii=False) + "\n"
                (aside / ORIGIN).write_text(text, encoding="utf-8", newline="\n")
            if folder.exists():
                folder.rmdir()
            os.replace(aside, folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def write_config(folder: Path, config: Config) -> None:
    """Write a model folder's settings, over those that are there; whole or not at all."""
    with open_output(folder / "config.toml", force=True) as file:
        file.write(write_toml(config))
