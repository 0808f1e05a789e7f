"""Marian's WebSocket: a message of lines in, a message of as many lines out.

Facts about it: https://marian-nmt.github.io/docs/ ("Web server") and the client in Marian's
repository, which sends batches of lines, each with its line feed.
"""

import asyncio

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from nmtkit.serve.channel import Channel
from nmtkit.serve.errors import JobCancelled, RequestError
from nmtkit.serve.fields import clean
from nmtkit.serve.job import Job
from nmtkit.serve.languages import load_identifier
from nmtkit.serve.lines import count_lines, joined_text, split_text
from nmtkit.serve.results import LineResult
from nmtkit.serve.routes import Pair
from nmtkit.serve.service import Service
from nmtkit.serve.task import Task


class MarianWebSocket:
    """The endpoint. Its query may name languages: `?source=en&target=fr`; else the first pair's.

    :param service: of the server.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[WebSocketRoute]:
        """Return the routes."""
        return [WebSocketRoute("/translate", self.translate)]

    async def translate(self, socket: WebSocket) -> None:
        """Answer messages one after another until the client leaves.

        The protocol has no errors: a message that is refused closes the connection with the reason.
        """
        service = self._service
        async with Channel(socket) as channel:
            try:
                fields = dict(socket.query_params)
                await pair_of_query(service, fields)  # one that is not there is refused at once
                task = service.task(fields, Task())
                async for text in channel.messages():
                    with service.answer():
                        client = service.admit(socket, fields)
                        answer = await self._answer(channel, clean(text), fields, task, client)
                        await channel.send(answer)
            except RequestError as error:
                await channel.refuse(error)
            except JobCancelled:
                return

    async def _answer(
        self, channel: Channel, text: str, fields: dict[str, str], task: Task, client: str
    ) -> str:
        """Return the translations of the lines of a message."""
        self._service.check_size([text], count_lines(text))
        lines, endings = split_text(text)
        pair = await pair_of_query(self._service, fields, text)
        job = self._service.engine.submit(pair, lines, task, client)
        results = await results_while_open(channel, job)
        return joined_text((line["text"] for line in results), endings)


async def pair_of_query(service: Service, fields: dict[str, str], text: str = "") -> Pair:
    """Return the pair that a query names, or the first one.

    :param text: by which the language is detected if the query asks for it.
    :raises RequestError: there is no such model.
    """
    source, target = service.languages.pairs[0]
    source, target = fields.get("source", source), fields.get("target", target)
    await load_identifier(source)
    return service.languages.pair(source, target, text)[0]


async def results_while_open(channel: Channel, job: Job) -> list[LineResult]:
    """Return the results of a job as long as the client is there.

    :raises JobCancelled: it has left.
    """
    ended = asyncio.create_task(channel.ended.wait())
    ended.add_done_callback(lambda task: None if task.cancelled() else job.cancel())
    try:
        return await job.all_results()
    finally:
        ended.cancel()
