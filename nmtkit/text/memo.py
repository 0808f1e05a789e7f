"""A dictionary that computes missing values, as most words of a text occur repeatedly."""

from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

MAX_WORDS = 200_000
"""Maximum number of words; a full memo is emptied, which bounds memory on large corpora."""

MAX_WORD_LENGTH = 50
"""Longer words are not stored."""


class Memo(dict[str, Value]):
    """`memo[word]` is `function(word)`, computed at the first look-up.

    Values must not be modified. Looking up a known word calls no Python function.
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
