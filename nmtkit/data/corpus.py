"""The prepared corpus as word ids in memory-mapped files, so that its size costs no memory.

For a prepared file `train.src` these files are written on first use, and again when they are stale:

    train.src.KEY.ids      ids of all sentences, each ending with `</s>`; uint16, or int32 if the
                           vocabulary has more than 65,536 words
    train.src.KEY.offsets  int64: sentence i is ids[offsets[i]:offsets[i + 1]]
    train.src.KEY.json     size, time and SHA-256 of the text, and SHA-256 of the vocabulary

KEY is the beginning of the vocabulary's SHA-256, so that models with different vocabularies can be
trained on the same prepared folder.
"""

import contextlib
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from nmtkit.errors import DataError
from nmtkit.io.atomic import atomic_file
from nmtkit.io.lines import file_sha256, read_text_blocks
from nmtkit.io.safe_json import parse_json
from nmtkit.special_symbols import EOS
from nmtkit.text.vocabulary import Vocabulary

FORMAT = 1
"""Version of the format of the three files."""

READ_LINES = 2000
"""Lines read at a time."""

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Side:
    """One side of a corpus. `ids` and `offsets` are memory-mapped; see the top of this file.

    vocabulary_size: ids are below this. stem: path of the files without extension, for messages.
    checksum: SHA-256 of the text, "" if there is none.
    """

    ids: npt.NDArray[Any]
    offsets: npt.NDArray[np.int64]
    vocabulary_size: int = 1 << 31
    stem: str = "the corpus"
    checksum: str = ""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Ids:
        """Return the ids of a sentence, with `</s>` at its end. Shape: [length], int64.

        :raises DataError: the files are damaged.
        """
        ids: Ids = self.ids[self.offsets[index] : self.offsets[index + 1]].astype(np.int64)
        # negative ids are huge as uint64
        if not len(ids) or ids[-1] != EOS or ids.view(np.uint64).max() >= self.vocabulary_size:
            raise DataError(
                f"{self.stem}.ids: damaged at sentence {index + 1}; remove the file, and nmtkit"
                " writes it again"
            )
        return ids

    def lengths(self, indices: Ids) -> Ids:
        """Return the lengths of some sentences, `</s>` counted."""
        return self.offsets[indices + 1] - self.offsets[indices]


class Corpus:
    """Sentence pairs by index."""

    def __init__(self, src: Side, tgt: Side) -> None:
        """Join two sides.

        :raises DataError: they have different numbers of sentences.
        """
        if len(src) != len(tgt):
            raise DataError(
                f"the sides of the prepared corpus differ: {len(src)} source and {len(tgt)} "
                "target lines; run 'nmtkit prepare' again"
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
    """Memory-map the ids of a tokenised text; write the files first if they are stale."""
    if not text.is_file():
        raise DataError(f"{text}: no such file; is this a folder that 'nmtkit prepare' made?")
    vocabulary_sum = _vocabulary_checksum(vocabulary)
    stem = text.with_name(f"{text.name}.{vocabulary_sum[:8]}")
    dtype = np.dtype(np.uint16 if len(vocabulary) <= 1 << 16 else np.int32)
    checksum = _fresh_checksum(stem, text, vocabulary_sum, dtype)
    if checksum is None:
        checksum = _write_ids_files(stem, text, vocabulary, dtype, vocabulary_sum)
    offsets: npt.NDArray[np.int64] = np.memmap(f"{stem}.offsets", dtype=np.int64, mode="r")
    empty = offsets[-1] == 0  # an empty file cannot be mapped
    ids = np.zeros(0, dtype) if empty else np.memmap(f"{stem}.ids", dtype=dtype, mode="r")
    return Side(ids, offsets, len(vocabulary), str(stem), checksum)


def _vocabulary_checksum(vocabulary: Vocabulary) -> str:
    return hashlib.sha256("\n".join(vocabulary.words).encode()).hexdigest()


def _fresh_checksum(
    stem: Path, text: Path, vocabulary_sum: str, dtype: np.dtype[Any]
) -> str | None:
    """Return the text's checksum if the files are complete and made from it and the vocabulary."""
    try:
        description = parse_json(Path(f"{stem}.json").read_text(encoding="utf-8"))
        sizes = [os.path.getsize(f"{stem}.{name}") for name in ("ids", "offsets")]
    except (OSError, ValueError):
        return None
    if not isinstance(description, dict):
        return None
    if (description.get("format"), description.get("vocabulary")) != (FORMAT, vocabulary_sum):
        return None
    if description.get("sizes") != sizes or not _sizes_agree(stem, sizes[0], sizes[1], dtype):
        return None
    checksum = description.get("sha256")
    if not isinstance(checksum, str):
        return None
    stat = text.stat()
    recorded = [description.get("size"), description.get("mtime_ns")]
    unchanged = [stat.st_size, stat.st_mtime_ns] == recorded
    return checksum if unchanged or file_sha256(text) == checksum else None


def _sizes_agree(stem: Path, ids_size: int, offsets_size: int, dtype: np.dtype[Any]) -> bool:
    """Return whether the offsets end at the last id; the sizes of the files are in bytes."""
    if not offsets_size or offsets_size % 8 or ids_size % dtype.itemsize:
        return False
    offsets = np.memmap(f"{stem}.offsets", dtype=np.int64, mode="r")
    return (int(offsets[0]), int(offsets[-1])) == (0, ids_size // dtype.itemsize)


def _write_ids_files(
    stem: Path, text: Path, vocabulary: Vocabulary, dtype: np.dtype[Any], vocabulary_sum: str
) -> str:
    """Write the three files atomically, the JSON file last; return the text's checksum."""
    Path(f"{stem}.json").unlink(missing_ok=True)
    with contextlib.ExitStack() as stack:  # closes the last file first
        json_file, offsets, ids = (
            stack.enter_context(atomic_file(f"{stem}.{name}", force=True))
            for name in ("json", "offsets", "ids")
        )
        stat = text.stat()
        sizes = _write_ids(text, vocabulary, dtype, ids, offsets)
        checksum = file_sha256(text)
        description = {
            "format": FORMAT,
            "vocabulary": vocabulary_sum,
            "size": stat.st_size,
            "mtime_ns": stat.st_mtime_ns,
            "sha256": checksum,
            "sizes": sizes,
        }
        json_file.write(json.dumps(description, indent=1).encode())
    return checksum


def _write_ids(
    text: Path, vocabulary: Vocabulary, dtype: np.dtype[Any], ids: BinaryIO, offsets: BinaryIO
) -> list[int]:
    """Write ids and offsets, and return the sizes of both files in bytes."""
    offsets.write(np.zeros(1, np.int64).tobytes())
    total = 0
    for lines in read_text_blocks(text, READ_LINES):
        block = np.fromiter(vocabulary.ids_of_lines(lines), dtype)
        ids.write(block.tobytes())
        offsets.write((total + 1 + np.flatnonzero(block == EOS)).astype(np.int64).tobytes())
        total += len(block)
    return [ids.tell(), offsets.tell()]
