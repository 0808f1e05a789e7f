"""The manifest of a prepared folder: `manifest.json`."""

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmtkit.config import TextConfig, parse_section, rename_settings
from nmtkit.data.sampling import Segment
from nmtkit.errors import DataError
from nmtkit.io.checksums import verify_checksum
from nmtkit.io.folder_files import read_regular
from nmtkit.io.safe_json import parse_json

FORMAT = 2
"""Version of a prepared folder's layout; raised when older versions of nmtkit cannot read it.

2: `text` has settings that nmtkit 0.2 does not know.
"""

READABLE_FORMATS = (1, FORMAT)

MANIFEST_FILE = "manifest.json"

MAX_MANIFEST_BYTES = 1 << 24
"""Maximum size of a manifest, which has some hundred bytes for each file."""


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """Read the manifest of a prepared folder; `text` says how its text was prepared.

    :raises DataError: there is no manifest, its format is unknown, or it was changed.
    """
    path = Path(folder) / MANIFEST_FILE
    try:
        manifest = parse_json(read_regular(path, MAX_MANIFEST_BYTES).decode("utf-8"))
    except OSError as error:
        raise DataError(_no_prepared_folder(path, error)) from error
    except ValueError as error:
        raise DataError(f"{path}: not JSON: {error}; prepare the folder again") from error
    if not isinstance(manifest, dict) or manifest.get("format") not in READABLE_FORMATS:
        raise DataError(f"{path}: not of format 1 or {FORMAT}; prepare the folder again")
    try:
        verify_checksum(manifest)
    except ValueError as error:
        raise DataError(f"{path}: {error}; restore it, or prepare the folder again") from error
    if not isinstance(manifest.get("text"), dict):
        raise DataError(f"{path}: has no section 'text'; prepare the folder again")
    return manifest


def _no_prepared_folder(path: Path, error: OSError) -> str:
    """Return why there is no manifest, and what to do.

    :param path: of the manifest that could not be read.
    """
    folder, wanted = path.parent, "name a folder that 'nmtkit prepare' made"
    if not os.path.lexists(folder):
        return f"{folder}: no such folder; {wanted}"
    if not folder.is_dir():
        return f"{folder}: is no folder; {wanted}"
    if (folder / "config.toml").exists():
        return f"{folder}: is a model, not a prepared folder; {wanted}"
    return f"{path}: cannot be read ({error.strerror}); {wanted}"


def text_config(manifest: Mapping[str, Any], folder: str | Path) -> TextConfig:
    """Return how the text of a prepared folder was prepared.

    :param manifest: what `read_manifest` returned.
    :param folder: the prepared folder, for messages.
    :raises ConfigError: a setting is unknown or has the wrong type.
    """
    where = str(Path(folder) / MANIFEST_FILE)
    text, _ = rename_settings({"text": manifest["text"]}, where)
    return parse_section(TextConfig, text["text"], f"{where}: text")


def corpus_segments(manifest: Mapping[str, Any], folder: str | Path) -> tuple[Segment, ...]:
    """Return the pairs and the weight of each training corpus; nothing if all weights are 1.

    :param manifest: what `read_manifest` returned; those of older versions name no corpora.
    :param folder: the prepared folder, for messages.
    :raises DataError: the entries are malformed.
    """
    corpora = manifest.get("corpora", [])
    try:
        segments = tuple((_pairs(corpus), _weight(corpus)) for corpus in corpora)
    except (KeyError, TypeError, ValueError) as error:
        path = Path(folder) / MANIFEST_FILE
        raise DataError(f"{path}: 'corpora' is malformed; prepare the folder again") from error
    return segments if any(weight != 1 for _, weight in segments) else ()


def _pairs(corpus: Mapping[str, Any]) -> int:
    pairs = corpus["pairs"]
    if type(pairs) is not int or not 0 <= pairs < 1 << 62:
        raise ValueError("not a number of pairs")
    return pairs


def _weight(corpus: Mapping[str, Any]) -> float:
    weight = corpus["weight"]
    if type(weight) not in (int, float) or not 0 < weight < math.inf:
        raise ValueError("not a weight")
    return float(weight)
