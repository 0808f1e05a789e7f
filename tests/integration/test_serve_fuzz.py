"""Any request has an answer, and no answer is a failure of the server."""

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.serve.settings import Limits
from tests.integration.serving import Running, running

GOOD = {"q": "one <b>two", "source": "en", "target": "fr", "id": 1, "text": "one", "prefix": ""}
NAMES = [*GOOD, "format", "alternatives", "glossary", "terms", "confidence", "api_key", "slot", "n",
         "markup", "cancel"]  # fmt: skip
PATHS = ["/translate", "/detect", "/translate_file", "/languages", "/RPC2", "/docs", "/metrics",
         "/download_file/x", "/frontend/settings", "/%00", "/a/../b", "/"]  # fmt: skip
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.just("html")),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner)),
    max_leaves=5,
)
fields = st.builds(
    lambda changed, dropped: {k: v for k, v in {**GOOD, **changed}.items() if k not in dropped},
    st.dictionaries(st.sampled_from(NAMES), values, max_size=2),
    st.sets(st.sampled_from(NAMES), max_size=1),
)
bodies = st.one_of(
    st.binary(max_size=200), st.one_of(fields, values).map(lambda value: json.dumps(value).encode())
)
KINDS = ["application/json", "application/x-www-form-urlencoded", "text/xml", "multipart/form-data",
         "multipart/form-data; boundary=x", "", "\xff"]  # fmt: skip
CHARSETS = ["utf-8", "UTF8", "latin-1", "punycode", "idna", "unicode_escape", "utf-7", "rot13",
            "zlib", '"punycode"', "", "\xff", "none"]  # fmt: skip
LITTLE = settings(max_examples=60)


@pytest.fixture(scope="module")
def server(model):
    with running(model, Limits(seconds=20)) as found:
        yield found


@LITTLE
@given(st.sampled_from(["POST", "POST", "GET", "PUT", "OPTIONS"]), st.sampled_from(PATHS),
       st.sampled_from(KINDS), bodies)  # fmt: skip
def test_any_request_has_an_answer(server: Running, method, path, kind, body):
    headers = {b"content-type": kind.encode("latin-1")}
    answer = server.http.request(method, path, content=body, headers=headers)
    assert answer.status_code < 500
    if answer.status_code >= 400:
        assert isinstance(answer.json()["error"], str)


@LITTLE
@given(st.sampled_from(CHARSETS), st.text(max_size=50))
def test_a_form_in_any_charset_has_an_answer(server: Running, charset, text):
    """Starlette decodes with codecs that the client names; some take quadratic time."""
    part = 'content-disposition: form-data; name="q"'
    body = f"--x\r\n{part}\r\n\r\n{text}{'a' * 100_001}\r\n--x--\r\n".encode()
    kind = f"multipart/form-data; charset={charset}; boundary=x".encode("latin-1")
    answer = server.http.post("/detect", content=body, headers={b"content-type": kind})
    is_utf8 = charset.lower() in ("utf-8", "utf8")
    assert answer.status_code == (413 if is_utf8 else 400), answer.text


@LITTLE
@given(fields)
def test_nearly_right_fields_have_an_answer(server: Running, fields):
    body = json.dumps(fields).encode()
    answer = server.http.post("/translate", content=body)
    assert answer.status_code in (200, 400), answer.text
    assert isinstance(answer.json().get("error", ""), str)


@LITTLE
@given(st.lists(bodies, min_size=1, max_size=4))
def test_any_message_of_the_stream_leaves_the_server_well(server: Running, messages):
    with server.socket("/stream") as socket:
        for message in messages:
            socket.send(message.decode("utf-8", "replace"))
        socket.send(json.dumps({"id": "last", "text": "one", "source": "en", "target": "fr"}))
        while True:
            answer = json.loads(socket.recv(timeout=20))
            if answer.get("id") == "last" and "line" not in answer:
                break
        assert answer == {"id": "last", "done": True}


@LITTLE
@given(st.text(max_size=50))
def test_any_message_of_marians_has_as_many_lines(server: Running, text):
    with contextlib.suppress(UnicodeEncodeError), server.socket("/translate") as socket:
        socket.send(text)
        assert str(socket.recv(timeout=20)).count("\n") == text.count("\n")
