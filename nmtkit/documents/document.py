"""A file in parts: segments to be translated, and all that is kept between them."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from nmtkit.documents.encoding import Encoding
from nmtkit.io.language_tags import best_matches
from nmtkit.text.languages import base_language
from nmtkit.text.sentences import Lines

_UNREADABLE = re.compile("[\ud800-\udfff]")
"""Code points that stand for bytes that cannot be decoded."""


class Edit(NamedTuple):
    """New text in place of what stands between two offsets."""

    start: int
    end: int
    text: str


class Syntax(StrEnum):
    """What is markup in a segment."""

    TEXT = "text"
    ENTITIES = "entities"
    HTML = "html"
    XHTML = "xhtml"
    XML = "xml"
    MARKDOWN = "markdown"
    SUBTITLE = "subtitle"


_TAG = re.compile(r"</?[A-Za-z][^<>]*>|</[0-9]{1,3}>|<[0-9]{1,3}\s*/>|&[a-z]\w*;")


def syntax_of(text: str) -> Syntax:
    """Return the syntax of a text in a format that does not say: HTML if it has a tag."""
    return Syntax.HTML if _TAG.search(text) else Syntax.TEXT


Write = Callable[[str, Sequence[Edit]], Iterable[Edit]]
"""Returns what a translation changes in the file, given the changes inside of the segment."""

Wrap = Callable[[str, str], str]
"""Returns a translation with line breaks, given the sentence with its own."""


@dataclass(frozen=True)
class Segment:
    """A part of a file that is translated by itself.

    line: where it begins, from 1. source: its text, as it is written. syntax: what is markup in it.
    write: see `Write`. lines: what line breaks mean. wrap: how a sentence with line breaks is
    wrapped again; by default it becomes one line. inner: segments within it.
    accelerators: the signs that may mark a letter as an accelerator key. number: for which `#`
    stands, in a variant of a message of ICU. labels: of references in Markdown.
    """

    line: int
    source: str
    syntax: Syntax
    write: Write
    lines: Lines = Lines.FOLD
    wrap: Wrap | None = None
    inner: Sequence["Segment"] = ()
    accelerators: Sequence[str] = ()
    number: str = ""
    labels: frozenset[str] = frozenset()

    @property
    def is_readable(self) -> bool:
        """Return whether all of its bytes could be decoded."""
        return not _UNREADABLE.search(self.source)


@dataclass(frozen=True)
class Document:
    """A file that has been parsed.

    warnings: of what cannot be translated, with their lines. references: characters that the
    encoding lacks can be written as character references.
    """

    text: str
    encoding: Encoding
    segments: Sequence[Segment]
    warnings: Sequence[tuple[int, str]] = ()
    references: bool = False

    def write(self, edits: Iterable[Edit]) -> bytes:
        """Return the bytes of the file with changes; equal changes are made once.

        :raises DataError: the encoding of the file lacks a character of a translation.
        """
        return self.encoding.encode(apply_edits(self.text, edits, self._writable))

    def _writable(self, text: str) -> str:
        return self.encoding.writable(text, self.references)


def apply_edits(
    text: str, edits: Iterable[Edit], writable: Callable[[str], str] = str, offset: int = 0
) -> str:
    """Return a text with changes that do not overlap.

    :param offset: of the text in the file.
    """
    parts: list[str] = []
    position = 0
    for start, end, new in sorted(set(edits)):
        parts += [text[position : start - offset], writable(new)]
        position = end - offset
    return "".join([*parts, text[position:]])


@dataclass(frozen=True)
class DocumentOptions:
    """How files are translated.

    src_language, tgt_language: of the text. columns: of TSV, the one to translate and the one that
        gets the translation, from 1.
    reviewed: mark translations as done, not as in need of a review.
    retranslate: translate again what the file says is in need of a review.
    """

    src_language: str = "en"
    tgt_language: str = "fr"
    columns: tuple[int, int] = (1, 1)
    reviewed: bool = False
    retranslate: bool = False


def other_languages(
    options: DocumentOptions, source: str | None, target: str | None
) -> Iterator[str]:
    """Yield a warning for each side on which a file names another language than the model's.

    :param source: the language that the file names, None if it does not; so `target`.
    """
    for side, tag, way, language in (
        ("source", source, "from", options.src_language),
        ("target", target, "into", options.tgt_language),
    ):
        if tag and language and not best_matches(base_language(language), [tag]):
            yield f"the {side} language is {tag[:50]}, but the model translates {way} {language}"


@dataclass(frozen=True)
class Lookup:
    """Numbers of lines by offsets in a text."""

    starts: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, text: str) -> "Lookup":
        """Return the line numbers of a text."""
        starts = [0]
        position = text.find("\n")
        while position >= 0:
            starts.append(position + 1)
            position = text.find("\n", position + 1)
        return cls(starts)

    def line(self, offset: int) -> int:
        """Return the number of the line of an offset, from 1."""
        return bisect_right(self.starts, offset)
