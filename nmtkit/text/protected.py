"""Parts of a line that stay whole: tags, entities, addresses, paths, placeholders, identifiers.

As with `tokenizer.perl -protected`, each is one token (a tag with blanks is one token between two
blanks), so that a model copies it as a unit, and nothing is lost in detokenisation.
"""

import re

_VALUE = r"""(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=]+)"""
_NAME = r"[^\s=<>\"'/]+"

TAG = rf"</?[A-Za-z][\w:.-]*(?:\s+{_NAME}={_VALUE}(?:\s+{_NAME}(?:={_VALUE})?)*)?\s*/?>"
"""An XML tag; attributes begin with one that has a value, so that `a <b or c> d` is no tag."""

_ENTITY = r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});"
_URL = r"(?:[a-z][a-z0-9+.-]{1,15}://|\bwww\.|\bmailto:)[^\s<>\"'`«»“”„‘’{}|\\^]+"
_EMAIL = r"\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"
_PATH = r"(?<![\w/.~])(?:~|\.{1,2})?(?:/[A-Za-z0-9_+~%-][\w.+~%-]*){2,}/?"
_WINDOWS_PATH = r"\b[A-Za-z]:\\[\w.+~$%\\-]+"
_BRACES = r"\$?\{\{?[A-Za-z0-9_.:\[\]!-]*\}?\}"
_VARIABLE = r"\$\([A-Za-z_]\w*\)|\$[A-Za-z_]\w*\$|%[A-Za-z_]\w+%"
_CONVERSION = (
    r"%(?:[0-9]{1,2}\$|\([A-Za-z_]\w*\))?[-+#0]*(?:\d+|\*)?(?:\.\d+)?l{0,2}"
    r"[diouxXeEfFgGcrsp@]"
)
_PERCENT = rf"(?<![\w%]){_CONVERSION}(?!\w)"
_PERCENT_IN_WORD = rf"(?<![\d%]){_CONVERSION}(?![\d_]|[^\W\d_]{{2}})"
"""Also beside a letter, as in `v%s`, `%dx%d`, `%s%s`. Models tokenize by `_PERCENT` alone."""

_PERCENT_NUMBER = r"(?<![\w%])%[0-9](?![\w.,])"

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
_IDENTIFIER = r"\b[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+\b"

_SIGNS = (
    _ENTITY,
    _EMAIL,
    rf"{_URL}(?<![.,;:!?)\]])",
    _BRACES,
    _VARIABLE,
    _PERCENT,
    _PERCENT_NUMBER,
)
_PLACEHOLDERS = (
    _MESSAGE,
    _FORMATTED,
    _TEMPLATE,
    _NAMED,
    _FIELD,
    _DATE,
    _C_CONVERSION,
    _QT_NUMBER,
    _PERCENT_IN_WORD,
    *(sign for sign in _SIGNS if sign is not _PERCENT),
)
"""Models tokenize without the first eight kinds."""

_NAMES = (rf"{_PATH}(?<![.])", rf"{_WINDOWS_PATH}(?<![.])", _IDENTIFIER)

PROTECTED = re.compile("|".join((TAG, *_SIGNS[:3], *_NAMES[:2], *_SIGNS[3:], _NAMES[2])))
"""Every kind of protected text. An address does not end with the punctuation of its sentence."""

_FILE_NAME = r"\b[\w-]+\.(?:[a-z]{2,4}[0-9]?|[A-Z]{2,4})\b(?![\w.])"
_UNIT = (
    r"(?:(?:[KMGTP]i?B|[kMGT]?bit)(?:/s)?|[kMG]bps|[kMGT]?Hz|px|pt|dpi|ppi|ms|ns|[µμ]s|km/h"
    r"|[kcmnµμ]m[²³]?|m[²³]|[kmµμ]g|[mcdµμ]l|mL|[kMG]Wh?|[km]V|mAh?|[kM]Pa|hPa|kcal|dB|°[CF])"
)
_MEASURE = rf"(?<![\w.,])[0-9]+(?:[.,][0-9]+)*(?:[ \u00a0\u202f]?{_UNIT}|r?em)(?!\w)"
"""A number and its unit; no unit is a letter alone, as words may be."""

PLACEHOLDER_PATTERN = re.compile("|".join((*_PLACEHOLDERS, *_NAMES, _FILE_NAME, _MEASURE)))
"""What comes back as it is when parts are protected in a translation: all of these but tags, and
names of files and numbers with a unit."""

SIGN_PATTERN = re.compile("|".join(_PLACEHOLDERS))
"""Placeholders that no text has by itself: one that a source lacks is wrong in its translation."""

MESSAGE_PATTERN = re.compile(_MESSAGE)

TAG_WITH_BLANKS = re.compile(TAG)
