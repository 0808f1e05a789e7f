"""Parts of a line that stay whole: tags, entities, addresses, paths, placeholders, identifiers.

As with `tokenizer.perl -protected`, each is one token (a tag with blanks is one token between two
blanks), so that a model copies it as a unit, and nothing is lost in detokenisation.
"""

import re

from nmtkit.text.scripts import IDEOGRAPHIC, KANA, UNSPACED_ALPHABETIC

_VALUE = r"""(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=]+)"""
_NAME = r"[^\s=<>\"'/]+"

TAG = rf"</?[A-Za-z][\w:.-]*(?:\s+{_NAME}={_VALUE}(?:\s+{_NAME}(?:={_VALUE})?)*)?\s*/?>"
"""An XML tag; attributes begin with one that has a value, so that `a <b or c> d` is no tag."""

_ENTITY = r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});"
_SCHEME = r"(?:[a-z][a-z0-9+.-]{1,15}://|\bwww\.|\bmailto:)"
_NOT_IN_URL = r"\s<>\"'`«»“”„‘’{}|\\^"
_URL = rf"{_SCHEME}[^{_NOT_IN_URL}]+"
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

_HANGUL = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
_UNSPACED = f"{IDEOGRAPHIC}{KANA}{UNSPACED_ALPHABETIC}{_HANGUL}"
"""Letters that stand beside other text without a blank; in Korean those of particles do."""

_WORD = rf"[^\W{_UNSPACED}]"
_EDGE = rf"(?:(?<!{_WORD})(?={_WORD})|(?<={_WORD})(?!{_WORD}))"


def _in_any_script(pattern: str) -> str:
    """Return a pattern that takes letters without blanks for no part of a word.

    So there is `%s` in `打开%s文件`, and `64MB` in `64MB以上`. Models tokenize without it.
    """
    pattern = pattern.replace(r"[^\W\d_]", rf"[^\W\d_{_UNSPACED}]").replace(r"\b", _EDGE)
    pattern = re.sub(
        r"\[\\w((?:\\.|[^\]\\])+)\]", lambda found: f"(?:{_WORD}|[{found[1]}])", pattern
    )
    return pattern.replace(r"!\w)", f"!{_WORD})")


_WIDE = "\u3001-\u3004\u3008-\u301f\uff01-\uff0f\uff1a-\uff1f"
_IN_URL = rf"[^{_NOT_IN_URL}{_UNSPACED}{_WIDE}()]"
_URL_PART = rf"(?:(?![.,;:!?\]]){_IN_URL}|\({_IN_URL}*\)|(?<=[/=#_-])[{_UNSPACED}]+)"
_WHOLE_URL = (
    rf"{_in_any_script(_SCHEME)}"
    rf"(?:{_URL_PART}|[).,;:!?\]]|\((?!{_IN_URL}*\)))*{_URL_PART}"
)
"""An address that ends before a sentence without blanks goes on, and has whole parentheses."""

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
    _in_any_script(_NAMED),
    _FIELD,
    _in_any_script(_DATE),
    _in_any_script(_C_CONVERSION),
    _in_any_script(_QT_NUMBER),
    _in_any_script(_PERCENT_IN_WORD),
    _ENTITY,
    _in_any_script(_EMAIL),
    _WHOLE_URL,
    _BRACES,
    _VARIABLE,
    _in_any_script(_PERCENT_NUMBER),
)
"""Models tokenize without the first eight kinds."""

_NAMES = (rf"{_PATH}(?<![.])", rf"{_WINDOWS_PATH}(?<![.])", _IDENTIFIER)

PROTECTED = re.compile("|".join((TAG, *_SIGNS[:3], *_NAMES[:2], *_SIGNS[3:], _NAMES[2])))
"""Every kind of protected text. An address does not end with the punctuation of its sentence."""

_FILE_NAME = (
    rf"(?:\b[\w-]{{1,100}}|(?<![{_UNSPACED}])[{_UNSPACED}]+)"
    r"\.(?:[a-z]{2,4}[0-9]?|[A-Z]{2,4})\b(?![\w.])"
)
_UNIT = (
    r"(?:(?:[KMGTP]i?B|[kMGT]?bit)(?:/s)?|[kMG]bps|[kMGT]?Hz|px|pt|dpi|ppi|ms|ns|[µμ]s|km/h"
    r"|[kcmnµμ]m[²³]?|m[²³]|[kmµμ]g|[mcdµμ]l|mL|[kMG]Wh?|[km]V|mAh?|[kM]Pa|hPa|kcal|dB|°[CF])"
)
_MEASURE = rf"(?<![\w.,])[0-9]+(?:[.,][0-9]+)*(?:[ \u00a0\u202f]?{_UNIT}|r?em)(?!\w)"
"""A number and its unit; no unit is a letter alone, as words may be."""

_PLACEHOLDER_NAMES = (
    _in_any_script(rf"{_PATH}(?<![.])"),
    rf"{_WINDOWS_PATH}(?<![.])".replace(r"\b", _EDGE),
    *map(_in_any_script, (_IDENTIFIER, _FILE_NAME, _MEASURE)),
)

PLACEHOLDER_PATTERN = re.compile("|".join((*_PLACEHOLDERS, *_PLACEHOLDER_NAMES)))
"""What comes back as it is when parts are protected in a translation: all of these but tags, and
names of files and numbers with a unit."""

SIGN_PATTERN = re.compile("|".join(_PLACEHOLDERS))
"""Placeholders that no text has by itself: one that a source lacks is wrong in its translation."""

MESSAGE_PATTERN = re.compile(_MESSAGE)

TAG_WITH_BLANKS = re.compile(TAG)
