"""Byte pair encoding (BPE): rare words are split into frequent pieces.

Sennrich, Haddow & Birch 2016, with the merges, the pieces and the file format of subword-nmt: one
merge per line, first learned first, below `#version: 0.2`. A piece that another piece of the same
word follows ends in `@@`: `ad@@ vance`.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from nmtkit.errors import DataError
from nmtkit.io.inputs import Source
from nmtkit.io.lines import open_output, read_lines
from nmtkit.text.memo import Memo
from nmtkit.text.subword.bpe_learner import END_OF_WORD, MAX_WORD_LENGTH, Pair, learn_merges

SEPARATOR = "@@"
"""Suffix of a piece that another piece of the same word follows."""

_VERSIONS = {"#version: 0.1": (0, 1), "#version: 0.2": (0, 2)}


class BPE:
    """The merges learned from a corpus, applied to words; a `SubwordModel`.

    :param merges: pairs of symbols, first learned first; a word ends in `</w>`.
    :param version: version of the file format; in 0.1 `</w>` is a separate symbol.
    """

    def __init__(self, merges: Iterable[Pair], version: tuple[int, int] = (0, 2)) -> None:
        self.merges = tuple(merges)
        self._version = version
        self._ranks = _ranks(self.merges)
        self._split_words = Memo(self._split)

    @classmethod
    def learn(cls, counts: Mapping[str, int], size: int) -> "BPE":
        """Learn merges from the words of a corpus.

        Fewer are learned when no pair of symbols occurs twice any more.

        :param counts: how often each word occurs; words hold no whitespace.
        :param size: the number of merges.
        :raises DataError: the number of merges is below 1, or a word holds whitespace.
        """
        if size < 1:
            raise DataError(f"BPE needs at least 1 merge, not {size}")
        for word in counts:
            if word.split() != [word]:
                raise DataError(
                    f"BPE is learned from words, and {word!r} is not one; split it first"
                )
        return cls(learn_merges(counts, size))

    @classmethod
    def load(cls, path: Source) -> "BPE":
        """Load a file of merges.

        :raises DataError: the file cannot be read, its version is unknown, or a line is not two
            symbols separated by a blank; the message names the line.
        """
        return cls(*_parse(list(read_lines(path)), str(path)))

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write the file of merges atomically.

        :raises OutputError: the file exists and `force` is not given, or cannot be written.
        """
        with open_output(path, force=force) as output:
            output.write(self._text())

    def apply(self, words: Iterable[str]) -> list[str]:
        """Return the pieces of a sentence's words, in order; `undo` reverses it."""
        line = self.apply_line(words)
        return line.split(" ") if line else []

    def apply_line(self, words: Iterable[str]) -> str:
        """Return the pieces of a sentence's words, separated by blanks."""
        return " ".join(map(self._split_words.__getitem__, words))

    @staticmethod
    def undo(pieces: Iterable[str]) -> list[str]:
        """Return the words of a sentence from its pieces; see `undo_bpe`."""
        return undo_bpe(pieces)

    @staticmethod
    def join(pieces: Iterable[str]) -> tuple[list[str], list[int]]:
        """Return the words of a sentence from its pieces, and for each piece its word's index."""
        words: list[str] = []
        indices: list[int] = []
        continues = False
        for piece in pieces:
            if not continues:
                words.append("")
            continues = piece.endswith(SEPARATOR)
            words[-1] += piece.removesuffix(SEPARATOR)
            indices.append(len(words) - 1)
        return words, indices

    def _split(self, word: str) -> str:
        """Return the pieces of a word, separated by blanks."""
        if len(word) == 1:
            return word
        if self._version == (0, 1):
            symbols = [*word, END_OF_WORD]
        else:
            symbols = [*word[:-1], word[-1] + END_OF_WORD]
        if len(symbols) <= MAX_WORD_LENGTH:
            self._merge(symbols)
        else:
            symbols = self._merge_by_parts(symbols)
        last = symbols.pop().removesuffix(END_OF_WORD)
        pieces = [*symbols, last] if last else symbols
        if pieces[-1].endswith(SEPARATOR):
            # The text has a word that ends in @@. Split off its last letter as a separate piece, so
            # that the word does not seem to continue.
            pieces[-1:] = [pieces[-1][:-1], pieces[-1][-1]]
        return f"{SEPARATOR} ".join(pieces)

    def _merge_by_parts(self, symbols: Sequence[str]) -> list[str]:
        """Merge a very long word part by part, because time grows with the square of its length."""
        merged: list[str] = []
        for start in range(0, len(symbols), MAX_WORD_LENGTH):
            part = [*symbols[start : start + MAX_WORD_LENGTH]]
            self._merge(part)
            merged += part
        return merged

    def _merge(self, symbols: list[str]) -> None:
        """Merge pairs of a word's symbols in place, the earliest learned first."""
        no_rank, rank_of = len(self.merges), self._ranks.get
        ranks = [rank_of(pair, no_rank) for pair in pairwise(symbols)]
        while ranks and (rank := min(ranks)) < no_rank:
            first, second = self.merges[rank]
            if ranks.count(rank) > 1:
                symbols[:] = _merge_everywhere(symbols, first, second)
                ranks = [rank_of(pair, no_rank) for pair in pairwise(symbols)]
                continue
            index = ranks.index(rank)
            merged = first + second
            symbols[index : index + 2] = [merged]
            del ranks[index]
            if index < len(ranks):
                ranks[index] = rank_of((merged, symbols[index + 1]), no_rank)
            if index:
                ranks[index - 1] = rank_of((symbols[index - 1], merged), no_rank)

    def _text(self) -> str:
        header = next(text for text, version in _VERSIONS.items() if version == self._version)
        return "".join(f"{line}\n" for line in (header, *map(" ".join, self.merges)))


def _merge_everywhere(symbols: Sequence[str], first: str, second: str) -> list[str]:
    """Return the symbols with every occurrence of a pair merged, from left to right."""
    merged: list[str] = []
    for symbol in symbols:
        if symbol == second and merged and merged[-1] == first:
            merged[-1] = first + second
        else:
            merged.append(symbol)
    return merged


def undo_bpe(pieces: Iterable[str]) -> list[str]:
    """Return the words of a sentence from their pieces.

    If the last piece ends in `@@`, which a model may produce, the word ends there.
    """
    words: list[str] = []
    prefix = ""
    for piece in pieces:
        if piece.endswith(SEPARATOR):
            prefix += piece[: -len(SEPARATOR)]
        else:
            words.append(prefix + piece)
            prefix = ""
    return [*words, prefix] if prefix else words


def _parse(lines: Sequence[str], where: str) -> tuple[list[Pair], tuple[int, int]]:
    """Parse the merges and the version of a file; blank lines at its end are ignored."""
    numbers = [number for number, line in enumerate(lines, start=1) if line.strip("\r ")]
    if not numbers:
        raise DataError(f"{where}: empty; a file of BPE merges begins with '#version: 0.2'")
    version = (0, 1)
    merges: list[Pair] = []
    end = numbers[-1]
    for number, line in enumerate(lines[:end], start=1):
        symbols = line.strip("\r ").split(" ")
        if number == 1 and symbols[0] == "#version:":
            version = _version(" ".join(symbols), where)
        elif len(symbols) == 2 and all(symbols):
            merges.append((symbols[0], symbols[1]))
        else:
            raise DataError(
                f"{where}:{number}: expected two symbols separated by a blank, not"
                f" {line!r}; is this a file of BPE merges?"
            )
    return merges, version


def _version(line: str, where: str) -> tuple[int, int]:
    if line not in _VERSIONS:
        raise DataError(f"{where}:1: unknown {line[1:]}; known are 0.1 and 0.2")
    return _VERSIONS[line]


def _ranks(merges: Sequence[Pair]) -> dict[Pair, int]:
    """Return the rank of each pair; for a pair that occurs twice, the first."""
    return {pair: rank for rank, pair in reversed(list(enumerate(merges)))}
