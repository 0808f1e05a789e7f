"""Check a model folder: settings, vocabularies, parameters, checkpoints, metrics, leftovers."""

import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import torch

from nmtkit.config import Config, TextConfig
from nmtkit.errors import ModelError, NmtkitError
from nmtkit.integrity.checkpoints import Checkpoints, check_checkpoint_folder
from nmtkit.integrity.findings import (
    Finding,
    Inspection,
    LineFindings,
    error,
    finding_of,
    look_again,
    unreadable,
    warning,
)
from nmtkit.integrity.folder import check_entries
from nmtkit.io import calibration_record
from nmtkit.io.calibration_record import read_calibration
from nmtkit.io.checksums import SUMS_FILE, read_sums
from nmtkit.io.fast_record import FAST_FILE, LEXICON_FILE, REMEDY, read_fast_record
from nmtkit.io.folder_files import CALIBRATION_FILE, check_file, regular_file_sha256
from nmtkit.io.lines import decode_line
from nmtkit.io.parameters import load_parameters, read_metadata, read_with_metadata
from nmtkit.io.temporary import is_hidden_name
from nmtkit.model_folder import (
    BEST_PARAMETERS,
    MAX_FILE_BYTES,
    PROVENANCE_FILE,
    SUMMED_FILES,
    build_model,
    read_config,
)
from nmtkit.models import Model
from nmtkit.text.names import NAMES, load_names
from nmtkit.text.subword import PIECES, load_subword_model, method_of
from nmtkit.text.subword.pieces import read_pieces
from nmtkit.text.truecaser import TRUECASE, load_truecaser
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.checkpoint_folder import CHECKPOINTS
from nmtkit.training.folder_lock import LOCK_FILE, is_locked
from nmtkit.training.learning_curve import METRICS_FILE, parse_point, read_metrics
from nmtkit.training.provenance import MAX_PROVENANCE_BYTES, read_provenance

logger = logging.getLogger("nmtkit")

Content = TypeVar("Content")

SIDES = ("src", "tgt")

RESTORE = "restore the file from a copy"

CONFIG_FILE = "config.toml"

_PARAMETERS = re.compile(r"params\..+\.safetensors")
_OLD_TEMPORARY = re.compile(r"\.tmp[A-Za-z0-9]{6}")
"""Temporary files of safetensors, which earlier versions could leave."""

OWN_NAMES = {*MAX_FILE_BYTES, SUMS_FILE, PROVENANCE_FILE, METRICS_FILE, CHECKPOINTS, LOCK_FILE}
OWN_NAMES |= {"tensorboard", FAST_FILE, LEXICON_FILE, CALIBRATION_FILE}
"""Names in a model folder, besides those of parameters."""


def check_model_folder(folder: Path) -> Inspection:
    """Check every file of a model folder, also while a training runs there.

    Checksums are those in `SHA256SUMS`, in the files of parameters, and in the checkpoints.
    """
    return _ModelFolder(folder).check()


class _ModelFolder:
    """A model folder that is being checked.

    sums: checksums in `SHA256SUMS`. busy: a training runs in the folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.found = Inspection()
        self.busy = is_locked(folder)
        self.sums: dict[str, str] = {}

    def check(self) -> Inspection:
        """Check all files."""
        folder = self._folder
        if self.busy:
            logger.info(
                "%s: a training runs there; what it replaces meanwhile is no damage", folder
            )
        self._check_entries()
        self._check_sums()
        config = self._read(CONFIG_FILE, lambda: read_config(folder), required=True)
        sizes = self._check_text(config)
        self._read(PROVENANCE_FILE, lambda: read_provenance(folder))
        build = None
        if config is not None and sizes is not None:
            build = lambda: build_model(config, *sizes)  # noqa: E731
        checksums = {
            path.name: self._read(path.name, lambda: self._read_parameters(path, build))  # noqa: B023
            for path in sorted(folder.iterdir())
            if _PARAMETERS.fullmatch(path.name)
        }
        training = None if config is None else config.training
        Checkpoints(folder, build, training, self.found).check()
        self._check_best_is_there()
        self._check_metrics()
        self._check_fast(checksums.get(BEST_PARAMETERS))
        self._check_calibration(checksums.get(BEST_PARAMETERS))
        return self.found

    def _check_entries(self) -> None:
        """Name links out of the folder, pipes, leftovers and unknown files."""
        check_entries(
            self._folder,
            self.found,
            lambda name: name in OWN_NAMES or bool(_PARAMETERS.fullmatch(name)),
            lambda name: is_hidden_name(name) or bool(_OLD_TEMPORARY.fullmatch(name)),
            self.busy,
            root=self._folder,
        )
        check_checkpoint_folder(self._folder, self.found, self.busy)

    def _check_sums(self) -> None:
        """Compare the files that do not change with `SHA256SUMS`; older folders have none."""
        self.sums = self._read(SUMS_FILE, lambda: read_sums(self._folder)) or {}
        for name, checksum in self.sums.items():
            path = self._folder / name
            self.found.add(look_again(lambda: self._check_sum(path, checksum), [path]))  # noqa: B023
        if (self._folder / SUMS_FILE).exists():
            unlisted = [
                name
                for name in (*SUMMED_FILES, PROVENANCE_FILE)
                if (self._folder / name).exists() and name not in self.sums
            ]
            self.found.add(
                error(self._folder / SUMS_FILE, f"lacks the checksum of {name}", RESTORE)
                for name in unlisted
            )

    def _check_sum(self, path: Path, checksum: str) -> Iterator[Finding]:
        """Yield an error if a file is missing, or differs from its checksum."""
        if path.name not in (*SUMMED_FILES, PROVENANCE_FILE):
            yield error(self._folder / SUMS_FILE, f"lists {path.name}, an unknown file", RESTORE)
            return
        try:
            check_file(self._folder, path, MAX_FILE_BYTES.get(path.name, MAX_PROVENANCE_BYTES))
            if regular_file_sha256(path) != checksum:
                yield error(path, f"changed or damaged: {SUMS_FILE} has another checksum", RESTORE)
        except FileNotFoundError:
            yield error(path, f"missing, though {SUMS_FILE} lists it", RESTORE)
        except OSError as problem:
            yield unreadable(path, problem, RESTORE)
        except NmtkitError as problem:
            yield finding_of(problem, path)

    def _check_text(self, config: Config | None) -> tuple[int, int] | None:
        """Read vocabularies and subword models; return the sizes of the vocabularies."""
        vocabularies = [
            self._read(name, lambda: Vocabulary.load(self._folder / name), required=True)  # noqa: B023
            for name in (f"vocab.{side}" for side in SIDES)
        ]
        if config is not None and config.text.subwords != "none":
            for side in SIDES:
                self._read_subwords(config.text, side)
        if config is not None and config.text.case == "truecase":
            for side in SIDES:
                name = f"{TRUECASE}.{side}"
                self._read(name, lambda: load_truecaser(self._folder, side, "en"), True)  # noqa: B023
        if config is not None and config.text.copy_names:
            for side in SIDES:
                name = f"{NAMES}.{side}"
                self._read(name, lambda: load_names(self._folder, side), True)  # noqa: B023
        src, tgt = vocabularies
        return None if src is None or tgt is None else (len(src), len(tgt))

    def _read_subwords(self, text: TextConfig, side: str) -> None:
        """Read the subword model of one side, and its list of pieces."""
        name = f"{method_of(self._folder, side)}.{side}"
        self._read(
            name,
            lambda: load_subword_model(self._folder, side, text.glossaries),
            required=not self.sums,  # the sums name a missing file, whatever the method
        )
        if text.vocabulary_threshold:
            name = f"{PIECES}.{side}"
            self._read(name, lambda: read_pieces(self._folder / name), required=True)

    def _read_parameters(self, path: Path, build: Callable[[], Model] | None) -> str | None:
        """Read a file of parameters; return their checksum.

        :param build: builds the model; None if settings or vocabularies are damaged.
        :raises ModelError: the file is damaged, or does not belong to the model.
        """
        if build is None:
            metadata = read_with_metadata(path)[1]
        else:
            with torch.device("meta"):
                model = build()
            metadata = load_parameters(model, path)
        if self.sums and read_metadata(path).sha256 is None:
            raise ModelError(f"{path}: its checksum is missing; {RESTORE}")
        return metadata.sha256

    def _check_best_is_there(self) -> None:
        """Warn of missing best parameters, unless a training runs, or a finding names them."""
        path = self._folder / BEST_PARAMETERS
        is_named = str(path) in [finding.path for finding in self.found.findings]
        if not (self.busy or is_named or _is_there(path)):
            problem = "missing, so the model cannot translate: never written, or lost"
            remedy = "go on with the training until a validation, or restore the file from a copy"
            self.found.add([warning(path, problem, remedy)])

    def _check_fast(self, best: str | None) -> None:
        """Check what `nmtkit optimize` wrote: damage is an error, other parameters a warning.

        :param best: checksum of the best parameters; None if they are missing or damaged.
        """
        record = self._read(FAST_FILE, lambda: read_fast_record(self._folder))
        if record is not None:
            self._read(
                LEXICON_FILE,
                lambda: record.check_lexicon(self._folder),
                required=bool(record.lexicon),
            )
            self._compare_parameters(FAST_FILE, record.parameters, best, REMEDY)

    def _check_calibration(self, best: str | None) -> None:
        """Check what `nmtkit calibrate` wrote, as `_check_fast` does."""
        record = self._read(CALIBRATION_FILE, lambda: read_calibration(self._folder))
        if record is not None:
            self._compare_parameters(
                CALIBRATION_FILE, record.parameters[0], best, calibration_record.REMEDY
            )

    def _compare_parameters(self, name: str, recorded: str, best: str | None, remedy: str) -> None:
        """Warn of a record whose checksum is not that of the best parameters."""
        if best not in (None, recorded):
            path = self._folder / name
            self.found.add([warning(path, "the parameters have changed since", remedy)])

    def _check_metrics(self) -> None:
        """Check every line of the metrics, if there are any."""
        path = self._folder / METRICS_FILE
        if _is_there(path):
            self.found.files += 1
            self.found.add(look_again(lambda: _check_metrics(path), [path]))

    def _read(
        self, name: str, read: Callable[[], Content], required: bool = False
    ) -> Content | None:
        """Read a file; return None, and add a finding, if it cannot be read.

        :param required: a missing file is an error; if `SHA256SUMS` lists it, there is one already.
        """
        path = self._folder / name
        results: list[Content] = []

        def check() -> Iterator[Finding]:
            results.clear()
            if not _is_there(path):
                if required and name not in self.sums:
                    yield error(path, "missing", RESTORE)
                return
            try:
                check_file(self._folder, path, MAX_FILE_BYTES.get(name))
                results.append(read())
            except NmtkitError as problem:
                yield finding_of(problem, path)

        self.found.add(look_again(check, [path]))
        self.found.files += _is_there(path)
        return results[0] if results else None


def _check_metrics(path: Path) -> Iterator[Finding]:
    """Check that every line was written by training, and that updates do not fall."""
    found = LineFindings(path)
    remedy = "remove the line; only learning curves need it"
    try:
        *lines, rest = read_metrics(path).split(b"\n")
    except NmtkitError as problem:
        yield finding_of(problem, path)
        return
    last = 0
    for number, line in enumerate(lines, start=1):
        try:
            update = parse_point(decode_line(line, path, number), f"{path}:{number}").update
        except NmtkitError as problem:
            found.add(finding_of(problem, path, remedy))
            continue
        if update < last:
            found.add(error(path, f"update {update} comes after update {last}", remedy, number))
        last = update
    yield from found
    if rest:
        problem_text = "cut short: a process was killed while it wrote the line"
        yield warning(path, problem_text, remedy, len(lines) + 1)


def _is_there(path: Path) -> bool:
    """Return whether there is a file, a folder or a link.

    :raises OSError: this cannot be found out; `os.path.lexists` would return False.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
