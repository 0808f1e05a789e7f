"""The page at `/`."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from nmtkit.serve.page import load_page


class Pages:
    """Pages that are part of the package."""

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [Route("/", self.page, methods=["GET"])]

    async def page(self, request: Request) -> Response:
        """Return the page."""
        page = load_page()
        return Response(page.html, headers=page.headers)
