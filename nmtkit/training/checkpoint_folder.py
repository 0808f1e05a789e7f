"""The folder of a training's checkpoints: which there are, setting them aside, and removing them.

`nmtkit.training.checkpoint` says what a checkpoint holds, and how checkpoints are named.
"""

import enum
import itertools
import os
import shutil
from pathlib import Path

from nmtkit.errors import ModelError
from nmtkit.io.sync import sync_folder

CHECKPOINTS = "checkpoints"
"""Folder of the checkpoints in a model folder."""


class CheckpointKind(enum.Enum):
    """Why a checkpoint was saved; the value is the end of its name.

    VALIDATED: after a validation. INTERRUPTED: because of a stop signal. STEADY: before the
    learning rate cools down because of a time limit.
    """

    VALIDATED = ""
    INTERRUPTED = ".interrupted"
    STEADY = ".steady"


DAMAGED_SUFFIX = ".damaged"
"""End of the names of checkpoints that were set aside, but for a number."""

TEMPORARY_FILES = (".config.toml.*", ".metrics.jsonl.*", ".params.*")
"""Patterns of the hidden names that files of a model folder have while they are written."""


def check_can_list(folder: Path) -> None:
    """Raise ModelError if the checkpoints of a model folder exist, but cannot be listed.

    A training would start from the beginning, and replace the parameters that are there.
    """
    checkpoints = folder / CHECKPOINTS
    try:
        os.listdir(checkpoints)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise ModelError(f"{checkpoints}: cannot be read: {error.strerror}") from error


def has_checkpoints(folder: Path) -> bool:
    """Return whether a model folder has a checkpoint, damaged or not."""
    return any(not path.name.startswith(".") for path in _checkpoint_files(folder))


def list_checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints of a model folder, oldest first, without those of interruptions."""
    return checkpoints_of(folder, CheckpointKind.VALIDATED)


def resumable_checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints that the same command resumes from, oldest first: not the steady."""
    return checkpoints_of(folder, CheckpointKind.VALIDATED, CheckpointKind.INTERRUPTED)


def is_interrupted(folder: Path) -> bool:
    """Return whether the newest checkpoint was saved without a validation."""
    newest = resumable_checkpoints(folder)[-1:]
    return any(path.suffix == CheckpointKind.INTERRUPTED.value for path in newest)


def steady_checkpoint(folder: Path) -> Path | None:
    """Return the checkpoint that was saved before the learning rate cooled down, or None."""
    return next(reversed(checkpoints_of(folder, CheckpointKind.STEADY)), None)


def damaged_checkpoints(folder: Path) -> list[Path]:
    """Return the damaged checkpoints that were set aside."""
    return [path for path in _checkpoint_files(folder) if DAMAGED_SUFFIX in path.name]


def checkpoints_of(folder: Path, *kinds: CheckpointKind) -> list[Path]:
    """Return the checkpoints of some kinds, oldest first."""
    suffixes = [kind.value for kind in kinds]
    paths = _checkpoint_files(folder)
    return [path for path in paths if path.suffix in suffixes and path.stem.isdigit()]


def _checkpoint_files(folder: Path) -> list[Path]:
    """Return all that is in a model folder's `checkpoints`, sorted by name.

    :raises OSError: it cannot be listed. (`Path.glob` would find nothing there, and a training
        would begin anew, or average other checkpoints.)
    """
    try:
        return sorted((folder / CHECKPOINTS).iterdir())
    except FileNotFoundError:
        return []


def set_aside(checkpoint: Path) -> None:
    """Rename a damaged checkpoint, so that nothing reads it again."""
    os.replace(checkpoint, _damaged_name(checkpoint))


def _damaged_name(checkpoint: Path) -> Path:
    """Return a new name for a damaged checkpoint; there may be several of the same update."""
    name = f"{checkpoint.name}{DAMAGED_SUFFIX}"
    names = itertools.chain([name], (f"{name}{number}" for number in itertools.count(2)))
    return next(path for path in map(checkpoint.with_name, names) if not os.path.lexists(path))


def remove_old_checkpoints(folder: Path, keep: int) -> None:
    """Remove all but the last `keep` checkpoints."""
    for path in list_checkpoints(folder)[:-keep]:
        remove_checkpoint(path)


def remove_later_checkpoints(folder: Path, updates: int) -> None:
    """Remove the checkpoints of later updates, oldest first, but not that of the steady part."""
    for path in resumable_checkpoints(folder):
        if int(path.stem) > updates:
            remove_checkpoint(path)


def remove_checkpoint(checkpoint: Path) -> None:
    """Rename a checkpoint, then remove it, so that no incomplete checkpoint is ever visible."""
    hidden = checkpoint.with_name(f".{checkpoint.name}.old")
    shutil.rmtree(hidden, ignore_errors=True)
    os.replace(checkpoint, hidden)
    sync_folder(checkpoint.parent)  # else the files could be gone before the name after a power cut
    if hidden.is_dir():
        shutil.rmtree(hidden)
    else:
        hidden.unlink()


def remove_temporary_files(folder: Path) -> None:
    """Remove files that a killed process left half written or half removed."""
    for path in _checkpoint_files(folder):
        if path.name.startswith("."):
            shutil.rmtree(path, ignore_errors=True)
    for pattern in TEMPORARY_FILES:
        for path in folder.glob(pattern):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
