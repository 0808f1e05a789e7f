"""Byte pair encoding (BPE): rare words are split into frequent pieces.

Sennrich, Haddow & Birch 2016, with the merges, the pieces and the file format of subword-nmt: one
merge per line, first learned first, below `#version: 0.2`. A piece that another piece of the same
word follows ends in `@@`: `ad@@ vance`. The library splits the words; each distinct word once.
"""

import io
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

from nmtkit.errors import DataError
from nmtkit.io.inputs import Source
from nmtkit.io.lines import decode_line, open_output, read_raw_lines
from nmtkit.text.memo import Memo
from nmtkit.text.scripts import is_in_word

Pair = tuple[str, str]
"""A pair of neighbouring symbols."""

MAX_WORD_LENGTH = 1000
"""Maximum length of a word in characters. Longer words are ignored in learning and split part by
part: they belong to no language, and merging takes a time that grows with the square of a word's
length, up to minutes."""

SEPARATOR = "@@"
"""Suffix of a piece that another piece of the same word follows."""

BINARY_LINES = 5
"""Lines at the beginning of a file; a zero byte in them shows that the file is binary."""

MAX_RECURSION = 500
"""Length of the parts of a very long word where pieces are limited to a vocabulary: the library
undoes merges recursively."""

_MARKER = "\t"
"""No merge has it, because words hold no whitespace."""

_VERSIONS = {"#version: 0.1": (0, 1), "#version: 0.2": (0, 2)}

Segment = Callable[[Sequence[str]], list[str]]
"""From words to their pieces, those that do not end a word with the separator."""


class BPE:
    """The merges learned from a corpus, applied to words by subword-nmt; a `SubwordModel`.

    :param merges: pairs of symbols, first learned first; a word ends in `</w>`.
    :param version: version of the file format; in 0.1 `</w>` is a separate symbol.
    :param vocabulary: pieces that may be produced, with their `@@`; any other piece is split again,
        down to characters if need be. None: every piece.
    :param glossaries: regular expressions; what they match is never split.
    :raises DataError: a glossary is invalid, or merges of version 0.1 are given a vocabulary.
    """

    def __init__(
        self,
        merges: Iterable[Pair],
        version: tuple[int, int] = (0, 2),
        vocabulary: Collection[str] | None = None,
        glossaries: Sequence[str] = (),
    ) -> None:
        if vocabulary is not None and version == (0, 1):
            raise DataError(
                "merges of version 0.1 cannot be limited to a vocabulary; learn them again, or"
                " leave the vocabulary threshold out"
            )
        self.merges = tuple(merges)
        self._version = version
        # With the empty piece, because the library takes an empty vocabulary for none.
        self._vocabulary = None if vocabulary is None else frozenset({*vocabulary, ""})
        self._glossaries = [glossary_pattern(glossary) for glossary in glossaries]
        self._split_words = Memo(self._split)

    @property
    def size(self) -> int:
        """Return the number of merges."""
        return len(self.merges)

    @property
    def normalization(self) -> None:
        """None: merges change no text."""
        return None

    @cached_property
    def library(self) -> "Library":
        """subword-nmt's `BPE` with these merges; callers clear its `cache`, which is unbounded."""
        from subword_nmt import apply_bpe

        merges = self.merges or (("a", "b"),)  # the library refuses a file without merges
        codes = io.StringIO(_file_text(merges, self._version))
        library: Library = apply_bpe.BPE(codes, glossaries=self._glossaries)
        library.vocab = self._vocabulary
        if not self.merges:
            library.bpe_codes = {}
            library.bpe_codes_reverse = {}
        return library

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
        from nmtkit.text.subword.bpe_learner import learn_merges  # start-up

        return cls(learn_merges(counts, size))

    @classmethod
    def load(
        cls,
        path: Source,
        vocabulary: Collection[str] | None = None,
        glossaries: Sequence[str] = (),
    ) -> "BPE":
        """Load a file of merges.

        :param vocabulary, glossaries: see the class.
        :raises DataError: the file cannot be read, is binary, its version is unknown, or a line is
            not two symbols separated by a blank; the message names the line.
        """
        raw = list(read_raw_lines(path))
        try:
            lines = [decode_line(line, path, number) for number, line in enumerate(raw, start=1)]
            merges, version = _parse(lines, str(path))
        except DataError as error:
            if not any(b"\0" in line for line in raw[:BINARY_LINES]):
                raise
            raise DataError(
                f"{path}: binary, not a file of BPE merges; a model of SentencePiece needs"
                " --subword sentencepiece"
            ) from error
        return cls(merges, version, vocabulary, glossaries)

    def save(self, path: str | Path) -> None:
        """Write the file of merges atomically.

        :raises OutputError: the file exists, or cannot be written.
        """
        with open_output(path) as output:
            output.write(self._text())

    def apply(self, words: Iterable[str]) -> list[str]:
        """Return the pieces of a sentence's words, in order; `undo` reverses it."""
        line = self.apply_line(words)
        return line.split(" ") if line else []

    def apply_line(self, words: Iterable[str]) -> str:
        """Return the pieces of a sentence's words, separated by blanks."""
        return " ".join(map(self._split_words.__getitem__, words))

    def apply_behind(self, words: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the pieces of words; what stands before them does not matter."""
        pieces = self.apply(words)
        return pieces, pieces

    @staticmethod
    def opens(piece: str) -> bool:
        """Return whether a piece ends in a letter, digit or `_`, and another piece follows."""
        return piece.endswith(SEPARATOR) and is_in_word(piece[: -len(SEPARATOR)][-1:])

    @staticmethod
    def goes_on(piece: str) -> bool:
        """Return whether a piece begins with a letter, digit or `_`."""
        return is_in_word(piece[:1])

    @staticmethod
    def spelling(piece: str) -> tuple[bytes, bool]:
        """Return the text of a piece in UTF-8, and whether its word goes on."""
        return piece.removesuffix(SEPARATOR).encode(), piece.endswith(SEPARATOR)

    @staticmethod
    def open_pieces(pieces: Sequence[str]) -> int:
        """Return the number of pieces of the last word."""
        ends = (n for n in range(len(pieces) - 1) if not pieces[-2 - n].endswith(SEPARATOR))
        return next(ends, len(pieces) - 1) + 1

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
        return " ".join(self.split_word(word, self.library.segment_tokens))

    def split_word(self, word: str, segment: Segment) -> list[str]:
        """Return the pieces of a word, from which `undo` restores any word.

        :param segment: splits words as subword-nmt's `segment_tokens`.
        """
        length = MAX_WORD_LENGTH if self._vocabulary is None else MAX_RECURSION
        parts = [word[start : start + length] for start in range(0, len(word), length)]
        # Time grows with the square of a word's length, so a very long one is split part by part.
        # The marker keeps a part from ending like a word.
        pieces = [piece for part in parts[:-1] for piece in segment([part + _MARKER])[:-1]]
        pieces += segment([parts[-1]])
        self.library.cache.clear()
        if pieces[-1].endswith(SEPARATOR):
            # The text has a word that ends in @@. Split off its last letter as a separate piece, so
            # that the word does not seem to continue.
            last = pieces.pop()
            letters = [last[:-1], last[-1]] if self._vocabulary is None else [*last]
            pieces += [*(letter + SEPARATOR for letter in letters[:-1]), letters[-1]]
        return pieces

    def _text(self) -> str:
        return _file_text(self.merges, self._version)


class Library(Protocol):
    """What nmtkit uses of subword-nmt's `BPE`."""

    bpe_codes: dict[Pair, int]
    bpe_codes_reverse: dict[str, Pair]
    cache: dict[str, tuple[str, ...]]
    vocab: frozenset[str] | None

    def segment_tokens(self, tokens: Sequence[str], dropout: float = 0) -> list[str]:
        """Return the pieces of words, those that do not end a word with the separator."""
        ...


def _file_text(merges: Iterable[Pair], version: tuple[int, int]) -> str:
    header = next(text for text, known in _VERSIONS.items() if known == version)
    return "".join(f"{line}\n" for line in (header, *map(" ".join, merges)))


def glossary_pattern(glossary: str) -> str:
    """Return the pattern of a glossary as subword-nmt takes it.

    The library joins patterns with `|` and splits words at their groups, so a pattern is put into a
    group of its own, and may have no other that captures.

    :raises DataError: it is not a regular expression, has a capturing group, or is not UTF-8, which
        no file of settings could hold.
    """
    pattern = f"(?:{glossary})"
    try:
        glossary.encode()
        groups = re.compile(glossary).groups + re.compile(pattern).groups
    except UnicodeEncodeError as error:
        raise DataError(f"glossary '{glossary}': not UTF-8; write it in UTF-8") from error
    except (re.error, RecursionError, OverflowError) as error:
        raise DataError(f"glossary '{glossary}': not a regular expression: {error}") from error
    if groups:
        raise DataError(f"glossary '{glossary}': write (?:...) instead of (...)")
    return pattern


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
