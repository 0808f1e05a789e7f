"""Glossaries: terms of the source language, and what they must become.

A glossary is a list of terms. On a line its terms are found as words, the longest first; where two
overlap, the longer one counts, or the first of equal length. Of entries for the same words one that
is case-sensitive counts before others, or else the first. Case is ignored unless a term says
otherwise, and so is whether accents are marks of their own (Unicode's NFC and NFD). Scripts without
blanks have no word boundaries, so there every character is a word. Combining marks, such as the
vowels of Hindi, belong to the character before.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from nmtkit.errors import DataError
from nmtkit.text.characters import as_ranges, combining_characters
from nmtkit.text.scripts import IDEOGRAPHIC, KANA, UNSPACED_ALPHABETIC

_UNSPACED = f"{IDEOGRAPHIC}{KANA}{UNSPACED_ALPHABETIC}"


@cache
def _words() -> re.Pattern[str]:
    """Return the pattern of a character of a script without blanks, a word, or a sign."""
    marks = f"[{as_ranges(combining_characters())}]*"
    return re.compile(rf"[{_UNSPACED}]{marks}|(?:[^\W{_UNSPACED}]{marks})+|[^\w\s]{marks}")


class Word(NamedTuple):
    """A word of a text, with small letters in NFC, and the offsets where it begins and ends."""

    folded: str
    start: int
    end: int


@dataclass(frozen=True)
class Term:
    """An entry of a glossary.

    source: the term. targets: its translations; any one will do. An entry that only forbids has
    none. forbidden: words that its translation must not have. case_sensitive: find it with the
    same capitals only, and forbid words with theirs only. place: where the entry stands, for
    messages.
    """

    source: str
    targets: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    case_sensitive: bool = False
    place: str = ""


class Occurrence(NamedTuple):
    """A term on a line, the offsets where it begins and ends, and its number of words."""

    term: Term
    start: int
    end: int
    words: int


@dataclass
class _Node:
    """A node of the tree of terms: those that end here, and the words that may follow."""

    terms: list[Term] = field(default_factory=list)
    following: dict[str, "_Node"] = field(default_factory=dict)


class Glossary:
    """Finds the terms of lines.

    :param terms: of equal ones that are found, the first counts, or one that is case-sensitive.
    :raises DataError: a term has neither translations nor forbidden words.
    """

    def __init__(self, terms: Iterable[Term]) -> None:
        self.terms = tuple(terms)
        self._root = _Node()
        self._everywhere: list[str] = []
        self._wanted = {target for term in self.terms for target in term.targets}
        exact = (term for term in self.terms if term.case_sensitive)
        self._exact = {word for term in exact for word in term.forbidden}
        for term in self.terms:
            if not term.targets and not term.forbidden:
                raise DataError(f"the term '{term.source}' has no translation; give at least one")
            if term.source:
                self._add(term)
            else:
                self._everywhere += term.forbidden

    def _add(self, term: Term) -> None:
        node = self._root
        for word in words_of(term.source):
            node = node.following.setdefault(word.folded, _Node())
        node.terms.append(term)

    def find(self, line: str) -> list[Occurrence]:
        """Return the terms of a line that have translations, in the order of the line.

        :param line: raw text.
        """
        found = [one for one in self._matches(line) if one.term.targets]
        found.sort(key=lambda one: (-one.words, one.start, not one.term.case_sensitive))
        taken = bytearray(len(line))
        chosen = []
        for one in found:
            if not any(taken[one.start : one.end]):
                taken[one.start : one.end] = b"\1" * (one.end - one.start)
                chosen.append(one)
        return sorted(chosen, key=lambda one: one.start)

    @property
    def forbidden_everywhere(self) -> list[str]:
        """The words that no translation may have."""
        return [*dict.fromkeys(self._everywhere)]

    def may_be_capitalized(self, word: str, capitalized: str) -> bool:
        """Return whether a forbidden word is allowed with a capital.

        It is if its entry says that capitals count, or if another entry wants it so.

        :param word: as it is forbidden.
        :param capitalized: the same with a capital.
        """
        return word in self._exact or capitalized in self._wanted

    def forbidden(self, line: str) -> list[str]:
        """Return the words that the translation of a line must not have because of its terms.

        :param line: raw text.
        """
        words = (word for one in self._matches(line) for word in one.term.forbidden)
        return [*dict.fromkeys(words)]

    def _matches(self, line: str) -> Iterator[Occurrence]:
        """Yield all terms of a line, also those that overlap."""
        words = words_of(line)
        for first in range(len(words)):
            node = self._root
            for last in range(first, len(words)):
                word = words[last]
                following = node.following.get(word.folded)
                if following is None:
                    break
                node = following
                start, end = words[first].start, word.end
                yield from (
                    Occurrence(term, start, end, last - first + 1)
                    for term in node.terms
                    if not term.case_sensitive or has_same_words(line[start:end], term.source)
                )


def words_of(text: str) -> list[Word]:
    """Return the words and signs of a text."""
    return [
        Word(_composed(found[0].casefold()), *found.span()) for found in _words().finditer(text)
    ]


def has_same_words(one: str, other: str) -> bool:
    """Return whether two texts have the same words and signs, capitals included."""
    return _words().findall(_composed(one)) == _words().findall(_composed(other))


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def contains(text: str, phrase: str) -> bool:
    """Return whether a text has the words of a phrase, one after another; case is ignored."""
    return count(text, [phrase]) > 0


def count(text: str, phrases: Sequence[str]) -> int:
    """Return how often a text has the words of one of the phrases, without overlap."""
    words = [word.folded for word in words_of(text)]
    wanted = sorted(
        ([word.folded for word in words_of(phrase)] for phrase in phrases), key=len, reverse=True
    )
    position = found = 0
    while position < len(words):
        match = next((w for w in wanted if w and words[position : position + len(w)] == w), None)
        found += match is not None
        position += 1 if match is None else len(match)
    return found
