"""What all endpoints share: who asks, what may be asked, and the way to the engine."""

import asyncio
import contextlib
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from starlette.requests import HTTPConnection, Request

from nmtkit.serve.engine import Engine
from nmtkit.serve.errors import JobCancelled, RequestError, stopping
from nmtkit.serve.fields import Bodies, clean, flag_field, text_field
from nmtkit.serve.journal import Journal
from nmtkit.serve.keys import Keys
from nmtkit.serve.languages import Languages
from nmtkit.serve.metrics import Metrics
from nmtkit.serve.open_files import room_for_connections
from nmtkit.serve.places import Places
from nmtkit.serve.rates import RateLimit, network_of
from nmtkit.serve.settings import ServerSettings
from nmtkit.serve.task import Markup, Task, TermPairs

Result = TypeVar("Result")

MARKUPS: dict[str, Markup | None] = {"text": None, "": None, "html": "html", "xml": "xml"}
"""The formats that a request may name, and their markup."""

MAX_NAME = 100
"""Characters of a language or of the name of a glossary."""


class Service:
    """What all endpoints share.

    answering: requests whose answer is not sent yet. room: connections that can be open: half of
    them are served, the others wait for their request, are refused, or ask for `/health`.

    :param settings: of the server.
    :raises DataError: the file of keys cannot be read.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self.settings, self.limits = settings, settings.limits
        self.journal = Journal(settings.log_texts)
        self.metrics = Metrics()
        self.engine = Engine(settings.models, settings.limits, self.journal, self.metrics)
        self.languages = Languages(settings.models.routes)
        self.is_draining = False
        self.bodies = Bodies(settings.limits)
        self.room = room_for_connections(2 * settings.limits.connections, settings.models)
        self.places = Places(self._served_connections())
        self.answering = 0
        self._rates = RateLimit(settings.limits.rate)
        self._keys: Keys | None = None
        self.read_keys()

    def _served_connections(self) -> int:
        """Return the number of connections that are served: as many as set, if there is room."""
        wanted = self.limits.connections
        served = min(wanted, self.room // 2)
        if served < wanted:
            self.journal.write(
                "fewer_connections",
                connections=served,
                reason=f"the limit of open files has no room for {wanted}; raise it (ulimit -n), or"
                " lower --max-connections",
            )
        return served

    def read_keys(self) -> None:
        """Read the file of keys, if there is one, again.

        :raises DataError: it cannot be read.
        """
        if self.settings.keys is not None:
            self._keys = Keys.read(self.settings.keys)

    def drain(self) -> None:
        """Refuse new requests, and those whose body is not complete: the server stops."""
        self.is_draining = True
        self.bodies.stop()

    @property
    def needs_keys(self) -> bool:
        """Whether requests need a key."""
        return self._keys is not None

    @contextlib.contextmanager
    def answer(self) -> Iterator[None]:
        """Let the server not end before the block does, in which a request is answered."""
        self.answering += 1
        try:
            yield
        finally:
            self.answering -= 1

    def admit(self, connection: HTTPConnection, fields: Mapping[str, Any]) -> str:
        """Return who asks, after counting the request.

        A key stands in the field `api_key`, or in the header Authorization as a bearer's.

        :raises RequestError: a key is missing or wrong, the client asks too often, or the server
            is stopping.
        """
        if self.is_draining:
            raise stopping()
        client, refusal = self._identify(connection, fields)
        try:
            self._rates.check(client)
        except RequestError:
            self.metrics.rejected.add("rate")
            raise
        if refusal is not None:
            raise RequestError(403, refusal)
        return client

    def _identify(
        self, connection: HTTPConnection, fields: Mapping[str, Any]
    ) -> tuple[str, str | None]:
        """Return who asks, and why nothing is done for them, or None if they may ask."""
        address = connection.client.host if connection.client else "local"
        client = f"address {network_of(address)}"
        if self._keys is None:
            return client, None
        key = fields.get("api_key") or _bearer(connection)
        if not isinstance(key, str) or not key:
            return client, "this server needs a key: the field api_key"
        owner = self._keys.owner(key)
        if owner is None:
            return client, "Invalid API key"
        return f"key {owner}", None

    def check_size(self, texts: Iterable[str], lines: int) -> None:
        """Raise RequestError if a request has too many characters or lines."""
        characters = sum(map(len, texts))
        if characters > self.limits.characters:
            self.metrics.rejected.add("characters")
            sentence = f"{characters} characters; at most {self.limits.characters} at once"
            raise RequestError(413, sentence)
        if lines > self.limits.lines:
            self.metrics.rejected.add("lines")
            raise RequestError(413, f"{lines} lines; at most {self.limits.lines} at once")

    def task(self, fields: Mapping[str, Any], task: Task) -> Task:
        """Return a task with what the fields of a request ask for: terms, glossary, confidence.

        :raises RequestError: a field is wrong.
        """
        glossary = text_field(fields, "glossary", "") if fields.get("glossary") else None
        if glossary is not None and glossary not in self.settings.models.glossaries:
            raise RequestError(400, f"no glossary '{glossary[:MAX_NAME]}' on this server")
        return replace(
            task,
            glossary=glossary,
            terms=self._terms(fields.get("terms")),
            confidence=flag_field(fields, "confidence"),
        )

    def _terms(self, value: object) -> TermPairs:
        if value is None or value == "":
            return ()
        limit = self.limits.terms
        if not isinstance(value, list) or len(value) > limit:
            raise RequestError(400, f"terms is not a list of at most {limit} pairs")
        pairs = []
        for pair in value:
            if not isinstance(pair, list) or len(pair) != 2:
                raise RequestError(400, "terms has an entry that is no pair of strings")
            if not all(isinstance(text, str) and len(text) <= 1000 for text in pair):
                raise RequestError(400, "terms has an entry that is no pair of short strings")
            pairs.append((clean(pair[0]), clean(pair[1])))
        return tuple(pairs)

    def markup(self, fields: Mapping[str, Any], name: str) -> Markup | None:
        """Return the markup that a field names.

        :raises RequestError: there is no such format.
        """
        value = text_field(fields, name, "")
        if value not in MARKUPS:
            raise RequestError(400, f"{value[:MAX_NAME]} format is not supported")
        return MARKUPS[value]


async def while_connected(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """Wait for work as long as the client of a request, whose body was read, is there.

    :raises JobCancelled: the client has left; the work was cancelled.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise JobCancelled
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        continue


def _bearer(connection: HTTPConnection) -> str:
    kind, _, key = connection.headers.get("authorization", "").partition(" ")
    return key.strip() if kind.lower() == "bearer" else ""
