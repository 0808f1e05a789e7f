"""Byte pair encoding: rare words cut into pieces that are frequent.

Sennrich, Haddow & Birch 2016, with the merges, the pieces and the file format of subword-nmt: one
merge a line, most important first, under `#version: 0.2`. A piece that is not the end of its word
carries `@@`: `ad@@ vance`.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from nmtkit.errors import DataError
from nmtkit.io.lines import open_output, read_lines
from nmtkit.text.memo import Memo
from nmtkit.text.subword.bpe_learner import END, LONGEST, Pair, learn_merges

SEPARATOR = "@@"

_VERSIONS = {"#version: 0.1": (0, 1), "#version: 0.2": (0, 2)}


class BPE:
    """The merges learned from a corpus, applied to words.

    :param merges: pairs of symbols, most important first; the end of a word is `</w>`.
    :param version: of the file format; in 0.1 `</w>` is a symbol of its own.
    """

    def __init__(self, merges: Iterable[Pair], version: tuple[int, int] = (0, 2)) -> None:
        self.merges = tuple(merges)
        self._version = version
        self._ranks = _ranks(self.merges)
        self._known = Memo(self._cut)

    @classmethod
    def learn(cls, counts: Mapping[str, int], merges: int) -> "BPE":
        """Learn merges from the words of a corpus.

        Fewer are learned where no pair of symbols is left that occurs twice.

        :param counts: how often each word occurs; words hold no whitespace.
        :param merges: how many pairs to merge.
        :raises DataError: the number of merges is below 1, or a word holds whitespace.
        """
        if merges < 1:
            raise DataError(f"BPE needs at least 1 merge, not {merges}")
        for word in counts:
            if word.split() != [word]:
                raise DataError(f"BPE is learned from words, and {word!r} is none; split it first")
        return cls(learn_merges(counts, merges))

    @classmethod
    def load(cls, path: str | Path) -> "BPE":
        """Read a file of merges.

        :raises DataError: it cannot be read, its version is unknown, or a line is not two symbols
            with a blank between; the line is named.
        """
        return cls(*_parse(list(read_lines(path)), str(path)))

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write the file of merges, whole or not at all.

        :raises OutputError: the file exists and `force` is not given, or cannot be written.
        """
        with open_output(path, force=force) as output:
            output.write(self._text())

    def apply(self, words: Iterable[str]) -> list[str]:
        """The pieces of all words of a sentence, in order; `undo_bpe` gives the words back."""
        line = self.line(words)
        return line.split(" ") if line else []

    def line(self, words: Iterable[str]) -> str:
        """The pieces of all words of a sentence with blanks between them."""
        return " ".join(map(self._known.__getitem__, words))

    def _cut(self, word: str) -> str:
        """The pieces of a word with blanks between them."""
        if len(word) == 1:
            return word
        symbols = [*word, END] if self._version == (0, 1) else [*word[:-1], word[-1] + END]
        if len(symbols) <= LONGEST:
            self._merge(symbols)
        else:
            symbols = self._merged_by_parts(symbols)
        last = symbols.pop().removesuffix(END)
        pieces = [*symbols, last] if last else symbols
        if pieces[-1].endswith(SEPARATOR):
            # The text itself has a word ending in @@. Its last letter becomes a piece of its own,
            # so that the word does not seem to go on.
            pieces[-1:] = [pieces[-1][:-1], pieces[-1][-1]]
        return f"{SEPARATOR} ".join(pieces)

    def _merged_by_parts(self, symbols: Sequence[str]) -> list[str]:
        """A word of more characters than any word has: time shall not grow with its square."""
        merged: list[str] = []
        for start in range(0, len(symbols), LONGEST):
            part = [*symbols[start : start + LONGEST]]
            self._merge(part)
            merged += part
        return merged

    def _merge(self, symbols: list[str]) -> None:
        """Merge pairs of a word's symbols, in place: the earliest learned first."""
        none, rank_of = len(self.merges), self._ranks.get
        ranks = [rank_of(pair, none) for pair in pairwise(symbols)]
        while ranks and (rank := min(ranks)) < none:
            first, second = self.merges[rank]
            if ranks.count(rank) > 1:
                symbols[:] = _merged(symbols, first, second)
                ranks = [rank_of(pair, none) for pair in pairwise(symbols)]
                continue
            place = ranks.index(rank)
            both = first + second
            symbols[place : place + 2] = [both]
            del ranks[place]
            if place < len(ranks):
                ranks[place] = rank_of((both, symbols[place + 1]), none)
            if place:
                ranks[place - 1] = rank_of((symbols[place - 1], both), none)

    def _text(self) -> str:
        header = next(text for text, version in _VERSIONS.items() if version == self._version)
        return "".join(f"{line}\n" for line in (header, *map(" ".join, self.merges)))


def _merged(symbols: Sequence[str], first: str, second: str) -> list[str]:
    """The symbols with a pair merged wherever it stands, from left to right."""
    merged: list[str] = []
    for symbol in symbols:
        if symbol == second and merged and merged[-1] == first:
            merged[-1] = first + second
        else:
            merged.append(symbol)
    return merged


def undo_bpe(pieces: Iterable[str]) -> list[str]:
    """The words of a sentence from their pieces.

    A last piece that wants a continuation, as a model may produce, ends its word.
    """
    words: list[str] = []
    begun = ""
    for piece in pieces:
        if piece.endswith(SEPARATOR):
            begun += piece[: -len(SEPARATOR)]
        else:
            words.append(begun + piece)
            begun = ""
    return [*words, begun] if begun else words


def _parse(lines: Sequence[str], where: str) -> tuple[list[Pair], tuple[int, int]]:
    """The merges and the version of a file; blank lines at its end do not count."""
    filled = [number for number, line in enumerate(lines, start=1) if line.strip("\r ")]
    if not filled:
        raise DataError(f"{where}: empty; a file of BPE merges begins with '#version: 0.2'")
    version = (0, 1)
    merges: list[Pair] = []
    end = filled[-1]
    for number, line in enumerate(lines[:end], start=1):
        symbols = line.strip("\r ").split(" ")
        if number == 1 and symbols[0] == "#version:":
            version = _version(" ".join(symbols), where)
        elif len(symbols) == 2 and all(symbols):
            merges.append((symbols[0], symbols[1]))
        else:
            raise DataError(
                f"{where}:{number}: expected two symbols with a blank between, not"
                f" {line!r}; is this a file of BPE merges?"
            )
    return merges, version


def _version(line: str, where: str) -> tuple[int, int]:
    if line not in _VERSIONS:
        raise DataError(f"{where}:1: unknown {line[1:]}; known are 0.1 and 0.2")
    return _VERSIONS[line]


def _ranks(merges: Sequence[Pair]) -> dict[Pair, int]:
    """The place of each pair; of a pair that is there twice the first counts."""
    return {pair: place for place, pair in reversed(list(enumerate(merges)))}
