"""Addresses on the command line: that of the server behind a proxy, and origins of web pages."""

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from nmtkit.errors import ConfigError

PORTS = {"http": 80, "https": 443}

OTHER_ORIGINS = ("*", "null")
"""What --cors takes for any page, and for pages without an origin, as from files."""

_ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]+)?")


class PublicUrl(NamedTuple):
    """An address: `https://example.org`, perhaps with a port and a path.

    base: without a slash at its end. host: its name. origin: that browsers send for its pages.
    """

    base: str
    host: str
    origin: str


def parse_public_url(text: str) -> PublicUrl:
    """Return the parts of an address.

    :raises ConfigError: it is not an address of HTTP, or has parts that no address of a server has.
    """
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _wrong(text) from None
    is_plain = text.isascii() and text.isprintable() and " " not in text and "\\" not in text
    if not is_plain or parts.scheme not in PORTS or not host or "@" in parts.netloc:
        raise _wrong(text)
    if "?" in text or "#" in text:
        raise _wrong(text)
    origin = _origin(parts.scheme, host, port)
    return PublicUrl(origin + parts.path.rstrip("/"), host, origin)


def parse_origin(text: str) -> str:
    """Return an origin of web pages as browsers send it: `https://example.org`, `null`, or `*`.

    :raises ConfigError: it is not an origin, which has no path.
    """
    if text in OTHER_ORIGINS:
        return text
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or not _ORIGIN.fullmatch(text):
        raise ConfigError(
            f"--cors {text}: not an origin such as https://example.org or http://localhost:8080;"
            " give one without a path, or '*' for any"
        )
    return _origin(parts.scheme, host, port)


def _origin(scheme: str, host: str, port: int | None) -> str:
    name = f"[{host}]" if ":" in host else host
    return (
        f"{scheme}://{name}" if port in (None, PORTS.get(scheme)) else f"{scheme}://{name}:{port}"
    )


def _wrong(text: str) -> ConfigError:
    return ConfigError(
        f"--public-url {text}: not an address such as https://example.org or"
        " https://example.org/translator"
    )
