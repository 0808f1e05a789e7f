"""Subword methods: words are split into pieces, so that a small vocabulary covers a language.

A method is a class that has the interface `SubwordModel`, and an entry in `METHODS`: nothing else
in the package knows which methods there are. To add one, write it in a module of this folder and
enter it below; `PrepareSettings(subword_method=...)` then prepares data with it. The name in
`METHODS` is also the name of its files: a prepared folder and a model folder hold `NAME.src` and
`NAME.tgt`, also when one model was learned on both sides together.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol, Self

from nmtkit.text.subword.bpe import BPE


class SubwordModel(Protocol):
    """Splits words into pieces, and joins pieces to words."""

    @classmethod
    def learn(cls, counts: Mapping[str, int], size: int) -> Self:
        """Learn a model from the words of a corpus.

        :param counts: how often each word occurs; words hold no whitespace.
        :param size: how much to learn; for BPE, the number of merges.
        :raises DataError: the size or a word is invalid.
        """
        ...

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load a model from its file.

        :raises DataError: it cannot be read; a bad line is named.
        """
        ...

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write the model's file, whole or not at all.

        :raises OutputError: the file exists and `force` is not given, or cannot be written.
        """
        ...

    def apply(self, words: Iterable[str]) -> list[str]:
        """Return the pieces of a sentence's words, in order; `undo` gives the words back."""
        ...

    def apply_line(self, words: Iterable[str]) -> str:
        """Return the pieces of a sentence's words with blanks between them.

        Every token of a corpus passes here: remember what was computed (`nmtkit.text.memo`).
        """
        ...

    @staticmethod
    def undo(pieces: Iterable[str]) -> list[str]:
        """Return the words of a sentence from its pieces, which may be any that a model chose."""
        ...

    @staticmethod
    def join(pieces: Iterable[str]) -> tuple[list[str], list[int]]:
        """Return the words of a sentence from its pieces, and for each piece its word's index."""
        ...


METHODS: dict[str, type[SubwordModel]] = {"bpe": BPE}
"""Every subword method by its name."""

DEFAULT_METHOD = "bpe"


def method_of(folder: str | Path, side: str) -> str:
    """Return the method by which one side of a folder was split; its file tells.

    :param side: the ending of the folder's files: "src" or "tgt".
    """
    found = (name for name in METHODS if (Path(folder) / f"{name}.{side}").exists())
    return next(found, DEFAULT_METHOD)


def load_subword_model(folder: str | Path, side: str) -> SubwordModel:
    """Load the subword model of one side of a prepared folder or a model folder.

    :raises DataError: there is none, or it cannot be read.
    """
    name = method_of(folder, side)
    return METHODS[name].load(Path(folder) / f"{name}.{side}")
