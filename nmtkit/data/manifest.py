"""What a prepared folder says of itself: its `manifest.json`."""

from pathlib import Path
from typing import Any

from nmtkit.errors import DataError
from nmtkit.io.safe_json import parse_json

FORMAT = 1
"""Version of a prepared folder's layout; raised when older versions could not read it."""

MANIFEST = "manifest.json"


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """The manifest of a prepared folder; under `text` is how its text was prepared.

    :raises DataError: the folder has none, or one of another format.
    """
    path = Path(folder) / MANIFEST
    try:
        manifest = parse_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = f"cannot be read ({error.strerror}); name a folder that 'nmtkit prepare' made"
        raise DataError(f"{path}: {reason}") from error
    except ValueError as error:
        raise DataError(f"{path}: not JSON: {error}; prepare the folder anew") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise DataError(f"{path}: not of format {FORMAT}; prepare the folder anew")
    if not isinstance(manifest.get("text"), dict):
        raise DataError(f"{path}: has no section 'text'; prepare the folder anew")
    return manifest
