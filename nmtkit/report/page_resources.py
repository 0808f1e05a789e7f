"""Style sheet and scripts of the HTML pages."""

from importlib import resources

SCRIPTS = (
    "data.js",
    "selection.js",
    "elements.js",
    "details.js",
    "sentence.js",
    "alignment.js",
    "histogram.js",
    "controls.js",
)
"""Parts of the report's script, joined into one function in this order."""


def page_style() -> str:
    """Return the style sheet of all pages."""
    return _resource("page.css")


def page_script() -> str:
    """Return the report's script, its parts joined into one function."""
    parts = "\n".join(_resource(f"script/{file}") for file in SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}\n}})();\n'


def _resource(file: str) -> str:
    return resources.files("nmtkit.report").joinpath(file).read_text(encoding="utf-8")
