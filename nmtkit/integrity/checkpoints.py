"""Check the checkpoints of a model folder."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import torch

from nmtkit.config import TrainingConfig
from nmtkit.errors import NmtkitError
from nmtkit.integrity.findings import (
    PERMISSIONS,
    Finding,
    Inspection,
    finding_of,
    look_again,
    warning,
)
from nmtkit.integrity.folder import check_entries, check_entry
from nmtkit.io.temporary import is_hidden_name
from nmtkit.model_folder import BEST_PARAMETERS
from nmtkit.models import Model
from nmtkit.training.checkpoint import read_checkpoint, verify_checkpoint
from nmtkit.training.checkpoint_folder import (
    CHECKPOINTS,
    DAMAGED_SUFFIX,
    CheckpointKind,
    resumable_checkpoints,
    steady_checkpoint,
)
from nmtkit.training.optimizers import make_optimizer
from nmtkit.training.progress import Progress
from nmtkit.training.resume_checks import check_best_parameters

STATE_FILES = ("params.safetensors", "state.safetensors", "state.json")

_KIND = "|".join(re.escape(kind.value) for kind in CheckpointKind)
_NAME = re.compile(rf"\d+({_KIND})")
_DAMAGED_NAME = re.compile(rf"\d+({_KIND}){re.escape(DAMAGED_SUFFIX)}\d*")
_REMOVED_NAME = re.compile(rf"\.\d+({_KIND})\.old")

Remedy = Callable[[], str]


class Checkpoints:
    """The checkpoints of a model folder, with the progress of those that are not damaged.

    :param build: builds the folder's model; parameters need no memory yet. None if its settings or
        vocabularies are damaged: checkpoints are then compared with their checksums only.
    """

    def __init__(
        self,
        folder: Path,
        build: Callable[[], Model] | None,
        config: TrainingConfig | None,
        found: Inspection,
    ) -> None:
        self._folder = folder
        self._build = build
        self._config = config
        self._found = found
        self.progress: dict[Path, Progress] = {}

    def check(self) -> None:
        """Check all checkpoints, oldest first, and the best parameters against the newest."""
        damaged: list[Finding] = []
        for path in resumable_checkpoints(self._folder):
            self._found.files += sum((path / name).exists() for name in STATE_FILES)
            damaged += look_again(lambda: self._check(path), [path])  # noqa: B023
        self._add(damaged, self._remedy())
        self._check_steady()
        best = self._folder / BEST_PARAMETERS
        if str(best) not in [finding.path for finding in self._found.findings]:
            paths = [best, self._folder / CHECKPOINTS]
            self._found.add(look_again(self._check_best, paths))

    def _check_steady(self) -> None:
        """Check the checkpoint from which a training with a higher time limit goes on."""
        path = steady_checkpoint(self._folder)
        if path is None:
            return
        self._found.files += sum((path / name).exists() for name in STATE_FILES)
        damaged = look_again(lambda: self._check(path), [path])
        self.progress.pop(path, None)  # a training with the same command does not resume from it
        remedy = "remove it: a training with a higher time limit then goes on from the end"
        self._add(damaged, remedy)

    def _add(self, damaged: Iterable[Finding], remedy: str) -> None:
        """Add what is wrong with checkpoints.

        :param remedy: what to do, unless the reason is a lack of permissions.
        """
        self._found.add(
            finding if finding.remedy == PERMISSIONS else replace(finding, remedy=remedy)
            for finding in damaged
        )

    def _check(self, path: Path) -> Iterator[Finding]:
        """Yield an error for a damaged checkpoint."""
        if not path.exists():  # removed by a training that runs
            return
        links = [f for name in STATE_FILES for f in check_entry(path / name, self._folder)]
        if links:
            yield from links
            return
        try:
            self.progress[path] = self._read(path)
        except NmtkitError as problem:
            files = [
                file for file in map(path.joinpath, STATE_FILES) if f"{file}: " in str(problem)
            ]
            yield finding_of(problem, files[0] if files else path)

    def _read(self, path: Path) -> Progress:
        """Return the progress of a checkpoint.

        :raises ModelError: the checkpoint is damaged, or does not belong to the model.
        """
        if self._build is None or self._config is None:
            return verify_checkpoint(path)
        with torch.device("meta"):
            model = self._build()
        return read_checkpoint(path, model, make_optimizer(model, self._config))[0]

    def _remedy(self) -> str:
        """Return what to do with damaged checkpoints."""
        if not self.progress:
            return (
                "restore it from a copy; no other checkpoint is whole, so otherwise the training"
                " can only start anew (nmtkit train --force)"
            )
        newest = max(self.progress)
        return (
            "remove it, or leave it: 'nmtkit train' with the same command resumes from checkpoint"
            f" {newest.name}"
        )

    def _check_best(self) -> Iterator[Finding]:
        """Yield an error if the best parameters are not those that the newest checkpoint names."""
        if self.progress:
            try:
                check_best_parameters(self._folder, self.progress[max(self.progress)])
            except NmtkitError as problem:
                yield finding_of(problem, self._folder / BEST_PARAMETERS)


def check_checkpoint_folder(folder: Path, found: Inspection, busy: bool) -> None:
    """Name what is in the folder of the checkpoints besides whole ones.

    :param folder: the model folder.
    :param busy: a training runs there.
    """
    checkpoints = folder / CHECKPOINTS
    if not checkpoints.is_dir():
        return
    check_entries(
        checkpoints,
        found,
        lambda name: bool(_NAME.fullmatch(name) or _DAMAGED_NAME.fullmatch(name)),
        lambda name: is_hidden_name(name) or bool(_REMOVED_NAME.fullmatch(name)),
        busy,
        root=folder,
    )
    for path in sorted(checkpoints.iterdir()):
        if _DAMAGED_NAME.fullmatch(path.name):
            problem = "a damaged checkpoint that a training has set aside"
            found.add([warning(path, problem, "remove it (rm -r)")])
