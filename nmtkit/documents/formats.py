"""The formats of files that are translated in place."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from nmtkit.documents.archive import ArchiveDocument
from nmtkit.documents.document import Document, DocumentOptions
from nmtkit.documents.epub import parse_epub
from nmtkit.documents.html import parse_html
from nmtkit.documents.markdown import parse_markdown
from nmtkit.documents.messages import with_variants
from nmtkit.documents.odf import parse_odp, parse_odt
from nmtkit.documents.ooxml import parse_docx, parse_pptx
from nmtkit.documents.po import parse_po
from nmtkit.documents.srt import parse_srt
from nmtkit.documents.tmx import parse_tmx
from nmtkit.documents.tsv import parse_tsv
from nmtkit.documents.xliff import parse_xliff
from nmtkit.documents.xlsx import parse_xlsx
from nmtkit.errors import ConfigError

FORMATS: Mapping[str, tuple[str, ...]] = {
    "html": (".html", ".htm", ".xhtml"),
    "po": (".po", ".pot"),
    "xliff": (".xlf", ".xliff"),
    "tmx": (".tmx",),
    "tsv": (".tsv", ".tab"),
    "srt": (".srt", ".vtt"),
    "md": (".md", ".markdown", ".mdx"),
    "docx": (".docx", ".docm", ".dotx"),
    "odt": (".odt", ".ott"),
    "pptx": (".pptx", ".pptm", ".ppsx", ".potx"),
    "odp": (".odp", ".otp"),
    "epub": (".epub",),
    "xlsx": (".xlsx", ".xlsm", ".xltx"),
}
"""Format -> endings of the names of its files."""

AnyDocument = Document | ArchiveDocument

_PARSERS: Mapping[str, Callable[[bytes, str, DocumentOptions], AnyDocument]] = {
    "html": parse_html,
    "po": parse_po,
    "xliff": parse_xliff,
    "tmx": parse_tmx,
    "tsv": parse_tsv,
    "srt": parse_srt,
    "md": parse_markdown,
    "docx": parse_docx,
    "odt": parse_odt,
    "pptx": parse_pptx,
    "odp": parse_odp,
    "epub": parse_epub,
    "xlsx": parse_xlsx,
}


def format_of(name: str) -> str | None:
    """Return the format of a file by the ending of its name, or None."""
    lower = name.lower()
    return next((format for format, endings in FORMATS.items() if lower.endswith(endings)), None)


def parse_document(data: bytes, format: str, name: str, options: DocumentOptions) -> AnyDocument:
    """Find the segments of a file.

    :param format: one of `FORMATS`. name: of the file, for messages.
    :raises ConfigError: there is no such format.
    :raises DataError: the file cannot be read as one of this format; the message names it.
    """
    if format not in _PARSERS:
        raise ConfigError(f"no format is called '{format}'; there are {', '.join(FORMATS)}")
    document = _PARSERS[format](data, name, options)
    return replace(document, segments=[with_variants(one) for one in document.segments])
