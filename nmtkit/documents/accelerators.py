"""Accelerator keys in texts of menus and buttons: `_File`, `&File`, `~File`, `ファイル(_F)`.

The sign goes before the translation is made, and stands in it again once: before the same letter
if the translation has it, else before its first one, or with the letter in brackets at the end, as
is usual where the keys of a keyboard are no letters of the language.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from nmtkit.text.characters import is_cased
from nmtkit.text.placeholders import PLACEHOLDER_PATTERN

SIGNS = "&_~"
"""Signs of Qt and Windows, of GTK, of LibreOffice."""

SIGNS_IN_XML = ("&amp;",)
"""The sign of Qt and Windows as it is written in XML."""

MAX_WORDS = 8
"""Words of a text that may have an accelerator key."""

_TAG = re.compile(r"<[^<>]*>")
_ENDING = re.compile(r"(?:\.{3}|…|[:：])?\s*\Z")
_UNCASED_KEYS = re.compile("[\u05d0-\u05ea\u0620-\u064a\u066e-\u06d3\u0e01-\u0e30\u0e40-\u0e44]")
"""Letters without capitals that keyboards have as keys: Hebrew, Arabic, Thai."""


class Accelerator(NamedTuple):
    """A sign, and the letter behind it."""

    sign: str
    letter: str


def remove_accelerator(text: str, signs: Sequence[str]) -> tuple[str, Accelerator | None]:
    """Return a text without the sign of its accelerator key, if it has exactly one."""
    if len(text.split()) > MAX_WORDS:
        return text, None
    for sign in signs:
        is_entity = re.search(rf"{sign if sign[0] == '&' else '&'}#?\w+;", text)
        if is_entity or text.count(sign) != 1:
            continue
        if found := _key_in_brackets(text, sign):
            return text[: found.start()] + text[found.end() :], Accelerator(sign, found[1])
        if found := _key(text, sign):
            text = text[: found.start()] + text[found.start(1) :]
            return text, Accelerator(sign, found[1])
    return text, None


def _key_in_brackets(text: str, sign: str) -> re.Match[str] | None:
    """Return where a key stands in brackets behind a text."""
    found = re.search(rf"(?<!\s)\s*[(（]{re.escape(sign)}(\w)[)）]", text)
    is_last = found and _ENDING.match(text, found.end()) and text[: found.start()].strip()
    return found if is_last else None


def _key(text: str, sign: str) -> re.Match[str] | None:
    """Return where a sign marks a letter."""
    found = re.search(rf"{re.escape(sign)}(\w)", text)
    if found is None or found[1] == "_":
        return None
    word = re.findall(r"\S*\Z", text[: found.start()])[0].lstrip("([\"'“‘«")
    if word and not word.isalpha():
        return None
    following = re.match(r"\w*", text[found.end() :])
    whole = word + found[1] + (following[0] if following else "")
    is_name = bool(word) and (sign == "~" or whole.isupper() or not whole[0].isupper())
    return None if is_name else found


def put_accelerator(text: str, accelerator: Accelerator) -> str:
    """Return a translation with the sign of an accelerator key before one of its letters."""
    sign, letter = accelerator
    taken = [found.span() for pattern in (PLACEHOLDER_PATTERN, _TAG) for found in
             pattern.finditer(text)]  # fmt: skip
    free = [
        index
        for index, character in enumerate(text)
        if character.isalnum() and not any(start <= index < end for start, end in taken)
    ]
    same = [index for index in free if text[index].casefold() == letter.casefold()]
    beginnings = [index for index in same if not text[index - 1 : index].isalnum()]
    keys = [index for index in free if _is_on_keyboards(text[index])]
    for indices in (beginnings, same, keys):
        if indices:
            return f"{text[: indices[0]]}{sign}{text[indices[0] :]}"
    ending = _ENDING.search(text)
    position = ending.start() if ending else len(text)
    return f"{text[:position]}({sign}{letter.title()}){text[position:]}"


def _is_on_keyboards(letter: str) -> bool:
    return letter.isascii() or is_cased(letter) or _UNCASED_KEYS.match(letter) is not None
