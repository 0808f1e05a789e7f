"""The prepared corpus as word ids on disk, memory-mapped, so that its size costs no memory.

Beside a prepared side `train.src` lie, made on first use and again when stale:

    train.src.KEY.ids      the ids of all sentences in a row, each ending with `</s>`; uint16, or
                           int32 where the vocabulary is larger than 65,536
    train.src.KEY.offsets  int64: sentence i is ids[offsets[i]:offsets[i + 1]]
    train.src.KEY.json     what they were made of: size, time and SHA-256 of text and vocabulary

KEY is the start of the vocabulary's SHA-256, so that models with different vocabularies can be
trained on one folder.
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
LINES = 2000  # read at a time

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Side:
    """One side of a corpus. `ids` and `offsets` are memory-mapped; see the top of this file.

    words: in the vocabulary: every id is below. stem: of the files' names, for messages.
    """

    ids: npt.NDArray[Any]
    offsets: npt.NDArray[np.int64]
    words: int = 1 << 31
    stem: str = "the corpus"

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Ids:
        """Ids of a sentence, `</s>` at its end. Shape: [length], int64.

        :raises DataError: they are none: the files are not those that were made.
        """
        found: Ids = self.ids[self.offsets[index] : self.offsets[index + 1]].astype(np.int64)
        if not len(found) or found[-1] != EOS or found.view(np.uint64).max() >= self.words:
            raise DataError(
                f"{self.stem}.ids: damaged: sentence {index + 1} is none; remove the file, and it"
                " is made again"
            )
        return found

    def lengths(self, indices: Ids) -> Ids:
        """Lengths of the sentences `indices`, `</s>` counted."""
        return self.offsets[indices + 1] - self.offsets[indices]


class Corpus:
    """Pairs of sentences by number."""

    def __init__(self, src: Side, tgt: Side) -> None:
        """:raises DataError: the sides have different numbers of sentences."""
        if len(src) != len(tgt):
            raise DataError(
                f"the sides of the prepared corpus differ: {len(src)} source and {len(tgt)} "
                "target lines; run 'nmtkit prepare' again"
            )
        self.src = src
        self.tgt = tgt

    def __len__(self) -> int:
        return len(self.src)

    @classmethod
    def open(
        cls,
        folder: str | Path,
        split: str,
        vocabularies: tuple[Vocabulary, Vocabulary],
        sides: tuple[str, str] = ("src", "tgt"),
    ) -> "Corpus":
        """Open the ids of `split` of a prepared folder, making them first where needed.

        :param sides: what the source and the target are called in the folder.
        :raises DataError: a side is missing or cannot be read.
        """
        pairs = zip(sides, vocabularies, strict=True)
        return cls(*(open_side(Path(folder) / f"{split}.{side}", vocab) for side, vocab in pairs))


def open_side(text: Path, vocabulary: Vocabulary) -> Side:
    """Memory-map the ids of a tokenised text, making the files first where they are stale."""
    if not text.is_file():
        raise DataError(f"{text}: no such file; is this a folder that 'nmtkit prepare' made?")
    vocabulary_sum = _vocabulary_sum(vocabulary)
    stem = text.with_name(f"{text.name}.{vocabulary_sum[:8]}")
    dtype = np.dtype(np.uint16 if len(vocabulary) <= 1 << 16 else np.int32)
    if not _fresh(stem, text, vocabulary_sum, dtype):
        _binarise(stem, text, vocabulary, dtype, vocabulary_sum)
    offsets: npt.NDArray[np.int64] = np.memmap(f"{stem}.offsets", dtype=np.int64, mode="r")
    if offsets[-1] == 0:
        return Side(np.zeros(0, dtype), offsets)
    ids = np.memmap(f"{stem}.ids", dtype=dtype, mode="r")
    return Side(ids, offsets, len(vocabulary), str(stem))


def _vocabulary_sum(vocabulary: Vocabulary) -> str:
    return hashlib.sha256("\n".join(vocabulary.words).encode()).hexdigest()


def _fresh(stem: Path, text: Path, vocabulary_sum: str, dtype: np.dtype[Any]) -> bool:
    """Whether the files were made of this text and vocabulary, and are whole."""
    try:
        made = parse_json(Path(f"{stem}.json").read_text(encoding="utf-8"))
        sizes = [os.path.getsize(f"{stem}.{name}") for name in ("ids", "offsets")]
    except (OSError, ValueError):
        return False
    if not isinstance(made, dict):
        return False
    if (made.get("format"), made.get("vocabulary")) != (FORMAT, vocabulary_sum):
        return False
    if made.get("sizes") != sizes or not _fit(stem, sizes[0], sizes[1], dtype):
        return False
    stat = text.stat()
    unchanged = [stat.st_size, stat.st_mtime_ns] == [made.get("size"), made.get("mtime_ns")]
    return unchanged or file_sha256(text) == made.get("sha256")


def _fit(stem: Path, ids: int, offsets: int, dtype: np.dtype[Any]) -> bool:
    """Whether files of so many bytes belong together: the offsets end where the ids do."""
    if not offsets or offsets % 8 or ids % dtype.itemsize:
        return False
    ends = np.memmap(f"{stem}.offsets", dtype=np.int64, mode="r")
    return (int(ends[0]), int(ends[-1])) == (0, ids // dtype.itemsize)


def _binarise(
    stem: Path, text: Path, vocabulary: Vocabulary, dtype: np.dtype[Any], vocabulary_sum: str
) -> None:
    """Write the three files; each appears whole, the JSON last."""
    Path(f"{stem}.json").unlink(missing_ok=True)
    with contextlib.ExitStack() as stack:  # which is left from the last to the first
        made, offsets, ids = (
            stack.enter_context(atomic_file(f"{stem}.{name}", force=True))
            for name in ("json", "offsets", "ids")
        )
        stat = text.stat()
        sizes = _write_ids(text, vocabulary, dtype, ids, offsets)
        description = {
            "format": FORMAT,
            "vocabulary": vocabulary_sum,
            "size": stat.st_size,
            "mtime_ns": stat.st_mtime_ns,
            "sha256": file_sha256(text),
            "sizes": sizes,
        }
        made.write(json.dumps(description, indent=1).encode())


def _write_ids(
    text: Path, vocabulary: Vocabulary, dtype: np.dtype[Any], ids: BinaryIO, offsets: BinaryIO
) -> list[int]:
    """The sizes of both files, in bytes."""
    offsets.write(np.zeros(1, np.int64).tobytes())
    total = 0
    for lines in read_text_blocks(text, LINES):
        block = np.fromiter(vocabulary.ids_of_lines(lines), dtype)
        ids.write(block.tobytes())
        offsets.write((total + 1 + np.flatnonzero(block == EOS)).astype(np.int64).tobytes())
        total += len(block)
    return [ids.tell(), offsets.tell()]
