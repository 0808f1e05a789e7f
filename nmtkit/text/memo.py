"""A dictionary that computes missing values: most words of a text were met before."""

from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

MAX_WORDS = 200_000
"""Words in a memo; a full one is emptied, so that memory stays small on corpora of any size."""

MAX_WORD_LENGTH = 50
"""Characters of a word that is kept."""


class Memo(dict[str, Value]):
    """`memo[word]` is `function(word)`, computed when the word is first met.

    Values must not be changed. A look-up of a known word calls no Python function.
    """

    def __init__(self, function: Callable[[str], Value]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, word: str) -> Value:
        value = self._function(word)
        if len(self) >= MAX_WORDS:
            self.clear()
        if len(word) <= MAX_WORD_LENGTH:
            self[word] = value
        return value
