"""Records of a model folder: small JSON files with a format and a checksum of their own."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from nmtkit.errors import ModelError
from nmtkit.io.checksums import verify_checksum
from nmtkit.io.folder_files import check_file, read_regular
from nmtkit.io.safe_json import parse_json

Record = TypeVar("Record")


def read_record(
    path: Path,
    max_bytes: int,
    format: int,
    record_of: Callable[[Mapping[str, Any]], Record],
    remedy: str,
) -> Record | None:
    """Read a record of a model folder; return None if there is none.

    :param path: of the record, in the model folder.
    :param format: the number that its entry "format" must have.
    :param record_of: makes the record of a JSON object; raises ValueError for a wrong one.
    :param remedy: what to do about a damaged file, for the message.
    :raises ModelError: the file is damaged, has an unknown format, or is not a regular file in the
        folder.
    """
    if not os.path.lexists(path):
        return None
    check_file(path.parent, path, max_bytes)
    try:
        table = parse_json(read_regular(path, max_bytes).decode("utf-8"))
        if not isinstance(table, dict) or table.get("format") != format:
            raise ValueError(f"not of format {format}")
        verify_checksum(table)
        return record_of(table)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read: {error}; {remedy}") from error
