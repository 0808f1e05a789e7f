"""LibreTranslate's API, as its clients use it.

Facts about it: https://docs.libretranslate.com/ and the OpenAPI description of its server.
"""

import asyncio
import re
from codecs import BOM_UTF8
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from nmtkit.serve.errors import RequestError
from nmtkit.serve.fields import Fields, clean, number_field, text_field
from nmtkit.serve.files import ENDINGS
from nmtkit.serve.json_response import ASCIIResponse
from nmtkit.serve.languages import (
    MIN_CONFIDENCE,
    Detected,
    as_detection,
    detect,
    load_identifier,
    name_of,
)
from nmtkit.serve.lines import count_lines, joined_text, split_text
from nmtkit.serve.results import LineResult
from nmtkit.serve.routes import Pair
from nmtkit.serve.service import Service, while_connected
from nmtkit.serve.task import Task

FRONTEND_TIMEOUT = 500
"""Milliseconds that LibreTranslate's own page waits after a key; its clients expect the entry."""

Translated = tuple[str, list[str], list[LineResult]]
"""A translation, others, and the results of its lines."""

_BLOCK = re.compile(
    r"<(?:p|div|h[1-6]|li|ul|ol|dl|dt|dd|table|tr|td|th|section|article|blockquote|pre|body)\b",
    re.IGNORECASE,
)
"""Tags of what is more than a part of a line."""


class LibreTranslate:
    """The endpoints of LibreTranslate that concern text.

    :param service: of the server.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/translate", self.translate, methods=["POST"]),
            Route("/detect", self.detect, methods=["POST"]),
            Route("/languages", self.languages, methods=["GET"]),
            Route("/frontend/settings", self.settings, methods=["GET"]),
        ]

    async def translate(self, request: Request) -> Response:
        """Translate a text, or each text of a list."""
        service = self._service
        fields = await service.bodies.fields(request)
        client = service.admit(request, fields)
        texts, is_list = _texts(fields)
        alternatives = number_field(fields, "alternatives", service.limits.alternatives)
        task = Task(alternatives=alternatives, markup=service.markup(fields, "format"))
        source, target = text_field(fields, "source"), text_field(fields, "target")
        lines = sum(map(count_lines, texts))
        service.check_size(texts, lines)
        task = service.task(fields, task)
        await load_identifier(source)
        found = [service.languages.pair(source, target, text, task.markup) for text in texts]
        request.state.note = {"characters": sum(map(len, texts)), "lines": lines}
        if service.journal.texts:
            request.state.note["texts"] = texts
        work = self._translated(texts, [pair for pair, _ in found], task, client)
        try:
            translated = await while_connected(request, work)
        except BaseExceptionGroup as errors:  # of several texts of a list
            raise errors.exceptions[0] from None
        detected = [language for _, language in found if language is not None]
        return ASCIIResponse(_answer(translated, detected, is_list, task))

    async def _translated(
        self, texts: list[str], pairs: list[Pair], task: Task, client: str
    ) -> list[Translated]:
        """Return each text's translation, its alternatives, and the results of its lines."""
        pages: dict[Pair, list[int]] = {}
        works = []
        async with asyncio.TaskGroup() as group:
            for number, (text, pair) in enumerate(zip(texts, pairs, strict=True)):
                if _is_page(text, task):
                    pages.setdefault(pair, []).append(number)
                else:
                    work = self._translated_text(text, pair, task, client)
                    works.append(([number], group.create_task(work)))
            for pair, numbers in pages.items():
                work = self._translated_pages([texts[n] for n in numbers], pair, task, client)
                works.append((numbers, group.create_task(work)))
        found = {
            number: result
            for numbers, work in works
            for number, result in zip(numbers, work.result(), strict=True)
        }
        return [found[number] for number in range(len(texts))]

    async def _translated_text(
        self, text: str, pair: Pair, task: Task, client: str
    ) -> list[Translated]:
        """Return the translation of a text, line by line, as a list of one."""
        lines, endings = split_text(text)
        job = self._service.engine.submit(pair, lines, task, client)
        results = await job.all_results()
        text = joined_text((line["text"] for line in results), endings)
        return [(text, _alternatives(results, endings, task), results)]

    async def _translated_pages(
        self, texts: list[str], pair: Pair, task: Task, client: str
    ) -> list[Translated]:
        """Return the translations of pages, in one process for all of them.

        A byte order mark says that they are in UTF-8, whatever they declare.
        """
        contents = [BOM_UTF8 + text.encode("utf-8") for text in texts]
        engine = self._service.engine
        found = await engine.translate_files(pair, "page.html", contents, task, client)
        return [(page.removeprefix(BOM_UTF8).decode("utf-8", "replace"), [], []) for page in found]

    async def detect(self, request: Request) -> Response:
        """Detect the language of a text."""
        service = self._service
        fields = await service.bodies.fields(request)
        service.admit(request, fields)
        text = text_field(fields, "q")
        service.check_size([text], 0)
        await load_identifier()
        found = [as_detection(*one) for one in detect(text)[:5] if one[1] >= MIN_CONFIDENCE]
        return ASCIIResponse(found)

    async def languages(self, request: Request) -> Response:
        """List the languages."""
        return ASCIIResponse(self._service.languages.listing())

    async def settings(self, request: Request) -> Response:
        """Tell what LibreTranslate's clients ask for before they begin."""
        service = self._service
        listing = service.languages.listing()
        first = listing[0]
        target = first["targets"][0]
        return ASCIIResponse(
            {
                "apiKeys": service.needs_keys,
                "charLimit": service.limits.characters,
                "filesTranslation": True,
                "frontendTimeout": FRONTEND_TIMEOUT,
                "keyRequired": service.needs_keys,
                "language": {
                    "source": {"code": first["code"], "name": first["name"]},
                    "target": {"code": target, "name": name_of(target)},
                },
                "suggestions": False,
                "supportedFilesFormat": ENDINGS,
            }
        )


def _is_page(text: str, task: Task) -> bool:
    """Return whether a text has paragraphs and the like, which are no lines."""
    return task.markup == "html" and _BLOCK.search(text) is not None


def _texts(fields: Fields) -> tuple[list[str], bool]:
    """Return the texts of a request, and whether they were a list."""
    value = fields.get("q")
    if not isinstance(value, list):
        return [text_field(fields, "q")], False
    if not all(isinstance(text, str) for text in value):
        raise RequestError(400, "Invalid request: q has an entry that is not a string")
    return [clean(text) for text in value], True


def _alternatives(results: list[LineResult], endings: list[str], task: Task) -> list[str]:
    """Return further translations of a text: the n-th is of the n-th best of each line."""
    count = max((len(line["alternatives"]) for line in results), default=0)
    return [
        joined_text(
            ([line["text"], *line["alternatives"]][min(number, len(line["alternatives"]))]
             for line in results),
            endings,
        )
        for number in range(1, min(count, task.alternatives) + 1)
    ]  # fmt: skip


def _answer(
    translated: list[Translated],
    detected: list[Detected],
    is_list: bool,
    task: Task,
) -> dict[str, Any]:
    """Return the answer as LibreTranslate's clients expect it, and more that was asked for."""
    values: dict[str, list[Any]] = {"translatedText": [text for text, _, _ in translated]}
    if detected:
        values["detectedLanguage"] = [as_detection(*one) for one in detected]
    if task.alternatives:
        values["alternatives"] = [alternatives for _, alternatives, _ in translated]
    if task.confidence:
        values["confidence"] = [_lowest(results) for _, _, results in translated]
    if task.glossary is not None or task.terms:
        values["missingTerms"] = [
            [term for line in results for term in line["missing_terms"]]
            for _, _, results in translated
        ]
    return {name: value if is_list else value[0] for name, value in values.items()}


def _lowest(results: list[LineResult]) -> float | None:
    """Return the confidence of the line that is most doubtful."""
    known = [line["confidence"] for line in results if line.get("confidence") is not None]
    return min(known, default=None)
