"""The description of the server's endpoints."""

import re
from pathlib import Path
from typing import Any

from nmtkit import serve
from nmtkit.serve.openapi import TRANSLATED, specification
from tests.integration.serving import running
from tests.unit.serve.fake_hosts import FakeHosts

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


TYPES = {"string": str, "number": float, "null": type(None), "array": list, "object": dict}


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Return whether a value has the type that a schema says."""
    if "anyOf" in schema:
        return any(fits(value, one) for one in schema["anyOf"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, TYPES[kind]) for kind in kinds):
        return False
    if isinstance(value, dict):
        return all(fits(value[name], schema["properties"][name]) for name in value)
    return not isinstance(value, list) or all(fits(one, schema["items"]) for one in value)


def test_answers_are_as_described(hosts: FakeHosts, tmp_path: Path) -> None:
    more = {"source": "auto", "alternatives": 1, "terms": [["one", "un"]], "confidence": True}
    with running(tmp_path) as server:
        for text in ("one", ["one", "two"]):
            answer = server.translate(q=text, **more).json()
            assert set(answer) == set(TRANSLATED["properties"])
            assert fits(answer, TRANSLATED)
