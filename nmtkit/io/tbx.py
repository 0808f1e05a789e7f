"""Term bases in TBX (ISO 30042), read as a stream: one entry for each concept.

    <conceptEntry><langSec xml:lang="en"><termSec><term>hard disk</term></termSec></langSec>
    <langSec xml:lang="fr"><termSec><term>disque dur</term></termSec></langSec></conceptEntry>

The elements of 2008 are read, too: `termEntry`, `langSet`, `tig` and `ntig`. A term whose
administrative status is deprecated or superseded is one that translations must not have; in the
style DCT the status is an element of its own, `<min:administrativeStatus>`. Names may have any
prefix of a namespace: `<t:tbx xmlns:t="urn:iso:std:iso:30042:ed-2">`.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nmtkit.errors import DataError
from nmtkit.io.language_tags import best_matches
from nmtkit.io.xml_reader import XmlReader, local_name

MAX_DEPTH = 100
"""Elements inside one another."""

MAX_TERMS = 1000
"""Terms of a concept in all languages."""

MAX_CHARACTERS = 10_000
"""Characters of a term."""

_CONCEPT = {"conceptEntry", "termEntry"}
_LANGUAGE = {"langSec", "langSet"}
_TERM = {"termSec", "tig", "ntig"}

_STATUS = "administrativeStatus"
_UNWANTED = re.compile("deprecated|superseded|obsolete", re.IGNORECASE)

_COMMENTS = (
    r"\s*+(?:<!--(?:[^-]|-(?!->)|(?!))*+-->\s*+|(?!))*+"  # `(?!)`: as in text.markup_pieces.CODE
)
_MARKUP = re.compile(
    rf"\s*+(?:<\?xml.*?\?>)?{_COMMENTS}"
    rf"(?:<!DOCTYPE[^>\[]*+(?:>|\[.*?\]\s*+>){_COMMENTS})?<(?:[\w.-]++:)?(?:tbx|martif)(?![\w:.-])",
    re.IGNORECASE | re.DOTALL,
)


class Concept(NamedTuple):
    """An entry: the number of its line, terms of both languages, and those not to be used."""

    line: int
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    unwanted: tuple[str, ...]


def is_tbx(head: bytes) -> bool:
    """Return whether the first bytes of a file are TBX."""
    encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    even = head[: len(head) // 2 * 2]
    return bool(_MARKUP.match(even.decode(encoding, errors="replace").lstrip("\ufeff")))


def read_tbx(chunks: Iterable[bytes], name: str, languages: tuple[str, str]) -> Iterator[Concept]:
    """Yield the concepts that have terms in both languages.

    :param chunks: the bytes of the file, decompressed.
    :param name: of the file, for messages.
    :raises DataError: the file is not well-formed, declares entities, or has no such concept.
    """
    reader = _Reader(name, languages)
    yield from reader.read(chunks)
    if not reader.complete:
        found = ", ".join(sorted(reader.tags)) or "none"
        raise DataError(
            f"{name}: no concept has terms of {' and '.join(languages)}; its languages are {found}"
        )


def _is_status(element: str, type: str | None) -> bool:
    """Return whether an element says the status of a term: by its type, or by its name (DCT)."""
    return (element == "termNote" and type == _STATUS) or element == _STATUS


class _Term(NamedTuple):
    tag: str
    text: str
    unwanted: bool


class _Reader(XmlReader[Concept]):
    """The state of a term base that is being parsed.

    complete: number of concepts with both languages. tags: languages that were found.
    """

    def __init__(self, name: str, languages: tuple[str, str]) -> None:
        super().__init__(name, "TBX")
        self._languages = languages
        self._terms: list[_Term] = []
        self._depth = 0
        self._tag = self._term = ""
        self._unwanted = False
        self._text: list[str] | None = None  # of the term or its status, if in one
        self._start_line = 0
        self.complete = 0
        self.tags: set[str] = set()

    def start(self, element: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        element = local_name(element)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.error(f"more than {MAX_DEPTH} elements inside one another; is this TBX?")
        if element in _CONCEPT:
            self._terms, self._start_line = [], self.line
        elif element in _LANGUAGE:
            self._tag = attributes.get("xml:lang") or attributes.get("lang") or ""
        elif element in _TERM:
            self._term, self._unwanted = "", False
        if element == "term" or _is_status(element, attributes.get("type")):
            self._text = []

    def end(self, element: str) -> None:
        """End an element."""
        element = local_name(element)
        self._depth -= 1
        if self._text is not None and (element == "term" or _is_status(element, _STATUS)):
            text, self._text = " ".join("".join(self._text).split()), None
            if element == "term":
                self._term = text
            else:
                self._unwanted = bool(_UNWANTED.search(text))
        elif element in _TERM and self._term:
            if len(self._terms) == MAX_TERMS:
                raise self.error(f"a concept of more than {MAX_TERMS} terms")
            self._terms.append(_Term(self._tag, self._term, self._unwanted))
            self._term = ""
        elif element in _CONCEPT:
            self._add_concept()

    def characters(self, data: str) -> None:
        """Take some text."""
        if self._text is None:
            return
        self._text.append(data)
        if sum(map(len, self._text)) > MAX_CHARACTERS:
            raise self.error(f"a term of more than {MAX_CHARACTERS:,} characters")

    def _add_concept(self) -> None:
        tags = sorted({term.tag for term in self._terms})
        self.tags.update(tags)
        src, tgt = (
            {tags[index] for index in best_matches(language, tags)} for language in self._languages
        )
        sources = tuple(term.text for term in self._terms if term.tag in src)
        targets = tuple(t.text for t in self._terms if t.tag in tgt and not t.unwanted)
        unwanted = tuple(t.text for t in self._terms if t.tag in tgt and t.unwanted)
        if sources and (targets or unwanted):
            self.complete += 1
            self.items.append(Concept(self._start_line, sources, targets, unwanted))
