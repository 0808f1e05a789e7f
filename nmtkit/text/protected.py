"""Parts of a line that stay whole: tags, entities, addresses, paths, placeholders, identifiers.

As with `tokenizer.perl -protected`, each is one token (a tag with blanks is one token between two
blanks), so that a model copies it as a unit, and nothing is lost in detokenisation.
"""

import re

_VALUE = r"""(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=]+)"""
_NAME = r"[^\s=<>\"'/]+"

TAG = rf"</?[A-Za-z][\w:.-]*(?:\s+{_NAME}={_VALUE}(?:\s+{_NAME}(?:={_VALUE})?)*)?\s*/?>"
"""An XML tag; attributes begin with one that has a value, so that `a <b or c> d` is no tag."""

ENTITY = r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});"
SCHEME = r"(?:[a-z][a-z0-9+.-]{1,15}://|\bwww\.|\bmailto:)"
OTHER_STOPS = (
    "\u0589\u060c\u061b\u061f\u06d4\u0964\u0965\u104a\u104b\u1362-\u1368\u17d4\u17d5\u2026"
)
"""Signs that end sentences in Armenian, Arabic, Indic, Burmese, Ethiopic and Khmer text, their
commas, and the ellipsis, for a class of a regular expression."""

NOT_IN_URL = r"\s<>\"'`«»“”„‘’{}|\\^"
_URL = rf"{SCHEME}[^{NOT_IN_URL}]+"
EMAIL = r"\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"
PATH = r"(?<![\w/.~])(?:~|\.{1,2})?(?:/[A-Za-z0-9_+~%-][\w.+~%-]*){2,}/?"
WINDOWS_PATH = r"\b[A-Za-z]:\\[\w.+~$%\\-]+"
BRACES = r"\$?\{\{?[A-Za-z0-9_.:\[\]!-]*\}?\}"
VARIABLE = r"\$\([A-Za-z_]\w*\)|\$[A-Za-z_]\w*\$|%[A-Za-z_]\w+%"
CONVERSION = (
    r"%(?:[0-9]{1,2}\$|\([A-Za-z_]\w*\))?[-+#0]*(?:\d+|\*)?(?:\.\d+)?l{0,2}"
    r"[diouxXeEfFgGcrsp@]"
)
_PERCENT = rf"(?<![\w%]){CONVERSION}(?!\w)"
PERCENT_NUMBER = r"(?<![\w%])%[0-9](?![\w.,])"

IDENTIFIER = r"\b[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+\b"

_SIGNS = (
    ENTITY,
    EMAIL,
    rf"{_URL}(?<![.,;:!?)\]{OTHER_STOPS}])",
    BRACES,
    VARIABLE,
    _PERCENT,
    PERCENT_NUMBER,
)
_NAMES = (rf"{PATH}(?<![.])", rf"{WINDOWS_PATH}(?<![.])", IDENTIFIER)

PROTECTED = re.compile("|".join((TAG, *_SIGNS[:3], *_NAMES[:2], *_SIGNS[3:], _NAMES[2])))
"""Every kind of protected text. An address does not end with the punctuation of its sentence."""

TAG_WITH_BLANKS = re.compile(TAG)
