"""What was made of a word, remembered: most words of a text were met before."""

from collections.abc import Callable
from typing import TypeVar

Made = TypeVar("Made")

SIZE = 200_000
LENGTH = 50
"""At most so many words of so many characters are remembered; then the memory is emptied. So it
stays small on corpora of any size."""


class Memo(dict[str, Made]):
    """`memory[word]` is `make(word)`, from memory where the word was met before.

    What is made must not be changed. A look-up costs no call of a Python function.
    """

    def __init__(self, make: Callable[[str], Made]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, word: str) -> Made:
        made = self._make(word)
        if len(self) >= SIZE:
            self.clear()
        if len(word) <= LENGTH:
            self[word] = made
        return made
