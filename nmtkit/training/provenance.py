"""How a model was made: what training notes in `origin.json` of its folder, once, at its start.

The settings are in `config.toml`, the course in `metrics.jsonl`; here is what neither holds: the
command, the versions, the machine's part, and the data with its checksums as `nmtkit prepare` wrote
them into the manifest of the prepared folder.
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
from nmtkit.model_folder import ORIGIN

FORMAT = 1
TRAINED_ON = ("train.", "dev.")
"""How the files of a prepared folder begin that a training reads."""


def train_command(
    prepared: str | Path,
    output: str | Path,
    recipe: str | None,
    config_file: str | Path | None,
    overrides: Sequence[str],
) -> str:
    """The command line that trains so."""
    words = ["nmtkit", "train", str(prepared), "--output", str(output)]
    words += ["--recipe", recipe] if recipe else []
    words += ["--config", str(config_file)] if config_file is not None else []
    words += [word for override in overrides for word in ("--set", override)]
    return shlex.join(words)


def provenance_of(command: str, manifest: Mapping[str, Any], device: str) -> dict[str, Any]:
    """What `origin.json` shall hold.

    :param manifest: of the prepared folder.
    :param device: where the model is trained.
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
        "data": {name: of for name, of in outputs.items() if name.startswith(TRAINED_ON)},
    }


def read_provenance(folder: str | Path) -> dict[str, Any] | None:
    """What training noted; None in a folder that was begun before it did.

    :raises ModelError: the file is damaged, or of a format that this version does not know.
    """
    path = Path(folder) / ORIGIN
    if not path.exists():
        return None
    try:
        origin = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read; remove it, or restore it") from error
    if not isinstance(origin, dict) or origin.get("format") != FORMAT:
        raise ModelError(f"{path}: not of format {FORMAT}; use the version that wrote it")
    return origin
