"""Endpoints for those who run the server: health, readiness, metrics."""

from collections.abc import Callable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

import nmtkit
from nmtkit.serve.json_response import ASCIIResponse
from nmtkit.serve.metrics import CONTENT_TYPE
from nmtkit.serve.model_pool import ServedModel
from nmtkit.serve.service import Service


class Operations:
    """Health, readiness, metrics and the names of glossaries.

    :param service: of the server.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/health", self.health, methods=["GET"]),
            Route("/ready", self.ready, methods=["GET"]),
            Route("/metrics", self.metrics, methods=["GET"]),
            Route("/glossaries", self.glossaries, methods=["GET"]),
        ]

    async def health(self, request: Request) -> Response:
        """Say that the server runs."""
        return ASCIIResponse({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """Say whether requests can be served; a model that could not be replaced serves on."""
        ready = self._service.engine.is_ready and not self._service.is_draining
        return ASCIIResponse({"ready": ready, "version": nmtkit.__version__}, 200 if ready else 503)

    async def metrics(self, request: Request) -> Response:
        """Return the figures for Prometheus."""
        engine, others = self._service.engine, self._service.answering - 1
        gauges: list[tuple[str, str, dict[str, str], float]] = [
            ("nmtkit_requests_open", "Requests at work.", {}, others),
            ("nmtkit_queue_lines", "Lines that wait.", {}, engine.waiting_lines),
        ]
        models = list(engine.pool.models.values())
        figures: list[tuple[str, str, Callable[[ServedModel], float]]] = [
            ("nmtkit_model_loaded", "Whether a model is loaded.", lambda m: float(m.is_loaded)),
            (
                "nmtkit_model_failed",
                "Whether its last loading failed; the log says why.",
                lambda m: float(m.failure is not None),
            ),
            ("nmtkit_model_loads", "How often a model was loaded.", lambda m: float(m.loads)),
        ]
        for name, help, value in figures:
            gauges += [
                (name, help, {"model": model.name, "folder": _folders(model.folders)}, value(model))
                for model in models
            ]
        return PlainTextResponse(self._service.metrics.text(gauges), media_type=CONTENT_TYPE)

    async def glossaries(self, request: Request) -> Response:
        """List the names of the glossaries."""
        return ASCIIResponse(sorted(self._service.settings.models.glossaries))


def _folders(folders: tuple[Path, ...]) -> str:
    return "+".join(folder.name for folder in folders)
