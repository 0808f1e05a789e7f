"""Case as marker tokens: `Paris is in EUROPE` becomes `⇧ paris is in ⇪ europe`.

`⇧` stands before a word that begins with a capital, `⇪` before a word in capitals. Words of mixed
case (`McDonald`), and words whose case could not be restored exactly, stay as they are, as do
tags, addresses and placeholders. Therefore undoing restores every text.
"""

from collections.abc import Callable, Sequence

from nmtkit.text.languages import base_language
from nmtkit.text.markers import CAPITAL, UPPER, protect, spacing, unprotect
from nmtkit.text.memo import Memo

_VERBATIM = frozenset("<>{}%$\\/@&=:_")
"""Characters of tokens whose case is left alone."""

_DOTLESS = str.maketrans("Iİ", "ıi")
_DOTTED = str.maketrans("ıi", "Iİ")
_TURKIC = ("tr", "az", "crh", "kk", "tt")
"""Languages whose small i has a capital with a dot (in some, only in Latin script)."""


def lower(word: str, language: str) -> str:
    """Return a word in small letters, by the rules of its language."""
    if language in _TURKIC:
        word = word.translate(_DOTLESS)
    return word.lower()


def upper(word: str, language: str) -> str:
    """Return a word in capitals, by the rules of its language."""
    if language in _TURKIC:
        word = word.translate(_DOTTED)
    return word.upper()


def capitalize(word: str, language: str) -> str:
    """Return a word with a capital first; in Georgian text, which has none, the word itself."""
    if language == "nl" and word.startswith("ij"):
        return f"IJ{word[2:]}"
    first = word[:1].translate(_DOTTED) if language in _TURKIC else word[:1]
    return first.title() + word[1:]


class CaseMarkers:
    """Converts words to small letters with markers, and back.

    :param language: language tag, such as `de` or `pt-BR`.
    :param protects: also keep tokens of the text apart from markers; false where spacing markers
        are used, which do it themselves.
    """

    def __init__(self, language: str, protects: bool = True) -> None:
        self._language = base_language(language)
        self._protects = protects
        self._memo = Memo(self._mark)

    def apply(self, text: str) -> str:
        """Return words separated by blanks in small letters with markers."""
        return " ".join(map(self._memo.__getitem__, text.split(" ")))

    def undo(self, tokens: Sequence[str]) -> list[str]:
        """Return the words that tokens with markers stand for; no other markers are read.

        A marker at the end is dropped.
        """
        words: list[str] = []
        change: Callable[[str, str], str] | None = None
        for token in tokens:
            if token in (CAPITAL, UPPER):
                change = capitalize if token == CAPITAL else upper
            elif spacing(token) is not None and not self._protects:
                words.append(token)
            else:
                word = unprotect(token) if self._protects else token
                words.append(change(word, self._language) if change else word)
                change = None
        return words

    def open_forms(self, words: Sequence[str]) -> list[list[str]]:
        """Return ways to write the last of some words, if it may go on.

        The first is how it is written if it does not.
        One capital may be followed by others, and a word of mixed case stays as it is.
        """
        word = words[-1]
        marked = self._mark(word).split(" ")
        forms = [marked, [protect(word) if self._protects else word]]
        if marked[0] == CAPITAL and len(word) == 1:
            forms.append([UPPER, marked[1]])
        return forms[:1] if len(marked) == 1 else forms

    def _mark(self, token: str) -> str:
        kept = protect(token) if self._protects else token
        small = lower(token, self._language)
        if token == small or kept != token or not _VERBATIM.isdisjoint(token):
            return kept
        for marker, change in ((CAPITAL, capitalize), (UPPER, upper)):
            if change(small, self._language) == token and small != marker:
                return f"{marker} {small}"
        return kept
