"""The training data of a model that is adapted, from which some is replayed.

A model folder's `origin.json` names the command of the training, hence the prepared folder, and the
checksums of the files that were read there. The data is used only if it is still the same.
"""

import dataclasses
import logging
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nmtkit.config import Config
from nmtkit.config_io import toml_value
from nmtkit.data.batching import Batches
from nmtkit.data.corpus import Corpus
from nmtkit.data.manifest import corpus_segments, read_manifest, text_config
from nmtkit.errors import ConfigError, DataError, NmtkitError
from nmtkit.io.checksums import remembered_sha256
from nmtkit.io.inputs import VerbatimFile
from nmtkit.io.lines import read_lines
from nmtkit.model_folder import LoadedModel
from nmtkit.new_model_folder import other_subwords
from nmtkit.text.names import PLACEHOLDERS
from nmtkit.training.adaptation.corrections import Pair, batching
from nmtkit.training.provenance import read_provenance

log = logging.getLogger("nmtkit")

REPLAY_KEY = "replayed"
"""Key of the prepared folder's path in the provenance of an adapted model."""

FREE_TEXT_SETTINGS = {"subwords", "vocabulary_threshold"}
"""Settings of the text in which replayed data may differ: they do not change what a token is, or
are compared by themselves."""

ANOTHER_FOLDER = "give the prepared folder that the model was trained on"
"""Remedy for data that is not the model's."""


@dataclass(frozen=True)
class Replay:
    """A prepared folder whose training data is replayed."""

    folder: Path
    corpus: Corpus

    def batches(self, config: Config, tokens: int, seed: int) -> Batches:
        """Return endless batches of about so many target tokens, in random order."""
        segments = corpus_segments(read_manifest(self.folder), self.folder)
        return Batches(self.corpus, batching(config.data, tokens), seed, segments=segments)

    def dev_pairs(self, model: LoadedModel, count: int) -> list[Pair]:
        """Return pairs of the folder's dev set as raw text, spread evenly over it.

        Those in which a placeholder stands for a name are left out, as no user writes placeholders;
        unless there are no others.

        :param count: maximum number of pairs; nothing is returned if there is no dev set.
        """
        paths = [self.folder / f"dev.{side}" for side in model.config.data.sides]
        if not all(path.is_file() for path in paths):
            return []
        lines = list(zip(*(read_lines(VerbatimFile(path)) for path in paths), strict=True))
        full = [(number, *pair) for number, pair in enumerate(lines, start=1) if all(pair)]
        if model.config.text.copy_names:
            full = [one for one in full if not _has_placeholder(one[1])] or full
        chosen = np.linspace(0, len(full) - 1, min(count, len(full))).astype(int).tolist()
        return [
            Pair(
                model.src_text.line(full[index][1].split(" ")),
                model.tgt_text.line(full[index][2].split(" ")),
                f"{paths[1]}:{full[index][0]}",
            )
            for index in chosen
        ]


def _has_placeholder(line: str) -> bool:
    return any(placeholder in line for placeholder in PLACEHOLDERS)


def open_replay(folder: Path, model_folder: Path, model: LoadedModel) -> Replay:
    """Open the training data of a prepared folder that the user named.

    :param model_folder: that of the model.
    :raises NmtkitError: it is no prepared folder, or its text was prepared in another way.
    """
    theirs, ours = text_config(read_manifest(folder), folder), model.config.text
    if model.config.data.swap_sides:
        theirs = dataclasses.replace(
            theirs, src_language=theirs.tgt_language, tgt_language=theirs.src_language
        )
    for field in dataclasses.fields(ours):
        values = getattr(theirs, field.name), getattr(ours, field.name)
        if field.name not in FREE_TEXT_SETTINGS and values[0] != values[1]:
            raise ConfigError(
                f"{folder}: text.{field.name} is {toml_value(values[0])}, but"
                f" {toml_value(values[1])} in the model; {ANOTHER_FOLDER}"
            )
    sides = model.config.data.sides
    if name := other_subwords(model_folder, ours, folder, theirs, sides):
        raise DataError(
            f"{folder}: words are split in another way than by {model_folder / name}, the model's"
            f" subwords; {ANOTHER_FOLDER}"
        )
    vocabularies = model.src_vocab, model.tgt_vocab
    corpus = Corpus.open(folder, "train", vocabularies, sides)
    if not len(corpus):
        raise DataError(f"{folder}: has no training pairs; give the folder of the training")
    return Replay(folder, corpus)


def find_replay(model_folder: Path, model: LoadedModel) -> Replay | None:
    """Open the data that a model was trained on, if it is still where it was, unchanged."""
    try:
        folder = recorded_data(model_folder)
        return None if folder is None else open_replay(folder, model_folder, model)
    except (NmtkitError, OSError) as error:
        log.info("the model's training data cannot be used: %s", error)
        return None


def recorded_data(model_folder: Path) -> Path | None:
    """Return the prepared folder that a model folder names, if its files have the same checksums.

    A relative path is tried from here, and from the folder around the model's.
    """
    provenance = read_provenance(model_folder) or {}
    path = recorded_path(provenance)
    if path is None:
        return None
    checksums = {n: s for n, s in provenance["data"].items() if n.startswith("train.")}
    places = dict.fromkeys([path, model_folder.resolve().parent / path])
    return next((place for place in places if _has(place, checksums)), None)


def recorded_path(provenance: Mapping[str, Any]) -> Path | None:
    """Return the prepared folder of a model's training as its provenance names it, there or not."""
    recorded = provenance.get(REPLAY_KEY)
    if isinstance(recorded, str):
        return Path(recorded)
    try:
        words = shlex.split(provenance.get("command", ""))
    except ValueError:  # a quotation mark without its pair
        return None
    return Path(words[2]) if words[:2] == ["nmtkit", "train"] and len(words) > 2 else None


def _has(folder: Path, checksums: dict[str, str]) -> bool:
    """Return whether a folder has files with these checksums."""
    return bool(checksums) and all(
        (folder / name).is_file() and remembered_sha256(folder / name) == checksum
        for name, checksum in checksums.items()
    )
