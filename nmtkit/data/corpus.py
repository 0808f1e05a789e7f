"""The prepared corpus as word ids in files that are read in parts: its size costs no memory.

For a prepared file `train.src` these files are written on first use, and again when they are stale:

    train.src.KEY.ids      ids of all sentences, each ending with `</s>`; uint16, or int32 if the
                           vocabulary has more than 65,536 words
    train.src.KEY.offsets  int64: sentence i is ids[offsets[i]:offsets[i + 1]]
    train.src.KEY.json     SHA-256 of the text, of the vocabulary, and of the two files above

KEY is the beginning of the vocabulary's SHA-256, so that models with different vocabularies can be
trained on the same prepared folder. If one may not write there, the files have no names and last
as long as the process. All checksums are compared when a corpus is opened. The files are read, not
mapped: a file that shrinks or a disk that fails while a mapped file is used would end the process
with a signal.
"""

import contextlib
import hashlib
import json
import os
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from nmtkit.errors import DataError
from nmtkit.io.atomic import atomic_file
from nmtkit.io.checksums import remembered_sha256
from nmtkit.io.folder_files import open_regular, read_regular
from nmtkit.io.inputs import VerbatimFile
from nmtkit.io.lines import BLOCK_LINES, file_sha256, read_text_blocks
from nmtkit.io.safe_json import parse_json
from nmtkit.io.temporary import temporary_folder
from nmtkit.special_symbols import EOS
from nmtkit.text.vocabulary import Vocabulary

FORMAT = 2
"""Version of the format of the three files; those of another version are written again."""

MAX_DESCRIPTION_BYTES = 1 << 16
"""Maximum size of a JSON file."""

COUNTED_IDS = 1 << 20
"""Ids that are counted together."""

MAX_GAP = 256
"""Mean distance between sentences up to which their offsets are read together with all between."""

Ids = npt.NDArray[np.int64]


class NumberFile:
    """Numbers in a regular file, read in parts. The file stays open as long as this object."""

    def __init__(self, path: str | Path, dtype: npt.DTypeLike) -> None:
        """Open the file.

        :raises OSError: it cannot be opened, or is not a regular file.
        """
        self.path = str(path)
        self.dtype = np.dtype(dtype)
        with open_regular(path) as file:
            self._descriptor = os.dup(file.fileno())
        weakref.finalize(self, _close, self._descriptor)

    def __len__(self) -> int:
        """Return how many numbers the file has."""
        return os.fstat(self._descriptor).st_size // self.dtype.itemsize

    def __getitem__(self, part: slice) -> npt.NDArray[Any]:
        """Return the numbers from `part.start` to `part.stop`, without the latter.

        :raises DataError: the file ends before, or cannot be read.
        """
        size = (part.stop - part.start) * self.dtype.itemsize
        data = b""
        try:
            if part.stop <= len(self):
                data = os.pread(self._descriptor, size, part.start * self.dtype.itemsize)
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read: {error.strerror}") from error
        if len(data) < size:
            raise DataError(
                f"{self.path}: damaged, or cut while it was read; start again, and nmtkit writes"
                " it again"
            )
        return np.frombuffer(data, self.dtype)

    def sha256(self) -> str:
        """Return the SHA-256 of the whole file."""
        with open(self._descriptor, "rb", closefd=False) as file:
            file.seek(0)
            return hashlib.file_digest(file, "sha256").hexdigest()


def _close(descriptor: int) -> None:
    """Close a file that was only read, whatever the disk says."""
    with contextlib.suppress(OSError):
        os.close(descriptor)


Numbers = NumberFile | npt.NDArray[Any]


@dataclass(frozen=True)
class Side:
    """One side of a corpus; see the top of this file.

    vocabulary_size: ids are below this. stem: path of the files without extension, for messages.
    checksum: SHA-256 of the text, "" if there is none.
    """

    ids: Numbers
    offsets: Numbers
    vocabulary_size: int = 1 << 31
    stem: str = "the corpus"
    checksum: str = ""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Ids:
        """Return the ids of a sentence, with `</s>` at its end. Shape: [length], int64.

        :raises DataError: the files are damaged.
        """
        start, stop = self.offsets[index : index + 2].tolist()
        if 0 <= start < stop:
            ids: Ids = self.ids[start:stop].astype(np.int64)
            # negative ids are huge as uint64
            if ids[-1] == EOS and ids.view(np.uint64).max() < self.vocabulary_size:
                return ids
        raise DataError(
            f"{self.stem}.ids: damaged at sentence {index + 1}; remove the file, and nmtkit writes"
            " it again"
        )

    def lengths(self, indices: Ids) -> Ids:
        """Return the lengths of some sentences, `</s>` counted."""
        first, last = (int(indices.min()), int(indices.max())) if len(indices) else (0, -1)
        if last - first < MAX_GAP * len(indices):  # one read of all is faster
            return np.diff(self.offsets[first : last + 2])[indices - first]
        bounds: Ids = np.concatenate([self.offsets[i : i + 2] for i in indices.tolist()])
        return bounds[1::2] - bounds[::2]

    def counted(self, vocabulary: Vocabulary) -> Vocabulary:
        """Return this side's vocabulary with counts: those of the sentences if it has none.

        :raises DataError: the files are damaged.
        """
        if any(vocabulary.counts):
            return vocabulary
        counts, total = np.zeros(len(vocabulary), np.int64), len(self.ids)
        for start in range(0, total, COUNTED_IDS):
            ids = self.ids[start : min(start + COUNTED_IDS, total)]
            counts += np.bincount(ids, minlength=len(vocabulary))
        return Vocabulary(vocabulary.words, counts.tolist())


class Corpus:
    """Sentence pairs by index."""

    def __init__(self, src: Side, tgt: Side) -> None:
        """Join two sides.

        :raises DataError: they have different numbers of sentences.
        """
        if len(src) != len(tgt):
            raise DataError(
                f"{src.stem}, {tgt.stem}: the sides of the prepared corpus differ: {len(src)}"
                f" source and {len(tgt)} target lines; run 'nmtkit prepare' again"
            )
        self.src = src
        self.tgt = tgt

    def __len__(self) -> int:
        return len(self.src)

    @property
    def checksum(self) -> str:
        """SHA-256 of the checksums of both sides."""
        return hashlib.sha256(f"{self.src.checksum} {self.tgt.checksum}".encode()).hexdigest()

    @classmethod
    def open(
        cls,
        folder: str | Path,
        split: str,
        vocabularies: tuple[Vocabulary, Vocabulary],
        sides: tuple[str, str] = ("src", "tgt"),
    ) -> "Corpus":
        """Open a split of a prepared folder; write the files of ids first if needed.

        :param split: "train" or "dev".
        :param sides: names of the source and target side in the folder.
        :raises DataError: a side is missing or cannot be read.
        """
        pairs = zip(sides, vocabularies, strict=True)
        return cls(*(open_side(Path(folder) / f"{split}.{side}", vocab) for side, vocab in pairs))


def open_side(text: Path, vocabulary: Vocabulary) -> Side:
    """Open the ids of a tokenised text; write the files first if they are stale or damaged.

    If the folder cannot be written, they are written into a temporary one, and for this run only.

    :raises DataError: the text cannot be read, or changes while it is read.
    :raises OutputError: the files cannot be written.
    """
    if not text.is_file():
        raise DataError(f"{text}: no such file; is this a folder that 'nmtkit prepare' made?")
    files = IdsFiles.of(text, vocabulary)
    checksum = remembered_sha256(text)
    numbers = files.open_fresh(checksum)
    if numbers is None and os.access(text.parent, os.W_OK):
        numbers = files.write(text, vocabulary, checksum)
    elif numbers is None:
        with temporary_folder("nmtkit-ids-") as folder:  # the files stay open without their names
            unnamed = replace(files, stem=folder / files.stem.name)
            numbers = unnamed.write(text, vocabulary, checksum)
    return Side(*numbers, len(vocabulary), str(files.stem), checksum)


def vocabulary_sha256(vocabulary: Vocabulary) -> str:
    """Return the SHA-256 of a vocabulary's words; its beginning is the KEY of files of ids."""
    return hashlib.sha256("\n".join(vocabulary.words).encode()).hexdigest()


@dataclass(frozen=True)
class IdsFiles:
    """The three files of ids of a text.

    stem: their path without extension. vocabulary_sum: SHA-256 of the vocabulary. dtype: of ids.
    """

    stem: Path
    vocabulary_sum: str
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, text: Path, vocabulary: Vocabulary) -> "IdsFiles":
        """Return the files of a text and a vocabulary."""
        vocabulary_sum = vocabulary_sha256(vocabulary)
        dtype = np.dtype(np.uint16 if len(vocabulary) <= 1 << 16 else np.int32)
        return cls(text.with_name(f"{text.name}.{vocabulary_sum[:8]}"), vocabulary_sum, dtype)

    def open_fresh(self, checksum: str) -> tuple[NumberFile, NumberFile] | None:
        """Open ids and offsets; return None if a file is missing, stale or damaged.

        :param checksum: SHA-256 of the text.
        """
        try:
            numbers = self._open()
            if not _fit_together(*numbers):  # before they are read: one may be huge
                return None
            text = read_regular(f"{self.stem}.json", MAX_DESCRIPTION_BYTES)
            description = parse_json(text.decode("utf-8"))
            sums = [file.sha256() for file in numbers]
        except (OSError, ValueError, DataError):
            return None
        return numbers if description == self._description(checksum, sums) else None

    def write(
        self, text: Path, vocabulary: Vocabulary, checksum: str
    ) -> tuple[NumberFile, NumberFile]:
        """Write the three files atomically, the JSON file last; open ids and offsets.

        :param checksum: SHA-256 of the text.
        :raises DataError: the text has changed, or a file would be written through a link.
        """
        self._check_places()
        Path(f"{self.stem}.json").unlink(missing_ok=True)
        with contextlib.ExitStack() as stack:  # closes the last file first
            json_file, offsets, ids = (
                stack.enter_context(atomic_file(f"{self.stem}.{name}", force=True))
                for name in ("json", "offsets", "ids")
            )
            sums = _write_ids(text, vocabulary, self.dtype, ids, offsets)
            if file_sha256(text) != checksum:
                raise DataError(f"{text}: has changed while it was read; start again")
            json_file.write(json.dumps(self._description(checksum, sums), indent=1).encode())
        return self._open()

    def _check_places(self) -> None:
        """Raise DataError if a link, a FIFO, ... would be written through."""
        for path in (Path(f"{self.stem}.{name}") for name in ("json", "offsets", "ids")):
            if path.is_symlink() or (path.exists() and not path.is_file()):
                raise DataError(f"{path}: not a regular file; remove it, and start again")

    def _open(self) -> tuple[NumberFile, NumberFile]:
        return (
            NumberFile(f"{self.stem}.ids", self.dtype),
            NumberFile(f"{self.stem}.offsets", np.int64),
        )

    def _description(self, checksum: str, sums: Sequence[str]) -> dict[str, Any]:
        """Return the content of the JSON file.

        :param sums: SHA-256 of ids and offsets.
        """
        return {
            "format": FORMAT,
            "vocabulary": self.vocabulary_sum,
            "sha256": checksum,
            "sums": dict(zip(("ids", "offsets"), sums, strict=True)),
        }


def _fit_together(ids: NumberFile, offsets: NumberFile) -> bool:
    """Return whether the offsets begin at the first id, and end at the last."""
    count = len(offsets)
    return count > 0 and (int(offsets[0:1][0]), int(offsets[count - 1 : count][0])) == (0, len(ids))


def _write_ids(
    text: Path, vocabulary: Vocabulary, dtype: np.dtype[Any], ids: BinaryIO, offsets: BinaryIO
) -> list[str]:
    """Write ids and offsets, and return the SHA-256 of both files."""
    digests = hashlib.sha256(), hashlib.sha256()
    parts = _ids_and_offsets(text, vocabulary, dtype)
    for arrays in parts:
        for array, file, digest in zip(arrays, (ids, offsets), digests, strict=True):
            data = array.tobytes()
            file.write(data)
            digest.update(data)
    return [digest.hexdigest() for digest in digests]


def _ids_and_offsets(
    text: Path, vocabulary: Vocabulary, dtype: np.dtype[Any]
) -> Iterator[tuple[npt.NDArray[Any], Ids]]:
    """Yield the contents of both files in parts."""
    yield np.zeros(0, dtype), np.zeros(1, np.int64)
    total = 0
    for lines in read_text_blocks(VerbatimFile(text), BLOCK_LINES):
        block = np.fromiter(vocabulary.ids_of_lines(lines), dtype)
        yield block, total + 1 + np.flatnonzero(block == EOS).astype(np.int64)
        total += len(block)
