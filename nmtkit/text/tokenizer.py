"""Moses tokenizing of one line: words, punctuation and clitics apart.

The rules, their character classes and the lists of non-breaking prefixes are sacremoses's (its
port of `tokenizer.perl`). This module runs them word by word instead of line by line, so that a
word seen before costs one look-up. That is exact: with a blank on either side, what a rule makes
of a word does not depend on the words around it, except in three cases, which are treated apart:
apostrophes that meet across a blank, control characters, and periods (below).

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
from collections.abc import Callable, Iterable, Sequence

from sacremoses import MosesTokenizer

from nmtkit.text.detokenizer import Detokenizer

__all__ = ["Detokenizer", "Tokenizer"]

_CONTROL = re.compile(r"[\x00-\x1f]+")
_DOTS = re.compile(r"\.{2,}")
_HELD_DOT = "\x01"
"""Stands for a period of `...` while the rules run; no text holds it once `_CONTROL` is gone."""

_CACHE_SIZE = 200_000
_CACHED_LENGTH = 50
"""At most so many words of so many characters are remembered; then the memory is emptied. So it
stays small on corpora of any size."""

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
        moses = MosesTokenizer(language)
        self._escape = escape
        self._rules = _rules(moses, language, hyphens)
        self._plain = frozenset(moses.IsAlnum) | {"."}
        self._alphabet = frozenset(moses.IsAlpha)
        self._lower = frozenset(moses.IsLower)
        self._numeric_prefixes = frozenset(moses.NUMERIC_ONLY_PREFIXES)
        self._prefixes = frozenset(moses.NONBREAKING_PREFIXES) - self._numeric_prefixes
        self._inner: dict[str, list[str]] = {}
        self._first: dict[str, list[str]] = {}
        self._last: dict[str, list[str]] = {}

    def tokenize(self, line: str) -> list[str]:
        """The tokens of a line; none is empty or holds whitespace, and a blank line has none."""
        words = line.split()
        if not words:
            return []
        tokens = self._by_words(words)
        if tokens is None:
            text = _CONTROL.sub("", " ".join(words)).strip()
            tokens = self._apply_rules(text)
        if tokens:
            self._split_periods(tokens)
        return _escaped(tokens) if self._escape else tokens

    def _by_words(self, words: Sequence[str]) -> list[str] | None:
        """Tokens before periods are split off, or None where words may touch each other."""
        if len(words) == 1:
            return None
        tokens = self._known(words[0], self._first, "", " ")
        if not tokens:
            return None
        tokens = tokens.copy()
        inner = self._inner
        for word in words[1:-1]:
            known = inner.get(word)
            if known is None:
                known = self._known(word, inner, " ", " ")
            if not known:
                return None
            tokens += known
        last = self._known(words[-1], self._last, " ", "")
        if not last:
            return None
        tokens += last
        return tokens

    def _known(self, word: str, cache: dict[str, list[str]], before: str, after: str) -> list[str]:
        """The tokens of one word, from memory if it was met there before.

        :param before, after: a blank where another word stands, "" at the end of the line.
        :return: never to be changed; empty where the word cannot be treated alone.
        """
        tokens = cache.get(word)
        if tokens is None:
            if self._plain.issuperset(word) and ".." not in word:
                tokens = [word]
            elif (before and word[0] == "'") or _CONTROL.search(word):
                tokens = []
            else:
                tokens = self._apply_rules(f"{before}{word}{after}")
            if len(cache) >= _CACHE_SIZE:
                cache.clear()
            if len(word) <= _CACHED_LENGTH:
                cache[word] = tokens
        return tokens

    def _apply_rules(self, text: str) -> list[str]:
        for trigger, pattern, replacement in self._rules:
            if trigger in text:
                text = pattern.sub(replacement, text)
        return text.replace(_HELD_DOT, ".").split()

    def _split_periods(self, tokens: list[str]) -> None:
        """Split off the periods that end a sentence, in place.

        Left on: that of a word with a period and a letter inside, of a non-breaking prefix, and
        of a word before a lower-case one; of some prefixes (`No.`) only before digits.
        """
        last = tokens.pop()
        for place in range(len(tokens) - 1, -1, -1):
            token = tokens[place]
            if token[-1] == "." and len(token) > 1:
                following = tokens[place + 1] if place + 1 < len(tokens) else last
                if token.strip(".") and not self._keeps_period(token[:-1], following):
                    tokens[place : place + 1] = [token[:-1], "."]
        if last[-1] == "." and last.strip("."):
            tokens += [last[:-1], "."]
        elif last.endswith(".'"):
            tokens += [*([last[:-2]] if last[:-2] else []), ".", "'"]
        else:
            tokens.append(last)

    def _keeps_period(self, prefix: str, following: str) -> bool:
        return (
            prefix in self._prefixes
            or following[0] in self._lower
            or ("." in prefix and not self._alphabet.isdisjoint(prefix))
            or (prefix in self._numeric_prefixes and following[0] in "0123456789")
        )


def _rules(moses: MosesTokenizer, language: str, hyphens: bool) -> list[Rule]:
    """The substitutions in Moses's order."""
    commas = (moses.COMMA_SEPARATE_1, moses.COMMA_SEPARATE_2, moses.COMMA_SEPARATE_3)
    if language == "en":
        apostrophes = moses.ENGLISH_SPECIFIC_APOSTROPHE
    elif language in ("fr", "it"):
        apostrophes = moses.FR_IT_SPECIFIC_APOSTROPHE
    else:
        apostrophes = [moses.NON_SPECIFIC_APOSTROPHE]
    return [
        ("", *moses.PAD_NOT_ISALNUM),
        *([("-", *moses.AGGRESSIVE_HYPHEN_SPLIT)] if hyphens else []),
        ("..", _DOTS, lambda dots: f" {_HELD_DOT * len(dots[0])} "),
        *((",", *rule) for rule in commas),
        *(("'", *rule) for rule in apostrophes),
    ]


def _escaped(tokens: Iterable[str]) -> list[str]:
    text = " ".join(tokens)
    for character, entity in _ESCAPES:
        if character in text:
            text = text.replace(character, entity)
    return text.split(" ") if text else []
