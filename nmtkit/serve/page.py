"""The page of `nmtkit serve`: one HTML file, with its style and script, that fetches nothing else.

Its Content-Security-Policy allows this style and script alone, by their checksums, and connections
to the server that it comes from.
"""

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources

SCRIPTS = (
    *("connection.js", "lines.js", "panes.js", "alternatives.js"),
    *("glossary.js", "files.js", "preferences.js", "editing.js", "page.js"),
)
"""Parts of the script, in this order; they share one scope."""


@dataclass(frozen=True)
class Page:
    """HTML of the page.

    html: UTF-8. headers: HTTP headers that must go with it.
    """

    html: bytes
    headers: dict[str, str]


@cache
def load_page() -> Page:
    """Join the files of the page."""
    style = _resource("page.css")
    parts = "\n".join(_resource(name) for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{parts}\n}})();\n'
    page = _resource("page.html").replace("{{style}}", style).replace("{{script}}", script)
    headers = {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": _policy(style, script),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-cache",
    }
    return Page(page.encode(), headers)


def _resource(name: str) -> str:
    return (resources.files("nmtkit.serve") / "web" / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return a policy that allows this style, this script, and this server."""
    return (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)};"
        " connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _source(text: str) -> str:
    """Return the source expression of CSP that allows an inline text."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
