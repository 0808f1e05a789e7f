"""Glossaries: terms of the source language, and what they must become.

A glossary is a list of terms. On a line its terms are found as words, the longest first; where two
overlap, the longer one counts, or the first of equal length. Of entries for the same words one that
is case-sensitive counts before others, or else the first. Case is ignored unless a term says
otherwise, and so is whether accents are marks of their own (Unicode's NFC and NFD), which of the
apostrophes and hyphens is written, and what has no width and no meaning, such as soft hyphens.
Scripts without blanks have no word boundaries, so there every character is a word. Combining marks,
such as the vowels of Hindi, belong to the character before. In Korean particles stand behind a word
without a blank: a term is found before them. Greek capitals have no accents: a term is found
without them, too.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from nmtkit.errors import DataError, refuse_string
from nmtkit.text.case_markers import lower
from nmtkit.text.characters import mark_ranges
from nmtkit.text.languages import base_language
from nmtkit.text.punctuation import DIRECTION_MARKS
from nmtkit.text.scripts import IDEOGRAPHIC, KANA, UNSPACED_ALPHABETIC

if TYPE_CHECKING:
    from nmtkit.text.subword.normalization import Normalization

_UNSPACED = f"{IDEOGRAPHIC}{KANA}{UNSPACED_ALPHABETIC}"

_IGNORED = f"\u00ad{DIRECTION_MARKS}"
"""Soft hyphens, and other characters that are not seen."""

_INVISIBLE = re.compile(f"[{_IGNORED}]")

_PARTICLES = (
    "은 는 이 가 을 를 의 에 에서 에게 에게서 께 께서 한테 "
    "로 으로 로서 으로서 로써 으로써 와 과 랑 이랑 하고 도 만 "
    "까지 부터 조차 마저 밖에 보다 처럼 마다 나 이나 라도 이라도 "
    "에는 에도 에서는 에서도 에게는 로는 으로는 까지는 부터는 와의 "
    "과의"
).split()
"""Particles of Korean nouns."""

_MIN_NOUN = 2
"""Characters before a particle: many nouns of one syllable begin others that end as if by one."""

_VARIANTS = str.maketrans("\u2018\u2019\u02bc\uff07\u2010\u2011", "'" * 4 + "--")
"""Apostrophes and hyphens that are written for one another; U+02BC is a letter to Unicode."""


@cache
def _words() -> re.Pattern[str]:
    """Return the pattern of a character of a script without blanks, a word, or a sign."""
    marks = rf"[{mark_ranges()}{_IGNORED}\u180e]*"
    signs = rf"[^\w\s{_IGNORED}]"
    return re.compile(rf"[{_UNSPACED}]{marks}|(?:[^\W{_UNSPACED}]{marks})+|{signs}{marks}")


class Word(NamedTuple):
    """A word of a text, and the offsets where it begins and ends.

    written: as it counts where capitals do; in NFC. folded: the same in small letters.
    """

    written: str
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

    def __post_init__(self) -> None:
        """Raise TypeError if a word stands where several are expected."""
        refuse_string(self.targets, "targets")
        refuse_string(self.forbidden, "forbidden")


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
    :param language: of the lines, whose rules say which letters are small; empty: the usual rules.
    :param rules: by which lines and terms are written, or None.
    :raises DataError: a term has neither translations nor forbidden words.
    """

    def __init__(
        self,
        terms: Iterable[Term],
        language: str = "",
        rules: "Normalization | None" = None,
    ) -> None:
        self.terms = tuple(terms)
        self._as_read = str if rules is None else rules.normalize
        self._language = base_language(language) if language else ""
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

    def in_language(self, language: str, rules: "Normalization | None" = None) -> "Glossary":
        """Return a glossary of the same terms for lines of a language.

        :param language: its tag; where its rules are those of this glossary, this one is returned.
        :param rules: by which lines and terms are written, or None. They do not matter if they
            change no term, as those of a model that `prepare` has learned.
        """
        changed = rules and any(rules.normalize(one.source) != one.source for one in self.terms)
        is_same = not changed and _rules(base_language(language)) == _rules(self._language)
        return self if is_same else Glossary(self.terms, language, rules)

    def _add(self, term: Term) -> None:
        node = self._root
        for word in words_of(self._as_read(term.source), self._language):
            before, node = node, node.following.setdefault(word.folded, _Node())
            if self._language == "el":
                before.following.setdefault(_without_accents(word.folded), node)
        node.terms.append(term)

    def find(self, line: str) -> list[Occurrence]:
        """Return the terms of a line that have translations, in the order of the line.

        :param line: raw text, written by the rules.
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

        :param line: raw text, written by the rules.
        """
        words = (word for one in self._matches(line) for word in one.term.forbidden)
        return [*dict.fromkeys(words)]

    def _matches(self, line: str) -> Iterator[Occurrence]:
        """Yield all terms of a line, also those that overlap."""
        words = words_of(line, self._language)
        for first in range(len(words)):
            node = self._root
            for last in range(first, len(words)):
                start, word = words[first].start, words[last]
                for stem in self._stems(word.folded):
                    if (ending := node.following.get(stem)) is not None:
                        written = line[start : word.end - (len(word.folded) - len(stem))]
                        yield from (
                            Occurrence(term, start, word.end, last - first + 1)
                            for term in ending.terms
                            if not term.case_sensitive
                            or has_same_words(written, self._as_read(term.source))
                        )
                following = node.following.get(word.folded)
                if following is None:
                    break
                node = following

    def _stems(self, word: str) -> Iterator[str]:
        """Yield a word, and what stands in it before a particle."""
        yield word
        if self._language == "ko":
            for particle in _PARTICLES:
                if word.endswith(particle) and len(word) >= len(particle) + _MIN_NOUN:
                    yield word.removesuffix(particle)


def _rules(language: str) -> tuple[str, str]:
    """Return what decides how words are found: the small letters of I and İ, and the language."""
    return lower("Iİ", language), language if language in ("ko", "el") else ""


def _without_accents(word: str) -> str:
    """Return a Greek word in small letters without the accents that its capitals do not have."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", word).replace("\u0301", ""))


def words_of(text: str, language: str = "") -> list[Word]:
    """Return the words and signs of a text.

    :param language: base language of the text, whose rules say which letters are small.
    """
    words = []
    for found in _words().finditer(text.translate(_VARIANTS)):
        written = _plain(found[0])
        words.append(Word(written, _plain(lower(written, language).casefold()), *found.span()))
    return words


def has_same_words(one: str, other: str) -> bool:
    """Return whether two texts have the same words and signs, capitals included."""
    texts = ([word.written for word in words_of(text)] for text in (one, other))
    return next(texts) == next(texts)


def _plain(word: str) -> str:
    """Return a word in NFC, without what has no width."""
    if word.isascii():
        return word
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", word))


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
