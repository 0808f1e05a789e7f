"""Writing a model folder: its settings, and the text files that come from a prepared folder.

`model_folder.py` says which files it has.
"""

import contextlib
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nmtkit.config import Config, DataConfig
from nmtkit.config_io import write_toml
from nmtkit.errors import NAME_ERRORS, ModelError
from nmtkit.io.atomic_folder import atomic_folder, is_free
from nmtkit.io.checksums import SUMS_FILE, format_sums
from nmtkit.io.folder_files import read_regular
from nmtkit.io.lines import open_output
from nmtkit.io.sync import make_folder
from nmtkit.model_folder import MAX_FILE_BYTES, PROVENANCE_FILE
from nmtkit.text.names import NAMES
from nmtkit.text.subword import PIECES, SUBWORD_FILES, method_of
from nmtkit.text.truecaser import TRUECASE
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.text_config import TextConfig


def check_is_free(folder: Path) -> None:
    """Check that a new model folder can have this name.

    :raises ModelError: it exists and is not empty.
    """
    if not is_free(folder):
        raise ModelError(
            f"{folder}: exists and is not a model folder, as it has no config.toml; choose another"
            " name, or restore that file if this was one"
        )


@contextlib.contextmanager
def new_model_folder(
    folder: Path, config: Config, prepared: Path, provenance: Mapping[str, Any] | None = None
) -> Iterator[Path]:
    """Yield a hidden folder with settings, shortlists and BPE merges; the block may add to it.

    It gets its name when the block succeeds.

    :param provenance: content of origin.json.
    :raises ModelError: `folder` exists and is not empty.
    :raises OutputError: it cannot be written, or was made while the block ran.
    """
    check_is_free(folder)
    files = prepared_files(prepared, config.text, config.data.sides)
    if config.data.terms_augment:
        files["vocab.src"] = source_shortlist(prepared, config.data)
    make_folder(folder.parent)
    with atomic_folder(folder, replace=False) as hidden:
        write_model_files(hidden, files, config, provenance)
        yield hidden


def write_model_files(
    folder: Path,
    files: Mapping[str, bytes],
    config: Config,
    provenance: Mapping[str, Any] | None,
) -> None:
    """Write all files of a model but its parameters, with their checksums, into a new folder.

    :param files: vocabularies, subwords and so on, by name.
    :param provenance: content of origin.json.
    :raises OSError: one cannot be written.
    """
    written = dict(files)
    if provenance is not None:
        text = json.dumps(provenance, indent=2, ensure_ascii=False) + "\n"
        written[PROVENANCE_FILE] = text.encode("utf-8", NAME_ERRORS)
    written[SUMS_FILE] = format_sums(written).encode("utf-8")
    for name, content in written.items():
        (folder / name).write_bytes(content)
    write_config(folder, config)


def shortlists(prepared: Path, data: DataConfig) -> tuple[Vocabulary, Vocabulary]:
    """Load the source and target vocabularies of a model that is trained on a prepared folder.

    :raises DataError: one cannot be read, or the source has a word that annotations need.
    """
    src, tgt = (Vocabulary.load(prepared / f"vocab.{side}") for side in data.sides)
    if not data.terms_augment:
        return src, tgt
    from nmtkit.text.term_words import with_term_words  # rarely needed: start-up

    return with_term_words(src, tgt), tgt


def source_shortlist(prepared: Path, data: DataConfig) -> bytes:
    """Return the content of vocab.src of a model that is trained on a prepared folder."""
    if not data.terms_augment:
        return read_regular(prepared / f"vocab.{data.sides[0]}", MAX_FILE_BYTES["vocab.src"])
    content = io.StringIO()
    shortlists(prepared, data)[0].write(content)
    return content.getvalue().encode("utf-8")


def prepared_files(prepared: Path, text: TextConfig, sides: tuple[str, str]) -> dict[str, bytes]:
    """Read the shortlists and subword models of a prepared folder, or of a model folder.

    :param sides: names of the source and target side in the folder.
    :return: contents by their names in a model folder.
    :raises OSError: one cannot be read.
    """
    files = {}
    for prepared_side, model_side in zip(sides, ("src", "tgt"), strict=True):
        subwords = [] if text.subwords == "none" else [method_of(prepared, prepared_side)]
        subwords += [PIECES] if text.vocabulary_threshold else []
        truecase = [TRUECASE] if text.case == "truecase" else []
        names = [NAMES] if text.copy_names else []
        for name in ["vocab", *subwords, *truecase, *names]:
            path = prepared / f"{name}.{prepared_side}"
            files[f"{name}.{model_side}"] = read_regular(path, MAX_FILE_BYTES[f"{name}.src"])
    return files


def other_subwords(
    folder: Path,
    text: TextConfig,
    prepared: Path,
    prepared_text: TextConfig,
    sides: tuple[str, str],
) -> str | None:
    """Return the file of a model folder by which words are split otherwise than in prepared text.

    :param sides: names of the model's source and target side in the prepared folder.
    :raises OSError: a file cannot be read.
    """
    ours = prepared_files(folder, text, ("src", "tgt"))
    theirs = prepared_files(prepared, prepared_text, sides)
    names = (f"{name}.{side}" for name in SUBWORD_FILES for side in ("src", "tgt"))
    return next((name for name in names if ours.get(name) != theirs.get(name)), None)


def write_config(folder: Path, config: Config) -> None:
    """Write a model folder's settings atomically, replacing existing ones."""
    with open_output(folder / "config.toml", force=True) as file:
        file.write(write_toml(config))
