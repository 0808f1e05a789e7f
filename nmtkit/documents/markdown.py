"""Markdown: paragraphs, headings, items of lists and cells of tables (CommonMark, GFM)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from nmtkit.documents.document import (
    Document,
    DocumentOptions,
    Edit,
    Lookup,
    Segment,
    Syntax,
    Write,
)
from nmtkit.documents.encoding import LINE, decode
from nmtkit.documents.markdown_blocks import as_paragraph
from nmtkit.documents.markdown_inline import label_of
from nmtkit.documents.modules import end_of_modules
from nmtkit.text.sentences import Lines

MAX_DEPTH = 50
"""Lists and quotes inside one another at the beginning of a line."""

_CONTAINER = re.compile(r"[ \t]*>[ \t]?|[ \t]*(?:[-*+:]|[0-9]{1,9}[.)])[ \t]+(?=\S)")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})([^\n]*)")
_HEADING_ATTRIBUTES = re.compile(r"\{[#.:][^{}\n]*\}\Z")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}(?:[ \t]+|$)")
_UNDERLINE = re.compile(r"[ \t]{0,3}(?:=+|-+)[ \t]*\Z")
_RULE = re.compile(r"[ \t]{0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})\Z")
_DEFINITION = re.compile(r"[ \t]{0,3}\[[^\]\n]{1,1000}\]:[ \t]*\S")
_LABEL_ALONE = re.compile(r"[ \t]{0,3}\[[^\]\n]{1,1000}\]:[ \t]*\Z")
"""A definition whose address stands on the next line."""

_QUOTED = r"(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\))"
_TITLE = re.compile(rf"[ \t]*{_QUOTED}[ \t]*\Z")
"""The title of a definition, on a line of its own."""

_ADDRESS = re.compile(rf"\r?\n[ \t>]*\S+(?:[ \t]+{_QUOTED})?[ \t]*\r?(?=\n|\Z)")
"""The line of the address behind a label that stands alone."""

_LABEL = re.compile(r"^[ \t>]*\[((?!\^)[^\[\]\n]{1,200})\]:[ \t]*(?:\r?\n[ \t]*)?\S", re.MULTILINE)
_FOOTNOTE = re.compile(r"[ \t]{0,3}(?:\[\^[^\]\s]{1,100}\]|\*\[[^\]\n]{1,100}\]):[ \t]+")
"""What stands before the text of a footnote, and of an abbreviation that is spelled out."""

_TASK = re.compile(r"[ \t]*\[[ xX]\][ \t]+(?=\S)")
"""The box of a task, which is one only at the beginning of its item."""

_HTML_BLOCK = re.compile(r"[ \t]{0,3}<(?:[A-Za-z][\w-]*(?=[\s/>]|\Z)[^\n]*|/[A-Za-z]|!--|[?!])")
_RAW_BLOCK = re.compile(r"[ \t]{0,3}<(?:(script|style|pre|textarea)\b|(!--|\?|!\[CDATA\[))", re.I)
"""The beginning of HTML that goes on over empty lines, up to its end."""

_RAW_ENDS = {"!--": "-->", "?": "?>", "![cdata[": "]]>"}

_INLINE_TAG = re.compile(
    r"[ \t]{0,3}</?(?:a|abbr|b|bdo|cite|code|del|em|i|img|ins|kbd|mark|q|s|small|span|strong|sub"
    r"|sup|u|br)\b",
    re.IGNORECASE,
)
_TABLE_RULE = re.compile(r"\|?+[ \t]*+:?+-++:?+[ \t]*+(?:\|[ \t]*+:?+-++:?+[ \t]*+)*+\|?+\Z")
_CELL_END = re.compile(r"(?:\\.|``(?!`)(?:[^`\n]|`(?!`))*``|`[^`\n]*`|[^|\\`]|`)*+", re.DOTALL)
_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\r?\n.*?^\1[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_INDENTATION = re.compile(r"[ \t]+")
_DIRECTIVE = re.compile(
    r"[ \t]*(?::::|(?:\[![A-Za-z]+\][+-]?|\[\[?_?TOC_?\]\]?"
    r"|\{(?:%[^{}\n]*%|:[^{}\n]*|\{[^{}\n]*\}|/\*.*\*/)\})[ \t]*\Z)"
)
"""A line for a program: the fence of a box, the kind of a note, a template's tag, attributes, a
comment of MDX."""

_BOX = re.compile(
    r"[ \t]*(?:(?:!!!|\?\?\?\+?)[ \t]*[\w-]+(?:[ \t]+[\w-]+)*(?:[ \t]+\"([^\n]*)\")?"
    r"|===[!+]?[ \t]+\"([^\n]*)\")[ \t]*\Z"
)
"""The head of a box or a tab of Python-Markdown, with its title; the text in it is indented."""

_KIND = (
    r"(?:abstract|admonition|attention|bug|caution|danger|details|error|example|fail(?:ure)?|faq|help"
    r"|hint|important|info|missing|note|question|quote|seealso|success|summary|tip|tldr|todo|warning)"
)
_NOTE = re.compile(
    rf"[ \t]*:::+[ \t]*(?:{_KIND}|\{{{_KIND}\}})"
    r"(?:\[((?:[^\[\]\n]|\[[^\[\]\n]*\])++)\]|[ \t]+([^\s{\[:][^\n{]*+))"
    r"(?:\{[^{}\n]*\})?[ \t]*\Z"
    r"|[ \t]*\[![A-Za-z][\w|-]*\][+-]?[ \t]+(\S[^\n]*)\Z",
    re.IGNORECASE,
)
"""The head of a box with its title, as Docusaurus, VitePress, MyST and Obsidian write it."""

_LISTING = re.compile(r"[ \t]{0,3}\{(?:%-?|\{[<%])[ \t]*highlight\b")
"""The tag before a listing of Jekyll or Hugo."""

_MATH = re.compile(r"[ \t]*\$\$")
_EMPTY_LINE = re.compile(r"\n[ \t>]*\r?\n")
_QUOTE = re.compile(r"[ \t]*>[ \t]?")

_CODE = 4
"""Columns by which code is indented."""


class _Line(NamedTuple):
    """A line of a paragraph: the offsets of its contents, without prefix and line break."""

    start: int
    end: int


def parse_markdown(data: bytes, name: str, options: DocumentOptions) -> Document:
    """Find the segments of a Markdown file.

    :raises DataError: its encoding cannot be read and written byte for byte.
    """
    text, encoding = decode(data, name)
    return Document(text, encoding, list(_Parser(text).segments()))


class _Parser:
    """Reads a file line by line; paragraph: its lines so far."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._numbers = Lookup.of(text)
        self._paragraph: list[_Line] = []
        self._quotes = 0  # around the paragraph
        self._fence = ""  # what ends the block of code
        self._fence_quotes = 0  # around it
        self._html_end: str | None = None  # of HTML, a listing or a formula; "": an empty line
        self._items: list[int] = []  # columns at which the contents of open items begin
        self._origin = 0  # where columns are counted from: the line, or behind signs of quotes
        self._in_table = False
        self._definition = ""  # what of a definition may follow: its "address", or its "title"
        self._labels = frozenset(map(label_of, _LABEL.findall(text)))

    def segments(self) -> Iterator[Segment]:
        """Yield the segments in the order of the file."""
        front = _FRONT_MATTER.match(self._text)
        start = end_of_modules(self._text, front.end() if front else 0)
        for found in LINE.finditer(self._text, start):
            end = found.start() + len(found[0].rstrip("\r\n"))
            yield from self._line(found.start(), end)
        yield from self._flush()

    def _line(self, start: int, end: int) -> Iterator[Segment]:
        """Take a line."""
        line = self._text[start:end]
        if self._fence and self._leaves_quotes(start, end):
            self._fence = ""
        if self._fence or self._html_end is not None:
            self._skip(line)
            return
        if self._goes_on_with_definition(line):
            return
        content, quotes = start, 0
        self._origin = start
        for _ in range(MAX_DEPTH):
            found = _CONTAINER.match(self._text, content, end)
            if found is None or _RULE.match(self._text[content:end]):
                break
            if ">" in found[0]:
                if self._is_deep(content, end):
                    break
                quotes += 1
                self._origin = found.end()
            elif self._is_code(content, end):
                break
            else:
                yield from self._flush()
                self._begin_item(content, found.end())
            content = found.end()
        if quotes > self._quotes:  # with fewer ones a paragraph may go on
            yield from self._flush()
        if not self._paragraph:
            self._quotes = quotes
        line = self._text[content:end]
        if not self._is_deep(content, end):
            line = line.lstrip(" \t")
            content = end - len(line)
        if not line.strip():
            yield from self._flush()
            self._in_table = False
        elif not self._starts_kept_block(line, content, end):
            yield from self._text_line(line, content, end)
        else:
            yield from self._flush()

    def _skip(self, line: str) -> None:
        """Take a line of a block of code or HTML, which it may end."""
        if self._fence:
            stripped = line.lstrip(" \t>")
            is_end = stripped.startswith(self._fence) and not stripped.strip(self._fence[0]).strip()
            self._fence = "" if is_end else self._fence
        elif self._html_end in line.lower() if self._html_end else not line.strip():
            self._html_end = None

    def _leaves_quotes(self, start: int, end: int) -> bool:
        """Return whether a line is in fewer quotes than the block of code, which ends there."""
        for _ in range(self._fence_quotes):
            found = _QUOTE.match(self._text, start, end)
            if found is None:
                return True
            start = found.end()
        return False

    def _goes_on_with_definition(self, line: str) -> bool:
        """Return whether a line is the address or the title of the definition before it."""
        expected, self._definition = self._definition, ""
        if expected == "address":
            self._definition = "title"
            return True
        return expected == "title" and _TITLE.match(line) is not None

    def _is_code(self, start: int, end: int) -> bool:
        """Return whether a line is code: behind an empty line, by 4 columns in its list."""
        return not self._paragraph and self._is_deep(start, end)

    def _is_deep(self, start: int, end: int) -> bool:
        """Return whether a line is indented by 4 columns or more in its list."""
        indentation = _INDENTATION.match(self._text, start, end)
        if not indentation:
            return False
        column = self._column(indentation.end())
        return column - max((item for item in self._items if item <= column), default=0) >= _CODE

    def _column(self, offset: int) -> int:
        return len(self._text[self._origin : offset].expandtabs(4))

    def _begin_item(self, start: int, end: int) -> None:
        """Take the sign of an item, and the whitespace around it."""
        sign = self._text[start:end]
        first = self._column(start + len(sign) - len(sign.lstrip()))
        contents, behind = self._column(end), self._column(start + len(sign.rstrip()))
        contents = contents if contents - behind <= _CODE else behind + 1
        self._items = [item for item in self._items if item <= first] + [contents]

    def _starts_kept_block(self, line: str, start: int, end: int) -> bool:
        """Return whether a line begins, or is, something that is kept."""
        if fence := _FENCE.match(line):
            if fence[1][0] == "~" or "`" not in fence[2]:
                self._fence, self._fence_quotes = fence[1], self._quotes
                return True
        if _MATH.match(line) and self._begins_math(line, end):
            return True
        if self._is_code(start, end) or _RULE.match(line) or _is_table_rule(line):
            self._in_table = self._in_table or ("|" in line and bool(self._paragraph))
            return not (_UNDERLINE.match(line) and self._paragraph) or self._in_table
        if listing := _LISTING.match(line):
            self._html_end = "/highlight" if "{{" in listing[0] else "endhighlight"
            self._skip(line)
            return True
        if _DIRECTIVE.match(line):
            return not _NOTE.match(line)
        if _DEFINITION.match(line) and not _FOOTNOTE.match(line) and not self._paragraph:
            self._definition = "title"
            return True
        is_alone = _LABEL_ALONE.match(line) and _ADDRESS.match(self._text, end)
        if is_alone and not self._paragraph:
            self._definition = "address"
            return True
        raw = _RAW_BLOCK.match(line)
        is_apart = raw and (raw[1] or _end_of_raw(raw) not in line)  # from a paragraph before it
        is_html = _HTML_BLOCK.match(line) and not _INLINE_TAG.match(line)
        if is_html and (is_apart or not self._paragraph):
            self._html_end = "" if raw is None else _end_of_raw(raw)
            self._skip(line)
            return True
        return False

    def _begins_math(self, line: str, end: int) -> bool:
        """Return whether a line that begins with `$$` is a formula, or begins one.

        A formula that begins with other text on its line ends before an empty line.
        """
        stripped = line.strip()
        if "$$" in stripped[2:]:
            return stripped.endswith("$$") and stripped.count("$$") == 2
        closing = self._text.find("$$", end)
        if closing < 0 or (stripped != "$$" and _EMPTY_LINE.search(self._text, end, closing)):
            return False
        self._html_end = "$$"
        return True

    def _text_line(self, line: str, start: int, end: int) -> Iterator[Segment]:
        """Take a line of text."""
        if not line[0].isspace() and start == self._numbers.starts[self._numbers.line(start) - 1]:
            self._items = []
        if heading := _HEADING.match(line):
            yield from self._flush()
            stop = start + max(_end_of_heading(line), heading.end())
            self._paragraph = [_Line(start + heading.end(), stop)]
            yield from self._flush()
        elif note := _NOTE.match(line):
            yield from self._title(note, start)
        elif box := _BOX.match(line):
            yield from self._title(box, start)
            indentation = self._column(start + len(line) - len(line.lstrip()))
            self._items = [item for item in self._items if item <= indentation]
            self._items.append(indentation + _CODE)
        elif self._paragraph and _UNDERLINE.match(line):
            yield from self._flush()
        elif "|" in line and (self._in_table or self._is_table_head(end)):
            yield from self._flush()
            self._in_table = True
            yield from self._cells(start, end)
        else:
            head = _FOOTNOTE.match(line)
            if head:
                yield from self._flush()
                self._items = [item for item in self._items if item < _CODE] + [_CODE]
            elif not self._paragraph:
                head = _TASK.match(line)
            first = start + (head.end() if head else len(line) - len(line.lstrip()))
            self._paragraph.append(_Line(first, end))

    def _title(self, head: re.Match[str], start: int) -> Iterator[Segment]:
        """Take the head of a box; only its title is translated."""
        yield from self._flush()
        if head.lastindex and head[head.lastindex].strip(" \t:"):
            first = start + head.start(head.lastindex)
            title = head[head.lastindex].rstrip(" \t:")
            self._paragraph = [_Line(first, first + len(title))]
            yield from self._flush()

    def _is_table_head(self, end: int) -> bool:
        """Return whether the next line is the rule below the head of a table."""
        found = LINE.match(self._text, self._text.find("\n", end) + 1 or len(self._text))
        following = found[0].strip().lstrip("> ") if found else ""
        return "|" in following and _is_table_rule(following)

    def _cells(self, start: int, end: int) -> Iterator[Segment]:
        """Yield the cells of a row."""
        while start < end:
            found = _CELL_END.match(self._text, start, end)
            stop = found.end() if found else end
            cell = self._text[start:stop]
            if cell.strip():
                first = start + len(cell) - len(cell.lstrip())
                last = start + len(cell.rstrip())
                yield self._segment([_Line(first, last)], is_cell=True)
            start = stop + 1

    def _flush(self) -> Iterator[Segment]:
        """Yield the paragraph that ends here."""
        if self._paragraph:
            yield self._segment(self._paragraph)
        self._paragraph = []

    def _segment(self, lines: Sequence[_Line], is_cell: bool = False) -> Segment:
        source = "\n".join(self._text[slice(*line)] for line in lines)
        write = _write(lines, source, self._prefix(lines), is_cell)
        line = self._numbers.line(lines[0].start)
        return Segment(line, source, Syntax.MARKDOWN, write, Lines.HARD, labels=self._labels)

    def _prefix(self, lines: Sequence[_Line]) -> str:
        """Return what stands between two lines of a paragraph."""
        return self._text[lines[0].end : lines[1].start] if len(lines) > 1 else "\n"


def _end_of_raw(opening: re.Match[str]) -> str:
    """Return what ends HTML that goes on over empty lines."""
    return f"</{opening[1].lower()}>" if opening[1] else _RAW_ENDS[opening[2].lower()]


def _is_table_rule(line: str) -> bool:
    """Return whether a line is the rule below the head of a table."""
    return _TABLE_RULE.match(line.strip(" \t")) is not None


def _end_of_heading(line: str) -> int:
    """Return where the text of a heading ends, before the signs that close it."""
    text = line.rstrip(" \t")
    if text.endswith("}") and (found := _HEADING_ATTRIBUTES.match(text, text.rfind("{"))):
        text = line = text[: found.start()].rstrip(" \t")
    inner = text.rstrip("#")
    is_closed = inner != text and inner.endswith((" ", "\t"))
    return len(inner.rstrip(" \t")) if is_closed else len(line)


_EDGE_BREAKS = re.compile(r"\A(?:\\\n[ \t]*)+|(?:[ \t]*\\\n)+[ \t]*\Z")
"""Breaks of lines before or behind all words, where the backslash would be text."""


def _write(lines: Sequence[_Line], source: str, prefix: str, is_cell: bool) -> Write:
    """Return the function that writes a paragraph or a cell."""

    def write(translation: str, inner: Sequence[Edit]) -> Iterable[Edit]:
        if translation == source:
            return []
        translation = _EDGE_BREAKS.sub("", translation)
        if is_cell:
            translation = re.sub(r"(?<!\\)\|", r"\\|", " ".join(translation.splitlines()))
        else:
            translation = as_paragraph(translation, source)
        return [Edit(lines[0].start, lines[-1].end, translation.replace("\n", prefix))]

    return write
