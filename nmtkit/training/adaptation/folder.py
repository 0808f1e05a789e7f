"""The model folder that an adaptation writes, complete or not at all."""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nmtkit.data.manifest import MANIFEST_FILE
from nmtkit.errors import ModelError, OutputError
from nmtkit.io.atomic_folder import check_can_make, is_free, output_folder
from nmtkit.io.parameters import Parameters, save_parameters, tensors_sha256
from nmtkit.model_folder import BEST_PARAMETERS, LoadedModel
from nmtkit.new_model_folder import prepared_files, write_model_files
from nmtkit.training.adaptation.replay import REPLAY_KEY, Replay, recorded_path
from nmtkit.training.adaptation.report import AdaptationReport
from nmtkit.training.folder_lock import is_locked
from nmtkit.training.provenance import ADAPTATION_KEY, INITIAL_KEY, provenance_of, read_provenance


def check_output(output: Path, model_folder: Path, force: bool) -> None:
    """Check that the new folder can be written, before anything is computed.

    :raises OutputError: it exists and `force` is not given, is something else, is in a folder that
        does not exist or cannot be written, or is that of the old model.
    :raises ModelError: a training runs there.
    """
    real_output = Path(os.path.realpath(output))  # never raises, even if links form a loop
    if model_folder.resolve().is_relative_to(real_output):
        raise OutputError(f"{output}: is the model that is adapted, or around it; give another -o")
    if not real_output.parent.is_dir():
        raise OutputError(
            f"{output}: cannot be written: its parent folder does not exist; make it first"
        )
    check_can_make(output)
    if is_free(output):
        return
    if not (output / "config.toml").is_file() or (output / MANIFEST_FILE).exists():
        raise OutputError(f"{output}: exists and is not a model folder; give another -o")
    if not force:
        raise OutputError(f"{output}: exists already; use --force to replace it")
    _refuse_training(output)


def _refuse_training(output: Path) -> None:
    """Raise ModelError if a training runs in the folder that would be replaced."""
    if is_locked(output):
        raise ModelError(f"{output}: a training runs there; wait for it, or give another -o")


def adapt_command(
    model: Path,
    data: Sequence[str | Path],
    output: Path,
    guards: Sequence[Sequence[str | Path]],
    options: Mapping[str, object],
) -> str:
    """Return the command line of an adaptation.

    :param options: names and values of further options.
    """
    words = ["nmtkit", "adapt", str(model), "--data", *map(str, data)]
    for files in guards:
        words += ["--guard", *map(str, files)]
    for name, value in options.items():
        words += [name, str(value)]
    return shlex.join([*words, "--output", str(output)])


def adapted_provenance(
    model_folder: Path,
    command: str,
    inputs: Mapping[str, str],
    model: LoadedModel,
    replay: Replay | None,
    report: AdaptationReport,
    old: Parameters,
) -> dict[str, Any]:
    """Return the content of the new `origin.json`.

    It names the old model, the corrections with their checksums, and the data that was replayed, or
    else that of the old model's training, so that an adapted model can be adapted again.

    :param inputs: SHA-256 of the files of corrections, by path.
    :param old: the old parameters.
    """
    before = read_provenance(model_folder) or {}
    initial = {
        "path": str(model_folder),
        "parameters": model.metadata.sha256 or tensors_sha256(old),
        "update": model.metadata.update,
    }
    splits = {"train": {"pairs": report.corrections}}
    manifest = {"splits": splits, "inputs": {**before.get("inputs", {}), **inputs}}
    checksums = dict(before.get("data", {}))
    if replay is not None:
        corpus = zip(model.config.data.sides, (replay.corpus.src, replay.corpus.tgt), strict=True)
        checksums |= {f"train.{side}": part.checksum for side, part in corpus}
    provenance = provenance_of(command, manifest, checksums, model.device.type, initial)
    assert INITIAL_KEY in provenance
    data = recorded_path(before) if replay is None else replay.folder.resolve()
    if data is not None:
        provenance[REPLAY_KEY] = str(data)
    figures = report.as_dict()
    del figures["seconds"]  # the same command is to write the same file
    return {**provenance, ADAPTATION_KEY: figures}


def write_adapted(
    output: Path,
    model_folder: Path,
    model: LoadedModel,
    parameters: Parameters,
    provenance: Mapping[str, Any],
    update: int,
    force: bool,
) -> None:
    """Write the new model folder, with the settings, vocabularies and subwords of the old one.

    :param update: number of the update to be written beside the parameters.
    :raises OutputError: it cannot be written.
    :raises ModelError: a training was started there while the model was adapted.
    """
    files = prepared_files(model_folder, model.config.text, ("src", "tgt"))
    with output_folder(output, "config.toml", "model folder", force) as hidden:
        write_model_files(hidden, files, model.config, provenance)
        save_parameters(hidden / BEST_PARAMETERS, parameters, update)
        _refuse_training(output)
