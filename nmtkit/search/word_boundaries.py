"""Where the words of a vocabulary's tokens end, and its characters."""

import codecs
from collections.abc import Collection, Mapping, Sequence

import torch


class WordBoundaries:
    """Where words end: between tokens a and b of one word, `opens[a]` and `goes_on[b]` are True.

    With BPE, a piece that ends in a letter and `@@` opens. With SentencePiece, a piece that ends in
    a letter does. A piece that begins with a letter goes on. `is_open` are the tokens behind which
    a term must not be followed by one that goes on: those that open, those that end in a sign and
    have no blank behind, as in `C++er`, and those that a combining mark of a script without blanks
    may follow: Thai `การ` is not in `การ์ด`.
    """

    def __init__(
        self,
        pairs: Sequence[tuple[bool, bool]],
        values: Mapping[int, int] | None = None,
        signs: Collection[int] = (),
        marks: Collection[int] = (),
    ) -> None:
        """Take whether each token opens, and whether it goes on.

        :param values: of tokens that are a byte of a character in UTF-8.
        :param signs: tokens that do not open, but behind which a term must not be followed by one
            that goes on.
        :param marks: tokens that begin with a mark of a script without blanks; they go on.
        """
        self.opens = [opens for opens, _ in pairs]
        self.is_open = [opens or token in signs for token, opens in enumerate(self.opens)]
        self.goes_on = [goes_on or token in marks for token, (_, goes_on) in enumerate(pairs)]
        self.going_on = torch.tensor(self.goes_on)  # [K], bool
        self._values = values or {}
        # a byte alone may be no character: it does not make another word of what is before it
        self.in_letters = torch.tensor(
            [goes_on and token not in self._values for token, (_, goes_on) in enumerate(pairs)]
        )
        is_closing = self.in_letters & ~torch.tensor(self.opens)
        self.closing = is_closing.nonzero().squeeze(1)  # tokens that end an open word
        self.can_close = any(self.opens) and len(self.closing) > 0

    @classmethod
    def none(cls, size: int) -> "WordBoundaries":
        """Return those of a vocabulary of words."""
        return cls([(False, True)] * size)

    def ends_inside(self, tokens: Sequence[int]) -> bool:
        """Return whether tokens end with a part of the bytes of a character."""
        if not tokens or tokens[-1] not in self._values:
            return False
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for token in tokens:
            if token in self._values:
                decoder.decode(bytes([self._values[token]]))
            else:
                decoder.reset()
        return bool(decoder.getstate()[0])
