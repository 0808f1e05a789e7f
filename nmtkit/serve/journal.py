"""The server's log: one JSON object a line."""

import json
import sys
import time
import traceback
from typing import TextIO

from nmtkit.serve.errors import RequestError


class Journal:
    """Writes events.

    :param texts: also write texts of requests.
    :param stream: by default stderr.
    """

    def __init__(self, texts: bool = False, stream: TextIO | None = None) -> None:
        self.texts = texts
        self._stream = stream

    def write(self, event: str, **fields: object) -> None:
        """Write an event; a log that cannot be written does not stop the server."""
        record = {"time": _now(), "event": event, **fields}
        try:
            print(
                json.dumps(record, ensure_ascii=True, default=str),
                file=self._stream or sys.stderr,
                flush=True,
            )
        except (OSError, ValueError):
            return

    def bug(self, error: Exception, path: str) -> RequestError:
        """Write an error of the server while it is handled; return what its client gets."""
        self.write("bug", reason=repr(error), traceback=traceback.format_exc(), path=path)
        return RequestError(500, "an error of the server; its log says more")


def _now() -> str:
    seconds = time.time()
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{moment}.{int(seconds % 1 * 1000):03d}Z"
