"""The address under which clients reach the server, if a proxy stands before it."""

from typing import NamedTuple
from urllib.parse import urlsplit

from nmtkit.errors import ConfigError

PORTS = {"http": 80, "https": 443}


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
    name = f"[{host}]" if ":" in host else host
    if port is not None and port != PORTS[parts.scheme]:
        name = f"{name}:{port}"
    origin = f"{parts.scheme}://{name}"
    return PublicUrl(origin + parts.path.rstrip("/"), host, origin)


def _wrong(text: str) -> ConfigError:
    return ConfigError(
        f"--public-url {text}: not an address such as https://example.org or"
        " https://example.org/translator"
    )
