"""Read the SGML of WMT's test sets: documents of segments, one sentence each.

    <srcset setid="newstest2014" srclang="any">
    <doc sysid="ref" docid="..." genre="news" origlang="fr">
    <p>
    <seg id="1">Spectacular Wingsuit Jump Over Bogota</seg>

Only text inside segments counts; XML entities and character references are replaced, spaces at both
ends and line ends inside are removed.
"""

import html
import re
from typing import NamedTuple

_TAG = re.compile(r"<doc\b([^>]*)>|<seg\b([^>]*)>(.*?)</seg\s*>", re.DOTALL | re.IGNORECASE)
_ATTRIBUTE = r"""\b{}\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))"""
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|#\d+|#[xX][0-9a-fA-F]+);")
_LINE_END = re.compile(r"\s*[\r\n]\s*")


class Segment(NamedTuple):
    """One sentence with its document and its number there."""

    document: str
    number: str
    text: str


def segments(sgm: str) -> list[Segment]:
    """Return the segments of a file in order."""
    document = ""
    segment_list = []
    for document_tag, segment_tag, content in _TAG.findall(sgm):
        if document_tag:
            document = _attribute(document_tag, "docid")
        else:
            segment_list.append(Segment(document, _attribute(segment_tag, "id"), _text(content)))
    return segment_list


def _attribute(tag: str, name: str) -> str:
    match = re.search(_ATTRIBUTE.format(name), tag, re.IGNORECASE)
    return next((value for value in match.groups() if value is not None), "") if match else ""


def _text(content: str) -> str:
    joined = _LINE_END.sub(" ", content.strip())
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), joined)
