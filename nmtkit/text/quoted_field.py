"""Fields of tab-separated text as spreadsheets write those that have quotation marks."""

import re

_QUOTED = re.compile(r'"((?:[^"]|"")*+)"')


def unquoted(field: str) -> str | None:
    """Return what stands in the quotation marks around a field; None if there are none.

    Quotation marks within are doubled there, as in `"a ""b"" c"`. See `quoted`.
    """
    found = _QUOTED.fullmatch(field)
    return found[1].replace('""', '"') if found else None


def quoted(text: str) -> str:
    """Return a text as a field in quotation marks."""
    doubled = text.replace('"', '""')
    return f'"{doubled}"'
