"""What a request says: its fields, from JSON, a form, or the query, within limits."""

from collections.abc import AsyncGenerator, Coroutine, Mapping
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl

from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from nmtkit.io.safe_json import parse_json
from nmtkit.serve.errors import JobCancelled, RequestError
from nmtkit.serve.settings import Limits
from nmtkit.serve.time_limits import TimeLimits

Result = TypeVar("Result")

MAX_FIELDS = 50
"""Fields of a form."""

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"

CHARSETS = (b"utf-8", b"utf8")
"""Charsets that a form may name. Starlette decodes with any codec of Python, and some of them take
quadratic time."""


class Upload(NamedTuple):
    """A file of a form; its name is never used as a path."""

    name: str
    data: bytes


Fields = dict[str, Any]


class Bodies:
    """Reads the bodies of requests, until the server stops.

    :param limits: of size and time.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._time_limits = TimeLimits()

    def stop(self) -> None:
        """Wait for no more of the bodies: the server stops."""
        self._time_limits.stop()

    async def fields(self, request: Request, with_file: bool = False) -> Fields:
        """Return the fields of a request.

        :param with_file: a form may have a file, which counts against another limit.
        :raises RequestError: the body is too large, comes too slowly, or is not what its type says;
            or the server stops.
        :raises JobCancelled: the client has left.
        """
        limits = self._limits
        maximum = limits.file + limits.body if with_file else limits.body
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == MULTIPART:
            fields = await self._in_time(_multipart(request, maximum))
        else:
            fields = _parsed(await self.data(request), kind)
        return {**dict(request.query_params), **fields}

    async def data(self, request: Request) -> bytes:
        """Return the body of a request; errors are those of `fields`."""

        async def read() -> bytes:
            return b"".join([part async for part in bounded(request, self._limits.body)])

        return await self._in_time(read())

    async def _in_time(self, reading: Coroutine[Any, Any, Result]) -> Result:
        too_slow = "the request came too slowly"
        try:
            async with self._time_limits.limit(self._limits.seconds, too_slow):
                return await reading
        except ClientDisconnect as error:
            raise JobCancelled from error


async def bounded(request: Request, maximum: int) -> AsyncGenerator[bytes, None]:
    """Yield the parts of a body.

    :raises RequestError: it has more bytes than allowed.
    """
    length = request.headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit():
        raise RequestError(400, "Content-Length is no number")
    too_large = RequestError(413, f"the request has more than {maximum} bytes; send less at once")
    if len(length) > 18 or int(length) > maximum:
        raise too_large
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > maximum:
            raise too_large
        yield part


def _parsed(body: bytes, kind: str) -> Fields:
    if kind == FORM:
        return _form(body)
    if not body.strip():
        return {}
    try:
        value = parse_json(body.decode("utf-8"))
    except ValueError as error:
        raise RequestError(400, f"the body is not JSON in UTF-8 ({str(error)[:100]})") from error
    if not isinstance(value, dict):
        raise RequestError(400, "the body is JSON, but not an object of fields")
    return value


def _form(body: bytes) -> Fields:
    """Return the fields of a form; one that is repeated is a list."""
    try:
        pairs = parse_qsl(
            body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_FIELDS * 50
        )
    except ValueError as error:
        raise RequestError(400, "the form has too many fields") from error
    fields: Fields = {}
    for name, value in pairs:
        before = fields.get(name)
        if before is None:
            fields[name] = value
        elif isinstance(before, list):
            before.append(value)
        else:
            fields[name] = [before, value]
    return fields


class _InMemoryParser(MultiPartParser):
    """Keeps all parts in memory: the body is bounded, and nothing is written to a disk."""

    spool_max_size = 1 << 40


def _check_charset(kind: str) -> None:
    """Raise RequestError if a form is in another charset than UTF-8.

    :param kind: the header Content-Type.
    """
    try:
        _, options = parse_options_header(kind)
    except (ValueError, LookupError) as error:
        raise RequestError(400, "the form's Content-Type cannot be read") from error
    if options.get(b"charset", CHARSETS[0]).lower() not in CHARSETS:
        raise RequestError(400, "the form is not in UTF-8; send it with charset=utf-8, or without")


async def _multipart(request: Request, maximum: int) -> Fields:
    _check_charset(request.headers["content-type"])
    parser = _InMemoryParser(
        request.headers,
        bounded(request, maximum),
        max_files=1,
        max_fields=MAX_FIELDS,
        max_part_size=maximum,
    )
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise RequestError(400, f"the form cannot be read ({error.message[:100]})") from error
    except (HTTPException, KeyError, ValueError, LookupError) as error:
        raise RequestError(400, "the form cannot be read") from error
    fields: Fields = {}
    for name, value in form.multi_items():
        if isinstance(value, UploadFile):
            fields[name] = Upload(value.filename or "", await value.read())
            await value.close()
        else:
            fields[name] = value
    return fields


def text_field(fields: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """Return a field that is a string, without halves of surrogate pairs.

    :param default: if it is missing or null; None: it must not be.
    :raises RequestError: it is missing or no string.
    """
    value = fields.get(name)
    if value is None:
        value = default
    if value is None:
        raise RequestError(400, f"Invalid request: missing {name} parameter")
    if not isinstance(value, str):
        raise RequestError(400, f"Invalid request: {name} is not a string")
    return clean(value)


def clean(text: str) -> str:
    """Return a text with U+FFFD in place of halves of surrogate pairs, which are no text."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def number_field(
    fields: Mapping[str, Any], name: str, maximum: int, minimum: int = 0, default: int = 0
) -> int:
    """Return a field that is a whole number, or the default; forms have it as text.

    :raises RequestError: it is no such number, below the minimum or above the maximum.
    """
    value = fields.get(name)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if value == "" or value is None:
        return default
    if type(value) is not int or not minimum <= value <= maximum:
        sentence = f"Invalid request: {name} is not a number from {minimum} to {maximum}"
        raise RequestError(400, sentence)
    return value


def flag_field(fields: Mapping[str, Any], name: str) -> bool:
    """Return a field that is a switch, off if it is missing.

    :raises RequestError: it is no switch.
    """
    value = fields.get(name, False)
    if value in (True, "true", "1"):
        return True
    if value in (False, None, "", "false", "0"):
        return False
    raise RequestError(400, f"Invalid request: {name} is neither true nor false")
