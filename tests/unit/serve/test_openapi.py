"""The description of the server's endpoints."""

import re
from pathlib import Path

from nmtkit import serve
from nmtkit.serve.openapi import specification

DOWNLOAD = "404"
"""Status of `/download_file` alone, whose addresses are in answers, not in the description."""


def test_every_status_of_a_refusal_is_described() -> None:
    folder = Path(serve.__file__).parent
    code = "".join(path.read_text() for path in folder.glob("*.py"))
    refusals = set(re.findall(r"RequestError\(\s*([0-9]{3})\b", code)) - {DOWNLOAD}
    assert len(refusals) > 5
    for path, operations in specification()["paths"].items():
        for operation in operations.values():
            assert refusals <= set(operation["responses"]), path
