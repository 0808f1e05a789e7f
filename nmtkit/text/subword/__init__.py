"""Subword methods: words are split into pieces, so that a small vocabulary covers a language.

A method is a class with the interface `SubwordModel` and an entry in `METHODS`; nothing else in the
package lists the methods. To add one, write it in a module of this folder and enter it below;
`PrepareSettings(subword_method=...)` then prepares data with it. The name in `METHODS` is also the
name of its files: prepared folders and model folders contain `NAME.src` and `NAME.tgt`, even if one
model was learned on both sides together.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol, Self

from nmtkit.io.inputs import Source
from nmtkit.text.subword.bpe import BPE


class SubwordModel(Protocol):
    """A model that splits words into pieces, and joins pieces to words."""

    @classmethod
    def learn(cls, counts: Mapping[str, int], size: int) -> Self:
        """Learn a model from the words of a corpus.

        :param counts: how often each word occurs; words hold no whitespace.
        :param size: size of the model; for BPE, the number of merges.
        :raises DataError: the size or a word is invalid.
        """
        ...

    @classmethod
    def load(cls, path: Source) -> Self:
        """Load a model from its file.

        :param path: a path, or an input that `nmtkit.io.lines.read_lines` reads like one.
        :raises DataError: the file cannot be read; the message names a malformed line.
        """
        ...

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write the model's file atomically.

        :raises OutputError: the file exists and `force` is not given, or cannot be written.
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

    @staticmethod
    def undo(pieces: Iterable[str]) -> list[str]:
        """Return the words of a sentence from any sequence of pieces that a model may produce."""
        ...

    @staticmethod
    def join(pieces: Iterable[str]) -> tuple[list[str], list[int]]:
        """Return the words of a sentence from its pieces, and for each piece its word's index."""
        ...


METHODS: dict[str, type[SubwordModel]] = {"bpe": BPE}
"""Every subword method by its name."""

DEFAULT_METHOD = "bpe"


def method_of(folder: str | Path, side: str) -> str:
    """Return the subword method of one side of a folder, by the name of its file.

    :param side: extension of the folder's files: "src" or "tgt".
    """
    names = (name for name in METHODS if (Path(folder) / f"{name}.{side}").exists())
    return next(names, DEFAULT_METHOD)


def load_subword_model(folder: str | Path, side: str) -> SubwordModel:
    """Load the subword model of one side of a prepared folder or a model folder.

    :raises DataError: there is no model, or it cannot be read.
    """
    name = method_of(folder, side)
    return METHODS[name].load(Path(folder) / f"{name}.{side}")
