"""A model folder: all that using a trained model needs, and how it is made and opened.

config.toml                 every setting; `format` is the layout's version
vocab.src vocab.tgt         the shortlists, line n is word n
bpe.src bpe.tgt             where the text was split into subwords
params.best.safetensors     the parameters that validation chose; params.last beside it
metrics.jsonl checkpoints/  what training wrote and goes on from
origin.json                 the command, versions and data of the training (`origin.py`)
"""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from nmtkit.config import FORMAT, Config, config_from, read_toml, write_toml
from nmtkit.errors import ConfigError, ModelError
from nmtkit.models import MODELS, Model, model_name
from nmtkit.models.base import TranslationModel
from nmtkit.origin import ORIGIN
from nmtkit.text.lines import open_output
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.checkpoint import load_parameters


@dataclass(frozen=True)
class LoadedModel:
    """A model ready for use, with what turns text into its ids and back."""

    model: TranslationModel
    config: Config
    src_vocab: Vocabulary
    tgt_vocab: Vocabulary
    src_text: TextPipeline
    tgt_text: TextPipeline
    device: torch.device


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

    :raises ModelError: it is no model folder, or of a format that this version does not know.
    """
    path = folder / "config.toml"
    if not path.is_file():
        raise ModelError(f"{folder}: no config.toml; is this a folder that 'nmtkit train' made?")
    table = read_toml(path)
    if table.get("format") != FORMAT:
        raise ModelError(
            f"{path}: format {table.get('format')!r}, this nmtkit reads {FORMAT}; "
            "use the version that wrote it"
        )
    return config_from(table, str(path))


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
    path = Path(params) if not path.is_file() and Path(params).is_file() else path
    if not path.is_file():
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
    return LoadedModel(model, config, src_vocab, tgt_vocab, src_text, tgt_text, target)


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
        raise ModelError(f"{folder}: exists and is no model folder; choose another or remove it")
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    aside.mkdir(parents=True)
    try:
        kinds = ["vocab", "bpe"] if config.text.bpe != "none" else ["vocab"]
        for kind in kinds:
            for theirs, ours in zip(config.data.sides, ("src", "tgt"), strict=True):
                shutil.copyfile(prepared / f"{kind}.{theirs}", aside / f"{kind}.{ours}")
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
