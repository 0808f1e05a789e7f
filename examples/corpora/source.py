"""Read a file from any byte on, by HTTP or from a folder."""

import http
import http.client
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedIOBase
from typing import cast

TIMEOUT = 60.0
"""Seconds without a byte after which a connection counts as broken."""

_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")


class Unavailable(Exception):
    """Nothing can be read from this source now.

    :param missing: True if the file does not exist there, so that retrying cannot help.
    """

    def __init__(self, reason: str, missing: bool = False) -> None:
        super().__init__(reason)
        self.missing = missing


@dataclass(frozen=True)
class Answer:
    """An open file: `stream` begins at the byte `start`; `total` is the file's size, if known."""

    stream: BufferedIOBase | None
    start: int
    total: int | None


@contextmanager
def opened(url: str, start: int = 0) -> Iterator[Answer]:
    """Open the file at a URL or path, from a byte on if possible, otherwise from its beginning.

    :raises Unavailable: It cannot be read.
    """
    try:
        if "://" not in url:
            with open(url, "rb") as stream:
                total = os.fstat(stream.fileno()).st_size
                stream.seek(min(start, total))
                yield Answer(stream, stream.tell(), total)
        else:
            with _requested(url, start) as answer:
                yield answer
    except urllib.error.HTTPError as error:
        error.close()
        missing = 400 <= error.code < 500 and error.code not in (408, 416, 429)
        raise Unavailable(f"HTTP {error.code} {error.reason}", missing) from error
    except urllib.error.URLError as error:
        raise Unavailable(_reason(error.reason)) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        missing = isinstance(error, FileNotFoundError | ValueError)
        raise Unavailable(_reason(error), missing) from error


@contextmanager
def _requested(url: str, start: int) -> Iterator[Answer]:
    headers = {"User-Agent": "nmtkit-examples"} | ({"Range": f"bytes={start}-"} if start else {})
    host = urllib.parse.urlsplit(url).hostname
    local = host in ("localhost", "127.0.0.1", "::1")
    proxies: dict[str, str] | None = {} if local else None  # None: use those of the environment
    opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies))
    try:
        answer = opener.open(urllib.request.Request(url, headers=headers), None, TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not start:
            raise
        with error:  # the file ends at `start` or before: it is complete, or another one
            yield Answer(None, start, _range(error.headers.get("Content-Range"))[1])
        return
    with answer:
        if answer.status == http.HTTPStatus.PARTIAL_CONTENT:
            begin, total = _range(answer.headers.get("Content-Range"))
            yield Answer(cast(BufferedIOBase, answer), start if begin is None else begin, total)
        else:
            length = answer.headers.get("Content-Length")
            yield Answer(cast(BufferedIOBase, answer), 0, int(length) if length else None)


def _range(header: str | None) -> tuple[int | None, int | None]:
    """Return first byte and size of a Content-Range, each None if absent."""
    match = _CONTENT_RANGE.match(header or "")
    if not match:
        return None, None
    first, total = match.groups()
    return int(first) if first else None, int(total) if total != "*" else None


def _reason(reason: object) -> str:
    return getattr(reason, "strerror", None) or str(reason) or type(reason).__name__


def read_all(url: str, limit: int) -> bytes:
    """Read a small file.

    :raises Unavailable: It cannot be read, or has more than `limit` bytes.
    """
    with opened(url) as answer:
        content = answer.stream.read(limit + 1) if answer.stream else b""
    if len(content) > limit:
        raise Unavailable(f"more than {limit:,} bytes", missing=True)
    if answer.total is not None and len(content) < answer.total:
        raise Unavailable(f"connection lost after {len(content):,} of {answer.total:,} bytes")
    return content
