"""Moses's XML-RPC: `translate` of a struct with `text`, as mosesserver answers it at /RPC2.

Facts about it: https://www.statmt.org/moses/?n=Advanced.Moses and http://xmlrpc.com/spec.md.
XML is read by `io/xml_reader.py`: no entity is declared, nothing is fetched.
"""

import itertools
import math
import operator
import re
from bisect import bisect_right
from typing import Any
from xml.sax.saxutils import escape

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from nmtkit.errors import DataError
from nmtkit.io.xml_reader import XmlReader
from nmtkit.serve.errors import RequestError
from nmtkit.serve.fields import clean, number_field
from nmtkit.serve.marian_websocket import pair_of_query
from nmtkit.serve.results import LineResult
from nmtkit.serve.service import Service, while_connected
from nmtkit.serve.task import Task

MAX_DEPTH = 20
"""Elements within elements."""

MAX_VALUES = 1_000
"""Values of a call."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot have."""


class XmlRpc:
    """The endpoint. Its query may name languages: `/RPC2?source=en&target=fr`.

    :param service: of the server.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [Route("/RPC2", self.call, methods=["POST"])]

    async def call(self, request: Request) -> Response:
        """Answer a call; a call that is refused is answered by a fault, as the protocol wants."""
        service = self._service
        try:
            method, values = parse_call(await service.bodies.data(request))
            answer = await self._translated(request, method, values)
        except RequestError as error:
            fault = {"faultCode": error.status, "faultString": error.message}
            wait = {} if error.retry_after is None else {"retry-after": str(error.retry_after)}
            text = f"<methodResponse><fault>{_value(fault)}</fault></methodResponse>"
            return Response(_DECLARATION + text, media_type="text/xml", headers=wait)
        text = f"<methodResponse><params><param>{_value(answer)}</param></params></methodResponse>"
        return Response(_DECLARATION + text, media_type="text/xml")

    async def _translated(self, request: Request, method: str, values: list[Any]) -> Any:
        service = self._service
        fields = values[0] if len(values) == 1 and isinstance(values[0], dict) else None
        if method != "translate" or fields is None or not isinstance(fields.get("text"), str):
            raise RequestError(400, "the method is translate, with a struct that has a text")
        query = dict(request.query_params)
        client = service.admit(request, {**query, **fields})
        text = " ".join(clean(fields["text"]).split("\n"))  # mosesserver translates one line
        service.check_size([text], 1)
        pair = await pair_of_query(service, query, text)
        n_best = number_field(fields, "nbest", service.limits.alternatives)
        wants = {name for name in ("align", "word-align") if name in fields}
        task = Task(alternatives=max(n_best - 1, 0), details=bool(wants))
        job = service.engine.submit(pair, [text], task, client)
        (result,) = await while_connected(request, job.all_results())
        return _answer(text, result, wants, n_best)


def _answer(line: str, result: LineResult, wants: set[str], n_best: int) -> dict[str, Any]:
    """Return what mosesserver's clients know of a translation.

    :param wants: switches of the call; as in mosesserver, their values do not matter.
    """
    answer: dict[str, Any] = {"text": result["text"], **_alignments(line, result, wants)}
    if n_best:
        details = result.get("alternative_details", [{}] * len(result["alternatives"]))
        texts = zip(result["alternatives"], details, strict=True)
        others = [{"text": text, **detail} for text, detail in texts]
        answer["nbest"] = [
            {"hyp": one["text"], **_alignments(line, one, wants), "totalScore": score}
            for one, score in zip([result, *others], result["ranking_scores"], strict=True)
        ][:n_best]
    return answer


def _alignments(line: str, result: LineResult, wants: set[str]) -> dict[str, Any]:
    """Return the alignments of a translation that a call wants."""
    links = _links(line, result) if wants else []
    alignments: dict[str, Any] = {"align": [], "word-align": []}
    for target, group in itertools.groupby(links, key=operator.itemgetter(0)):
        sources = [source for _, source in group]
        span = {"tgt-start": target, "src-start": sources[0], "src-end": sources[-1]}
        alignments["align"].append(span)
        pairs = [{"source-word": source, "target-word": target} for source in sources]
        alignments["word-align"] += pairs
    return {name: alignments[name] for name in alignments if name in wants}


def _links(line: str, result: LineResult) -> list[tuple[int, int]]:
    """Return links of a translation's words to those of the line, in order of both.

    Words stand between blanks in both texts; the model's own words are parts of them. Each of these
    in the translation is linked to the one in the line with the highest weight.
    """
    best: dict[int, tuple[float, int]] = {}
    for target, source, weight in result["alignment"]:
        best[target] = max(best.get(target, (0.0, 0)), (weight, source))
    src_words = _indices(result["source_words"], line)
    tgt_words = _indices(result["target_words"], result["text"])
    return sorted({(tgt_words[target], src_words[source]) for target, (_, source) in best.items()})


def _indices(words: list[dict[str, Any]], text: str) -> list[int]:
    """Return for each word of the model the word between blanks in which it begins.

    It is the last one before it if it begins at a blank.
    """
    starts = [found.start() for found in re.finditer(r"\S+", text)]
    return [max(bisect_right(starts, word["start"]) - 1, 0) for word in words]


_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'


def _value(value: object) -> str:
    """Return a value as XML-RPC writes it."""
    if isinstance(value, bool):
        inner = f"<boolean>{int(value)}</boolean>"
    elif isinstance(value, int):
        inner = f"<int>{value}</int>"
    elif isinstance(value, float):
        inner = f"<double>{value if math.isfinite(value) else 0.0:.17g}</double>"
    elif isinstance(value, dict):
        members = "".join(
            f"<member><name>{escape(name)}</name>{_value(item)}</member>"
            for name, item in value.items()
        )
        inner = f"<struct>{members}</struct>"
    elif isinstance(value, list):
        inner = f"<array><data>{''.join(map(_value, value))}</data></array>"
    else:
        inner = f"<string>{escape(_NOT_XML.sub(' ', str(value)))}</string>"
    return f"<value>{inner}</value>"


def parse_call(body: bytes) -> tuple[str, list[Any]]:
    """Return the method and the parameters of a call.

    :raises RequestError: the body is not a call.
    """
    reader = _CallReader()
    try:
        reader.feed(body)
        reader.feed(b"", final=True)
    except DataError as error:
        raise RequestError(400, str(error)) from error
    if not reader.is_call:
        raise RequestError(400, "the body is XML, but no call of XML-RPC")
    return reader.method, reader.values


class _CallReader(XmlReader[Any]):
    """Reads a `methodCall`. Structs and arrays that are not complete lie on a stack."""

    def __init__(self) -> None:
        super().__init__("the call", "XML-RPC")
        self.method = ""
        self.is_call = False
        self.values: list[Any] = []
        self._stack: list[tuple[list[Any], list[str]]] = []
        self._path: list[str] = []
        self._text: list[str] = []
        self._typed = False
        self._count = 0

    def start(self, element: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        self._path.append(element)
        self._count += 1
        if len(self._path) > MAX_DEPTH or self._count > 10 * MAX_VALUES:
            raise self.error("too many elements, or too many within each other")
        if len(self._path) == 1:
            self.is_call = element == "methodCall"
        self._text.clear()
        if element == "value":
            self._typed = False
        if element in ("struct", "array"):
            self._stack.append(([], []))

    def characters(self, data: str) -> None:
        """Take some text."""
        self._text.append(data)

    def end(self, element: str) -> None:
        """End an element."""
        text = "".join(self._text)
        self._path.pop()
        if element == "methodName":
            self.method = text.strip()
        elif element == "name" and self._stack:
            self._stack[-1][1].append(text)
        elif element in ("struct", "array") and self._stack:
            values, names = self._stack.pop()
            if element == "struct" and len(names) != len(values):
                raise self.error("a struct with a member that has no name or no value")
            self._add(dict(zip(names, values, strict=True)) if element == "struct" else values)
        elif element in _TYPES:
            self._add(self._converted(element, text))
        elif element == "value" and not self._typed:
            self._add(text)
        self._text.clear()
        self._typed = element != "value"

    def _add(self, value: Any) -> None:
        (self._stack[-1][0] if self._stack else self.values).append(value)

    def _converted(self, kind: str, text: str) -> Any:
        if kind == "string":
            return text
        if not re.fullmatch(r"\s*[+-]?[0-9.eE+-]{1,30}\s*", text):
            raise self.error(f"'{text[:30]}' is not a value of type {kind}")
        try:
            return float(text) if kind == "double" else int(text)
        except ValueError:
            raise self.error(f"'{text[:30]}' is not a value of type {kind}") from None


_TYPES = ("string", "int", "i4", "i8", "boolean", "double")
