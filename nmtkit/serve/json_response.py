"""Answers in JSON, in ASCII."""

import json
from typing import Any

from starlette.responses import JSONResponse


class ASCIIResponse(JSONResponse):
    r"""An answer in JSON, with `\u` escapes beyond ASCII as LibreTranslate has them.

    The type `application/json` names no charset, and OmegaT reads an answer without one as Latin-1.
    """

    def render(self, content: Any) -> bytes:
        """Return the body."""
        text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        return text.encode("ascii")
