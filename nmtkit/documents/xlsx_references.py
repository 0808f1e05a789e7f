"""Texts of cells to which other places in an Excel workbook refer by their words.

`=IF(A1="Yes",…)` no longer finds a `Yes` that has been translated; Excel repairs a table whose
header cell is not what the table says. So these texts stay.
"""

import re
from collections.abc import Iterator

from nmtkit.documents.archive import Archive
from nmtkit.documents.ooxml import members_of
from nmtkit.io.moses_zip import shown_member
from nmtkit.io.xml_reader import XmlReader, local_name

_SHEET = re.compile(r"spreadsheetml\.worksheet\+xml\Z")
_OTHERS = re.compile(
    r"spreadsheetml\.(?:\w+\.main|table|pivotCacheDefinition)\+xml\Z"
    r"|ms-excel\.\w+\.macroEnabled\.main\+xml\Z"
)
"""Types of parts with formulas of names, with tables, and with the fields of pivot tables."""

_FORMULAS = frozenset("f formula formula1 formula2 definedName calculatedColumnFormula".split())
_ATTRIBUTES = {
    "tableColumn": ("name", "totalsRowLabel"),
    "cacheField": ("name",),
    "filter": ("val",),
    "customFilter": ("val",),
    "cfRule": ("text",),
}
"""Attributes that repeat the text of a cell."""

_LITERAL = re.compile(r"""'[^']*+(?:''[^']*+){0,31}'!|"([^"]*(?:""[^"]*)*)\"""")
"""The name of a sheet, in which a quote begins nothing, or a text in quotes."""

_ESCAPED_SPACE = re.compile("_x000[9ADad]_")


def folded(text: str) -> str:
    """Return a text as Excel compares it: without case; here also without kinds of spaces."""
    return " ".join(_ESCAPED_SPACE.sub(" ", text).split()).casefold()


def find_references(archive: Archive) -> tuple[frozenset[str], list[str]]:
    """Return the texts to which a workbook refers, folded, and the sheets with texts in cells.

    :raises DataError: a part of it is no XML.
    """
    names: set[str] = set()
    sheets = []
    for member in members_of(archive, _OTHERS):
        names |= _read(archive, member).names
    for member in members_of(archive, _SHEET):
        reader = _read(archive, member)
        names |= reader.names
        if reader.has_strings:
            sheets.append(member)
    return frozenset(names), sheets


def _read(archive: Archive, member: str) -> "_References":
    reader = _References(f"{archive.name}:{shown_member(member)}", "xlsx")
    reader.parse(archive.read(member))
    return reader


class _References(XmlReader[None]):
    """Reads a part. names: texts to which it refers. has_strings: it has texts in cells."""

    def __init__(self, name: str, kind: str) -> None:
        super().__init__(name, kind)
        self.names: set[str] = set()
        self.has_strings = False
        self._is_text = False  # the value of the cell is a text, not the result of a formula
        self._formula: list[str] | None = None

    def start(self, element: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        name = local_name(element)
        if name == "c":
            self.has_strings |= attributes.get("t") == "inlineStr"
            self._is_text = attributes.get("t") == "str"
        elif name == "v":
            self.has_strings |= self._is_text
        elif name in _FORMULAS:
            self._formula, self._is_text = [], False
        for attribute in _ATTRIBUTES.get(name, ()):
            self.names.add(folded(attributes.get(attribute, "")))

    def characters(self, data: str) -> None:
        """Take some text."""
        if self._formula is not None:
            self._formula.append(data)

    def end(self, element: str) -> None:
        """End an element."""
        if self._formula is not None and local_name(element) in _FORMULAS:
            self.names.update(map(folded, _literals("".join(self._formula))))
            self._formula = None


def _literals(formula: str) -> Iterator[str]:
    """Yield the texts in quotes in a formula.

    One may be a list of choices, `"Yes,No"`, or a condition, `"<>Yes"`.
    """
    for found in _LITERAL.finditer(formula):
        text = (found[1] or "").replace('""', '"')
        yield from (text, text.lstrip("<>="), *text.split(","))
