"""The page at `/`, if there is one, with a policy that lets only its own script and style run."""

import base64
import hashlib
import re
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

PAGE = Path(__file__).with_name("page.html")

_INLINE = re.compile(r"<(script|style)(?:\s[^>]*)?>(.*?)</\1\s*>", re.DOTALL | re.IGNORECASE)

NO_PAGE = (
    "<!doctype html><title>nmtkit serve</title>"
    '<p>This server translates. <a href="docs">Its API</a>.</p>'
)


class Pages:
    """Pages that are part of the package, read once."""

    def __init__(self) -> None:
        self._page = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else NO_PAGE
        self._policy = policy_of(self._page)

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [Route("/", self.page, methods=["GET"])]

    async def page(self, request: Request) -> Response:
        """Return the page."""
        headers = {"content-security-policy": self._policy, "cache-control": "no-cache"}
        return HTMLResponse(self._page, headers=headers)


def policy_of(html: str) -> str:
    """Return a policy under which a page may run its own inline scripts and styles alone."""
    hashes: dict[str, list[str]] = {"script": [], "style": []}
    for tag, content in _INLINE.findall(html):
        digest = base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode()
        hashes[tag.lower()].append(f"'sha256-{digest}'")
    parts = ["default-src 'none'", "connect-src 'self'", "img-src 'self' data:"]
    parts += [f"{tag}-src {' '.join(found)}" for tag, found in hashes.items() if found]
    parts += ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]
    return "; ".join(parts)
