"""Provenance of a model: `origin.json`, which training writes into a new model folder.

It holds what `config.toml` and `metrics.jsonl` do not: the command, versions, device and threads,
and the data with its checksums, as `nmtkit prepare` wrote them into the prepared folder's manifest.
"""

import platform
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

import nmtkit
from nmtkit.errors import ModelError
from nmtkit.io.safe_json import parse_json
from nmtkit.model_folder import PROVENANCE_FILE

FORMAT = 1
TRAINING_DATA_PREFIXES = ("train.", "dev.")
"""Name prefixes of the prepared files that training reads."""


def train_command(
    prepared: str | Path,
    output: str | Path,
    recipe: str | None,
    config_file: str | Path | None,
    overrides: Sequence[str],
) -> str:
    """Return the command line that starts this training."""
    words = ["nmtkit", "train", str(prepared), "--output", str(output)]
    words += ["--recipe", recipe] if recipe else []
    words += ["--config", str(config_file)] if config_file is not None else []
    words += [word for override in overrides for word in ("--set", override)]
    return shlex.join(words)


def provenance_of(command: str, manifest: Mapping[str, Any], device: str) -> dict[str, Any]:
    """Return the content of `origin.json`.

    :param manifest: the prepared folder's manifest.
    :param device: type of the device that trains, "cpu" or "cuda".
    """
    splits, outputs = manifest.get("splits", {}), manifest.get("outputs", {})
    return {
        "format": FORMAT,
        "command": command,
        "versions": {
            "nmtkit": nmtkit.__version__,
            "torch": str(torch.__version__),
            "python": platform.python_version(),
        },
        "device": device,
        "threads": torch.get_num_threads(),
        "pairs": {name: splits[name]["pairs"] for name in ("train", "dev") if name in splits},
        "inputs": manifest.get("inputs", {}),
        "data": {
            name: file for name, file in outputs.items() if name.startswith(TRAINING_DATA_PREFIXES)
        },
    }


def read_provenance(folder: str | Path) -> dict[str, Any] | None:
    """Read `origin.json`; return None if there is none, as in folders of early versions.

    :raises ModelError: the file is damaged or has an unknown format.
    """
    path = Path(folder) / PROVENANCE_FILE
    if not path.exists():
        return None
    try:
        provenance = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read; remove it, or restore it") from error
    if not isinstance(provenance, dict) or provenance.get("format") != FORMAT:
        raise ModelError(f"{path}: not of format {FORMAT}; use the version that wrote it")
    return provenance
