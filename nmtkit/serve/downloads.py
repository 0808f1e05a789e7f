"""Translated files, kept in memory for their client to fetch."""

import secrets
import time
from collections import OrderedDict
from typing import NamedTuple

KEPT_SECONDS = 600.0
"""Time for which a file can be fetched."""

MAX_BYTES = 256 << 20
"""Bytes of all files that are kept; beyond, the oldest go."""


class Download(NamedTuple):
    """A file: its name, its content, and when it was made."""

    name: str
    data: bytes
    made: float


class Downloads:
    """Files by tokens that nobody can guess."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, Download] = OrderedDict()

    def add(self, name: str, data: bytes) -> str:
        """Keep a file, and return its token."""
        self._forget()
        token = secrets.token_urlsafe(24)
        self._files[token] = Download(name, data, time.monotonic())
        while len(self._files) > 1 and self._bytes > MAX_BYTES:
            self._files.popitem(last=False)
        return token

    def get(self, token: str) -> Download | None:
        """Return the file of a token, or None if there is none any more."""
        self._forget()
        return self._files.get(token)

    @property
    def _bytes(self) -> int:
        return sum(len(file.data) for file in self._files.values())

    def _forget(self) -> None:
        oldest = time.monotonic() - KEPT_SECONDS
        for token in [t for t, file in self._files.items() if file.made < oldest]:
            del self._files[token]
