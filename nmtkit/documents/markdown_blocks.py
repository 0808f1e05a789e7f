"""Paragraphs of Markdown that stay paragraphs, whatever word a translation puts first.

`see # 5` may become `# 5 …`, which is a heading; text behind a comment at the beginning of a line
is a part of the comment's block, and is shown as it is written.
"""

import re
from collections.abc import Collection

_SIGN = re.compile(
    r"(?P<sign>[-+*:](?=[ \t]|\Z)|#{1,6}(?=[ \t]|\Z)|>|~{3}|`{3}(?=[^`]*\Z)"
    r"|=+(?=[ \t]*\Z)|-+(?=[ \t]*\Z)|([*_-])(?=(?:[ \t]*\2){2,}[ \t]*\Z))"
    r"|(?P<number>[0-9]{1,9})(?=[.)](?:[ \t]|\Z))"
)
"""What begins a heading, an item, a quote, a listing or a line across the page."""

_COMMENTS = re.compile(r"(?:<!--(?:[^-]|-(?!->))*-->[ \t]*|<\?(?:[^?]|\?(?!>))*\?>[ \t]*)+(?=\S)")
"""Comments and code of a template before a text."""


def as_paragraph(translation: str, source: str) -> str:
    """Return a translation of a paragraph in which no line begins a block of another kind.

    :param source: the paragraph. How it begins, a translation may begin, too: a heading with `1.`
    """
    lines = source.split("\n")
    allowed = {found[0] for line in lines if (found := _SIGN.match(line))}
    has_comment = _COMMENTS.match(source) is not None
    return "\n".join(_as_text(line, allowed, has_comment) for line in translation.split("\n"))


def _as_text(line: str, allowed: Collection[str], has_comment: bool) -> str:
    comments = None if has_comment else _COMMENTS.match(line)
    if comments:
        end = line.rstrip(" \t\\")
        line = f"{end[comments.end() :]} {comments[0].rstrip()}{line[len(end) :]}"
    found = _SIGN.match(line)
    if found is None or found[0] in allowed:
        return line
    place = found.end() if found["number"] else 0
    return f"{line[:place]}\\{line[place:]}"
