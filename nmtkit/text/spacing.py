"""Which tokens of a line follow each other without a blank: rules of English and French.

A rule reads a token and its neighbours, and joins tokens. `typography.py` has the other languages.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import ClassVar

from nmtkit.special_symbols import SPECIAL_WORDS

_ELISION = re.compile(
    r"(?:.*-)?(?:[cdjlmnst]|qu|(?:jus|lors|puis|quoi|pres|quel)qu|entr|aujourd|prud)", re.IGNORECASE
)
"""French words that end in an apostrophe, without it: l', qu', lorsqu', hors-d'."""

_CONTRACTED = {"s", "t", "re", "ve", "ll", "d", "m"}
"""English endings after an apostrophe: it's, don't, we're."""

_CLIPPED = {"em", "til", "tis", "twas", "cause", "n", "round", "bout"}
"""Rest of English words whose beginning an apostrophe replaces: 'em, 'til."""

_BEFORE_QUOTATION = {"'s", "as", "does", "has", "is", "its", "says", "this", "was"}
"""English words in s without a possessive: an apostrophe after them opens a quotation."""

_PARAGRAPH = re.compile(r"[0-9]+(?:\.[0-9]+)*|[a-z](?:\.[0-9]+)*|[ivx]+")
"""The text in the brackets of a reference to a paragraph: (1), (11.141), (b), (iii)."""

_NEIGHBOURS = {
    "mark",
    "currency",
    "number_sign",
    "degree",
    "percent",
    "colon",
    "dash",
    "typographic",
}
"""Rules that read nothing but the words before and after."""

_ENTITY_NAMES = {"amp", "quot", "apos", "lt", "gt", "nbsp"}


class Line:
    """The words of one line; each may be joined to the word before it.

    A rule is a method that reads the word at an index and its neighbours, and joins words. Rules
    are applied from left to right.
    """

    RULES: ClassVar[dict[str, str]] = {
        **dict.fromkeys(",.)]}”′″", "join_left"),
        **dict.fromkeys("[{¿¡“„", "join_right"),
        "(": "bracket",
        **dict.fromkeys("?!:;%", "mark"),
        **dict.fromkeys("$£€¥", "currency"),
        '"': "quotation",
        "‘": "opening",
        "/": "join_both",
        "#": "number_sign",
        "&": "ampersand",
        "@": "at_sign",
        "°": "degree",
    }
    """For a word of one character, the name of its rule."""

    BLANKLESS_MARKS: ClassVar[bool] = True
    """Whether ? ! : ; follow the previous word directly."""

    _functions: ClassVar[dict[str, Callable[..., None]]] = {}

    def __init_subclass__(cls) -> None:
        cls._functions = {word: getattr(cls, name) for word, name in cls.RULES.items()}

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.joined = [False] * (len(words) + 1)
        self.open: set[str] = set()  # quotation marks that are not closed yet
        self._places: dict[str, list[int]] = {}
        rules = self._functions
        for index, word in enumerate(words):
            if word in rules:
                rules[word](self, index)
            elif not word.isalnum() and not (word[0].isalnum() and word[-1].isalnum()):
                self.word(index)
            elif "'" in word:
                self.word(index)

    def text(self) -> str:
        """Return the line."""
        parts: list[str] = []
        for word, joined in zip(self.words, self.joined, strict=False):
            parts += [word] if joined or not parts else [" ", word]
        return "".join(parts)

    @classmethod
    def keeps_blanks(cls, word: str) -> bool:
        """Return whether the blanks around a word never depend on its letters."""
        return True

    def is_local(self, index: int) -> bool:
        """Return whether the rule of a word depends on no word outside this sequence.

        Assumes that the line has no word with a rule that remembers earlier words.
        """
        word = self.words[index]
        rule = self.RULES.get(word)
        inside = 0 < index < len(self.words) - 1
        if rule is None:
            begins, ends = word[0] == "'" or word.lower() == "n't", word[-1] == "'"
            return (index > 0 or not begins) and (index < len(self.words) - 1 or not ends)
        if rule == "bracket" and self.after(index):
            return not _PARAGRAPH.fullmatch(self.after(index))
        if rule in ("mark", "colon") and index and not inside and word != "%":
            return self.BLANKLESS_MARKS and self.before(index)[-1].islower()
        return rule.startswith("join_") or (inside and rule in _NEIGHBOURS)

    def before(self, index: int) -> str:
        """Return the previous word, or "" at the beginning."""
        return self.words[index - 1] if index else ""

    def after(self, index: int) -> str:
        """Return the next word, or "" at the end."""
        return self.words[index + 1] if index + 1 < len(self.words) else ""

    def join_left(self, index: int) -> None:
        """Join the word to the previous word."""
        self.joined[index] = True

    def join_right(self, index: int) -> None:
        """Join the word to the next word."""
        self.joined[index + 1] = True

    def join_both(self, index: int) -> None:
        """Join the word to both neighbours."""
        self.join_left(index)
        self.join_right(index)

    def between_digits(self, index: int) -> bool:
        """Return whether the word stands between two digits."""
        return self.before(index)[-1:].isdigit() and self.after(index)[:1].isdigit()

    def unpaired(self, index: int) -> bool:
        """Return whether the rest of the line has an odd number of this quotation mark."""
        word = self.words[index]
        if word not in self._places:
            self._places[word] = [place for place, each in enumerate(self.words) if each == word]
        places = self._places[word]
        return (len(places) - bisect_left(places, index)) % 2 == 1

    def word(self, index: int) -> None:
        """Join dots to the previous word, and tags to what they enclose.

        Subclasses also handle clitics.
        """
        word = self.words[index]
        if not word.strip("."):
            self.join_left(index)
        elif word in SPECIAL_WORDS:
            pass  # an unknown word is no tag
        elif word[0] == "<" and word[1:2] == "/":
            self.join_left(index)
        elif word[-1] == ">" and len(word) > 1 and word[-2] != "/":
            self.join_right(index)

    def mark(self, index: int) -> None:
        """Join a punctuation mark to the previous word, as in English."""
        self.join_left(index)
        if self.words[index] == ":" and self.between_digits(index):
            self.join_right(index)

    def bracket(self, index: int) -> None:
        """Join an opening bracket to the next word; join references like 50.1(1)(a) to one word."""
        self.join_right(index)
        inside, end = self.after(index), self.words[index + 2 : index + 3]
        if end == [")"] and _PARAGRAPH.fullmatch(inside):
            before = self.before(index)
            if before == ")" or _PARAGRAPH.fullmatch(before) and before[0].isdigit():
                self.join_left(index)

    def currency(self, index: int) -> None:
        """Join a currency sign to the amount after it."""
        if self.after(index)[:1].isdigit():
            self.join_right(index)

    def quotation(self, index: int) -> None:
        """Join a straight quotation mark; such marks open and close quotations alternately."""
        sign = self.words[index]
        if sign in self.open:
            self.open.remove(sign)
            self.join_left(index)
        elif self.unpaired(index) and self.closes(index):
            self.join_left(index)
        else:
            self.open.add(sign)
            self.join_right(index)

    def closes(self, index: int) -> bool:
        """Return whether an unpaired mark closes a quotation that an earlier line opened."""
        return self.before(index) in set(",.!?") or self._last_word < index

    @cached_property
    def _last_word(self) -> int:
        """Index of the last word that begins with a letter or digit, or -1."""
        places = range(len(self.words) - 1, -1, -1)
        return next((place for place in places if self.words[place][0].isalnum()), -1)

    def opening(self, index: int) -> None:
        """Join an opening single quotation mark to the next word."""
        self.open.add("‘")
        self.join_right(index)

    def number_sign(self, index: int) -> None:
        """Join # to the number after it."""
        if self.after(index)[:1].isdigit():
            self.join_right(index)

    def ampersand(self, index: int) -> None:
        """Join `S&P`, and the parts of an XML entity in the original text."""
        before, after = self.before(index), self.after(index)
        if before.isupper() and after.isupper() and len(before) == len(after) == 1:
            self.join_both(index)
        if after in _ENTITY_NAMES and self.words[index + 2 : index + 3] == [";"]:
            self.join_right(index)
            self.join_right(index + 1)

    def at_sign(self, index: int) -> None:
        """Join the parts of an e-mail address."""
        if "." in self.after(index)[1:-1]:
            self.join_both(index)

    def degree(self, index: int) -> None:
        """Join a degree sign to its number, and to C or F."""
        self.join_left(index)
        if self.after(index) in ("C", "F"):
            self.join_right(index)


class English(Line):
    """The rules of English: it's, don't, the boys' house."""

    RULES = Line.RULES | {"'": "apostrophe", "’": "typographic"}

    def word(self, index: int) -> None:
        """Join contractions to the previous word."""
        super().word(index)
        word = self.words[index]
        contraction = word[0] == "'" and word[1:2].isalpha() or word.lower() == "n't"
        if contraction and self.before(index)[-1:].isalnum():
            self.join_left(index)

    def apostrophe(self, index: int) -> None:
        """Join an apostrophe, which is part of a contraction or possessive, or a quotation mark."""
        before, after = self.before(index), self.after(index)
        if after in _CONTRACTED and before[-1:].isalpha():
            self.join_both(index)
        elif after.lower() in _CLIPPED or (after[:1].isdigit() and self.unpaired(index)):
            self.join_right(index)
        elif "'" in self.open or not before[-1:].isalnum():
            self.quotation(index)
        elif before[-1] in "sS" and before not in _BEFORE_QUOTATION or self.unpaired(index):
            self.join_left(index)
        else:
            self.quotation(index)

    def typographic(self, index: int) -> None:
        """Join a typographic apostrophe to the previous word, or to a year after it."""
        self.join_left(index)
        if self.after(index).lower() in _CONTRACTED or self.before(index) in ("O", "D", "L"):
            self.join_right(index)
        elif self.after(index)[:1].isdigit():
            self.joined[index] = False
            self.join_right(index)


class French(Line):
    """The rules of French: l'arbre, aujourd’hui, « quoi ? »."""

    BLANKLESS_MARKS = False

    RULES = Line.RULES | {"'": "apostrophe", "’": "typographic", ")": "closing_bracket"}

    def closing_bracket(self, index: int) -> None:
        """Join a closing bracket to the previous word; join references like 8(1)a) to one word."""
        self.join_left(index)
        if self.words[index - 2 : index - 1] == [")"] and _PARAGRAPH.fullmatch(self.before(index)):
            self.join_left(index - 1)

    def word(self, index: int) -> None:
        """Join a word with an elision to the next word."""
        super().word(index)
        word = self.words[index]
        if word[-1] == "'" and word[-2:-1].isalpha() and self.after(index):
            self.join_right(index)

    def quotation(self, index: int) -> None:
        """Join a quotation mark as in English, except in l"arbre, a typing error for l'arbre."""
        if self.words[index] not in self.open and _ELISION.fullmatch(self.before(index)):
            self.join_both(index)
        else:
            super().quotation(index)

    def mark(self, index: int) -> None:
        """Leave one blank before a punctuation mark, except within `?!`, `16:30` and `http://`."""
        word, before, after = self.words[index], self.before(index), self.after(index)
        if word == ":" and self.between_digits(index):
            self.join_both(index)
        elif (word in "?!" and before in ("?", "!", "...")) or (word == ":" and after == "/"):
            self.join_left(index)
        elif word == ";" and before in _ENTITY_NAMES and self.words[index - 2 : index - 1] == ["&"]:
            self.join_left(index)

    def currency(self, index: int) -> None:
        """Keep a blank between an amount and its currency sign; join the sign to a unit."""
        if self.before(index) in ("M", "k", "G", "US", "CAN"):
            self.join_left(index)
        elif not self.before(index)[-1:].isdigit():
            super().currency(index)

    def degree(self, index: int) -> None:
        """Join a degree sign to C or F, otherwise to its number."""
        if self.after(index) in ("C", "F"):
            self.join_right(index)
        else:
            self.join_left(index)

    def apostrophe(self, index: int) -> None:
        """Join an apostrophe, which marks an elision or is a quotation mark."""
        if _ELISION.fullmatch(self.before(index)) and self.after(index):
            self.join_both(index)
        else:
            self.quotation(index)

    def typographic(self, index: int) -> None:
        """Join a typographic apostrophe, which marks an elision or closes a quotation."""
        before = self.before(index)
        if "‘" in self.open and not _ELISION.fullmatch(before):
            self.open.remove("‘")
            self.join_left(index)
        else:
            self.join_left(index)
            if before[-1:].isalpha():
                self.join_right(index)
