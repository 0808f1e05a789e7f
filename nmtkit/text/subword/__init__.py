"""Subword methods: words are split into pieces, so that a small vocabulary covers a language.

A method is a class with the interface `SubwordModel` and an entry in `METHODS`; nothing else in the
package lists the methods. To add one, write it in a module of this folder and enter it below;
`PrepareSettings(subword_method=...)` then prepares data with it. The name in `METHODS` is also the
name of its files: prepared folders and model folders contain `NAME.src` and `NAME.tgt`, even if one
model was learned on both sides together. `pieces.src` and `pieces.tgt` list the pieces of a side.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self

from nmtkit.io.inputs import Source, VerbatimFile
from nmtkit.text.subword.bpe import BPE
from nmtkit.text.subword.normalization import Normalization
from nmtkit.text.subword.pieces import read_pieces
from nmtkit.text.subword.sentence_piece import REQUIRED_PIECES, SentencePiece


class SubwordModel(Protocol):
    """A model that splits words into pieces, and joins pieces to words."""

    @classmethod
    def learn(cls, counts: Mapping[str, int], size: int) -> Self:
        """Learn a model from the words of a corpus: what stands between whitespace.

        :param counts: how often each word occurs; words hold no whitespace.
        :param size: size of the model: BPE's merges, SentencePiece's pieces.
        :raises DataError: the size or a word is invalid.
        """
        ...

    @classmethod
    def load(
        cls,
        path: Source,
        vocabulary: Collection[str] | None = None,
        glossaries: Sequence[str] = (),
    ) -> Self:
        """Load a model from its file.

        :param path: a path, or an input that `nmtkit.io.lines.read_lines` reads like one.
        :param vocabulary: pieces that may be produced; any other is split again. None: every piece.
        :param glossaries: regular expressions; what they match is never split.
        :raises DataError: the file cannot be read; the message names a malformed line.
        """
        ...

    @property
    def size(self) -> int:
        """Size of the model, as `learn` takes it."""
        ...

    @property
    def normalization(self) -> Normalization | None:
        """Rules that a line must be written by before it is split, or None."""
        ...

    def save(self, path: str | Path) -> None:
        """Write the model's file atomically.

        :raises OutputError: the file exists, or cannot be written.
        """
        ...

    def apply(self, words: Iterable[str]) -> list[str]:
        """Return the pieces of a sentence's words, in order; `undo` reverses it."""
        ...

    def apply_line(self, words: Iterable[str]) -> str:
        """Return the pieces of a sentence's words, separated by blanks.

        This is called for every line of a corpus; cache results by word (`nmtkit.text.memo`).
        """
        ...

    def apply_behind(self, words: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the pieces of words behind other text: with a blank between them, and without."""
        ...

    @staticmethod
    def opens(piece: str) -> bool:
        """Return whether the word of a piece may go on with the next piece."""
        ...

    @staticmethod
    def goes_on(piece: str) -> bool:
        """Return whether a piece behind one that opens belongs to the same word."""
        ...

    @staticmethod
    def spelling(piece: str) -> tuple[bytes, bool]:
        """Return the text of a piece in UTF-8, and whether its word may go on with any piece."""
        ...

    @staticmethod
    def open_pieces(pieces: Sequence[str]) -> int:
        """Return how many pieces at the end of a text may be others if the text goes on."""
        ...

    @staticmethod
    def undo(pieces: Iterable[str]) -> list[str]:
        """Return the words of a sentence from any sequence of pieces that a model may produce."""
        ...

    @staticmethod
    def join(pieces: Iterable[str]) -> tuple[list[str], list[int]]:
        """Return the words of a sentence from its pieces, and for each piece its word's index."""
        ...


METHODS: dict[str, type[SubwordModel]] = {
    "bpe": BPE,
    "sentencepiece": SentencePiece,
}
"""Every subword method by its name."""

DEFAULT_METHOD = "bpe"

PIECES = "pieces"
"""Name of the list of the pieces that a side may have (`nmtkit.text.subword.pieces`)."""

SUBWORD_FILES = (*METHODS, PIECES)
"""Names of the files of subwords, each with the suffixes `.src` and `.tgt`."""


def method_of(folder: str | Path, side: str) -> str:
    """Return the subword method of one side of a folder, by the name of its file.

    :param side: extension of the folder's files: "src" or "tgt".
    """
    names = (name for name in METHODS if (Path(folder) / f"{name}.{side}").exists())
    return next(names, DEFAULT_METHOD)


def required_pieces(folder: str | Path, side: str) -> tuple[str, ...]:
    """Return the pieces that a side's vocabulary must have so that no text has unknown pieces."""
    return REQUIRED_PIECES if method_of(folder, side) == "sentencepiece" else ()


def load_subword_model(
    folder: str | Path, side: str, glossaries: Sequence[str] = (), limited: bool = False
) -> SubwordModel:
    """Load the subword model of one side of a prepared folder or a model folder.

    :param glossaries: regular expressions; what they match is never split.
    :param limited: use only the pieces of the folder's list of pieces.
    :raises DataError: there is no model or list, or it cannot be read.
    """
    name = method_of(folder, side)
    vocabulary = read_pieces(Path(folder) / f"{PIECES}.{side}") if limited else None
    path = VerbatimFile(Path(folder) / f"{name}.{side}")
    return METHODS[name].load(path, vocabulary, glossaries)


def load_normalization(folder: str | Path, side: str) -> Normalization | None:
    """Load the rules of the subword model of one side, for text that is not split yet.

    :return: None if there is no model, or it has none.
    :raises DataError: the model cannot be read.
    """
    is_default = method_of(folder, side) == DEFAULT_METHOD  # which also stands for no model
    return None if is_default else load_subword_model(folder, side).normalization
