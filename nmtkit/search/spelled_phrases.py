"""Phrases of scripts without blanks, in whatever tokens they are written.

Where no blanks separate words, the characters of a phrase may be parts of longer tokens: those of
"クリック" are in "をクリックします", and in "をク" and "リックする". An automaton knows how
much of the phrase stands at the end of a translation (Knuth, Morris and Pratt 1977).
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from nmtkit.search.token_trees import TokenNode


class SpelledPhrases:
    """Makes automata for the tokens of a vocabulary."""

    def __init__(self, spellings: Iterable[bytes]) -> None:
        """Take the text of each token; parts of characters are in no phrase."""
        self._texts = [spelling.decode("utf-8", "replace") for spelling in spellings]
        self._with: dict[str, list[int]] = defaultdict(list)
        for number, text in enumerate(self._texts):
            for character in set(text):
                if not character.isascii():
                    self._with[character].append(number)

    def automaton(self, phrase: str) -> TokenNode:
        """Return the node where no character of a phrase is there; `is_end`: all of them are.

        A token that leads as far from the first node is at this one alone.

        :param phrase: begins with a character beyond ASCII.
        """
        matcher = _Matcher(phrase)
        nodes = [TokenNode() for _ in phrase] + [TokenNode(is_end=True)]
        first = {token: matcher.length(0, self._texts[token]) for token in self._with[phrase[0]]}
        nodes[0].following = {token: nodes[length] for token, length in first.items() if length}
        for known in range(1, len(phrase)):
            for token in self._that_go_on({phrase[length] for length in matcher.borders(known)}):
                length = matcher.length(known, self._texts[token])
                if length > first.get(token, 0):
                    nodes[known].following[token] = nodes[length]
        return nodes[0]

    def _that_go_on(self, characters: Iterable[str]) -> Iterator[int]:
        """Yield the tokens that begin with one of some characters."""
        for character in characters:
            if character.isascii():
                yield from (n for n, text in enumerate(self._texts) if text[:1] == character)
            else:
                yield from (n for n in self._with[character] if self._texts[n][0] == character)


class _Matcher:
    """Finds how much of a phrase stands at the end of a text."""

    def __init__(self, phrase: str) -> None:
        self._phrase = phrase
        self._shorter = [0, 0]  # by length: the longest shorter beginning that also stands there
        for character in phrase[1:]:
            self._shorter.append(self._next(self._shorter[-1], character))

    def _next(self, length: int, character: str) -> int:
        while length and self._phrase[length] != character:
            length = self._shorter[length]
        return length + (self._phrase[length] == character)

    def length(self, length: int, text: str) -> int:
        """Return the length behind a text; that of the phrase if it was anywhere whole.

        A combining mark behind the phrase makes another word of it: Thai `การ` and `การ์ด`.

        :param length: before the text.
        """
        for character, following in zip_longest(text, text[1:], fillvalue=""):
            length = self._next(length, character)
            if length == len(self._phrase):
                if not following or unicodedata.category(following)[0] != "M":
                    break
                length = self._shorter[length]
        return length

    def borders(self, length: int) -> Sequence[int]:
        """Return a length, and those of shorter beginnings that also stand there."""
        found = []
        while length:
            found.append(length)
            length = self._shorter[length]
        return found
