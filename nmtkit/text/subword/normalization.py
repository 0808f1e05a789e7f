"""The rules by which a model of SentencePiece writes text before it splits it, such as `nmt_nfkc`.

Prefixes, terms and the places of words need the characters that are split. So the rules are applied
first, with all other normalisation of a line, and pieces are made by a copy of the model without
rules. Both copies are the model's file with a few bytes behind it: in protobuf's encoding, a
message that follows another one of the same kind replaces the fields that it has
(https://protobuf.dev/programming-guides/encoding/#last-one-wins). The fields are those of
`NormalizerSpec` in the library's `sentencepiece_model.proto`.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal, Protocol, cast, overload

BLANK = "▁"
"""Stands for a blank in pieces."""

NO_RULES = b"\x12\x00"
"""Field 2, `precompiled_charsmap`: empty."""

BLANK_BEFORE, NO_BLANK_BEFORE = b"\x18\x01", b"\x18\x00"
"""Field 3, `add_dummy_prefix`: true or false."""

EVERY_BLANK = b"\x20\x00"
"""Field 4, `remove_extra_whitespaces`: false."""

PLAIN_BLANKS = b"\x28\x00"
"""Field 5, `escape_whitespaces`: false."""

_NORMALIZER_SPEC = b"\x1a"
"""Field 3 of the model, `normalizer_spec`, whose length in one byte follows."""


class Processor(Protocol):
    """What nmtkit uses of the library's `SentencePieceProcessor`."""

    def encode(self, text: str, out_type: type[str]) -> list[str]:
        """Return the pieces of a text; unknown characters in a row are one of them."""
        ...

    @overload
    def normalize(self, text: str) -> str: ...

    @overload
    def normalize(self, text: str, with_offsets: Literal[True]) -> tuple[str, list[int]]: ...

    def get_piece_size(self) -> int:
        """Return the number of pieces."""
        ...

    def is_byte(self, id: int) -> bool:
        """Return whether a piece is a byte."""
        ...

    def piece_to_id(self, piece: str) -> int:
        """Return the id of a piece, or that of unknown ones."""
        ...

    def id_to_piece(self, id: int) -> str:
        """Return the piece of an id."""
        ...

    def unk_id(self) -> int:
        """Return the id of unknown pieces."""
        ...


def load_processor(proto: bytes, *fields: bytes) -> Processor:
    """Load the library's processor of a model.

    :param proto: the model, serialised. fields: of its `NormalizerSpec`, in place of the model's.
    :raises RuntimeError: the model is damaged.
    """
    import sentencepiece  # slow to import, and not always needed

    sentencepiece.set_min_log_level(3)  # messages of C++ on stderr
    processor = sentencepiece.SentencePieceProcessor()
    content = b"".join(fields)
    spec = _NORMALIZER_SPEC + bytes([len(content)]) + content if fields else b""
    processor.LoadFromSerializedProto(proto + spec)
    return cast(Processor, processor)


class Normalization:
    """The rules of one model. What they change is not undone in translations.

    :param proto: the library's model, serialised.
    """

    def __init__(self, proto: bytes) -> None:
        self._proto = proto

    @cached_property
    def _processor(self) -> Processor:
        return load_processor(self._proto, NO_BLANK_BEFORE, PLAIN_BLANKS)

    @property
    def folds_case(self) -> bool:
        """Whether the rules write all text in small letters, as `nmt_nfkc_cf`."""
        return self.normalize("A") == "a"

    def normalize(self, line: str) -> str:
        """Return a line as the model reads it, with blanks where its pieces have `▁`."""
        return self._processor.normalize(line)

    def origins(self, line: str) -> tuple[str, Sequence[int]]:
        """Return the normalised line, and for each of its characters where it is from in the line.

        Characters that are written for one another together all have the place of the first one.
        After the last one comes where the text of the line ends.
        """
        return self._processor.normalize(line, with_offsets=True)
