"""SHA-256 checksums in files: the `SHA256SUMS` of a folder, and those inside JSON files.

`SHA256SUMS` has a line for each file that does not change after the folder was made, in the format
of the program `sha256sum`, which can check it too:

    5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9  vocab.src

Folders of nmtkit 0.1 have no such file, and nothing is compared there.
"""

import functools
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nmtkit.errors import DataError, ModelError
from nmtkit.io.folder_files import MIB, read_regular, regular_file_sha256
from nmtkit.io.lines import file_sha256

SUMS_FILE = "SHA256SUMS"

CHECKSUM_KEY = "sha256"
"""Key of a JSON object's own checksum."""

MAX_SUMMED_BYTES = 64 * MIB
"""Maximum size of a file with a checksum there; a larger one is damaged, and not read."""

_LINE = re.compile(r"([0-9a-f]{64})  ([^/\0]+)")


def format_sums(contents: Mapping[str, bytes]) -> str:
    """Return the text of a `SHA256SUMS` for files with these contents."""
    return "".join(
        f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in contents.items()
    )


def read_sums(folder: Path) -> dict[str, str]:
    """Return the checksums in a folder's `SHA256SUMS` by file name; none if there is no such file.

    :raises ModelError: the file cannot be read, or has a line that is not a checksum.
    """
    path = folder / SUMS_FILE
    try:
        text = read_regular(path, MIB).decode("utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ModelError(f"{path}: cannot be read: {reason}; restore it, or remove it") from error
    lines = text.removesuffix("\n").split("\n") if text else []  # not at other ends of lines
    matches = [_LINE.fullmatch(line) for line in lines]
    for number, match in enumerate(matches, start=1):
        if match is None:
            raise ModelError(
                f"{path}:{number}: not a checksum, two blanks and a file name; restore the file, or"
                " remove it"
            )
    return {match[2]: match[1] for match in matches if match}


def check_sums(folder: Path, names: Iterable[str]) -> None:
    """Compare those of the named files that exist with the folder's `SHA256SUMS`.

    :raises ModelError: a file is damaged, or cannot be read.
    """
    sums = read_sums(folder)
    for path in (folder / name for name in names if name in sums):
        try:
            is_plausible = path.stat().st_size <= MAX_SUMMED_BYTES
            matches = is_plausible and regular_file_sha256(path) == sums[path.name]
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
        if not matches:
            raise ModelError(
                f"{path}: damaged: its checksum is not the one in {SUMS_FILE}; restore it from a"
                f" copy, or if you changed it yourself, remove its line from {SUMS_FILE}"
            )


def remembered_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, computed once in this process while size and time stay.

    The start of a training asks several times for that of each text, which may have gigabytes.

    :raises DataError: the file cannot be read.
    """
    try:
        stat = os.stat(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    return _sha256_of(path, (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns))


@functools.lru_cache(maxsize=16)
def _sha256_of(path: Path, state: tuple[int, ...]) -> str:
    """Return the SHA-256 of a file in a certain state."""
    return file_sha256(path)


def with_checksum(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON object with the checksum of its content added."""
    return {**table, CHECKSUM_KEY: _json_sha256(table)}


def verify_checksum(table: Mapping[str, Any]) -> None:
    """Compare a JSON object with its own checksum, if it has one.

    :raises ValueError: the checksum differs.
    """
    content = {key: value for key, value in table.items() if key != CHECKSUM_KEY}
    if CHECKSUM_KEY in table and table[CHECKSUM_KEY] != _json_sha256(content):
        raise ValueError("its checksum differs")


def _json_sha256(table: Mapping[str, Any]) -> str:
    text = json.dumps(table, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()
