"""The page of `nmtkit serve`: one HTML file, with its style and script, that fetches nothing else.

Its Content-Security-Policy allows this style and script alone, by their checksums, and connections
to the server that it comes from.
"""

from dataclasses import dataclass
from functools import cache
from importlib import resources

from nmtkit.serve.policy import policy_of

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
        "Content-Security-Policy": policy_of(page),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-cache",
    }
    return Page(page.encode(), headers)


def _resource(name: str) -> str:
    return (resources.files("nmtkit.serve") / "web" / name).read_text(encoding="utf-8")
