"""Moses tokenisation of a line: words, punctuation and clitics become tokens.

The rules, their character classes and the lists of non-breaking prefixes are those of sacremoses
(its port of `tokenizer.perl`), which is imported only for letters that are not western and for the
prefixes; `characters.py` has the rest. This module applies the rules word by word instead of line
by line, so that a known word costs one look-up. The result is the same: between two blanks, what a
rule makes of a word does not depend on the words around it, except in three cases, which have code
of their own: apostrophes that meet across a blank, control characters, and periods (below).

Differences from sacremoses 0.2.0, in which it follows `tokenizer.perl`:
- a period at the end of the line is always split off, also after a non-breaking prefix (`St.`,
  `art.`, `E.`) or a word with a period inside (`U.S.`, `example.com.`);
- a text that holds sacremoses's marker words (`DOTMULTI`) keeps them.

With `escape=True, hyphens=True` the tokens of all 62,028 lines of Multi30k's train, val and
test2016, both languages, are those of the real `tokenizer.perl -a` (sacremoses: all but 42).

Whitespace of every kind (no-break spaces, U+0085, U+2028, ...) separates tokens, and no token
contains any. Control characters are removed, as in Moses. So every program splits a line of tokens
joined by blanks at the same places, and a line stays one line.
"""

import re
from collections.abc import Callable, Sequence
from functools import cached_property, partial

from nmtkit.text.characters import (
    WESTERN,
    WESTERN_CODES,
    Characters,
    as_ranges,
    has_loose_marks,
    moses_characters,
    moses_prefixes,
    reattach_marks,
    with_marks,
)
from nmtkit.text.detokenizer import Detokenizer
from nmtkit.text.languages import rules_language
from nmtkit.text.memo import Memo
from nmtkit.text.protected import PROTECTED, TAG_WITH_BLANKS

__all__ = ["Detokenizer", "Tokenizer"]

_CONTROL = re.compile(r"[\x00-\x1f]+")
_BREAKS = re.compile("[\t-\r\x1c-\x1f\x85\u2028\u2029]")
"""Whitespace that ends a line or a field for some program; it is never restored."""

_BLANKS = re.compile(" {2,}")
_DOTS = re.compile(r"\.{2,}")
_DOT_PLACEHOLDER = "\x01"
"""Replaces the periods of `...` while the rules run; a control character, removed from all text."""

_PLACEHOLDER = "\x02"
"""Replaces a protected part of the text while the rules run, which take it for a letter."""

_UNSURE = "\x03"
"""Follows tokens whose spacing the detokenizer may not restore."""

_WESTERN = frozenset(map(chr, WESTERN_CODES))

_OTHER_LETTERS = {"zh", "ja", "ko", "cjk"}
"""Languages for which sacremoses has more letters."""

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
"""The escapes of `tokenizer.perl` for characters with a meaning in Moses or XML; & first."""

Rule = tuple[str, re.Pattern[str], str | Callable[[re.Match[str]], str]]
"""A string that a text must contain for the rule to apply, the pattern, and its replacement."""


class Tokenizer:
    """Splits lines of one language into words, as Moses does.

    :param language: language tag, such as `de` or `pt-BR`, for apostrophes and non-breaking
        prefixes. A language without a list of prefixes uses the English one.
    :param hyphens: split words at hyphens, `well-known` to `well @-@ known` (`-a` in Moses).
    :param escape: write `&`, `'`, `[` and the like as XML entities, as Moses does by default.
    :param protected: keep tags, addresses, placeholders and the like whole (`protected.py`).
    :param combining: keep combining marks with the character that they belong to.
    :param joiners: put spacing markers where the detokenizer would not restore the line
        (`markers.py`).
    """

    def __init__(
        self,
        language: str,
        hyphens: bool = False,
        escape: bool = False,
        protected: bool = False,
        combining: bool = False,
        joiners: bool = False,
    ) -> None:
        self._language = language = rules_language(language)
        self._hyphens = hyphens
        self._escape = escape
        self._protected = protected
        self._combining = combining
        self._detokenizer = Detokenizer(language, unescape=False) if joiners else None
        self._is_western = True
        self._use_characters(WESTERN)
        if language in _OTHER_LETTERS:
            self._use_all_characters()
        self._first = Memo(partial(self._tokenize_word, "", " "))
        self._inner = Memo(partial(self._tokenize_word, " ", " "))
        self._last = Memo(partial(self._tokenize_word, " ", ""))

    def _use_characters(self, characters: Characters) -> None:
        self._plain = frozenset(characters.alnum) | {"."}
        if self._protected:
            characters = characters.with_letters(_PLACEHOLDER)
        self._rules = _rules(characters, self._language, self._hyphens)
        self._alphabet = frozenset(characters.alpha)
        self._lower = frozenset(characters.lower)

    def _use_all_characters(self) -> None:
        """Use the complete classes from now on, because a character is not western."""
        characters = moses_characters(self._language)
        if self._combining:
            characters = with_marks(characters)
        self._use_characters(characters)
        self._is_western = False

    @cached_property
    def _prefixes(self) -> tuple[frozenset[str], frozenset[str]]:
        return moses_prefixes(self._language)

    def tokenize(self, line: str) -> list[str]:
        """Return the tokens of a line, which are never empty; a blank line has no tokens."""
        text = self.text(line)
        return text.split(" ") if text else []

    def text(self, line: str, split: Callable[[Sequence[str]], Sequence[str]] | None = None) -> str:
        """Return the tokens of a line, separated by blanks.

        :param split: splits tokens further, if spacing markers say that they were one.
        """
        words = line.split()
        if not words:
            return ""
        text, blanks = None, " ".join(words)
        if not (self._protected and "<" in line and TAG_WITH_BLANKS.search(line)):
            text = self._tokenize_words(words)
        if text is None:
            plain = _CONTROL.sub("", blanks).strip()
            if self._is_western and not _WESTERN.issuperset(plain):
                self._use_all_characters()
            text = self._apply_rules(plain)
            spaced = True
        elif spaced := _UNSURE in text:
            text = text.replace(_UNSURE, "")
        text = self._split_periods(text)
        if self._detokenizer is not None and text and (spaced or split or blanks != line):
            if blanks != line or _CONTROL.search(line):
                line = _normal_spaces(line)
            tokens = text.split(" ")
            text = " ".join(self._detokenizer.mark(split(tokens) if split else tokens, line))
        return _escape(text) if self._escape else text

    def _tokenize_words(self, words: Sequence[str]) -> str | None:
        """Tokenise words, but leave periods attached; return None if a word depends on others."""
        if len(words) == 1:
            return None
        first, *inner, last = words
        tokens = [self._first[first], *map(self._inner.__getitem__, inner), self._last[last]]
        return " ".join(tokens) if all(tokens) else None

    def _tokenize_word(self, before: str, after: str, word: str) -> str:
        """Return the tokens of one word, separated by blanks, or "" if they depend on other words.

        Where the detokenizer may not restore the spacing of the word, `_UNSURE` is added.

        :param before, after: a blank next to another word, "" at the end of the line.
        """
        if self._is_western and not _WESTERN.issuperset(word):
            self._use_all_characters()
        if self._plain.issuperset(word) and ".." not in word and (word != "." or not before):
            is_sure = self._detokenizer is None or self._detokenizer.keeps_blanks(word)
            return word if is_sure else word + _UNSURE
        if (before and word[0] == "'") or _CONTROL.search(word):
            return ""
        tokens = self._apply_rules(f"{before}{word}{after}")
        if self._detokenizer is None or self._detokenizer.restores(tokens.split(" "), word):
            return tokens
        return tokens + _UNSURE

    def _apply_rules(self, text: str) -> str:
        protected: list[str] = []
        if self._protected:
            protected = PROTECTED.findall(text)
            text = PROTECTED.sub(_PLACEHOLDER, text) if protected else text
        combining = self._combining and not self._is_western and not has_loose_marks(text.strip())
        for trigger, pattern, replacement in self._rules:
            if trigger in text:
                text = pattern.sub(replacement, text)
        text = text.replace(_DOT_PLACEHOLDER, ".")
        if combining:
            text = reattach_marks(text)
        if protected:
            text, *parts = text.split(_PLACEHOLDER)
            for kept, part in zip(protected, parts, strict=True):
                cut = "" if combining and has_loose_marks(f" {part[:1]}") else " "
                text = f"{text} {kept}{cut}{part}"
        return " ".join(text.split())

    def _split_periods(self, text: str) -> str:
        """Split off the periods that end a sentence.

        A period stays attached to a word with a period and a letter inside, to a non-breaking
        prefix (to some, like `No.`, only before digits), and before a lower-case word. At the end
        of the line it is always split off.
        """
        if ". " in text:
            tokens = text.split(" ")
            for index in range(len(tokens) - 2, -1, -1):
                token, following = tokens[index], tokens[index + 1]
                if token[-1] == "." and token.strip("."):
                    if not self._keeps_period(token[:-1], following):
                        tokens[index] = f"{token[:-1]} ."
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


def _normal_spaces(line: str) -> str:
    """Return a line without control characters, blanks at its ends and repeated blanks."""
    return _BLANKS.sub(" ", _CONTROL.sub("", _BREAKS.sub(" ", line))).strip()


def _rules(characters: Characters, language: str, hyphens: bool) -> list[Rule]:
    """Return the substitutions in Moses's order, for texts of these characters."""
    alnum = as_ranges(characters.alnum) + characters.ranges
    alpha = as_ranges(characters.alpha) + characters.ranges
    number = as_ranges(characters.number)
    rules = [_rule("", rf"([^{alnum}\s.'`,-])", r" \1 ")]
    if hyphens:
        rules.append(_rule("-", f"([{alnum}])-(?=[{alnum}])", r"\1 @-@ "))
    return [
        *rules,
        ("..", _DOTS, lambda dots: f" {_DOT_PLACEHOLDER * len(dots[0])} "),
        _rule(",", f"([^{number}]),", r"\1 , "),
        _rule(",", f",([^{number}])", r" , \1"),
        _rule(",", f"([{number}]),$", r"\1 , "),
        *_apostrophes(language, alpha, number),
    ]


def _apostrophes(language: str, alpha: str, number: str) -> list[Rule]:
    """Return the rules for apostrophes: split before (en), after (fr, it) or around them."""
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


def _rule(trigger: str, pattern: str, replacement: str) -> Rule:
    return trigger, re.compile(pattern), replacement


def _escape(text: str) -> str:
    for character, entity in _ESCAPES:
        if character in text:
            text = text.replace(character, entity)
    return text
