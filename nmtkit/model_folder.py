"""Model folders: everything needed to use a trained model.

config.toml                 all settings; `format` is the version of the layout
vocab.src vocab.tgt         the shortlists, one word per line
bpe.src bpe.tgt             BPE merges, if the text is split by BPE
sentencepiece.src .tgt      models of SentencePiece, if the text is split by it
pieces.src pieces.tgt       the pieces that a side may have, if there is a vocabulary threshold
truecase.src truecase.tgt   Moses's truecasing models, if the text is truecased
names.src names.tgt         uses of words with capitals or digits, if names are copied
params.best.safetensors     the best parameters on the dev set; params.last: those of the last
                            validation
metrics.jsonl checkpoints/  metrics of the training, and checkpoints to resume it from
origin.json                 command, versions and data of the training (`training/provenance.py`)
fast.json lexicon.gz        what `nmtkit optimize` left for fast translation (`io/fast_record.py`)
calibration.json            how sure the model can be (`io/calibration_record.py`)
tensorboard/ .lock          figures for TensorBoard, if asked for; lock of a training that runs
SHA256SUMS                  checksums of what never changes: all of the text, from vocab to names,
                            and origin.json

A folder may come from an untrusted source. Its files are checked before they are read: only regular
files inside the folder, of plausible sizes, are opened; of a parameter file only the header is read
until names, types and shapes are known to fit the model.
"""

import functools
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from nmtkit.config import FORMAT, Config, parse_config
from nmtkit.config_io import read_toml
from nmtkit.errors import ConfigError, ModelError
from nmtkit.extras import installed_from
from nmtkit.io.checksums import check_sums
from nmtkit.io.folder_files import MIB, check_file
from nmtkit.io.parameters import FileMetadata, load_parameters
from nmtkit.io.text_content import shell_name
from nmtkit.models import MODELS, Model, model_name
from nmtkit.models.base import TranslationModel
from nmtkit.text.names import NAMES
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text.subword import SUBWORD_FILES
from nmtkit.text.truecaser import TRUECASE
from nmtkit.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from nmtkit.text.term_words import TermWords

PROVENANCE_FILE = "origin.json"
"""File that records how a model was trained (`training/provenance.py`)."""

BEST_PARAMETERS = "params.best.safetensors"
"""File of the parameters that translate unless others are asked for."""

MAX_FILE_BYTES = {"config.toml": MIB, "vocab.src": 64 * MIB, "vocab.tgt": 64 * MIB}
MAX_FILE_BYTES |= {
    f"{name}.{side}": 64 * MIB
    for name in (*SUBWORD_FILES, TRUECASE, NAMES)
    for side in ("src", "tgt")
}
"""Maximum sizes of text files in a model folder; a vocabulary of a million words has 20 MiB."""

NAMED_PARAMETERS = ("best", "last")
"""Parameters that training saves: those of the best and those of the last validation."""

SUMMED_FILES = tuple(name for name in MAX_FILE_BYTES if name != "config.toml")
"""Files that translating reads, and whose checksums are in `SHA256SUMS`."""


@dataclass(frozen=True)
class LoadedModel:
    """A model for inference, with its vocabularies and text pipelines.

    path: file that the parameters were read from, or None for a model in memory.
    metadata: what that file says of the parameters; their checksum is never missing.
    """

    model: TranslationModel
    config: Config
    src_vocab: Vocabulary
    tgt_vocab: Vocabulary
    src_text: TextPipeline
    tgt_text: TextPipeline
    device: torch.device
    path: Path | None = None
    metadata: FileMetadata = FileMetadata()

    def check_tag(self, tag: str) -> None:
        """Raise ConfigError if no source line may begin with this tag; the message lists them."""
        tags = self.config.text.tags
        if tag not in tags:
            known = f"its tags are {', '.join(tags)}" if tags else "it has none"
            raise ConfigError(f"{self.path}: the model has no tag '{tag}'; {known}")

    @functools.cached_property
    def term_words(self) -> "TermWords | None":
        """Source words that stand for target words, if it was trained with annotated terms."""
        from nmtkit.text.term_words import TermWords  # rarely needed: start-up

        return TermWords.of(self.src_vocab, self.tgt_vocab)


def find_device(name: str) -> torch.device:
    """Return the device of a name: "auto", "cpu", "cuda", "cuda:1" (GPUs count from 0), or "mps".

    "auto" is a GPU that CUDA or ROCm finds, or else the CPU; "mps" has to be asked for. A GPU with
    a number becomes torch's current one, as checkpoints hold the current one's random generator.

    :raises ConfigError: the name is of another form, or torch does not find that device.
    """
    kind, colon, number = name.partition(":")
    if name == "auto":
        name = kind = "cuda" if torch.cuda.is_available() else "cpu"
    if colon and not (kind == "cuda" and re.fullmatch("[0-9]{1,4}", number)):
        kind = ""
    if kind == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"--device {name}: torch finds no CUDA device here; use --device cpu")
    if kind == "mps" and not torch.backends.mps.is_available():
        raise ConfigError("--device mps: torch finds no GPU of a Mac (MPS) here; use --device cpu")
    if kind not in ("cpu", "cuda", "mps"):
        raise ConfigError(f"--device {name}: not one of auto, cpu, cuda, cuda:0, cuda:1, ..., mps")
    if colon:
        return _numbered_gpu(int(number))
    return torch.device(name)


def _numbered_gpu(number: int) -> torch.device:
    """Return a GPU by its number, and make it torch's current one.

    :raises ConfigError: there are not as many.
    """
    count = torch.cuda.device_count()
    if number >= count:
        found = f"{count} GPUs here, cuda:0 to cuda:{count - 1}" if count > 1 else "1 GPU, cuda:0"
        raise ConfigError(f"--device cuda:{number}: torch finds {found}; use one of them")
    torch.cuda.set_device(number)
    return torch.device("cuda", number)


def read_config(folder: Path) -> Config:
    """Read the settings of a model folder.

    :raises ModelError: it is not a model folder, has an unknown format, or has a file that is too
        large or not a regular file of the folder.
    """
    path = folder / "config.toml"
    if not path.exists():
        raise ModelError(_no_model_folder(folder))
    for name, max_bytes in MAX_FILE_BYTES.items():
        check_file(folder, folder / name, max_bytes)
    table = read_toml(path)
    _check_format(table.get("format"), path)
    return parse_config(table, str(path))


def _no_model_folder(folder: Path) -> str:
    """Return what a path is that holds no model, and what to do."""
    wanted = "give the folder of a model, which 'nmtkit train' makes"
    if not os.path.lexists(folder):
        return f"{folder}: no such folder; {wanted}"
    if not folder.is_dir():
        return f"{folder}: is no folder; {wanted}"
    if (folder / "manifest.json").exists():
        return (
            f"{folder}: is a prepared folder, not a model; first train one:"
            f" nmtkit train {shell_name(folder)} -o MODEL"
        )
    if (parameters := folder / "params.safetensors").exists():
        return (
            f"{folder}: is a checkpoint; give its model's folder, and --params {parameters}; to"
            f" start a training from it, --from {parameters}"
        )
    return f"{folder}: no config.toml; is this a folder that 'nmtkit train' made?"


def _check_format(version: object, path: Path) -> None:
    """Raise ModelError unless this version of nmtkit can read a format of model folders."""
    if type(version) is int and version > FORMAT:
        raise ModelError(
            f"{path}: format {version} was written by a later nmtkit, this one reads 1 to {FORMAT};"
            f" install a newer nmtkit from where you got this one ({installed_from() or 'unknown'})"
        )
    if type(version) is not int or version < 1:
        raise ModelError(
            f"{path}: format {version!r}, this nmtkit reads 1 to {FORMAT}; use the version that"
            " wrote it"
        )


def build_model(config: Config, src_size: int, tgt_size: int) -> Model:
    """Build a model with newly initialised parameters."""
    return MODELS[model_name(config.model)](config.model, src_size, tgt_size)


def load_model(
    folder: str | Path, device: str = "auto", params: str | Path = "best"
) -> LoadedModel:
    """Load a model from its folder, for inference.

    :param device: "auto", "cpu", "cuda", "cuda:1" or "mps".
    :param params: "best", "last", or the path of a parameter file.
    :raises ModelError: a file is missing or does not fit.
    """
    folder = Path(folder)
    config = read_config(folder)
    check_sums(folder, SUMMED_FILES)
    src_vocab, tgt_vocab = read_vocabularies(folder)
    with torch.device("meta"):
        model = build_model(config, len(src_vocab), len(tgt_vocab)).float()
    path = parameters_path(folder, params)
    metadata = load_parameters(model, path)
    torch_device = find_device(device)
    model.to(torch_device).eval().requires_grad_(False)
    src_text = TextPipeline.load(folder, "src", config.text)
    tgt_text = TextPipeline.load(folder, "tgt", config.text)
    return LoadedModel(
        model, config, src_vocab, tgt_vocab, src_text, tgt_text, torch_device, path, metadata
    )


def load_models(
    folders: Sequence[str | Path], device: str = "auto", params: str | Path = "best"
) -> list[LoadedModel]:
    """Load models from their folders.

    :param params: "best", "last", or the parameter file of a single model.
    :raises ModelError: a file is missing or does not fit.
    :raises ConfigError: `params` is a file, and there are several models.
    """
    params = shared_parameters(params) if len(folders) > 1 else params
    return [load_model(folder, device, params) for folder in folders]


def parameters_path(folder: Path, params: str | Path) -> Path:
    """Return the file with a model's parameters.

    :param params: "best", "last", or a file, such as that of a checkpoint.
    :raises ModelError: there is no such file, or it is not a regular file of the folder.
    """
    if params not in NAMED_PARAMETERS:
        if not Path(params).is_file():
            is_folder = Path(params).is_dir()
            example = " in it, such as params.safetensors" if is_folder else ""
            what = "is a folder, no file" if is_folder else "no such file"
            raise ModelError(f"{params}: {what} of parameters; give best, last, or a file{example}")
        return Path(params)
    path = folder / f"params.{params}.safetensors"
    if not path.exists():
        raise ModelError(
            f"{path}: no such file; training writes it at its first validation, so let it continue"
        )
    check_file(folder, path)
    return path


def shared_parameters(params: str | Path) -> str:
    """Return which parameters each of several models has: "best" or "last".

    :raises ConfigError: it is a file, which belongs to one model.
    """
    if params not in NAMED_PARAMETERS:
        raise ConfigError(
            f"{params}: a file has the parameters of one model, but there are several; give best"
            " or last"
        )
    return str(params)


def read_vocabularies(folder: Path) -> tuple[Vocabulary, Vocabulary]:
    """Read the source and target shortlist of a prepared folder or a model folder."""
    return Vocabulary.load(folder / "vocab.src"), Vocabulary.load(folder / "vocab.tgt")
