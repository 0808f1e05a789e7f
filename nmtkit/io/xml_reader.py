"""XML read as a stream, with nothing fetched and nothing that grows.

A document type is accepted and never fetched. Declarations of entities are refused, so that no text
comes from another file and none grows beyond what the file holds.
"""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar
from xml.parsers import expat

from nmtkit.errors import DataError

MAX_TOKEN = 1 << 20
"""Bytes of a tag, a comment or the like; expat keeps it in memory until it ends."""

_NO_ELEMENT = expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS]


Item = TypeVar("Item")


def local_name(name: str) -> str:
    """Return the name of an element without the prefix of its namespace."""
    return name.rpartition(":")[2]


class XmlReader(Generic[Item]):
    """The state of a document that is being parsed; a format overrides what elements mean.

    items: entries of the document that are complete and were not read yet.

    :param name: of the file, for messages.
    :param kind: the format, for messages: "TMX".
    """

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.items: list[Item] = []
        self._kind = kind
        self._fed = 0
        self._parser = self._new_parser()

    def start(self, element: str, attributes: dict[str, str]) -> None:
        """Begin an element."""

    def end(self, element: str) -> None:
        """End an element."""

    def characters(self, data: str) -> None:
        """Take some text."""

    def _new_parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.EntityDeclHandler = self._refuse_entity
        parser.SkippedEntityHandler = self._refuse_skipped
        parser.ExternalEntityRefHandler = self._refuse_external
        return parser

    def read(self, chunks: Iterable[bytes]) -> Iterator[Item]:
        """Yield the entries of a document as they are complete.

        :param chunks: the bytes of the file, decompressed.
        :raises DataError: see `feed`.
        """
        for chunk in chunks:
            self.feed(chunk)
            yield from self._take()
        self.feed(b"", final=True)
        yield from self._take()

    def parse(self, data: bytes) -> None:
        """Parse a whole document.

        :raises DataError: see `feed`.
        """
        for start in range(0, max(len(data), 1), 1 << 16):
            self.feed(data[start : start + (1 << 16)])
        self.feed(b"", final=True)

    def _take(self) -> list[Item]:
        items, self.items = self.items, []
        return items

    def feed(self, data: bytes, final: bool = False) -> None:
        """Parse further bytes.

        :param final: these are the last ones.
        :raises DataError: the document is not well-formed, declares entities, or cannot be decoded.
        """
        try:
            self._parser.Parse(data, final)
        except expat.ExpatError as error:
            problem = expat.ErrorString(error.code)
            if final and error.code == _NO_ELEMENT:
                problem = "the file ends in the middle"
            raise DataError(
                f"{self.name}:{error.lineno}: not well-formed XML: {problem}, at column"
                f" {error.offset + 1}; fetch the file again, or correct it"
            ) from error
        except (ValueError, LookupError) as error:  # an encoding that Python or expat lacks
            raise DataError(
                f"{self.name}: its encoding cannot be read ({error}); convert it to UTF-8"
            ) from error
        self._fed += len(data)
        if self._fed - self._parser.CurrentByteIndex > MAX_TOKEN:
            raise self.error(f"a tag or comment of more than 1 MiB; is this a {self._kind} file?")

    @property
    def line(self) -> int:
        """Number of the current line, from 1."""
        return self._parser.CurrentLineNumber

    def error(self, problem: str) -> DataError:
        """Return an error with the file and the line."""
        return DataError(f"{self.name}:{self.line}: {problem}")

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise self.error(
            f"declares the entity '{name[:50]}', which {self._kind} does not need; entities are"
            " refused, so replace it by its text"
        )

    def _refuse_skipped(self, name: str, _: bool) -> None:
        raise self.error(f"the entity '{name[:50]}' is not declared; replace it by its text")

    def _refuse_external(self, *_: object) -> int:
        raise self.error("refers to another file; put its text into this one")
