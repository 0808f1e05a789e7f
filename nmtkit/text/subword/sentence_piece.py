"""SentencePiece: pieces of raw text, whitespace included, that give the text back unchanged.

Kudo & Richardson 2018. Text is split as it is: a model that is learned here has no rules of
normalisation, and those of another model are applied before (`normalization.py`). `▁` stands for a
blank; a character that is not in the model becomes the pieces of its UTF-8 bytes, such as `<0xE2>`,
also if the model has no such pieces. So no character is unknown, and no piece holds whitespace.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from nmtkit.errors import DataError
from nmtkit.io.atomic import atomic_file
from nmtkit.io.inputs import Source, open_source
from nmtkit.special_symbols import SPECIAL_WORDS
from nmtkit.text.characters import is_mark
from nmtkit.text.memo import Memo
from nmtkit.text.scripts import JOINERS, WORD_JOINERS, is_spaced, unspaced_characters
from nmtkit.text.subword.normalization import (
    BLANK,
    BLANK_BEFORE,
    EVERY_BLANK,
    NO_BLANK_BEFORE,
    NO_RULES,
    Normalization,
    Processor,
    load_processor,
)

BYTE_PIECES = tuple(f"<0x{byte:02X}>" for byte in range(256))

_NOT_TEXT = frozenset((*BYTE_PIECES, *SPECIAL_WORDS))
"""Pieces that stand for no text that is spelt like them."""

REQUIRED_PIECES = (BLANK, *BYTE_PIECES)
"""Pieces that every vocabulary needs, so that every text has known pieces."""

PROBE = "a"
"""A word by which a model shows whether it puts `▁` before it."""

MAX_FILE_BYTES = 1 << 26
"""Maximum size of a model file; one of 32,000 pieces has 0.6 MB."""

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
ASCII_END = 0x7F
LATER_BYTES = range(0x80, 0xC0)
"""Bytes of a character in UTF-8 behind the first one."""

FIRST_BYTES_OF_LETTERS = range(0xC3, 0xE2)
"""First bytes of characters from U+00C0 to U+1FFF, nearly all of them letters."""


class SentencePiece:
    """A model of SentencePiece, applied to raw lines; a `SubwordModel`.

    :param proto: the library's model, serialised.
    :param vocabulary: pieces that may be produced besides the bytes; any other is split again.
        None: every piece.
    """

    def __init__(self, proto: bytes, vocabulary: Collection[str] | None = None) -> None:
        self._proto = proto
        self._vocabulary = None if vocabulary is None else frozenset(vocabulary)
        self._tokens = Memo(self._known_pieces)
        self.normalization = Normalization(proto)

    @classmethod
    def learn(cls, counts: Mapping[str, int], size: int) -> "SentencePiece":
        """Learn a model from the words of a corpus: what stands between whitespace.

        :param counts: how often each word occurs.
        :param size: number of pieces, the 256 bytes counted; fewer if the text is too short.
        :raises DataError: the size is too small for the characters of the text.
        """
        from nmtkit.text.subword.sentence_piece_learner import learn_model  # start-up

        return cls(learn_model(counts, size))

    @classmethod
    def load(
        cls,
        path: Source,
        vocabulary: Collection[str] | None = None,
        glossaries: Sequence[str] = (),
    ) -> "SentencePiece":
        """Load a model file.

        :param vocabulary: see the class.
        :param glossaries: must be empty; SentencePiece has none.
        :raises DataError: the file cannot be read, is damaged, or has `▁` behind words.
        """
        if glossaries:
            raise DataError(f"{path}: SentencePiece has no glossaries; use BPE, or leave them out")
        try:
            with open_source(path) as stream:
                proto = stream.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}") from error
        if len(proto) > MAX_FILE_BYTES:
            raise DataError(f"{path}: larger than any SentencePiece model; restore it from a copy")
        model = cls(proto, vocabulary)
        problem = model._problem()
        if problem:
            raise DataError(f"{path}: not a SentencePiece model for nmtkit: {problem}")
        return model

    def save(self, path: str | Path) -> None:
        """Write the model's file atomically.

        :raises OutputError: the file exists, or cannot be written.
        """
        with atomic_file(path) as output:
            output.write(self._proto)

    @property
    def size(self) -> int:
        """Return the number of pieces, those of bytes counted if the model has them."""
        return self.processor.get_piece_size()

    @cached_property
    def processor(self) -> Processor:
        """The library's processor, which splits text as it is.

        :raises RuntimeError: the model is damaged.
        """
        return load_processor(self._proto, NO_RULES, EVERY_BLANK)

    @cached_property
    def _inside(self) -> Processor:
        """Splits text that stands behind other text."""
        return load_processor(self._proto, NO_RULES, EVERY_BLANK, NO_BLANK_BEFORE)

    @cached_property
    def _has_bytes(self) -> bool:
        """Whether the model itself has pieces for bytes; else no piece of it is one."""
        ids = [self.processor.piece_to_id(piece) for piece in BYTE_PIECES]
        return all(map(self.processor.is_byte, ids))

    @cached_property
    def _max_length(self) -> int:
        """The length of the longest piece."""
        return max(map(len, map(self.processor.id_to_piece, range(self.size))))

    def _problem(self) -> str | None:
        """Return what is wrong with the model, or None."""
        try:
            if not load_processor(self._proto).get_piece_size():
                return "it has no pieces; restore it from a copy"
            if not load_processor(self._proto, BLANK_BEFORE).normalize(PROBE).startswith(BLANK):
                return (
                    "its pieces have ▁ behind words, not before; learn it without"
                    " --treat_whitespace_as_suffix"
                )
            return None
        except (RuntimeError, ValueError, IndexError):
            return "damaged; restore it from a copy"

    def apply(self, words: Iterable[str]) -> list[str]:
        """Return the pieces of a line, given as its parts between blanks."""
        line = self.apply_line(words)
        return line.split(" ") if line else []

    def apply_line(self, words: Iterable[str]) -> str:
        """Return the pieces of a line, separated by blanks; see `apply`."""
        first, *rest = " ".join(words).split(BLANK)
        parts = [BLANK] if first[:1] == " " and not self._adds_blank else []  # for `undo`
        parts.append(self._split(self.processor, first))
        for part in rest:  # the text has a character that stands for blanks: write its bytes
            parts += [_BYTES_OF_BLANK, self._split(self._inside, part)]
        return " ".join(filter(None, parts))

    def apply_behind(self, words: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the pieces of words behind other text: with a blank between them, and without."""
        text = " ".join(words)
        spaced, joined = (self._split(self._inside, one).split() for one in (f" {text}", text))
        return spaced, joined

    def _split(self, processor: Processor, text: str) -> str:
        """Return the pieces of a text, separated by blanks."""
        return " ".join(map(self._tokens.__getitem__, processor.encode(text, out_type=str)))

    @cached_property
    def _adds_blank(self) -> bool:
        """Whether the first word of a line has a blank before it like all others."""
        return self.processor.encode(PROBE, out_type=str)[0].startswith(BLANK)

    @staticmethod
    def opens(piece: str) -> bool:
        """Return whether a piece ends in a letter or digit of a script with blanks, or in `_`.

        Or whether it is a byte of another character than ASCII's, which may be a letter.
        """
        code = _byte(piece)
        if code is None:
            return _is_in_word(piece[-1])
        return code > ASCII_END or _is_in_word(chr(code))

    @staticmethod
    def goes_on(piece: str) -> bool:
        """Return whether a piece begins with a letter or digit of a script with blanks, or `_`.

        Or whether it is a byte in a character, or the first one of what is most often a letter.
        """
        code = _byte(piece)
        if code is None:
            return _is_in_word(piece[0])
        if code > ASCII_END:
            return code in LATER_BYTES or code in FIRST_BYTES_OF_LETTERS
        return _is_in_word(chr(code))

    @staticmethod
    def spelling(piece: str) -> tuple[bytes, bool]:
        """Return the text of a piece in UTF-8, and that any piece may follow."""
        code = _byte(piece)
        return piece.replace(BLANK, " ").encode() if code is None else bytes([code]), True

    @classmethod
    def open_pieces(cls, pieces: Sequence[str]) -> int:
        """Return the number of pieces of the last word; where a script has no blanks, two.

        Bytes of one character are counted together.
        """
        first = len(pieces) - 1
        while first > 0 and cls._belongs(pieces[first], pieces[first - 1]):
            first -= 1
        if first > 0 and not pieces[first].startswith(BLANK) and unspaced_characters(pieces[first]):
            first -= 1
            while first > 0 and cls._belongs(pieces[first], pieces[first - 1]):
                first -= 1
        return len(pieces) - first

    @classmethod
    def _belongs(cls, piece: str, before: str) -> bool:
        """Return whether a piece belongs to the word, or the bytes, of the piece before it."""
        if _BYTE.fullmatch(piece) or _BYTE.fullmatch(before):
            return True
        return cls.opens(before) and cls.goes_on(piece)

    def _known_pieces(self, piece: str) -> str:
        """Return a piece, or the known pieces that it is split into, separated by blanks."""
        if self._is_known(piece) or (_BYTE.fullmatch(piece) and self._has_bytes):
            return piece
        known: list[str] = []
        start = 0
        while start < len(piece):
            ends = range(min(len(piece), start + self._max_length), start, -1)
            end = next((end for end in ends if self._is_known(piece[start:end])), 0)
            known.append(piece[start:end] if end else _bytes_of(piece[start]))
            start = end or start + 1
        return " ".join(known)

    def _is_known(self, piece: str) -> bool:
        """Return whether a piece of text is one that the model may produce."""
        if piece == BLANK:
            return True
        if self._vocabulary is not None and piece not in self._vocabulary:
            return False
        is_text = piece.split() == [piece] and piece not in _NOT_TEXT
        return is_text and self.processor.piece_to_id(piece) != self.processor.unk_id()

    @staticmethod
    def undo(pieces: Iterable[str]) -> list[str]:
        """Return a line's parts between blanks from any pieces; joined by blanks they are the line.

        Bytes that are not UTF-8 become U+FFFD, and a newline becomes a blank.
        """
        text = "".join(text for text, _ in _decode(pieces))
        return text.removeprefix(" ").split(" ") if text else []

    @staticmethod
    def join(pieces: Iterable[str]) -> tuple[list[str], list[int]]:
        """Return the words of a sentence from its pieces, and for each piece its word's index.

        A word begins at a blank and at punctuation. Where a script writes no blanks, each piece is
        a word, but none begins with a combining mark or at a joiner.
        """
        words: list[str] = []
        indices: list[int] = []
        for text, count in _decode(pieces):
            if not words or not _continues(words[-1], text):
                words.append("")
            words[-1] += text
            indices += [len(words) - 1] * count
        return [word.strip() or BLANK for word in words], indices


def _decode(pieces: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield the text of each piece, or of consecutive byte pieces, and how many they are."""
    data = bytearray()
    for piece in pieces:
        byte = _BYTE.fullmatch(piece)
        if byte:
            data.append(int(byte[1], 16))
            continue
        if data:
            yield _text(data), len(data)
            data.clear()
        yield piece.replace(BLANK, " "), 1
    if data:
        yield _text(data), len(data)


def _text(data: bytes | bytearray) -> str:
    return data.decode("utf-8", errors="replace").replace("\n", " ")


def _continues(word: str, text: str) -> bool:
    """Return whether a piece's text belongs to the word before it."""
    if not text or word == " " or word[-1] in JOINERS:
        return True
    if _belongs(text[0]):
        return True
    base = next((character for character in reversed(word) if not _belongs(character)), "a")
    return is_spaced(base) and is_spaced(text[0])


def _belongs(character: str) -> bool:
    """Return whether a character belongs to the one before, whatever the script."""
    return is_mark(character) or character in JOINERS


def _bytes_of(text: str) -> str:
    return " ".join(BYTE_PIECES[byte] for byte in text.encode("utf-8"))


_BYTES_OF_BLANK = _bytes_of(BLANK)


def _byte(piece: str) -> int | None:
    """Return the byte that a piece stands for, or None."""
    found = _BYTE.fullmatch(piece)
    return int(found[1], 16) if found else None


def _is_in_word(character: str) -> bool:
    """Return whether a character belongs to words of scripts with blanks, as joiners do."""
    return is_spaced(character) or character in WORD_JOINERS
