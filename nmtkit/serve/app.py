"""The ASGI application: all endpoints behind the entrance."""

from starlette.routing import BaseRoute, Router

from nmtkit.serve.entrance import Entrance
from nmtkit.serve.files import Files
from nmtkit.serve.libretranslate import LibreTranslate
from nmtkit.serve.marian_websocket import MarianWebSocket
from nmtkit.serve.openapi import OpenApi
from nmtkit.serve.operations import Operations
from nmtkit.serve.pages import Pages
from nmtkit.serve.service import Service
from nmtkit.serve.stream import Stream
from nmtkit.serve.xml_rpc import XmlRpc


def make_app(service: Service) -> Entrance:
    """Return the application; the engine is started and ended by `Server`."""
    routes: list[BaseRoute] = [
        *LibreTranslate(service).routes(),
        *Files(service).routes(),
        *MarianWebSocket(service).routes(),
        *Stream(service).routes(),
        *XmlRpc(service).routes(),
        *Operations(service).routes(),
        *OpenApi(service).routes(),
        *Pages().routes(),
    ]
    return Entrance(Router(routes, redirect_slashes=False), service)
