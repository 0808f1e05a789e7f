"""The WebSocket `/stream`: translations with alignments, line by line; docs/reference/http-api.md.

Requests have an id and run side by side. One with a `slot` cancels the one before it in that slot,
as a text that is being typed makes its earlier state useless.
"""

import asyncio
import contextlib
import json
from typing import Any

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from nmtkit.io.safe_json import parse_json
from nmtkit.serve.channel import Channel
from nmtkit.serve.errors import JobCancelled, RequestError
from nmtkit.serve.fields import flag_field, number_field, text_field
from nmtkit.serve.languages import load_identifier
from nmtkit.serve.lines import count_lines, split_text
from nmtkit.serve.service import Service
from nmtkit.serve.task import Task

MAX_OPEN = 64
"""Requests of a connection at work."""

CONTINUATIONS = 5
"""Ways to go on after a prefix, unless a request names a number."""

HIDDEN = ("alternatives", "alternative_details", "ranking_scores", "finished", "score")
"""Entries of a line's result that the contract of `/stream` does not have."""

Id = int | str


class Stream:
    """The endpoint.

    :param service: of the server.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[WebSocketRoute]:
        """Return the routes."""
        return [WebSocketRoute("/stream", self.stream)]

    async def stream(self, socket: WebSocket) -> None:
        """Answer the requests of a connection."""
        async with Channel(socket) as channel:
            connection = Connection(self._service, socket, channel)
            try:
                async for text in channel.messages():
                    await connection.receive(text)
            finally:
                await connection.end()


class Connection:
    """One client, and its requests at work.

    :param service: of the server. socket: for the client's address and key. channel: to it.
    """

    def __init__(self, service: Service, socket: WebSocket, channel: Channel) -> None:
        self._service, self._socket, self._channel = service, socket, channel
        self._query = dict(socket.query_params)
        self._tasks: dict[Id, asyncio.Task[None]] = {}
        self._slots: dict[str, Id] = {}

    async def end(self) -> None:
        """Cancel all requests."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def receive(self, text: str) -> None:
        """Begin with a request, or cancel one."""
        number: Id | None = None
        try:
            message = _parsed(text)
            if "cancel" in message:
                await self._cancel(_id(message["cancel"]))
                return
            number = _id(message.get("id"))
            if number in self._tasks:
                raise RequestError(400, "a request with this id is at work; give another id")
            slot = text_field(message, "slot") if message.get("slot") is not None else None
            if slot is not None and slot in self._slots:
                await self._cancel(self._slots.pop(slot))
            if len(self._tasks) >= MAX_OPEN:
                raise RequestError(429, f"more than {MAX_OPEN} requests of this connection", 1)
        except RequestError as error:
            await self._send({"id": number, **_error(error)})
            return
        if slot is not None:
            self._slots[slot] = number
        task = asyncio.create_task(self._answer(number, message))
        self._tasks[number] = task
        task.add_done_callback(lambda _: self._forget(number, slot))

    def _forget(self, number: Id, slot: str | None) -> None:
        self._tasks.pop(number, None)
        if slot is not None and self._slots.get(slot) == number:
            del self._slots[slot]

    async def _cancel(self, number: Id) -> None:
        """Cancel a request; one that is done is left alone."""
        task = self._tasks.pop(number, None)
        if task is not None and not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._send({"id": number, "cancelled": True})

    async def _send(self, message: dict[str, Any]) -> None:
        """Send a message, in ASCII: an id may have half a surrogate pair, which UTF-8 cannot."""
        await self._channel.send(json.dumps(message))

    async def _answer(self, number: Id, message: dict[str, Any]) -> None:
        """Answer one request, or say why not."""
        with self._service.answer():
            await self._try_to_answer(number, message)

    async def _try_to_answer(self, number: Id, message: dict[str, Any]) -> None:
        try:
            client = self._service.admit(self._socket, {**self._query, **message})
            if flag_field(message, "alternatives"):
                await self._answer_alternatives(number, message, client)
            else:
                await self._answer_lines(number, message, client)
        except RequestError as error:
            await self._send({"id": number, **_error(error)})
        except JobCancelled:
            await self._send({"id": number, "cancelled": True})
        except Exception as error:
            problem = self._service.journal.bug(error, "/stream")
            await self._send({"id": number, **_error(problem)})

    async def _answer_lines(self, number: Id, message: dict[str, Any], client: str) -> None:
        service = self._service
        text = text_field(message, "text")
        task = Task(details=True, markup=service.markup(message, "markup"))
        task = service.task(message, task)
        prefix = text_field(message, "prefix", "")
        service.check_size([text, prefix], count_lines(text))
        lines, _ = split_text(text)
        source = text_field(message, "source")
        await load_identifier(source)
        target = text_field(message, "target")
        pair, language = service.languages.pair(source, target, text, task.markup)
        prefixes = _prefixes(prefix, len(lines))
        if prefixes is not None:
            _refuse_markup(task.markup)
        detected = {} if language is None else {"detected": language[0]}
        job = service.engine.submit(pair, lines, task, client, prefixes)
        async with contextlib.aclosing(job.results()) as results:
            async for index, result in results:
                shown = {name: value for name, value in result.items() if name not in HIDDEN}
                shown = {"confidence": None, "word_confidences": None, **shown}
                place = {"id": number, "line": index, "lines": len(lines)}
                await self._send({**place, **detected, **shown})
        await self._send({"id": number, "done": True})

    async def _answer_alternatives(self, number: Id, message: dict[str, Any], client: str) -> None:
        service = self._service
        _refuse_markup(service.markup(message, "markup"))
        text, prefix = text_field(message, "text"), text_field(message, "prefix", "")
        if "\n" in text or "\n" in prefix:
            raise RequestError(400, "alternatives are for one line; this text has several")
        service.check_size([text, prefix], 1)
        most = service.limits.alternatives
        n = number_field(message, "n", most, minimum=1, default=CONTINUATIONS)
        task = service.task(message, Task(continuations=n))
        source = text_field(message, "source")
        await load_identifier(source)
        pair, _ = service.languages.pair(source, text_field(message, "target"), text)
        job = service.engine.submit(pair, [text], task, client, [prefix])
        (result,) = await job.all_results()
        await self._send({"id": number, "alternatives": result["continuations"]})


def _refuse_markup(markup: str | None) -> None:
    """Refuse the beginning of a translation into which markup is put back.

    :raises RequestError: there is markup.
    """
    if markup is not None:
        raise RequestError(
            400, "a translation with markup cannot be continued from a beginning; leave out markup"
        )


def _prefixes(text: str, count: int) -> list[str] | None:
    """Return the prefix of each line: the lines of the field, as many as there are."""
    if not text:
        return None
    prefixes, _ = split_text(text)
    if len(prefixes) > count:
        raise RequestError(400, f"the prefix has {len(prefixes)} lines, the text {count}")
    return prefixes + [""] * (count - len(prefixes))


def _parsed(text: str) -> dict[str, Any]:
    try:
        message = parse_json(text)
    except ValueError as error:
        raise RequestError(400, f"a message is not JSON ({str(error)[:100]})") from error
    if not isinstance(message, dict):
        raise RequestError(400, "a message is JSON, but not an object")
    return message


def _id(value: object) -> Id:
    if type(value) is int or (isinstance(value, str) and len(value) <= 100):
        return value
    raise RequestError(400, "a message has no id, which is a number or a short string")


def _error(error: RequestError) -> dict[str, Any]:
    return {"error": {"status": error.status, "message": error.message}}
