"""Find out what a path is, and check it.

from nmtkit import check
for finding in check("prepared").findings:
    print(finding.severity, finding.location, finding.problem, finding.remedy)
"""

import logging
import os
import stat
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

from nmtkit.errors import DataError
from nmtkit.integrity.findings import CheckResult, Inspection, Progress
from nmtkit.io.inputs import Source, copy_pipes
from nmtkit.io.lines import read_beginning, read_raw_lines
from nmtkit.io.text_content import STANDARD
from nmtkit.progress_bar import ProgressBar

logger = logging.getLogger("nmtkit")

MODEL_MARKS = (
    "config.toml",
    "params.best.safetensors",
    "params.last.safetensors",
    "checkpoints",
    "metrics.jsonl",
    "origin.json",
)
"""Files and folders that only a model folder has."""

PREPARED_MARKS = ("manifest.json", "train.src", "train.tgt")
"""Files that only a prepared folder has."""

EXPECTED = "give a prepared folder, a model folder, a phrase table or an n-best list"

BEGINNING = 1 << 16
"""Number of bytes at the beginning of a file that decide what it is."""


def check(path: str | Path) -> CheckResult:
    """Check a prepared folder, a model folder, a phrase table or an n-best list for damage.

    Every file is compared with its checksum, as far as one was recorded, and read as the commands
    read it. Nothing is written. A training that runs in a model folder is not disturbed.

    :param path: the folder; or the file, plain or compressed; or `-`.
    :return: what is damaged and how to mend it, and the number of files checked.
    :raises DataError: the path does not exist, or is something else.
    """
    with ExitStack() as stack:
        source = _source_of(path, stack)
        kind = kind_of_folder(Path(path)) if isinstance(source, Path) else kind_of_file(source)
        bar = stack.enter_context(ProgressBar("check", "lines"))
        found = _check(kind, source, bar.update)
    for name in found.unchecked:
        logger.info("%r: does not belong there; not checked", name)
    return CheckResult(str(path), kind, found.files, tuple(found.findings), tuple(found.unchecked))


def _source_of(path: str | Path, stack: ExitStack) -> Source:
    """Return a `Path` for a folder, else a file that can be read twice.

    :param stack: removes the copy of a pipe.
    :raises DataError: the path does not exist, or is a device.
    """
    mode = None
    if str(path) != STANDARD:
        with suppress(OSError):
            mode = os.stat(path).st_mode
        if mode is None:
            raise DataError(f"{path}: no such file or folder; {EXPECTED}")
        if stat.S_ISDIR(mode):
            return Path(path)
        if stat.S_ISREG(mode):
            return str(path)
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            raise DataError(f"{path}: not a regular file; {EXPECTED}")
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    return copy_pipes([path], Path(folder))[0]


def kind_of_folder(folder: Path) -> str:
    """Return "prepared folder" or "model folder".

    A folder is recognised by any of its files, because others may be missing.

    :raises DataError: the folder cannot be read, or is something else.
    """
    try:
        names = {path.name for path in folder.iterdir()}
    except OSError as error:
        raise DataError(f"{folder}: cannot be read: {error.strerror}; change that first") from error
    for kind, marks in (
        ("prepared folder", PREPARED_MARKS[:1]),
        ("model folder", MODEL_MARKS),
        ("prepared folder", PREPARED_MARKS),
    ):
        if names.intersection(marks):
            return kind
    raise DataError(f"{folder}: neither a prepared folder nor a model folder; {EXPECTED}")


def kind_of_file(source: Source) -> str:
    """Return "phrase table" or "n-best list".

    :raises DataError: the file cannot be read, or is something else.
    """
    from nmtkit.integrity.smt_files import kind_of_lines

    beginning = read_beginning(source, BEGINNING)
    if not beginning:
        next(read_raw_lines(source), None)  # raises an error if compressed data is damaged
    kind = kind_of_lines(beginning.split(b"\n"))
    if kind is None:
        raise DataError(f"{source}: neither a phrase table nor an n-best list; {EXPECTED}")
    return kind


def _check(kind: str, source: Source, progress: Progress) -> Inspection:
    """Check a folder or file of this kind; torch is imported for model folders only."""
    if kind == "prepared folder":
        from nmtkit.integrity.prepared_folder import check_prepared_folder

        return check_prepared_folder(Path(str(source)), progress)
    if kind == "model folder":
        from nmtkit.integrity.model_folder import check_model_folder

        return check_model_folder(Path(str(source)))
    from nmtkit.integrity.smt_files import check_nbest_list, check_phrase_table

    check_lines = check_phrase_table if kind == "phrase table" else check_nbest_list
    return check_lines(source, progress)
