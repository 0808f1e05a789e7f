"""Strings of PO files: escapes, and lines as gettext's tools break them."""

import re
from collections import defaultdict, deque

from nmtkit.columns import columns
from nmtkit.documents.encoding import LINE

_WIDTH = 79
"""Columns of a line, with its quotes."""

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_BYTE = r"\\(?:[0-7]{1,3}|x[0-9A-Fa-f]{1,2})"
_BYTES = re.compile(_BYTE)
_ESCAPED = re.compile(rf"((?:{_BYTE})+)|\\(.)", re.DOTALL)
_NAMES = {character: f"\\{name}" for name, character in _ESCAPES.items()}
_NAMES |= {'"': '\\"', "\\": "\\\\"}
_SPECIAL = re.compile(r'["\\\n\t\r\a\b\f\v]')
_WORD = re.compile(r"\S*?(?<=\w)-(?=[^\W\d])|\S*\s+|\S+\Z")
_CONVERSION = re.compile(
    r"%(?:%|(?:\d+\$)?[-+#0 ']*+[\d*]*+(?:\.[\d*]*+)?(?:hh?|ll?|[zjtqL])?[a-zA-Z@])"
)
_WIDE = re.compile("[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]")


def unescape(text: str, encoding: str = "utf-8") -> str:
    """Return the value of a string.

    :param encoding: of the characters that are written as their bytes, in octal or hexadecimal.
    """

    def character(escape: re.Match[str]) -> str:
        if escape[1] is None:
            return _ESCAPES.get(escape[2], escape[2])
        codes = bytes(_code(found[0]) for found in _BYTES.finditer(escape[1]))
        try:
            return codes.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            return codes.decode("latin-1")

    return _ESCAPED.sub(character, text) if "\\" in text else text


def _code(escape: str) -> int:
    """Return the byte that an escape stands for; of one above 255 the last eight bits, as in C."""
    digits = escape[1:]
    return (int(digits[1:], 16) if digits[0] == "x" else int(digits, 8)) & 0xFF


def escape(text: str) -> str:
    """Return a value as it stands in a string."""
    return _SPECIAL.sub(lambda found: _NAMES[found[0]], text)


def quote(keyword: str, value: str, wraps: bool, newline: str) -> str:
    """Return a value in quotes, divided as gettext's tools do.

    A value that fits on the line of its keyword stands there. Otherwise an empty string stands
    there, and lines are divided behind their line breaks and, if they are too long, at spaces.

    :param wraps: divide lines that are too long.
    """
    lines = [escape(line) for line in LINE.findall(value)]
    if len(lines) <= 1:
        whole = f'"{lines[0] if lines else ""}"'
        if not wraps or len(keyword) + 1 + columns(whole) <= _WIDTH or not _can_divide(value):
            return whole
    parts = [part for line in lines for part in (_divided(line) if wraps else [line])]
    return newline.join(['""', *(f'"{part}"' for part in parts)])


def _can_divide(value: str) -> bool:
    return len(_pieces(value)) > 1


def _pieces(line: str) -> list[str]:
    """Return what a line may be divided into: words, and Chinese characters."""
    pieces: list[str] = []
    for word in _WORD.findall(line):
        pieces += _characters(word) if _WIDE.search(word) else [word]
    return pieces


def _characters(word: str) -> list[str]:
    """Divide a word at its Chinese characters; closing marks stay with what is before them."""
    pieces: list[str] = []
    for character in word:
        is_joined = not _WIDE.match(character) or character in "、。，．！？）」』】ー々"
        if pieces and is_joined:
            pieces[-1] += character
        else:
            pieces.append(character)
    return pieces


def _divided(line: str) -> list[str]:
    """Divide a line into parts that fit, behind spaces."""
    parts: list[str] = []
    room = 0
    for piece in _pieces(line):
        size = columns(piece)
        if not parts or size > room:
            parts.append("")
            room = _WIDTH - 2
        parts[-1] += piece
        room -= size
    return parts


def wrap_again(source: str, translation: str) -> str:
    """Return a translation divided into lines no longer than those of its source.

    Lines behind the first are indented as the second one of the source.
    """
    first, *others = source.split("\n")
    indent = others[0][: len(others[0]) - len(others[0].lstrip())] if others else ""
    longest = max(columns(line.expandtabs()) for line in (first, *others))
    lines: list[str] = []
    room = 0
    for piece in _pieces(translation):
        size = columns(piece.rstrip())
        if not lines or size > room:
            room = longest - (columns(indent.expandtabs()) if lines else 0)
            lines.append(indent if lines else "")
        lines[-1] += piece
        room -= columns(piece)
    return "\n".join(line.rstrip() for line in lines)


def with_argument_numbers(source: str, translation: str) -> str:
    """Return a translation whose conversions of C say which argument they print: `%2$s`.

    They need it where they are in another order than in the source. If they differ in anything
    else, or an argument is a width, the translation stays as it is.
    """
    wanted, found = _conversions(source), _conversions(translation)
    is_moved = found != wanted and sorted(found) == sorted(wanted)
    if not is_moved or any("$" in one or "*" in one for one in wanted):
        return translation
    numbers: defaultdict[str, deque[int]] = defaultdict(deque)
    for number, conversion in enumerate(wanted, start=1):
        numbers[conversion].append(number)

    def numbered(conversion: re.Match[str]) -> str:
        text = conversion[0]
        return text if text == "%%" else f"%{numbers[text].popleft()}${text[1:]}"

    return _CONVERSION.sub(numbered, translation)


def _conversions(text: str) -> list[str]:
    return [found for found in _CONVERSION.findall(text) if found != "%%"]
