"""What every request passes: names and origins, headers of safety, the log, errors as sentences."""

import re
import time
from collections.abc import Mapping, MutableMapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import unquote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nmtkit.serve.errors import JobCancelled, RequestError, stopping
from nmtkit.serve.exchange import Exchange
from nmtkit.serve.json_response import ASCIIResponse
from nmtkit.serve.service import Service

STRICT_POLICY = "default-src 'none'; frame-ancestors 'none'"
"""Content-Security-Policy of answers that are not pages: nothing may be loaded or run."""

SAFETY = {
    "content-security-policy": STRICT_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every answer, unless it has its own."""

MONITORING_PATHS = ("/health", "/ready", "/metrics")
"""Endpoints for those who watch the server, who are not logged, and answered however full it is."""

FULL_SECONDS = 5
"""Time after which to try again when there are too many connections."""

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")

CLOSED = 499
"""Status in the log of a request whose client has left before the answer."""

PREFLIGHT_SECONDS = "600"

_ADDRESS = re.compile(rb"https?://([^/]*)(/.*)?", re.IGNORECASE | re.DOTALL)
"""What a request for a proxy names: an address with a host, and perhaps a path."""


class Entrance:
    """Middleware around all endpoints.

    :param app: the endpoints. service: of the server.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service
        settings = service.settings
        self._origins = set(settings.origins)
        self._hosts = {name.lower() for name in settings.hosts}
        if not self._hosts and is_loopback(settings.host):
            self._hosts = {*LOOPBACK_NAMES, settings.host.lower()}
        public = settings.public_url
        if self._hosts and public is not None:
            self._hosts.add(public.host)
        self._own_origin = public.origin if public is not None else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or a WebSocket."""
        scope = _with_path(scope)
        if scope["type"] == "http":
            exchange = Exchange(scope, receive, send)
            with self._service.answer():
                await self._answer_http(scope, exchange.receive, exchange.send)
            await exchange.end()
        elif scope["type"] == "websocket":
            await self._answer_websocket(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> RequestError | None:
        """Return why a request is refused before it is read."""
        if scope["path"] not in MONITORING_PATHS and not self._service.places.take(
            scope["state"]["transport"]
        ):
            self._service.metrics.rejected.add("connections")
            return RequestError(503, "too many connections; try again later", FULL_SECONDS)
        return self._foreign(headers)

    def _foreign(self, headers: Headers) -> RequestError | None:
        """Return why a request is refused by the name it calls or the page it comes from.

        A page from elsewhere could otherwise reach a server on the user's own machine, by its
        address or by a name of its own that leads there.
        """
        host = headers.get("host", "")
        if self._hosts and not host:
            return RequestError(
                403, "the request names no host, so it may not be for this server; send Host"
            )
        name = (urlsplit(f"//{host}").hostname if _is_host(host) else None) or ""
        if self._hosts and name.lower() not in self._hosts:
            return RequestError(403, "this server has another name; see --allow-host")
        origin = headers.get("origin")
        if origin is None or origin in self._origins or "*" in self._origins:
            return None
        if origin == self._own_origin or origin.partition("://")[2].lower() == host.lower():
            return None
        return RequestError(403, "pages of other servers may not use this one; see --cors")

    async def _answer_http(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        scope["app"] = self  # Starlette then raises errors, which become sentences here
        headers = Headers(scope=scope)
        state: MutableMapping[str, Any] = scope.setdefault("state", {})
        status = CLOSED

        async def send_safely(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = MutableHeaders(scope=message)
                for name, value in self._headers(headers).items():
                    own.setdefault(name, value)
            await send(message)

        try:
            response = self._early_answer(scope, headers)
            if response is not None:
                await response(scope, receive, send_safely)
            else:
                await self._app(scope, receive, send_safely)
        except (JobCancelled, ClientDisconnect):
            pass
        except (RequestError, HTTPException) as error:
            if status == CLOSED:
                await error_response(error)(scope, receive, send_safely)
        except Exception as error:
            problem = self._service.journal.bug(error, scope["path"])
            if status == CLOSED:
                await error_response(problem)(scope, receive, send_safely)
        finally:
            self._note(scope, status, time.perf_counter() - started, state.get("note", {}))

    def _early_answer(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the answer to a refused request, or to a browser's question before one."""
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            response = error_response(refusal)
            if refusal.status == 503:  # leave room for others
                response.headers["connection"] = "close"
            return response
        if scope["method"] == "OPTIONS" and "origin" in headers:
            allowed = {
                "access-control-allow-methods": "GET, POST",
                "access-control-allow-headers": "content-type, authorization",
                "access-control-max-age": PREFLIGHT_SECONDS,
            }
            return Response(status_code=204, headers=allowed)
        return None

    def _headers(self, request: Headers) -> dict[str, str]:
        """Return the headers of an answer."""
        origin = request.get("origin")
        if origin is None or not (origin in self._origins or "*" in self._origins):
            return SAFETY
        return {
            **SAFETY,
            "cross-origin-resource-policy": "cross-origin",
            "access-control-allow-origin": origin,
            "vary": "origin",
        }

    def _note(self, scope: Scope, status: int, seconds: float, note: Mapping[str, object]) -> None:
        """Count a request, and write it to the log: without its query, which may have a key."""
        endpoint = endpoint_of(scope)
        self._service.metrics.requests.add(endpoint, str(status))
        self._service.metrics.latency.add(seconds, endpoint)
        if endpoint in MONITORING_PATHS:
            return
        client = scope["client"][0] if scope.get("client") else None
        self._service.journal.write(
            "request",
            method=scope["method"],
            endpoint=endpoint,
            status=status,
            seconds=round(seconds, 4),
            client=client,
            **note,
        )

    async def _answer_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope, Headers(scope=scope))
        if refusal is None and self._service.is_draining:
            refusal = stopping()
        if refusal is not None:
            await receive()
            response = error_response(refusal)
            response.headers.update(SAFETY)
            return await response(scope, receive, send)
        self._service.journal.write("websocket_opened")
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            self._service.journal.bug(error, scope["path"])
        finally:
            self._service.journal.write("websocket_closed", endpoint=endpoint_of(scope))


def error_response(error: RequestError | HTTPException) -> Response:
    """Return the answer that tells an error, as LibreTranslate does."""
    if isinstance(error, HTTPException):
        return ASCIIResponse({"error": error.detail}, error.status_code, error.headers)
    wait = {} if error.retry_after is None else {"retry-after": str(error.retry_after)}
    return ASCIIResponse({"error": error.message}, error.status, wait)


def endpoint_of(scope: Scope) -> str:
    """Return the path of the route that answers, without what a client puts into it."""
    route = scope.get("route")
    return str(getattr(route, "path", "other"))


def _with_path(scope: Scope) -> Scope:
    """Return a request with a path, whether its client gave that or, as to a proxy, an address.

    Then the host is that of the address, whatever the header says (RFC 9112, 3.2.2).
    """
    address = _ADDRESS.fullmatch(scope.get("raw_path", b""))
    if address is None:
        return scope
    host, path = address[1], address[2] or b"/"
    headers = [(b"host", host), *(one for one in scope["headers"] if one[0] != b"host")]
    return {**scope, "raw_path": path, "path": unquote(path.decode("ascii")), "headers": headers}


def _is_host(host: str) -> bool:
    """Return whether a text can be the header Host: a name or an address, perhaps with a port."""
    try:
        urlsplit(f"//{host}").port  # noqa: B018
    except ValueError:
        return False
    return bool(host) and not set(host) & set("/?#@\\ ")


def is_loopback(host: str) -> bool:
    """Return whether an address or name is that of this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
