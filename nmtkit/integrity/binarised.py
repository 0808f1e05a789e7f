"""Check the binarised text of a prepared folder: train.src.KEY.json, .ids and .offsets."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nmtkit.data.corpus import FORMAT, MAX_DESCRIPTION_BYTES, vocabulary_sha256
from nmtkit.integrity.findings import Finding, Inspection, error, look_again, warning
from nmtkit.io.folder_files import read_regular, regular_file_sha256
from nmtkit.io.safe_json import parse_json
from nmtkit.io.temporary import is_hidden_name
from nmtkit.text.vocabulary import Vocabulary

IDS_FILE = re.compile(r"((?:train|dev)\.(?:src|tgt))\.([0-9a-f]{8})\.(json|ids|offsets)")
"""Name of a file of binarised text: the text, the KEY of the vocabulary, the kind of file."""

EXTENSIONS = ("json", "ids", "offsets")


def check_ids(
    folder: Path,
    checksums: Mapping[str, str],
    vocabularies: Mapping[str, Vocabulary],
    found: Inspection,
) -> None:
    """Check all binarised texts of a prepared folder.

    :param checksums: SHA-256 of each text that is not damaged, by its name.
    :param vocabularies: shortlists of the folder, by side.
    """
    known = {vocabulary_sha256(vocabulary) for vocabulary in vocabularies.values()}
    names = filter(None, map(IDS_FILE.fullmatch, sorted(os.listdir(folder))))
    for text, key in dict.fromkeys(match.group(1, 2) for match in names):
        stem = folder / f"{text}.{key}"
        paths = [Path(f"{stem}.{extension}") for extension in EXTENSIONS]
        found.files += sum(path.exists() for path in paths)
        found.add(look_again(lambda: _check(stem, checksums.get(text), known), paths))  # noqa: B023


def _check(stem: Path, text_sum: str | None, vocabularies: set[str]) -> Iterator[Finding]:
    """Check the three files of one text and vocabulary.

    :param text_sum: SHA-256 of the text, None if unknown.
    :param vocabularies: SHA-256 of each of the folder's shortlists.
    """
    json_file = Path(f"{stem}.json")
    mend = f"remove {stem.name}.*; nmtkit writes them again when it needs them"
    missing = [path for e in EXTENSIONS if not (path := Path(f"{stem}.{e}")).exists()]
    if missing and _is_being_written(stem):
        return
    for path in missing:
        yield warning(path, "missing, and the files that belong to it are there", mend)
    if json_file in missing:
        return
    try:
        table = parse_json(read_regular(json_file, MAX_DESCRIPTION_BYTES).decode("utf-8"))
    except (OSError, ValueError) as failure:
        yield error(json_file, f"cannot be read ({failure})", mend)
        return
    if not isinstance(table, dict) or table.get("format") != FORMAT:
        yield warning(json_file, f"not of format {FORMAT}: of another version, or damaged", mend)
        return
    yield from _check_sums(stem, table, mend)
    if text_sum is not None and table.get("sha256") != text_sum:
        yield warning(json_file, f"stale: {stem.stem} has changed since", mend)
    if not str(table.get("vocabulary")).startswith(stem.suffix[1:]):
        yield error(json_file, "its vocabulary is not that in the name of the file", mend)
    elif vocabularies and table.get("vocabulary") not in vocabularies:
        problem = "made with a vocabulary that is not here; models with it may use the files"
        yield warning(json_file, problem, f"if no such model is trained, {mend}")


def _check_sums(stem: Path, table: Mapping[str, Any], mend: str) -> Iterator[Finding]:
    """Compare ids and offsets with the checksums in the JSON file."""
    sums = table.get("sums")
    for name in ("ids", "offsets"):
        path = Path(f"{stem}.{name}")
        recorded = sums.get(name) if isinstance(sums, dict) else None
        try:
            if path.exists() and regular_file_sha256(path) != recorded:
                yield error(path, f"damaged: {stem.name}.json has another checksum", mend)
        except OSError as problem:
            yield error(path, f"cannot be read: {problem.strerror}", mend)


def _is_being_written(stem: Path) -> bool:
    """Return whether there is a temporary file of the three files."""
    prefix = f".{stem.name}."
    return any(name.startswith(prefix) and is_hidden_name(name) for name in os.listdir(stem.parent))
