"""Translation memories in TMX 1.4, read as a stream: one pair for each translation unit.

    <tu><tuv xml:lang="en"><seg>Hello</seg></tuv><tuv xml:lang="fr"><seg>Salut</seg></tuv></tu>

Of each unit the first variant that fits each language best is taken. A segment becomes one line:
line breaks and tabs are blanks. Native codes, in `bpt`, `ept`, `it`, `ph` and `ut`, are left out,
with everything in them; text in `hi` and in unknown elements stays.

A document type is accepted and never fetched. Declarations of entities are refused, so that no text
comes from another file and none grows beyond what the file holds.
"""

import logging
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache, partial

from nmtkit.errors import DataError
from nmtkit.io.language_tags import best_matches
from nmtkit.io.text_content import log_once
from nmtkit.io.xml_reader import XmlReader

MAX_CHARACTERS = 10_000_000
"""Characters in the segments of a unit."""

MAX_DEPTH = 100
"""Elements inside one another."""

MAX_VARIANTS = 1000
"""Variants of a unit, about as many as there are languages in the largest collections."""

_CODES = {"bpt", "ept", "it", "ph", "ut"}
"""Elements that hold codes of the format that the text comes from."""

_BREAKS = {"lb", "pb", "cb", "x-lb", "x-br", "br"}
"""Types of codes that separate words: breaks of a line, a page, a column."""

_MARKUP = re.compile(r"\s*(<\?xml\s|<!--|<!DOCTYPE\s+tmx|<tmx[\s>])", re.IGNORECASE)

_WHITESPACE = re.compile(r"[ \t\r\n]*[\t\r\n][ \t\r\n]*")

_ENCODINGS = (
    ("utf-16", (b"\xff\xfe", b"\xfe\xff")),
    ("utf-16-le", (b"<\0",)),
    ("utf-16-be", (b"\0<",)),
)

_UNIT = "a unit of TMX is <tu><tuv xml:lang=...><seg>text</seg></tuv>...</tu>"

NumberedPair = tuple[int, bytes, bytes]
"""The number of a line, and the two sides of the pair there."""


def is_tmx(head: bytes) -> bool:
    """Return whether the first bytes of a file are XML, in UTF-8 or UTF-16."""
    for encoding, starts in _ENCODINGS:
        if head.startswith(starts):
            even = head[: len(head) // 2 * 2]
            return bool(_MARKUP.match(even.decode(encoding, errors="replace").lstrip("\ufeff")))
    return bool(_MARKUP.match(head.decode("utf-8", errors="replace").lstrip("\ufeff")))


def read_tmx(
    chunks: Iterator[bytes], name: str, languages: tuple[str, str]
) -> Iterator[NumberedPair]:
    """Yield the pairs of a translation memory, each with the number of the line of its unit.

    :param chunks: the bytes of the file, decompressed.
    :param name: of the file, for messages.
    :raises DataError: the file is not well-formed, is not TMX, declares entities, or has no unit in
        both languages.
    """
    reader = _Reader(name, languages)
    yield from reader.read(chunks)
    reader.log_skipped()


class _Reader(XmlReader[NumberedPair]):
    """The state of a document that is being parsed.

    variants: tags and texts of the current unit.
    """

    def __init__(self, name: str, languages: tuple[str, str]) -> None:
        super().__init__(name, "TMX")
        self._languages = languages
        self._variants: list[tuple[str, str]] = []
        self._open: list[str] = []
        self._text: list[str] | None = None  # of the segment, if in one
        self._length = 0
        self._codes = 0  # open elements of native codes
        self._tag = ""
        self._line = 0
        self._found: Counter[tuple[str, ...]] = Counter()
        self._choose = lru_cache(maxsize=MAX_VARIANTS)(partial(_choose, languages))
        self._count = self._skipped = 0

    def log_skipped(self) -> None:
        """Log the number of units without one of the languages.

        :raises DataError: no unit has both.
        """
        wanted = " and ".join(self._languages)
        if self._skipped == self._count:
            counts: Counter[str] = Counter()
            for tags, units in self._found.items():
                counts.update({tag: units for tag in tags})
            found = ", ".join(f"{tag} ({count:,})" for tag, count in counts.most_common(10))
            raise DataError(
                f"{self.name}: no unit has {wanted}; the languages of its {self._count:,} units"
                f" are {found or 'none'}"
            )
        if self._skipped:
            skipped = f"{self._skipped:,} of {self._count:,} units skipped"
            log_once(self.name, f"{skipped}, which do not have both {wanted}", logging.WARNING)

    def start(self, element: str, attributes: dict[str, str]) -> None:
        if not self._open and element != "tmx":
            raise self.error(f"the document is <{element[:50]}>, not <tmx>; give a TMX file")
        self._open.append(element)
        if len(self._open) > MAX_DEPTH:
            raise self.error(f"more than {MAX_DEPTH} elements inside one another; {_UNIT}")
        if self._text is not None:
            if element in _CODES:
                self._codes += 1
                if attributes.get("type") in _BREAKS:
                    self._text.append(" ")
        elif element == "tu":
            self._variants, self._length = [], 0
            self._line = self.line
        elif element == "tuv":
            self._tag = attributes.get("xml:lang") or attributes.get("lang") or ""
        elif element == "seg" and self._open[-2:-1] == ["tuv"]:
            self._text = []

    def end(self, element: str) -> None:
        self._open.pop()
        if self._text is not None:
            if element in _CODES:
                self._codes -= 1
            elif element == "seg" and self._open[-1:] == ["tuv"]:
                self._add_variant("".join(self._text))
                self._text = None
        elif element == "tu":
            self._add_unit()

    def characters(self, data: str) -> None:
        if self._text is None or self._codes:
            return
        self._text.append(data)
        self._length += len(data)
        if self._length > MAX_CHARACTERS:
            raise self.error(f"a unit of more than {MAX_CHARACTERS:,} characters; {_UNIT}")

    def _add_variant(self, text: str) -> None:
        if len(self._variants) == MAX_VARIANTS:
            raise self.error(f"a unit of more than {MAX_VARIANTS} variants; {_UNIT}")
        if any(blank in text for blank in "\n\t\r"):
            text = _WHITESPACE.sub(" ", text)
        self._variants.append((self._tag, text.strip(" ")))

    def _add_unit(self) -> None:
        """Add the pair of the unit that ends here, or count that it has none."""
        self._count += 1
        tags = tuple(tag for tag, _ in self._variants)
        if len(self._found) < MAX_VARIANTS:
            self._found[tags] += 1
        indices = self._choose(tags)
        if indices is None:
            self._skipped += 1
            return
        src, tgt = (self._variants[index][1].encode() for index in indices)
        self.items.append((self._line, src, tgt))


def _choose(languages: tuple[str, str], tags: tuple[str, ...]) -> tuple[int, int] | None:
    """Return the indices of the variants that fit the two languages best, or None."""
    src, tgt = (best_matches(language, tags)[:1] for language in languages)
    return (src[0], tgt[0]) if src and tgt and src != tgt else None
