"""The content of a prepared folder's manifest."""

import dataclasses
import json
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import nmtkit
from nmtkit.data.manifest import FORMAT
from nmtkit.errors import NAME_ERRORS
from nmtkit.io.checksums import with_checksum
from nmtkit.io.lines import file_sha256
from nmtkit.preprocessing.settings import PrepareSettings
from nmtkit.preprocessing.splits import SplitCounts
from nmtkit.text.subword import DEFAULT_METHOD


def manifest_of(
    settings: PrepareSettings,
    inputs: Mapping[str, str],
    counts: Mapping[str, SplitCounts],
    corpora: Sequence[dict[str, Any]],
    folder: Path,
) -> dict[str, Any]:
    """Return the manifest without its own checksum.

    :param inputs: SHA-256 of each file read.
    :param counts: counts of each split.
    :param corpora: entries of the training corpora.
    :param folder: the prepared folder with all other files.
    """
    options = dataclasses.asdict(settings)
    text = options.pop("text")
    del options["asked"]
    if not settings.like:
        del options["like"]
    if settings.subword_method == DEFAULT_METHOD:
        del options["subword_method"]  # manifests had no such entry while BPE was the only method
    return {
        "format": FORMAT,
        "text": text,
        "splits": {name: split_counts.manifest() for name, split_counts in counts.items()},
        "corpora": corpora,
        "settings": options,
        "versions": {
            "nmtkit": nmtkit.__version__,
            "python": platform.python_version(),
            "sacremoses": metadata.version("sacremoses"),
            **_subword_library(settings),
        },
        "inputs": inputs,
        "outputs": {path.name: file_sha256(path) for path in sorted(folder.iterdir())},
    }


def write_json(path: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    """Write a JSON object with its checksum; return it as it is read again."""
    text = json.dumps(with_checksum(data), indent=2, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8", errors=NAME_ERRORS, newline="\n")
    return dict(json.loads(text))


def _subword_library(settings: PrepareSettings) -> dict[str, str]:
    """Return the library of the subword method with its version."""
    library = {"bpe": "subword-nmt"}.get(settings.subword_method, settings.subword_method)
    used = settings.text.subwords != "none" and library in ("subword-nmt", "sentencepiece")
    return {library: metadata.version(library)} if used else {}
