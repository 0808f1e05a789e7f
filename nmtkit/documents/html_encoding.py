"""The encoding that an HTML file declares, read as browsers read it.

The rules are those of https://html.spec.whatwg.org/ ("determining the character encoding") and
https://encoding.spec.whatwg.org/ (labels of encodings).
"""

import re

from nmtkit.documents.encoding import legacy_encoding

_META = re.compile(rb"""<meta\b[^<>]{0,200}?\bcharset\s*=\s*["']?\s*([\w.:-]+)""", re.I)
_XML = re.compile(rb"""<\?xml\b[^<>]{0,200}?\bencoding\s*=\s*["']([\w.:-]+)""")
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)

_HEAD = 4096
"""Bytes in which the encoding is declared."""

_LABELS = {
    "cp1252": "iso-8859-1 iso8859-1 latin1 latin-1 l1 ascii us-ascii x-cp1252",
    "cp1250": "x-cp1250",
    "cp1251": "x-cp1251",
    "cp1254": "iso-8859-9 iso8859-9 latin5 l5 x-cp1254",
    "cp874": "iso-8859-11 iso8859-11 tis-620 windows-874 dos-874",
    "iso8859-8": "iso-8859-8-i iso-8859-8-e logical visual",
    "mac_roman": "macintosh mac x-mac-roman",
    "mac_cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gbk": "gb2312 gb_2312 gb_2312-80 x-gbk chinese",
    "cp949": "euc-kr ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 korean windows-949",
    "cp932": "shift_jis shift-jis sjis x-sjis ms_kanji windows-31j",
    "big5": "x-x-big5 cn-big5",
    # A declaration that can be read as ASCII is not in UTF-16.
    "utf-8": "utf-16 utf-16le utf-16be ucs-2 iso-10646-ucs-2 unicode csunicode unicode-1-1-utf-8",
}
"""Encodings of Python -> labels that it lacks, or takes for an encoding with fewer characters."""

_NO_ENCODINGS = frozenset(["idna", "punycode", "undefined"])
"""Codecs of Python that are no encodings of pages. One takes quadratic time, others fail."""

_ENCODINGS = {label: name for name, labels in _LABELS.items() for label in labels.split()}


def declared_encoding(data: bytes) -> str | None:
    """Return the encoding that an HTML file declares; windows-1252 if it has none and needs one.

    A byte order mark has precedence; `encoding.decode` looks for it.
    """
    head = _COMMENT.sub(b"", data[:_HEAD])
    found = _XML.match(head) or _META.search(head)
    label = found[1].decode("ascii", "replace").lower() if found else ""
    if not label or label in _NO_ENCODINGS:
        return legacy_encoding(data)
    return _ENCODINGS.get(label, label)
