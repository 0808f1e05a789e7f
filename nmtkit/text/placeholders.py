"""Placeholders: parts of a text that a translation has as they are.

Those that models tokenize as a unit (`protected.py`), and others that only come back whole.
"""

import re

from nmtkit.text.protected import (
    BRACES,
    CONVERSION,
    EMAIL,
    ENTITY,
    IDENTIFIER,
    NOT_IN_URL,
    OTHER_STOPS,
    PERCENT_NUMBER,
    SCHEME,
    VARIABLE,
    WINDOWS_PATH,
)

_MESSAGE = (
    r"\{\s*\w+\s*,\s*(?:plural|select|selectordinal)\s*,"
    r"(?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\}|(?!))*+\}|(?!))*+\}|(?!))*+\}"
)
"""A message of ICU with its variants: `{n, plural, one {# file} other {# files}}`."""

# Formatted arguments of ICU; templates of Jinja, Vue, Handlebars and shells; arguments of Ruby and
# WordPress, and the percent sign of C; of Python, .NET and Rust; conversions of C with sizes of
# types; dates (strftime); numbers of Qt.
_FORMATTED = r"\{\s*\w+\s*,\s*(?:number|date|time|ordinal|duration|spellout)\b[^{}]{0,80}\}"
_TEMPLATE = r"\{\{[^{}\n]{1,200}\}\}|\{%[^{}%\n]{1,200}%\}|\$\{[^{}\n]{1,200}\}"
_NAMED = (
    r"[%#]\{[A-Za-z_][\w.:]*\}|"
    r"%<[A-Za-z_]\w*>(?:[-+#0]*\d*(?:\.\d+)?[diouxXeEfFgGcrsp](?!\w))?|"
    r"###[A-Z][A-Z0-9_]{1,40}###|"
    r"(?<!%)%%(?!%)"
)
_FIELD = (
    r"\{[\w.\[\]]*(?:,\s?-?\d+)?(?:![rsa])?:[^{}\s]{1,40}\}|"
    r"\{[\w.\[\]]*(?:,\s?-?\d+|![rsa])\}"
)
_C_CONVERSION = (
    r"(?<![\w%])%(?:\d{1,2}\$)?[-+#0']*(?:\d+|\*)?(?:\.\d+)?(?:hh?|ll?|[zjtqL])?"
    r"[diouxXeEfFgG](?!\w)"
)
_DATE_PART = r"%[-_0^#EO]?[aAbBcCdDeFgGhHIjklmMnNpPrRsStTuUVwWxXyYzZ]"
_DATE = (
    rf"(?<![\w%])(?=(?:{_DATE_PART}[-/.:∶]?){{0,8}}%[-_0^#EO]?[aAbBCDhHIjklmMNPrRStTUVwWyYzZ](?!\w))"
    rf"{_DATE_PART}(?:[-/.:∶]?{_DATE_PART}){{0,8}}(?!\w)"
)
"""A date; at least one of its parts is no conversion of C."""

_QT_NUMBER = r"(?<![\w%])%(?:n|L?[1-9][0-9]?)(?![\w$])(?![.,][0-9])"
_ARGUMENT = r"\*(?:\d{1,2}\$)?"
_SIZED_BY_ARGUMENT = (
    rf"%(?:\d{{1,2}}\$)?[-+#0]*(?:{_ARGUMENT}(?:\.\d+)?|(?:\d+|{_ARGUMENT})?\.{_ARGUMENT})"
    r"(?:hh?|ll?|[zjtqL])?[diouxXeEfFgGcs]"
)
"""A conversion of C whose width or precision is an argument: `%.*s`, `%1$*2$d`."""

_PERCENT_IN_WORD = (
    rf"(?:(?<!%)%%|(?<![\d%]))(?:{CONVERSION}|{_SIZED_BY_ARGUMENT})(?![\d_]|[^\W\d_]{{2}})"
)
"""Also beside a letter or the percent sign of C, as in `v%s`, `%dx%d`, `%s%s`, `%%%d`. Models
tokenize only what stands alone."""

_SPACED = "\x00-\u0dff\u1e00-\u1fff"
"""Where scripts have blanks between words: up to Sinhala, and more of Latin and Greek. Korean has
blanks, but not before particles. Classes of few characters are compiled quickly."""

_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0711-\u074a\u07a6-\u07b0\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09d7"
    "\u0a01-\u0a03\u0a3c-\u0a51\u0a70-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bcd"
    "\u0c00-\u0c04\u0c3c-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d\u0d81-\u0d83\u0dca-\u0ddf"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f71-\u0f84\u0f86-\u0fbc\u102b-\u103e"
    "\u1056-\u1059\u17b4-\u17d3\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f"
)
"""Combining marks and joiners of living scripts, which belong to the letter before; some letters of
these scripts are among them."""

SPACED_LETTER = rf"(?:(?!\W)[{_SPACED}])"
"""A letter, digit or `_` that belongs to the same word as one beside it."""

_EDGE = rf"(?:(?<!{SPACED_LETTER})(?={SPACED_LETTER})|(?<={SPACED_LETTER})(?!{SPACED_LETTER}))"
_UNSPACED = rf"(?:(?!\W)[^{_SPACED}][{_MARKS}]*(?![{_MARKS}]))"
"""A letter that stands beside other text without a blank, with its marks."""


def _in_any_script(pattern: str) -> str:
    """Return a pattern that takes letters without blanks for no part of a word.

    So there is `%s` in `打开%s文件`, and `64MB` in `64MB以上`. Models tokenize without it.
    """
    pattern = pattern.replace(r"[^\W\d_]", rf"(?:(?![\W\d_])[{_SPACED}])").replace(r"\b", _EDGE)
    pattern = re.sub(
        r"\[\\w((?:\\.|[^\]\\])+)\]", lambda found: f"(?:{SPACED_LETTER}|[{found[1]}])", pattern
    )
    return pattern.replace(r"!\w)", f"!{SPACED_LETTER})")


_WIDE = "\u3001-\u3004\u3008-\u301f\uff01-\uff0f\uff1a-\uff1f"
_IN_URL = rf"(?:(?!(?!\W)[^{_SPACED}])[^{NOT_IN_URL}{OTHER_STOPS}{_WIDE}()])"
_URL_PART = rf"(?:(?![.,;:!?\]]){_IN_URL}|\({_IN_URL}*\)|(?<=[/=#_-]){_UNSPACED}+(?!{_UNSPACED}))"
_WHOLE_URL = (
    rf"{_in_any_script(SCHEME)}"
    rf"(?:{_URL_PART}|[).,;:!?\]]|\((?!{_IN_URL}*\)))*{_URL_PART}"
)
"""An address that ends before a sentence without blanks goes on, and has whole parentheses."""

_PLACEHOLDERS = (
    _MESSAGE,
    _FORMATTED,
    _TEMPLATE,
    _in_any_script(_NAMED),
    _FIELD,
    _in_any_script(_DATE),
    _in_any_script(_C_CONVERSION),
    _in_any_script(_QT_NUMBER),
    _in_any_script(_PERCENT_IN_WORD),
    ENTITY,
    _in_any_script(EMAIL),
    _WHOLE_URL,
    BRACES,
    VARIABLE,
    _in_any_script(PERCENT_NUMBER),
)
"""Models tokenize without the first eight kinds."""

_FILE_NAME = (
    rf"(?:\b[\w-{_MARKS}]{{1,100}}|(?<![^\W{_SPACED}{_MARKS}]){_UNSPACED}+)"
    r"\.(?:[a-z]{2,4}[0-9]?|[A-Z]{2,4})\b(?![\w.])"
)
_UNIT = (
    r"(?:(?:[KMGTP]i?B|[kMGT]?bit)(?:/s)?|[kMG]bps|[kMGT]?Hz|px|pt|dpi|ppi|ms|ns|[µμ]s|km/h"
    r"|[kcmnµμ]m[²³]?|m[²³]|[kmµμ]g|[mcdµμ]l|mL|[kMG]Wh?|[km]V|mAh?|[kM]Pa|hPa|kcal|dB|°[CF])"
)
_MEASURE = rf"(?<![\w.,])[0-9]+(?:[.,][0-9]+)*(?:[ \u00a0\u202f]?{_UNIT}|r?em)(?!\w)"
"""A number and its unit; no unit is a letter alone, as words may be."""

_PATH = (
    r"(?<![\w/.~])(?:(?:~|\.{1,2})(?:/[\w.+~%-]+)+|(?:/[A-Za-z0-9_.+~%-][\w.+~%-]*){2,})/?(?<![.])"
)
"""Also with hidden files, and short ones: `~/.bashrc`. Models tokenize without these."""

_PLACEHOLDER_NAMES = (
    _in_any_script(_PATH),
    rf"{WINDOWS_PATH}(?<![.])".replace(r"\b", _EDGE),
    *map(_in_any_script, (IDENTIFIER, _FILE_NAME, _MEASURE)),
)

PLACEHOLDER_PATTERN = re.compile("|".join((*_PLACEHOLDERS, *_PLACEHOLDER_NAMES)))
"""What comes back as it is when parts are protected in a translation: all of these but tags, and
names of files and numbers with a unit."""

SIGN_PATTERN = re.compile("|".join(_PLACEHOLDERS))
"""Placeholders that no text has by itself: one that a source lacks is wrong in its translation."""

MESSAGE_PATTERN = re.compile(_MESSAGE)
