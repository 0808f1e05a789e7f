"""LibreTranslate's endpoints for files: one is sent, its translation fetched from an address."""

import asyncio
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from nmtkit.documents.archive import sample_archive
from nmtkit.documents.encoding import beginning
from nmtkit.documents.formats import FORMATS
from nmtkit.documents.html_encoding import declared_encoding
from nmtkit.io.moses_zip import ZIP_MAGIC
from nmtkit.serve.downloads import Downloads
from nmtkit.serve.errors import RequestError
from nmtkit.serve.fields import Upload, text_field
from nmtkit.serve.json_response import ASCIIResponse
from nmtkit.serve.languages import AUTO, load_identifier
from nmtkit.serve.lines import PLAIN
from nmtkit.serve.service import Service, while_connected
from nmtkit.serve.task import Task

ENDINGS = tuple(sorted({PLAIN, *(ending for some in FORMATS.values() for ending in some)}))
"""Endings of the names of files that can be translated."""

MAX_NAME = 100
"""Characters of the name of a file that are kept."""

SAMPLE = 1 << 18
"""Bytes of a file in which text is looked for by which its language is detected."""

HTML = (".html", ".htm", ".xhtml")
"""Endings of files that may declare their encoding as HTML does."""

XML = (".tmx", ".xlf", ".xliff")
"""Endings of files whose text stands between tags of XML."""


class Files:
    """The endpoints.

    :param service: of the server.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._downloads = Downloads()

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/translate_file", self.translate, methods=["POST"]),
            Route("/download_file/{token}", self.download, methods=["GET"]),
        ]

    async def translate(self, request: Request) -> Response:
        """Translate a file; the answer says where it can be fetched."""
        service = self._service
        fields = await service.bodies.fields(request, with_file=True)
        client = service.admit(request, fields)
        upload = fields.get("file")
        if not isinstance(upload, Upload) or not upload.name:
            raise RequestError(400, "Invalid request: missing file parameter")
        if len(upload.data) > service.limits.file:
            raise RequestError(413, f"the file has more than {service.limits.file} bytes")
        name = safe_name(upload.name)
        if not name.lower().endswith(ENDINGS):
            raise RequestError(
                400, f"Invalid request: the file's name must end in one of {', '.join(ENDINGS)}"
            )
        source, target = text_field(fields, "source"), text_field(fields, "target")
        await load_identifier(source)
        sample, markup = "", None
        if source.lower() == AUTO:
            sample, markup = await asyncio.to_thread(_sample, name.lower(), upload.data)
        (pair, _) = service.languages.pair(source, target, sample, markup)
        task = service.task(fields, Task())
        request.state.note = {"bytes": len(upload.data)}
        work = service.engine.translate_files(pair, name, [upload.data], task, client)
        (data,) = await while_connected(request, work)
        stem, dot, ending = name.rpartition(".")
        token = self._downloads.add(f"{stem}.{pair[1]}{dot}{ending}", data)
        public = service.settings.public_url
        base = public.base if public is not None else str(request.base_url).rstrip("/")
        return ASCIIResponse({"translatedFileUrl": f"{base}/download_file/{token}"})

    async def download(self, request: Request) -> Response:
        """Return a translated file, as one to be saved, never shown."""
        found = self._downloads.get(request.path_params["token"])
        if found is None:
            raise RequestError(404, "there is no such file, or no more; translate it again")
        name = quote(found.name, safe="")
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}"}
        return Response(found.data, media_type="application/octet-stream", headers=headers)


def _sample(name: str, data: bytes) -> tuple[str, str | None]:
    """Return the beginning of a file, and the markup in it.

    :param name: of the file, in small letters.
    """
    if data.startswith(ZIP_MAGIC):
        return sample_archive(data, SAMPLE), "xml"
    if name.endswith(HTML):
        return beginning(data, SAMPLE, declared_encoding(data)), "html"
    return beginning(data, SAMPLE), "xml" if name.endswith(XML) else None


def safe_name(name: str) -> str:
    """Return the last part of a name, without what systems take for more than a character."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(sign if sign.isprintable() else "_" for sign in last)[-MAX_NAME:]
