"""Starting a training from the parameters of another model: `nmtkit train --from MODEL`.

The other model has to be one that the new training could have made: with the same words in its
vocabularies, the same subword models, text settings, and settings of the model itself. Otherwise a
parameter would come to mean something else. Its folder is only read, and never needed again.
"""

import dataclasses
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from nmtkit.config import SECTIONS, Config
from nmtkit.config_io import toml_value
from nmtkit.errors import ConfigError, DataError, ModelError
from nmtkit.io.checksums import check_sums
from nmtkit.io.folder_files import check_file
from nmtkit.io.parameters import (
    Parameters,
    load_parameters,
    parameters_of,
    parameters_sha256,
    read_header,
    tensor_spec,
)
from nmtkit.io.text_content import shell_name
from nmtkit.model_folder import (
    BEST_PARAMETERS,
    SUMMED_FILES,
    build_model,
    read_config,
    read_vocabularies,
)
from nmtkit.models import model_name
from nmtkit.new_model_folder import other_subwords, shortlists
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.provenance import ADAPTATION_KEY, INITIAL_KEY, read_provenance
from nmtkit.training.resume_checks import check_nothing_missing

FREE_MODEL_SETTINGS = {"dropout", "initialisation"}
"""Settings of a model that change its training only."""

log = logging.getLogger("nmtkit")


@dataclass(frozen=True)
class InitialParameters:
    """Parameters that a training starts from.

    tensors: the parameters by name. record: what `origin.json` says about them.
    """

    tensors: Parameters
    record: Mapping[str, Any]

    def check_same_record(self, folder: Path) -> None:
        """Raise ModelError unless a training without a checkpoint was started from these.

        :param folder: the folder of that training.
        """
        record = (read_provenance(folder) or {}).get(INITIAL_KEY)
        if record is not None and record["parameters"] != self.record["parameters"]:
            raise ModelError(
                f"{self.record['path']}: its parameters have changed since the training of {folder}"
                " was started from them, which has no checkpoint yet; use --force to start anew"
            )


@dataclass(frozen=True)
class InitialModel:
    """A model whose parameters a training starts from.

    given: the path that was given: the model's folder, or one of its files of parameters.
    folder: the model's folder. path: the file of parameters.
    """

    given: str
    folder: Path
    path: Path

    @classmethod
    def at(cls, given: str | Path) -> "InitialModel":
        """Return the model at a path, with `params.best` unless the path is another file.

        The file may be that of one of the model's checkpoints.
        """
        path = Path(given)
        if not path.is_file():
            return cls(str(given), path, path / BEST_PARAMETERS)
        around = (folder for folder in path.parents[:3] if (folder / "config.toml").is_file())
        return cls(str(given), next(around, path.parent), path)

    def check_output(self, folder: Path) -> None:
        """Raise ConfigError if the new model's folder is that of this model, or around it."""
        if self.folder.resolve().is_relative_to(folder.resolve()):
            raise ConfigError(
                f"{self.given}: is given as --from and is in the --output; choose another --output,"
                " or leave out --from to go on with the training of that model"
            )

    def read(self, config: Config, prepared: Path) -> InitialParameters:
        """Read the parameters, if they have the same meaning in the new model.

        :param config: settings of the new model.
        :param prepared: the folder with its vocabularies and subword models.
        :raises NmtkitError: the models differ, or a file is missing or damaged.
        """
        theirs = read_config(self.folder)
        check_sums(self.folder, SUMMED_FILES)
        check_nothing_missing(self.folder)
        self._check_text(theirs, config, prepared)
        self._check_subwords(theirs, config, prepared)
        self._check_annotations(theirs, config)
        self._check_vocabularies(config, prepared)
        check_file(self.folder, self.path)
        if not self.path.exists():
            raise ModelError(f"{self.path}: no such file; give a model that has been trained")
        vocabularies = read_vocabularies(self.folder)
        with torch.device("meta"):
            model = build_model(config, len(vocabularies[0]), len(vocabularies[1]))
        self._check_model(theirs, config, model)
        checksum, update = load_parameters(model, self.path)
        point = f", update {update}" if update else ""  # unknown in files of nmtkit 0.1
        log.info("starting from the parameters of %s%s", self.path, point)
        record = {"path": self.given, "parameters": checksum, "update": update}
        return InitialParameters(parameters_of(model), record)

    @property
    def _remedy(self) -> str:
        """Return what to do about text that was prepared in another way."""
        return f"prepare the text with: nmtkit prepare --like {shell_name(self.folder)}"

    def _check_text(self, theirs: Config, config: Config, prepared: Path) -> None:
        """Raise ConfigError if languages, tokenisation or another text setting differ."""
        for field in dataclasses.fields(config.text):
            old, new = getattr(theirs.text, field.name), getattr(config.text, field.name)
            if field.name == "subwords" and "none" not in (old, new):
                continue  # their files are compared, however they were learned
            if field.name == "vocabulary_threshold":
                continue  # the lists of pieces are compared
            if old != new:
                raise ConfigError(
                    f"{prepared}: text.{field.name} is {new!r}, but {old!r} in {self.given}, whose"
                    f" parameters the training starts from; {self._remedy}"
                )

    def _check_vocabularies(self, config: Config, prepared: Path) -> None:
        """Raise DataError unless the vocabularies have the same words in the same order."""
        theirs, ours = read_vocabularies(self.folder), shortlists(prepared, config.data)
        sides = config.data.sides
        for side, name, old, new in zip(sides, ("src", "tgt"), theirs, ours, strict=True):
            paths = self.folder / f"vocab.{name}", prepared / f"vocab.{side}"
            difference = _difference(old, new)
            if difference:
                raise DataError(
                    f"{paths[1]}: {difference} in {paths[0]}, whose parameters the training starts"
                    f" from; {self._remedy}"
                )

    def _check_annotations(self, theirs: Config, config: Config) -> None:
        """Raise ConfigError if only one of the models has words for annotated terms."""
        if bool(theirs.data.terms_augment) != bool(config.data.terms_augment):
            state = "was" if theirs.data.terms_augment else "was not"
            raise ConfigError(
                f"{self.given}: {state} trained with --terms-augment; the training that starts from"
                " its parameters must do the same"
            )

    def _check_subwords(self, theirs: Config, config: Config, prepared: Path) -> None:
        """Raise DataError unless words are split by the same subword models."""
        sides = config.data.sides
        name = other_subwords(self.folder, theirs.text, prepared, config.text, sides)
        if name is not None:
            raise DataError(
                f"{prepared}: words are split in another way than by {self.folder / name}, the"
                " subwords of the model whose parameters the training starts from;"
                f" {self._remedy}"
            )

    def _check_model(self, theirs: Config, config: Config, model: torch.nn.Module) -> None:
        """Raise ConfigError unless the settings make the model that the parameters are of."""
        remedy = "leave out --recipe and settings of [model], which are then that model's"
        names = model_name(theirs.model), model_name(config.model)
        if names[0] != names[1]:
            raise ConfigError(f"{self.given}: is of type {names[0]}, not {names[1]}; {remedy}")
        settings = _differing_settings(theirs, config)
        found = read_header(self.path)
        needed = {name: tensor_spec(value) for name, value in model.named_parameters()}
        for name in [*needed, *found]:
            if found.get(name) != needed.get(name):
                shapes = [specs[name][1] if name in specs else None for specs in (found, needed)]
                cause = f" ({settings})" if settings else ""
                raise ConfigError(
                    f"{self.path}: {name} has {_shape(shapes[0])}, with these settings"
                    f" {_shape(shapes[1])}{cause}; {remedy}"
                )
        if settings:
            raise ConfigError(f"{self.given}: {settings}; {remedy}")


def settings_of(folder: Path) -> dict[str, Any]:
    """Return the settings of a model folder as a table, without those of its text.

    :raises ModelError: it is not a model folder.
    """
    config = read_config(folder)
    tables = {name: dataclasses.asdict(getattr(config, name)) for name in SECTIONS}
    del tables["text"]
    return {
        "model": {"type": model_name(config.model), **dataclasses.asdict(config.model)},
        **tables,
    }


def starting_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of a training that starts from the model of a folder: the model's.

    There is no curriculum again: the model knows long sentences.

    :raises ModelError: it is not a model folder.
    """
    settings = settings_of(folder)
    settings["training"]["curriculum_updates"] = 0
    return settings


def default_settings(
    initial: InitialModel | None, folder: Path, is_new: bool
) -> dict[str, Any] | None:
    """Return the settings of a training for which no recipe is named: the other model's.

    A training that is resumed has its own: the other model may be gone, or trained further.

    :param folder: the folder of the training.
    :raises NmtkitError: it is the other model's, or its training was started from others.
    """
    if initial is not None:
        initial.check_output(folder)
    if not is_new:
        _check_same_start(folder, initial)
    if initial is None:
        return None
    return starting_settings(initial.folder) if is_new else settings_of(folder)


def _check_same_start(folder: Path, initial: InitialModel | None) -> None:
    """Check that a training which is resumed was started from the parameters that are given.

    The other model need not exist any more, or may have been trained further.

    :param folder: the folder of the training that is resumed.
    :raises ConfigError: it was started from others, or no training made the folder.
    """
    provenance = read_provenance(folder) or {}
    if ADAPTATION_KEY in provenance:
        raise ConfigError(
            f"{folder}: was written by 'nmtkit adapt', so it has no training to resume; to train it"
            f" further, give --from {folder} and another --output"
        )
    record = provenance.get(INITIAL_KEY)
    remedy = "choose another --output, or use --force to start anew"
    if record is None and initial is not None:
        raise ConfigError(
            f"{folder}: its training was not started --from {initial.given}; {remedy}"
        )
    if record is None:
        return
    if initial is None:
        raise ConfigError(
            f"{folder}: its training was started --from {record['path']}; give that again to resume"
            f" it, {remedy}"
        )
    if initial.given != record["path"] and _checksum(initial.path) != record["parameters"]:
        raise ConfigError(
            f"{folder}: its training was started --from {record['path']}, not {initial.given};"
            f" {remedy}"
        )


def _checksum(path: Path) -> str | None:
    """Return the checksum of a file of parameters, or None if it cannot be read."""
    try:
        return parameters_sha256(path)
    except ModelError:
        return None


def _differing_settings(theirs: Config, config: Config) -> str:
    """Return which settings of a model of the same type give its parameters another meaning."""
    values = [
        (field.name, getattr(theirs.model, field.name), getattr(config.model, field.name))
        for field in dataclasses.fields(theirs.model)
        if field.name not in FREE_MODEL_SETTINGS
    ]
    return ", ".join(
        f"model.{name} is {toml_value(old)}, not {toml_value(new)}"
        for name, old, new in values
        if old != new
    )


def _shape(shape: list[int] | None) -> str:
    return "no place" if shape is None else f"the shape {shape}"


def _difference(old: Vocabulary, new: Vocabulary) -> str:
    """Return how a vocabulary differs from another, or ""; words are counted from line 1."""
    if old.words == new.words:
        return ""
    for line, words in enumerate(zip(new, old, strict=False), 1):
        if words[0] != words[1]:
            return f"line {line} is '{words[0]}', but '{words[1]}'"
    return f"has {len(new):,} words, but there are {len(old):,}"
