"""Checks before a training resumes: that nothing has changed, and nothing would be overwritten."""

from pathlib import Path

from nmtkit.errors import DataError, ModelError
from nmtkit.io.checksums import read_sums, remembered_sha256
from nmtkit.io.parameters import CorruptFileError, read_with_metadata
from nmtkit.model_folder import BEST_PARAMETERS, PROVENANCE_FILE, SUMMED_FILES
from nmtkit.training.learning_curve import METRICS_FILE, read_curve
from nmtkit.training.progress import Progress
from nmtkit.training.provenance import read_provenance


def other_data_remedy(folder: Path) -> str:
    """Return what to do if a training is to go on with other data than it was started with."""
    return (
        "restore it, or use --force to start anew, or start another training from the parameters"
        f" of this model: --from {folder} with another --output"
    )


def check_same_data(old: Progress, new: Progress, folder: Path, prepared: Path) -> None:
    """Check that a training resumes with the data that it was started with.

    :param old: progress in the checkpoint.
    :param new: progress with the checksums of the data that is there now.
    :param folder: the model folder, for the message.
    :param prepared: the prepared folder, for the message.
    :raises DataError: training data or dev set are others.
    """
    for split, name, checksums in (
        ("train", "training data", (old.corpus, new.corpus)),
        ("dev", "dev set", (old.dev, new.dev)),
    ):
        if checksums[0] not in ("", checksums[1]):
            kinds = " (its text, or the weight of a corpus)" if split == "train" else ""
            raise DataError(
                f"{prepared / split}.src, {split}.tgt: the {name} has changed since the training of"
                f" {folder} started{kinds}; {other_data_remedy(folder)}"
            )


def check_same_files(folder: Path, prepared: Path) -> None:
    """Check that the prepared files are those whose checksums a model folder's provenance has.

    Those that the checkpoints have are enough, but a training may have none yet. The provenance of
    nmtkit 0.1, which had no `SHA256SUMS`, holds checksums that were not compared with the files.

    :raises DataError: a file has changed.
    """
    provenance = read_provenance(folder) if PROVENANCE_FILE in read_sums(folder) else None
    if provenance is None:
        return
    for name, checksum in provenance["data"].items():
        path = prepared / name
        if path.is_file() and remembered_sha256(path) != checksum:
            raise DataError(
                f"{path}: has changed since the training of {folder} started;"
                f" {other_data_remedy(folder)}"
            )


def check_nothing_missing(folder: Path) -> None:
    """Raise ModelError if a file of `SUMMED_FILES` is missing though `SHA256SUMS` lists it."""
    sums = read_sums(folder)
    for path in (folder / name for name in SUMMED_FILES if name in sums):
        if not path.exists():
            raise ModelError(f"{path}: is missing; restore it from a copy")


def check_best_parameters(folder: Path, progress: Progress) -> None:
    """Check that `params.best.safetensors` is that of a checkpoint, or of a later validation.

    It is later if the training was killed after that validation, before its checkpoint was written.
    It will be written again, as resuming is exact.

    :raises ModelError: the file is missing, damaged, or not that of this training.
    """
    if progress.best is None:
        return
    path = folder / BEST_PARAMETERS
    try:
        _, (checksum, update) = read_with_metadata(path)
    except CorruptFileError as error:
        raise ModelError(f"{error}; or use --force to start the training anew") from error
    if update <= progress.updates and progress.best_parameters not in ("", checksum):
        raise ModelError(
            f"{path}: not the best parameters of this training, which could not be found again;"
            " restore the file from a copy, or use --force to start anew"
        )


def check_nothing_to_lose(folder: Path) -> None:
    """Check that a training without a checkpoint may start from the beginning.

    Each validation is followed by a checkpoint. After several, or if there are parameters without
    metrics, the checkpoints were removed or not copied, and the parameters that they led to would
    be replaced by those of a new beginning.

    :raises ModelError: there are parameters that a new beginning would not lead to.
    """
    if not (folder / BEST_PARAMETERS).exists():
        return
    has_metrics = (folder / METRICS_FILE).exists()
    if not has_metrics or len(read_curve(folder).validation) > 1:
        raise ModelError(
            f"{folder}: has no checkpoint to resume from; restore the folder 'checkpoints', or use"
            f" --force to start anew, which replaces {BEST_PARAMETERS}"
        )
