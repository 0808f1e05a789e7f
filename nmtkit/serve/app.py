"""The ASGI application: all endpoints behind the entrance."""

from starlette.applications import Starlette
from starlette.routing import BaseRoute

from nmtkit.serve.entrance import Entrance
from nmtkit.serve.libretranslate import LibreTranslate
from nmtkit.serve.operations import Operations
from nmtkit.serve.pages import Pages
from nmtkit.serve.service import Service


def make_app(service: Service) -> Entrance:
    """Return the application; the engine is started and ended by `Server`."""
    routes: list[BaseRoute] = [
        *LibreTranslate(service).routes(),
        *Operations(service).routes(),
        *Pages().routes(),
    ]
    return Entrance(Starlette(routes=routes), service)
