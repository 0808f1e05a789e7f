"""Imports and exports of JavaScript at the beginning of Markdown with components (MDX)."""

import re

from nmtkit.documents.encoding import LINE

MAX_LINES = 500
"""Lines of an export that goes on over empty lines."""

_NAMES = r"(?:[\w$]+|\{[^{}'\"]{0,5000}\}|\*\s+as\s+[\w$]+)"
_FROM = r"from\s*(?:'[^'\n]+'|\"[^\"\n]+\")"
_IMPORT = (
    rf"import\s+(?:'[^'\n]+'|\"[^\"\n]+\"|(?:type\s+)?{_NAMES}(?:\s*,\s*{_NAMES})?\s*{_FROM})"
    r"[ \t]*(?:;|\r?$|//|(?:with|assert)[ \t]*\{)"
)
_EXPORT = (
    r"export\s+(?:(?:const|let|var)\s+[\w$\[{][^=\n]*="
    r"|(?:default\s+)?(?:async\s+)?function\b\s*\*?\s*[\w$]*\s*\("
    r"|(?:default\s+)?class\b[^\n{]{0,200}\{"
    r"|default\s+(?:[\w$.]*\s*[({\[]|[\w$.]+;|[A-Z][\w$]*[ \t]*\r?$)"
    rf"|(?:\{{[^{{}}]{{0,5000}}\}}|\*(?:\s*as\s+[\w$]+)?)[ \t]*(?:;|\r?$|{_FROM}))"
)
_STATEMENT = re.compile(f"{_IMPORT}|{_EXPORT}", re.MULTILINE)
_BETWEEN = re.compile(r"(?:\s|\{/\*(?:[^*]|\*(?!/))*\*/\}|<!--(?:[^-]|-(?!->))*-->|(?!))*+")
_STRING = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|//[^\n]*")


def end_of_modules(text: str, start: int) -> int:
    """Return where imports and exports end that stand before all other text.

    Prose that begins with these words is no statement.

    :param start: where the text begins, behind the front matter.
    """
    end = start
    while True:
        found = _BETWEEN.match(text, end)
        begin = found.end() if found else end
        if (begin and text[begin - 1] != "\n") or not _STATEMENT.match(text, begin):
            return end
        end = _end_of_statements(text, begin)


def _end_of_statements(text: str, start: int) -> int:
    """Return where code ends: at an empty line outside of brackets, or at the first one."""
    depth, first = 0, -1
    end = start
    for number, found in enumerate(LINE.finditer(text, start)):
        end = found.end()
        if found[0].strip():
            code = _STRING.sub("", found[0])
            depth += sum(code.count(sign) for sign in "({[")
            depth -= sum(code.count(sign) for sign in ")}]")
            continue
        first = end if first < 0 else first
        if depth <= 0:
            return end
        if number >= MAX_LINES:
            break
    return first if depth > 0 and first >= 0 else end
