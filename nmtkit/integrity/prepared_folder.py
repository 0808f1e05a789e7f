"""Check a prepared folder: manifest, texts, subword models, shortlists, leftovers."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nmtkit.data.manifest import MANIFEST_FILE, read_manifest, text_config
from nmtkit.errors import NmtkitError, counted
from nmtkit.integrity.binarised import IDS_FILE, check_ids
from nmtkit.integrity.findings import (
    Finding,
    Inspection,
    Progress,
    error,
    finding_of,
    look_again,
    warning,
)
from nmtkit.integrity.folder import check_entries
from nmtkit.integrity.prepared_text import TextFacts, compare_counts, read_text
from nmtkit.io.inputs import VerbatimFile
from nmtkit.io.lines import file_sha256
from nmtkit.io.text_content import shell_name
from nmtkit.text.names import NAMES, Names
from nmtkit.text.subword import METHODS, PIECES
from nmtkit.text.subword.pieces import read_pieces
from nmtkit.text.truecaser import TRUECASE, Truecaser
from nmtkit.text.vocabulary import Vocabulary

SIDES = ("src", "tgt")

RESTORE = "restore the file from a copy, or prepare the folder again"

_SHA256 = re.compile(r"[0-9a-f]{64}")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def check_prepared_folder(folder: Path, progress: Progress) -> Inspection:
    """Check every file of a prepared folder.

    The manifest has the checksums of texts and subword models, and numbers of lines and tokens. The
    words of the shortlists are counted again.
    """
    return _PreparedFolder(folder, progress).check()


class _PreparedFolder:
    """A prepared folder that is being checked.

    checksums: SHA-256 of the files in the manifest; empty strings where the manifest is damaged.
    damaged: names of the files with another checksum.
    facts: of the texts that can be read, by name.
    vocabularies: shortlists that can be read, by side.
    """

    def __init__(self, folder: Path, progress: Progress) -> None:
        self._folder = folder
        self._progress = progress
        self.found = Inspection()
        self.checksums: dict[str, str] = {}
        self.damaged: set[str] = set()
        self.facts: dict[str, TextFacts] = {}
        self.tags: tuple[str, ...] = ()
        self.vocabularies: dict[str, Vocabulary] = {}

    def check(self) -> Inspection:
        """Check all files."""
        manifest = self._check_manifest()
        self._read_vocabularies()
        for name, checksum in self.checksums.items():
            self._check_file(self._folder / name, checksum)
        self.found.add(self._check_counts(manifest))
        self._compare_vocabularies()
        known = {n: s for n, s in self.checksums.items() if s and n not in self.damaged}
        check_ids(self._folder, known, self.vocabularies, self.found)
        own = {MANIFEST_FILE, *self.checksums, *(f"vocab.{side}" for side in SIDES)}
        check_entries(
            self._folder,
            self.found,
            lambda name: name in own or IDS_FILE.fullmatch(name) is not None,
        )
        return self.found

    def _check_manifest(self) -> dict[str, Any]:
        """Read the manifest and the checksums in it; return it, empty if it cannot be read."""
        path = self._folder / MANIFEST_FILE
        manifest: dict[str, Any] = {}
        self.found.files += 1
        try:
            manifest = read_manifest(self._folder)
            self.tags = text_config(manifest, self._folder).tags
        except NmtkitError as problem:
            self.found.add([finding_of(problem, path, RESTORE)])
        else:
            self.found.add(_check_form(path, manifest))
        outputs = manifest.get("outputs")
        if isinstance(outputs, dict):
            items = outputs.items()
            self.checksums = {name: sum for name, sum in items if _is_checksum(name, sum)}
        if not self.checksums:
            names = sorted(path.name for path in self._folder.iterdir())
            self.checksums = {name: "" for name in names if _is_text_or_subwords(name)}
        return manifest

    def _check_file(self, path: Path, checksum: str) -> None:
        """Check a text or a subword model, and remember the facts about a text."""
        self.found.files += 1
        if not self.found.add(look_again(lambda: _check_sum(path, checksum), [path])):
            self.damaged.add(path.name)
            if not path.is_file():
                return
        try:
            if path.stem in METHODS:
                METHODS[path.stem].load(VerbatimFile(path))
            elif path.stem == PIECES:
                read_pieces(path)
            elif path.stem == TRUECASE:
                Truecaser.load(path, "en")
            elif path.stem == NAMES:
                Names.load(path)
            elif path.suffix[1:] in SIDES:
                self.facts[path.name] = read_text(path, self._words(path.name), self._progress)
        except NmtkitError as problem:
            self.found.add([finding_of(problem, path, RESTORE)])

    def _words(self, name: str) -> frozenset[str]:
        """Return the words to count in a text: those of its side's shortlist in training data."""
        split, _, side = name.partition(".")
        vocabulary = self.vocabularies.get(side) if split == "train" else None
        return frozenset(vocabulary.words if vocabulary else ())

    def _check_counts(self, manifest: dict[str, Any]) -> Iterator[Finding]:
        """Compare the numbers of lines and tokens with the manifest; without it, of both sides."""
        splits = manifest.get("splits")
        splits = splits if isinstance(splits, dict) else {}
        for name, text in self.facts.items():
            split, _, side = name.rpartition(".")
            entry = splits.get(split)
            if entry is None:
                src = self.facts.get(f"{split}.src", text)
                if src.lines != text.lines:
                    problem = f"has {counted(text.lines, 'line')}, but {split}.src has {src.lines}"
                    yield error(self._folder / name, problem, RESTORE)
                continue
            for key, count in (("pairs", text.lines), (f"{side}_tokens", text.tokens)):
                if _count(entry, key) != count:
                    yield self._wrong_count(name, key, count, _count(entry, key))
                    break

    def _wrong_count(self, name: str, key: str, count: int, recorded: int | None) -> Finding:
        """Return the error for a text and a manifest with different counts."""
        if name in self.damaged:
            unit = "lines" if key == "pairs" else "tokens"
            problem = f"has {count} {unit}; it had {recorded} when it was written"
            return error(self._folder / name, problem, RESTORE)
        problem = f"{key} of {name} is {recorded}, but the file has {count}"
        return error(self._folder / MANIFEST_FILE, problem, RESTORE)

    def _read_vocabularies(self) -> None:
        """Read the shortlists; a folder may have none."""
        paths = {side: self._folder / f"vocab.{side}" for side in SIDES}
        missing = [path for path in paths.values() if not path.exists()]
        for side, path in paths.items():
            if not path.is_file():  # missing, or named with the folder's other entries
                continue
            self.found.files += 1
            try:
                self.vocabularies[side] = Vocabulary.load(path)
            except NmtkitError as problem:
                remedy = (
                    f"nmtkit shortlist {shell_name(self._folder)} --force, with the sizes as before"
                )
                self.found.add([finding_of(problem, path, remedy)])
        if len(missing) == 1:
            self.found.add([warning(missing[0], "missing", self._shortlist_command())])

    def _compare_vocabularies(self) -> None:
        """Compare the counts of the shortlists with those of the training text."""
        for side, vocabulary in self.vocabularies.items():
            name = f"train.{side}"
            if name in self.facts and name not in self.damaged:
                path = self._folder / f"vocab.{side}"
                remedy = self._shortlist_command()
                text = self.facts[name]
                tags = self.tags if side == "src" else ()
                self.found.add(compare_counts(path, vocabulary, name, text, tags, remedy))

    def _shortlist_command(self) -> str:
        """Return the command that writes both shortlists again, in the sizes that are known."""
        sizes = [f"--{side}-size {len(words)}" for side, words in self.vocabularies.items()]
        return " ".join(["nmtkit shortlist", shell_name(self._folder), *sizes, "--force"])


def _check_form(path: Path, manifest: dict[str, Any]) -> Iterator[Finding]:
    """Yield an error for each part of the manifest that the check needs and cannot use."""
    outputs, splits = manifest.get("outputs"), manifest.get("splits")
    if not isinstance(outputs, dict) or not all(_is_checksum(*item) for item in outputs.items()):
        yield error(path, "'outputs' is missing, or not file names with their SHA-256", RESTORE)
    if not isinstance(splits, dict) or None in [_count(s, "pairs") for s in splits.values()]:
        yield error(path, "'splits' is missing, or lacks numbers of pairs", RESTORE)


def _is_checksum(name: str, checksum: object) -> bool:
    """Return whether an entry is the name of a file in the folder with a SHA-256."""
    valid_sum = isinstance(checksum, str) and _SHA256.fullmatch(checksum) is not None
    return valid_sum and _FILE_NAME.fullmatch(name) is not None


def _is_text_or_subwords(name: str) -> bool:
    stem, _, side = name.rpartition(".")
    return side in SIDES and stem not in ("", "vocab")


def _count(split: object, name: str) -> int | None:
    """Return a count of a split in the manifest, or None if there is none."""
    value = split.get(name) if isinstance(split, dict) else None
    return value if type(value) is int else None


def _check_sum(path: Path, checksum: str) -> Iterator[Finding]:
    """Yield an error if a file is missing, or is not the one that was written.

    :param checksum: an empty string: the checksum is unknown.
    """
    if not path.exists():
        yield error(path, f"missing, though {MANIFEST_FILE} lists it", RESTORE)
    elif not path.is_file():
        yield error(path, "not a regular file", RESTORE)
    elif checksum:
        try:
            if file_sha256(path) != checksum:
                problem = f"changed or damaged: {MANIFEST_FILE} has another checksum"
                yield error(path, problem, RESTORE)
        except NmtkitError as failure:
            yield finding_of(failure, path, RESTORE)
