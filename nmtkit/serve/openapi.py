"""The description of the API in OpenAPI, and a page of it that needs no script."""

from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

import nmtkit
from nmtkit.serve.json_response import ASCIIResponse
from nmtkit.serve.policy import policy_of
from nmtkit.serve.public_url import PublicUrl
from nmtkit.serve.service import Service
from nmtkit.serve.settings import Limits

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer", "minimum": 0}
FLAG: Schema = {"type": "boolean"}
TEXTS: Schema = {"type": "array", "items": TEXT}

ERRORS = {
    "400": "The request is not as it should be; `error` says what is wrong.",
    "403": "A key is missing or wrong, or a page of another server has asked.",
    "408": "The request came too slowly, or took too long.",
    "413": "Too many bytes, characters or lines.",
    "422": "The file could not be translated.",
    "429": "Too many requests; Retry-After says how many seconds to wait.",
    "500": "An error of the server; its log says more.",
    "501": "This server detects no languages.",
    "503": "Too much to do, or a model is not there; Retry-After says how many seconds to wait.",
}


def _field(schema: Schema, text: str) -> Schema:
    return {**schema, "description": text}


def _or_list(schema: Schema) -> Schema:
    """Return the schema of what belongs to a text, or to each text of a list."""
    return {"anyOf": [schema, {"type": "array", "items": schema}]}


def _object(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


KEY = _field(TEXT, "A key, if the server needs one.")
SOURCE = _field(TEXT, "Language of the text, or `auto`.")
TARGET = _field(TEXT, "Language of the translation.")
THROUGH = {"type": "object", "additionalProperties": TEXT}
LANGUAGE = _object(
    code=TEXT,
    name=TEXT,
    targets=TEXTS,
    through=_field(THROUGH, "Of targets without a model: the language through which they go."),
)
GLOSSARY = _field(TEXT, "Name of a glossary of the server.")
DETECTION = _object(language=TEXT, confidence=_field({"type": "number"}, "In percent."))

TRANSLATE = _object(
    ("q", "source", "target"),
    q=_field(_or_list(TEXT), "A text, or a list of texts. Each line is a sentence."),
    source=SOURCE,
    target=TARGET,
    format=_field({**TEXT, "enum": ["text", "html", "xml"]}, "With markup, tags are kept."),
    alternatives=_field(
        {**NUMBER, "maximum": Limits().alternatives}, "How many further translations to give."
    ),
    glossary=GLOSSARY,
    terms=_field(
        {"type": "array", "items": {**TEXTS, "minItems": 2, "maxItems": 2}},
        "Pairs of a term and its translations, separated by `|`. They need a model of the pair.",
    ),
    confidence=_field(FLAG, "Tell how sure the model is."),
    api_key=KEY,
)

TRANSLATED = _object(
    translatedText=_or_list(TEXT),
    detectedLanguage=_field(_or_list(DETECTION), "With source `auto`; a list if `q` is one."),
    alternatives=_field(_or_list(TEXTS), "If asked for; a list of lists if `q` is a list."),
    confidence=_field(
        _or_list({"type": ["number", "null"]}),
        "If asked for: of the most doubtful line, or null; a list if `q` is one.",
    ),
    missingTerms=_field(
        _or_list(TEXTS), "Terms whose translations it lacks; a list of lists if `q` is a list."
    ),
)

FILE = _object(
    ("file", "source", "target"),
    file={"type": "string", "format": "binary"},
    source=SOURCE,
    target=TARGET,
    glossary=GLOSSARY,
    api_key=KEY,
)

PATHS: dict[str, tuple[str, str, Schema | None, Schema]] = {
    "/translate": ("post", "Translate a text", TRANSLATE, TRANSLATED),
    "/detect": (
        "post",
        "Detect the language of a text",
        _object(("q",), q=TEXT, api_key=KEY),
        {"type": "array", "items": DETECTION},
    ),
    "/languages": ("get", "List the languages", None, {"type": "array", "items": LANGUAGE}),
    "/translate_file": ("post", "Translate a file", FILE, _object(translatedFileUrl=TEXT)),
    "/glossaries": ("get", "List the names of the glossaries", None, TEXTS),
    "/frontend/settings": ("get", "What clients ask for before they begin", None, _object()),
    "/health": ("get", "Whether the server runs", None, _object(status=TEXT)),
    "/ready": ("get", "Whether the models are loaded", None, _object(ready=FLAG, version=TEXT)),
}
"""Path -> method, summary, body and answer."""

OTHERS = (
    ("/translate (WebSocket)", "Marian's protocol: a message of lines in, one of as many out."),
    ("/stream (WebSocket)", "Translations with alignments, line by line, in JSON."),
    ("/RPC2", "Moses's XML-RPC: translate a struct with text."),
    ("/metrics", "Figures for Prometheus."),
)

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #8888;"
    "text-align:left;padding:.3rem .8rem .3rem 0;vertical-align:top}code{font-size:.95em}"
    ":root{color-scheme:light dark}"
)


class OpenApi:
    """The endpoints of the description.

    :param service: of the server.
    """

    def __init__(self, service: Service) -> None:
        self._spec = specification(service.settings.public_url)
        self._page = page_of(self._spec)

    def routes(self) -> list[Route]:
        """Return the routes; `/spec` is where LibreTranslate has its description."""
        return [
            Route("/docs", self.page, methods=["GET"]),
            Route("/openapi.json", self.spec, methods=["GET"]),
            Route("/spec", self.spec, methods=["GET"]),
        ]

    async def spec(self, request: Request) -> Response:
        """Return the description in JSON."""
        return ASCIIResponse(self._spec)

    async def page(self, request: Request) -> Response:
        """Return the description as a page."""
        headers = {"content-security-policy": policy_of(self._page)}
        return HTMLResponse(self._page, headers=headers)


def specification(public_url: PublicUrl | None = None) -> Schema:
    """Return the description in OpenAPI 3.1, of a server with this address."""
    paths = {}
    for path, (method, summary, body, answer) in PATHS.items():
        operation: Schema = {"summary": summary, "responses": _responses(answer)}
        if body is not None:
            kinds = ["application/json", "application/x-www-form-urlencoded"]
            kinds = ["multipart/form-data"] if path == "/translate_file" else kinds
            content = {kind: {"schema": body} for kind in kinds}
            operation["requestBody"] = {"required": True, "content": content}
        paths[path] = {method: operation}
    info = {"title": "nmtkit serve", "version": nmtkit.__version__}
    servers = {"servers": [{"url": public_url.base}]} if public_url is not None else {}
    return {"openapi": "3.1.0", "info": info, **servers, "paths": paths}


def _responses(answer: Schema) -> Schema:
    def content(schema: Schema) -> Schema:
        return {"application/json": {"schema": schema}}

    errors = {
        status: {"description": text, "content": content(_object(error=TEXT))}
        for status, text in ERRORS.items()
    }
    return {"200": {"description": "The answer.", "content": content(answer)}, **errors}


def page_of(spec: Schema) -> str:
    """Return a page that shows a description."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width, initial-scale=1">'
        "<title>API of nmtkit serve</title>",
        f"<style>{STYLE}</style><h1>API of nmtkit serve</h1>",
        "<p>LibreTranslate's API, and more. Fields go into JSON, a form, or the query."
        ' <a href="openapi.json">OpenAPI</a></p>',
    ]
    for path, operations in spec["paths"].items():
        for method, operation in operations.items():
            parts.append(f"<h2><code>{method.upper()} {escape(path)}</code></h2>")
            parts.append(f"<p>{escape(operation['summary'])}.</p>")
            content = operation.get("requestBody", {}).get("content", {})
            for schema in list(content.values())[:1]:
                parts.append(_table("Fields", schema))
            parts.append(_table("Answer", _answer_of(operation)))
    rows = "".join(_row(name, text) for name, text in OTHERS)
    parts.append(f"<h2>Others</h2><table>{rows}</table>")
    rows = "".join(_row(status, text) for status, text in ERRORS.items())
    parts.append(f"<h2>Errors</h2><table>{rows}</table></html>")
    return "".join(parts)


def _answer_of(operation: Schema) -> Schema:
    schema: Schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    items: Schema = schema.get("items", schema)
    return items


def _table(title: str, schema: Schema) -> str:
    """Return a table of the fields of an object, or nothing."""
    required = schema.get("required", ())
    rows = "".join(
        _row(name, field.get("description", "") + (" Required." if name in required else ""))
        for name, field in schema.get("properties", {}).items()
    )
    return f"<table><tr><th>{title}<th></tr>{rows}</table>" if rows else ""


def _row(name: str, text: str) -> str:
    return f"<tr><td><code>{escape(name)}</code><td>{escape(text)}</tr>"
