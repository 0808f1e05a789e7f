"""Moses tokenizing of one line: words, punctuation and clitics apart.

The rules, their character classes and the lists of non-breaking prefixes are sacremoses's (its
port of `tokenizer.perl`), which is imported when a text needs what `characters.py` has not: other
letters than western ones, or the prefixes. This module runs the rules word by word instead of line
by line, so that a word seen before costs one look-up. That is exact: with a blank on either side,
what a rule makes of a word does not depend on the words around it, except in three cases, which
are treated apart: apostrophes that meet across a blank, control characters, and periods (below).

Differences from sacremoses 0.2.0, all of them towards `tokenizer.perl`:
- a period at the end of the line is always split off, also after a non-breaking prefix (`St.`,
  `art.`, `E.`) or a word with a period inside (`U.S.`, `example.com.`);
- a text that holds sacremoses's marker words (`DOTMULTI`) keeps them.

With `escape=True, hyphens=True` all 62,028 lines of Multi30k's train, val and test2016, both
languages, come out as real `tokenizer.perl -a` wrote them (sacremoses: all but 42).

Whitespace of every kind (no-break spaces, U+0085, U+2028, ...) separates tokens and is in none;
control characters vanish, as in Moses. So the tokens of a line joined with blanks are split at
the same places by every program, and a line stays one line.
"""

import re
from collections.abc import Callable, Sequence
from functools import cached_property, partial

from nmtkit.text.characters import (
    WESTERN,
    WESTERN_CODES,
    Characters,
    moses_characters,
    moses_prefixes,
)
from nmtkit.text.detokenizer import Detokenizer
from nmtkit.text.memo import Memo

__all__ = ["Detokenizer", "Tokenizer"]

_CONTROL = re.compile(r"[\x00-\x1f]+")
_DOTS = re.compile(r"\.{2,}")
_HELD_DOT = "\x01"
"""Stands for a period of `...` while the rules run; no text holds it once `_CONTROL` is gone."""

_WESTERN = frozenset(map(chr, WESTERN_CODES))

_OTHER_LETTERS = {"zh", "ja", "ko", "cjk"}
"""Languages to which sacremoses gives letters of their own."""

_ESCAPES = (
    ("&", "&amp;"),
    ("|", "&#124;"),
    ("<", "&lt;"),
    (">", "&gt;"),
    ("'", "&apos;"),
    ('"', "&quot;"),
    ("[", "&#91;"),
    ("]", "&#93;"),
)
"""What `tokenizer.perl` writes for characters that mean something to Moses or XML; & first."""

Rule = tuple[str, re.Pattern[str], str | Callable[[re.Match[str]], str]]
"""What a text must hold for the rule to matter, what the rule looks for, and what it writes."""


class Tokenizer:
    """Splits lines of one language into words, as Moses does.

    :param language: ISO 639-1 code; decides about apostrophes and non-breaking prefixes. For a
        language without a list of prefixes the English one is used.
    :param hyphens: split words at hyphens, `well-known` to `well @-@ known` (`-a` in Moses).
    :param escape: write `&`, `'`, `[` and the like as XML entities, as Moses does by default.
    """

    def __init__(self, language: str, hyphens: bool = False, escape: bool = False) -> None:
        self._language = language
        self._hyphens = hyphens
        self._escape = escape
        self._is_western = True
        self._go_by(WESTERN)
        if language in _OTHER_LETTERS:
            self._complete()
        self._first = Memo(partial(self._alone, "", " "))
        self._inner = Memo(partial(self._alone, " ", " "))
        self._last = Memo(partial(self._alone, " ", ""))

    def _go_by(self, characters: Characters) -> None:
        self._rules = _rules(characters, self._language, self._hyphens)
        self._plain = frozenset(characters.alnum) | {"."}
        self._alphabet = frozenset(characters.alpha)
        self._lower = frozenset(characters.lower)

    def _complete(self) -> None:
        """Go by the whole rules from here on: a character has come up that is no western one."""
        self._go_by(moses_characters(self._language))
        self._is_western = False

    @cached_property
    def _prefixes(self) -> tuple[frozenset[str], frozenset[str]]:
        return moses_prefixes(self._language)

    def tokenize(self, line: str) -> list[str]:
        """The tokens of a line; none is empty or holds whitespace, and a blank line has none."""
        text = self.text(line)
        return text.split(" ") if text else []

    def text(self, line: str) -> str:
        """The tokens of a line with blanks between them."""
        words = line.split()
        if not words:
            return ""
        text = self._by_words(words)
        if text is None:
            whole = _CONTROL.sub("", " ".join(words)).strip()
            if self._is_western and not _WESTERN.issuperset(whole):
                self._complete()
            text = self._apply_rules(whole)
        text = self._split_periods(text)
        return _escaped(text) if self._escape else text

    def _by_words(self, words: Sequence[str]) -> str | None:
        """Tokens before periods are split off, or None where words may touch each other."""
        if len(words) == 1:
            return None
        first, *inner, last = words
        known = [self._first[first], *map(self._inner.__getitem__, inner), self._last[last]]
        return " ".join(known) if all(known) else None

    def _alone(self, before: str, after: str, word: str) -> str:
        """The tokens of one word, with blanks between; "" where it cannot be treated alone.

        :param before, after: a blank where another word stands, "" at the end of the line.
        """
        if self._is_western and not _WESTERN.issuperset(word):
            self._complete()
        if self._plain.issuperset(word) and ".." not in word:
            return word
        if (before and word[0] == "'") or _CONTROL.search(word):
            return ""
        return self._apply_rules(f"{before}{word}{after}")

    def _apply_rules(self, text: str) -> str:
        for trigger, pattern, replacement in self._rules:
            if trigger in text:
                text = pattern.sub(replacement, text)
        return " ".join(text.replace(_HELD_DOT, ".").split())

    def _split_periods(self, text: str) -> str:
        """Split off the periods that end a sentence.

        Left on: that of a word with a period and a letter inside, of a non-breaking prefix, and
        of a word before a lower-case one; of some prefixes (`No.`) only before digits. That of
        the last word is split off always.
        """
        if ". " in text:
            tokens = text.split(" ")
            for place in range(len(tokens) - 2, -1, -1):
                token, following = tokens[place], tokens[place + 1]
                if token[-1] == "." and token.strip("."):
                    if not self._keeps_period(token[:-1], following):
                        tokens[place] = f"{token[:-1]} ."
            text = " ".join(tokens)
        if text.endswith("."):
            last = text[text.rfind(" ") + 1 :]
            return f"{text[:-1]} ." if last.strip(".") else text
        return f"{text[:-2].rstrip(' ')} . '".lstrip(" ") if text.endswith(".'") else text

    def _keeps_period(self, prefix: str, following: str) -> bool:
        if following[0] in self._lower:
            return True
        if "." in prefix and not self._alphabet.isdisjoint(prefix):
            return True
        always, before_digits = self._prefixes
        return prefix in always or (prefix in before_digits and following[0] in "0123456789")


def _rules(characters: Characters, language: str, hyphens: bool) -> list[Rule]:
    """The substitutions in Moses's order, for texts of these characters."""
    alnum, number = characters.alnum, characters.number
    rules = [_rule("", rf"([^{alnum}\s.'`,-])", r" \1 ")]
    if hyphens:
        rules.append(_rule("-", f"([{alnum}])-(?=[{alnum}])", r"\1 @-@ "))
    return [
        *rules,
        ("..", _DOTS, lambda dots: f" {_HELD_DOT * len(dots[0])} "),
        _rule(",", f"([^{number}]),", r"\1 , "),
        _rule(",", f",([^{number}])", r" , \1"),
        _rule(",", f"([{number}]),$", r"\1 , "),
        *_apostrophes(language, characters.alpha, number),
    ]


def _apostrophes(language: str, alpha: str, number: str) -> list[Rule]:
    """English splits before an apostrophe, French and Italian after it, the others around it."""
    if language == "en":
        return [
            _rule("'", f"([^{alpha}])'([^{alpha}])", r"\1 ' \2"),
            _rule("'", f"([^{alpha}{number}])'([{alpha}])", r"\1 ' \2"),
            _rule("'", f"([{alpha}])'([^{alpha}])", r"\1 ' \2"),
            _rule("'", f"([{alpha}])'([{alpha}])", r"\1 '\2"),
            _rule("'", f"([{number}])'(s)", r"\1 '\2"),
        ]
    if language in ("fr", "it"):
        return [
            _rule("'", f"([^{alpha}])'([^{alpha}])", r"\1 ' \2"),
            _rule("'", f"([^{alpha}])'([{alpha}])", r"\1 ' \2"),
            _rule("'", f"([{alpha}])'([^{alpha}])", r"\1 ' \2"),
            _rule("'", f"([{alpha}])'([{alpha}])", r"\1' \2"),
        ]
    return [_rule("'", "'", " ' ")]


def _rule(trigger: str, pattern: str, wanted: str) -> Rule:
    return trigger, re.compile(pattern), wanted


def _escaped(text: str) -> str:
    for character, entity in _ESCAPES:
        if character in text:
            text = text.replace(character, entity)
    return text
