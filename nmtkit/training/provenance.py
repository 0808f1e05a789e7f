"""Provenance of a model: `origin.json`, which training writes into a new model folder.

It holds what `config.toml` and `metrics.jsonl` do not: the command, versions, device and threads,
the inputs and the number of pairs as the prepared folder's manifest has them, the checksums of the
prepared files, and the time that `--time` planned the settings for.
"""

import logging
import math
import os
import platform
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

import nmtkit
from nmtkit.durations import write_duration
from nmtkit.errors import DataError, ModelError
from nmtkit.io.checksums import MAX_SUMMED_BYTES, check_sums, remembered_sha256
from nmtkit.io.folder_files import check_file, read_regular
from nmtkit.io.safe_json import parse_json
from nmtkit.model_folder import PROVENANCE_FILE
from nmtkit.text.names import NAMES
from nmtkit.text.subword import SUBWORD_FILES
from nmtkit.text.truecaser import TRUECASE

FORMAT = 1

INITIAL_KEY = "initial"
"""Key of the record of the model whose parameters a training started from, if it was one."""

ADAPTATION_KEY = "adaptation"
"""Key of the report of an adaptation, if that and no training has made the model."""

PLANNED_KEY = "planned_seconds"
"""Key of the time that the settings were planned for, if `--time` planned them."""

MAX_PROVENANCE_BYTES = 1 << 24
"""Maximum size of the file, which has some hundred bytes for each file of the training data."""

TRAINING_DATA_PREFIXES, SIDES = ("train.", "dev."), ("src", "tgt")
"""Prefixes and suffixes of the names of the prepared files that training reads."""

log = logging.getLogger("nmtkit")


def train_command(
    prepared: str | Path,
    output: str | Path,
    recipe: str | None,
    config_file: str | Path | None,
    overrides: Sequence[str],
    initial_model: str | Path | None = None,
    seconds: float | None = None,
    updates: int | None = None,
) -> str:
    """Return the command line that starts this training.

    :param seconds, updates: how long it may take.
    """
    words = ["nmtkit", "train", str(prepared), "--output", str(output)]
    words += ["--from", str(initial_model)] if initial_model is not None else []
    words += ["--recipe", recipe] if recipe else []
    words += ["--time", write_duration(seconds)] if seconds else []
    words += ["--updates", str(updates)] if updates else []
    words += ["--config", str(config_file)] if config_file is not None else []
    words += [word for override in overrides for word in ("--set", override)]
    return shlex.join(words)


def data_checksums(prepared: Path, manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the SHA-256 of the prepared files that training reads.

    A warning is logged for each that is not as `nmtkit prepare` wrote it.

    :raises DataError: a file cannot be read.
    """
    names = [f"{prefix}{side}" for prefix in TRAINING_DATA_PREFIXES for side in SIDES]
    checksums = {name: remembered_sha256(prepared / name) for name in names}
    recorded = _recorded_sums(manifest)
    for name, checksum in checksums.items():
        if recorded.get(name, checksum) != checksum:
            log.warning(
                "%s: is not as 'nmtkit prepare' wrote it; prepare again, unless you changed it"
                " yourself",
                prepared / name,
            )
    return checksums


def check_subword_files(prepared: Path, manifest: Mapping[str, Any]) -> None:
    """Check that subword models and truecasers of a prepared folder are those of its text.

    :raises DataError: a file is not as `nmtkit prepare` wrote it.
    """
    recorded = _recorded_sums(manifest)
    names = (f"{method}.{side}" for method in (*SUBWORD_FILES, TRUECASE, NAMES) for side in SIDES)
    for path in (prepared / name for name in names if name in recorded):
        if not path.is_file():  # reported where it is read
            continue
        is_plausible = path.stat().st_size <= MAX_SUMMED_BYTES
        if not is_plausible or remembered_sha256(path) != recorded[path.name]:
            raise DataError(
                f"{path}: damaged: not as 'nmtkit prepare' wrote it, so that text would be split in"
                " another way; restore it from a copy, or prepare again"
            )


def _recorded_sums(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the SHA-256 of the files that `nmtkit prepare` wrote, by name."""
    recorded = manifest.get("outputs", {})
    return recorded if isinstance(recorded, dict) else {}


def provenance_of(
    command: str,
    manifest: Mapping[str, Any],
    data: Mapping[str, str],
    device: str,
    initial: Mapping[str, Any] | None = None,
    planned_seconds: float | None = None,
) -> dict[str, Any]:
    """Return the content of `origin.json`.

    :param manifest: the prepared folder's manifest.
    :param data: SHA-256 of the files that training reads, by name.
    :param device: type of the device that trains, "cpu", "cuda" or "mps".
    :param initial: path, checksum and update of the parameters that the training starts from, if
        they are another model's.
    :param planned_seconds: time that the settings were planned for, if they were.
    """
    splits = manifest.get("splits", {})
    record: dict[str, Any] = {} if initial is None else {INITIAL_KEY: dict(initial)}
    if planned_seconds is not None:
        record[PLANNED_KEY] = planned_seconds
    return {
        "format": FORMAT,
        "command": command,
        "versions": {
            "nmtkit": nmtkit.__version__,
            "torch": str(torch.__version__),
            "python": platform.python_version(),
        },
        "device": device,
        "threads": torch.get_num_threads(),
        "pairs": {name: splits[name]["pairs"] for name in ("train", "dev") if name in splits},
        "inputs": manifest.get("inputs", {}),
        "data": dict(data),
        **record,
    }


def read_provenance(folder: str | Path) -> dict[str, Any] | None:
    """Read `origin.json`; return None if there is none, as in folders of early versions.

    :raises ModelError: the file is damaged, has an unknown format, or is not a regular file in the
        folder.
    """
    path = Path(folder) / PROVENANCE_FILE
    if not os.path.lexists(path):
        return None
    check_file(Path(folder), path, MAX_PROVENANCE_BYTES)
    check_sums(Path(folder), [PROVENANCE_FILE])
    try:
        provenance = parse_json(read_regular(path, MAX_PROVENANCE_BYTES).decode("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read; remove it, or restore it") from error
    if not isinstance(provenance, dict) or provenance.get("format") != FORMAT:
        raise ModelError(f"{path}: not of format {FORMAT}; use the version that wrote it")
    optional = {key: test for key, test in _OPTIONAL_TYPES.items() if key in provenance}
    for name, has_right_type in (_TYPES | optional).items():
        if not has_right_type(provenance.get(name)):
            raise ModelError(
                f"{path}: {name} is missing, or not of the right type; remove the file, or restore"
                " it"
            )
    return provenance


def _is_number(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 62


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_table(of: Callable[[object], bool]) -> Callable[[object], bool]:
    """Return a function that tells whether a value is an object with such values."""
    return lambda value: isinstance(value, dict) and all(map(of, value.values()))


_TYPES: dict[str, Callable[[object], bool]] = {
    "command": _is_text,
    "versions": _is_table(_is_text),
    "device": _is_text,
    "threads": _is_number,
    "pairs": _is_table(_is_number),
    "inputs": _is_table(lambda value: value is None or _is_text(value)),
    "data": _is_table(_is_text),
}
"""Field -> a function that tells whether a value may stand there."""


def _is_initial(value: object) -> bool:
    """Return whether a value is the record of the parameters that a training started from."""
    if not isinstance(value, dict) or value.keys() != {"path", "parameters", "update"}:
        return False
    return _is_text(value["path"]) and _is_text(value["parameters"]) and _is_number(value["update"])


def _is_time(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 < value < math.inf


_OPTIONAL_TYPES: dict[str, Callable[[object], bool]] = {
    INITIAL_KEY: _is_initial,
    PLANNED_KEY: _is_time,
}
"""The same for fields that not every file has."""
