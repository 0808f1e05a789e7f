"""Translated files, kept in memory for their client to fetch."""

import asyncio
import secrets
from collections import OrderedDict
from typing import NamedTuple

KEPT_SECONDS = 600.0
"""Time for which a file is kept."""

MAX_BYTES = 256 << 20
"""Bytes of all files that are kept; beyond, the oldest go."""


class Download(NamedTuple):
    """A file: its name and its content."""

    name: str
    data: bytes


class Downloads:
    """Files by tokens that nobody can guess."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, Download] = OrderedDict()

    def add(self, name: str, data: bytes) -> str:
        """Keep a file, and return its token."""
        token = secrets.token_urlsafe(24)
        self._files[token] = Download(name, data)
        asyncio.get_running_loop().call_later(KEPT_SECONDS, self._files.pop, token, None)
        while len(self._files) > 1 and self._bytes > MAX_BYTES:
            self._files.popitem(last=False)
        return token

    def get(self, token: str) -> Download | None:
        """Return the file of a token, or None if there is none any more."""
        return self._files.get(token)

    @property
    def _bytes(self) -> int:
        return sum(len(file.data) for file in self._files.values())
