"""The WebSocket `/stream`, whatever its clients send."""

import json
from typing import Any

import pytest

from nmtkit.serve.settings import Limits
from nmtkit.serve.stream import _prefixes
from tests.integration.serving import Running, running
from tests.unit.serve.fake_hosts import FakeHosts


def answers(server: Running, *messages: str) -> list[dict[str, Any]]:
    """Return the answers of a connection to messages, each sent after the answer before."""
    found = []
    with server.socket("/stream") as socket:
        for message in messages:
            socket.send(message)
            found.append(json.loads(socket.recv(timeout=20)))
            while "line" in found[-1]:
                found.append(json.loads(socket.recv(timeout=20)))
    return found


FIELDS = {"text": "a house", "source": "en", "target": "fr"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"prefix": "un <b>", "markup": "html"},
        {"alternatives": True, "markup": "html"},
        {"alternatives": True, "n": 0},
        {"alternatives": True, "n": 11},
    ],
)
def test_what_cannot_be_answered_is_refused(hosts: FakeHosts, tmp_path, wrong) -> None:
    with running(tmp_path) as server:
        (refused,) = answers(server, json.dumps({"id": 1, **FIELDS, **wrong}))
        assert refused["error"]["status"] == 400 and not hosts.messages


def test_a_blank_line_is_translated_by_its_prefix(hosts: FakeHosts, tmp_path) -> None:
    message = {"id": 1, **FIELDS, "text": "one\n ", "prefix": "un\ndeux"}
    with running(tmp_path) as server:
        found = answers(server, json.dumps(message))
    texts = {answer["line"]: answer["text"] for answer in found if "line" in answer}
    assert texts == {0: "ONE", 1: "deux"}


def test_null_is_as_if_a_field_were_missing(hosts: FakeHosts, tmp_path) -> None:
    message = {"id": 1, **FIELDS, "prefix": None, "slot": None, "markup": None, "glossary": None}
    with running(tmp_path) as server:
        *_, last = answers(server, json.dumps(message))
    assert last == {"id": 1, "done": True}
    assert hosts.messages[0]["prefixes"] is None


def test_the_characters_of_prefixes_count(hosts: FakeHosts, tmp_path) -> None:
    limits = Limits(characters=20)
    with running(tmp_path, limits) as server:
        message = {"id": 1, **FIELDS, "prefix": "une " * 5}
        (refused,) = answers(server, json.dumps(message))
    assert refused["error"]["status"] == 413 and not hosts.messages


@pytest.mark.parametrize("spelling", [r"\ud800", r"a\udfffb", r"\ud83d\ude00", r"\u2028", "é"])
def test_an_id_comes_back_exactly(hosts: FakeHosts, tmp_path, spelling: str) -> None:
    fields = '"text":"a house","source":"en","target":"fr"'
    messages = (f'{{"id":"{spelling}",{fields}}}', f'{{"id":"{spelling}"}}', f'{{"id":2,{fields}}}')
    with running(tmp_path) as server:
        line, done, error, _, last = answers(server, *messages)
        assert {line["id"], done["id"], error["id"]} == {json.loads(f'"{spelling}"')}
        assert line["text"] == "A HOUSE" and done["done"] and error["error"]["status"] == 400
        assert last == {"id": 2, "done": True} and not server.events("bug")


def test_prefixes_end_with_their_lines_as_texts_do() -> None:
    assert _prefixes("un\r\n\r\ndeux", 4) == ["un", "", "deux", ""]
