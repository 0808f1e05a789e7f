"""The beginning of a translation that a user gives, as tokens; and texts that begin with it.

A prefix may end in the middle of a word. Its whole words become tokens. The last word, if no blank
follows, may go on, and how it is split into subwords depends on how: so only its spelling is fixed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Ending(NamedTuple):
    """A way to write the last word, which may go on.

    tokens: markers before it, or a placeholder. spelling: bytes that the next subwords begin with.
    """

    tokens: tuple[str, ...]
    spelling: bytes


@dataclass(frozen=True)
class TextPrefix:
    """The prefix of a translation.

    text: as the user gave it. tokens: those of its whole words. endings: ways to go on; empty: any.
    last_word: the word that may go on. split: tokens of that word if it goes on no further.
    """

    text: str
    tokens: Sequence[str] = ()
    endings: tuple[Ending, ...] = ()
    last_word: str = ""
    split: Sequence[str] = ()

    def put_before(self, line: str, beginning: str) -> str:
        """Return a translation with exactly this prefix.

        Where spacing, or characters that normalisation replaced, make a translation begin
        otherwise, what is behind them follows the prefix.

        :param line: the translation.
        :param beginning: the part of it that the prefix's tokens make.
        """
        if line.startswith(self.text):
            return line
        wanted = "".join(self.text.split())
        if "".join(line.split()).startswith(wanted):
            length = len(wanted)
        else:
            length = len("".join(beginning.split()))
        rest = line[_end_of(line, length) :]
        return self.text + (rest.lstrip() if self.text[-1:].isspace() else rest)


def _end_of(line: str, length: int) -> int:
    """Return where a number of characters, spaces not counted, end."""
    if not length:
        return 0
    places = (place for place, character in enumerate(line, 1) if not character.isspace())
    return next((place for count, place in enumerate(places, 1) if count == length), len(line))
