"""`nmtkit serve` over real sockets, with the clients that it is made for."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import xmlrpc.client
from concurrent.futures import ThreadPoolExecutor
from shutil import copytree

import httpx
import pytest

from nmtkit.serve.settings import Limits
from tests.integration.serving import Running, running

LINES = ["one two three", "", "four five", "nine eight seven six", "zero"]

PYTHON = "nmtkit.serve.model_process.PYTHON"


@pytest.fixture(autouse=True, scope="module")
def hosts_start_at_once(preloaded):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PYTHON, preloaded / "python")
        yield


@pytest.fixture
def real_hosts(monkeypatch):
    """Let a host be the process that the server has started, for tests that address it."""
    monkeypatch.setattr(PYTHON, sys.executable)


@pytest.fixture(scope="module")
def server(model, tmp_path_factory):
    """Return a server of the tests' model; tests must not stop it."""
    glossary = tmp_path_factory.mktemp("glossary") / "numbers.tsv"
    glossary.write_text("one\tun\ntwo\tdeux\n", encoding="utf-8")
    with running(model, glossaries={"numbers": glossary}) as found:
        yield found


def test_a_line_has_the_translation_of_nmtkit_translate(server: Running, translate):
    lines = [*LINES, "  two  ", "unknown words", "x" * 300]
    expected = translate(lines).stdout.split("\n")[:-1]
    assert server.text("\n".join(lines)).split("\n") == expected
    assert server.text(lines) == expected
    assert [server.text(line) for line in lines] == expected


def test_an_answer_is_ascii_for_clients_that_assume_another_charset(server: Running):
    answer = server.translate(q="one été two", terms=[["été", "impossible"]])
    assert answer.content.isascii() and answer.json()["missingTerms"] == ["été"]
    error = server.translate(q="one", source="é")
    assert error.status_code == 400 and error.content.isascii()


def test_line_endings_come_back(server: Running):
    one, two = server.text("one"), server.text("two")
    assert server.text("one\r\n\r\ntwo\n") == f"{one}\r\n\r\n{two}\n"


def test_a_list_has_a_list_of_answers(server: Running):
    answer = server.translate(q=["one", "two three"], source="auto", alternatives=2).json()
    assert len(answer["translatedText"]) == len(answer["detectedLanguage"]) == 2
    assert len(answer["alternatives"]) == 2
    assert all(isinstance(text, str) for found in answer["alternatives"] for text in found)
    assert answer["detectedLanguage"][0]["language"] == "en"
    assert server.translate(q=[]).json() == {"translatedText": []}


def test_as_many_alternatives_as_described_are_given(server: Running):
    operation = server.http.get("/openapi.json").json()["paths"]["/translate"]["post"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    most = schema["properties"]["alternatives"]["maximum"]
    assert server.translate(q="one", alternatives=most).status_code == 200
    assert server.translate(q="one", alternatives=most + 1).status_code == 400


def test_alternatives_differ_from_the_translation(server: Running):
    answer = server.translate(q="one two", alternatives=3).json()
    texts = [answer["translatedText"], *answer["alternatives"]]
    assert 1 < len(texts) <= 4 and len(set(texts)) == len(texts)


def test_html_comes_back(server: Running):
    text = server.text("one <b>two</b> &amp; three", format="html")
    assert text.count("<b>") == text.count("</b>") == 1 and "&amp;" in text


def test_terms_and_glossaries(server: Running):
    assert server.http.get("/glossaries").json() == ["numbers"]
    answer = server.translate(q="one two", glossary="numbers").json()
    assert answer["missingTerms"] == [] and "deux" in answer["translatedText"]
    answer = server.translate(q="one two", terms=[["two", "neuf"]], glossary="numbers").json()
    assert "neuf" in answer["translatedText"]
    answer = server.translate(q="one two", terms=[["two", "impossible"]]).json()
    assert answer["missingTerms"] == ["two"]
    assert server.translate(q="one", glossary="other").status_code == 400
    assert server.translate(q="one", terms=[["a\tb", "c"]]).status_code == 400


def test_fields_of_a_form_and_of_the_query(server: Running):
    one = server.text("one")
    fields = {"q": "one", "source": "en", "target": "fr"}
    assert server.http.post("/translate", data=fields).json() == {"translatedText": one}
    answer = server.http.post("/translate", data=fields, files={"ignored": b""})
    assert answer.json() == {"translatedText": one}
    assert server.http.post("/translate", params=fields).json() == {"translatedText": one}


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"q": 1}, 400),
        ({"q": ["one", 2]}, 400),
        ({"source": "en"}, 400),
        ({"q": "one", "target": "xx"}, 400),
        ({"q": "one", "source": "de"}, 400),
        ({"q": "one", "format": "rtf"}, 400),
        ({"q": "one", "alternatives": -1}, 400),
        ({"q": "one", "alternatives": 1e9}, 400),
        ({"q": "one", "terms": "x"}, 400),
        ({"q": "one", "terms": [["a"]]}, 400),
        ({"q": "one", "confidence": "perhaps"}, 400),
        ({"q": "a" * 100_001}, 413),
        ({"q": "\n" * 2_001}, 413),
    ],
)
def test_wrong_fields_have_a_sentence(server: Running, fields, status):
    answer = server.translate(**fields)
    assert answer.status_code == status
    assert list(answer.json()) == ["error"] and answer.json()["error"]


@pytest.mark.parametrize("body", [b"{", b"[1]", b"\xff", b"[" * 100_000, b'{"q": ' + b"9" * 5_000])
def test_a_body_that_is_no_object_is_refused(server: Running, body):
    answer = server.http.post("/translate", content=body)
    assert answer.status_code == 400 and answer.json()["error"]


def test_halves_of_surrogates_and_odd_characters_are_text(server: Running):
    for sign in (r"\ud800", r"\u0000", r"\u2028", r"\ud83d\ude00", r"\ufffe"):
        body = f'{{"q": "one {sign} two", "source": "en", "target": "fr"}}'
        answer = server.http.post("/translate", content=body)
        assert answer.status_code == 200 and "\n" not in answer.json()["translatedText"]


def test_the_python_client_of_libretranslate(server: Running):
    from libretranslatepy import LibreTranslateAPI

    client = LibreTranslateAPI(server.url)
    assert client.translate("one two", "en", "fr") == server.text("one two")
    assert client.languages() == [
        {"code": "en", "name": "English", "targets": ["fr"]},
        {"code": "fr", "name": "French", "targets": []},
    ]
    found = client.detect("This is a sentence in the English language.")
    assert found[0]["language"] == "en" and 50 < found[0]["confidence"] <= 100


def test_what_clients_ask_for_before_they_begin(server: Running):
    found = server.http.get("/frontend/settings").json()
    assert found["charLimit"] == 100_000 and found["keyRequired"] is False
    assert ".txt" in found["supportedFilesFormat"]
    assert found["language"]["target"] == {"code": "fr", "name": "French"}
    assert server.http.get("/health").json() == {"status": "ok"}
    assert server.http.get("/ready").status_code == 200


def test_a_file_of_lines(server: Running):
    data = {"source": "en", "target": "fr"}
    files = {"file": ("../../a b.txt", b"one\r\n\ntwo")}
    url = server.http.post("/translate_file", data=data, files=files).json()["translatedFileUrl"]
    found = httpx.get(url)
    assert found.content.decode() == f"{server.text('one')}\r\n\n{server.text('two')}"
    assert found.headers["content-disposition"] == "attachment; filename*=UTF-8''a%20b.fr.txt"
    assert server.http.get("/download_file/x").status_code == 404
    for name, content in (("a.exe", b"one"), ("a.txt", b"\xff\xfe\xff")):
        answer = server.http.post("/translate_file", data=data, files={"file": (name, content)})
        assert answer.status_code == 400 and answer.json()["error"]
    assert server.http.post("/translate_file", data=data).status_code == 400


def test_marians_client(server: Running):
    """Marian's example sends batches of lines, each with its line feed, and prints the answer."""
    with server.socket("/translate") as socket:
        for batch in (LINES, LINES[:1], ["", ""]):
            socket.send("".join(f"{line}\n" for line in batch))
            answer = str(socket.recv())
            assert answer.split("\n")[:-1] == server.text("\n".join(batch)).split("\n")
        socket.send("one")
        assert socket.recv() == server.text("one")
    with server.socket("/translate?source=en&target=fr") as socket:
        socket.send(b"two")
        assert socket.recv() == server.text("two")


def test_marians_client_is_told_why_it_is_refused(server: Running):
    from websockets.exceptions import ConnectionClosed

    for path, text, code in (
        ("/translate?target=xx", "one", 1008),
        ("/translate", "\n" * 9_999, 1009),
    ):
        with server.socket(path) as socket, pytest.raises(ConnectionClosed) as caught:
            socket.send(text)
            socket.recv()
        closing = caught.value.rcvd
        assert closing is not None and closing.code == code and closing.reason


def stream(server: Running, *messages: dict) -> list[dict]:
    """Return all answers to the last message, and those before them."""
    answers = []
    with server.socket("/stream") as socket:
        for message in messages:
            socket.send(json.dumps({"source": "en", "target": "fr", **message}))
        while True:
            answers.append(json.loads(socket.recv(timeout=20)))
            if answers[-1]["id"] == messages[-1].get("id") and "line" not in answers[-1]:
                return answers


def test_the_stream_has_words_alignment_and_scores(server: Running):
    *lines, done = stream(server, {"id": 7, "text": "\n".join(LINES), "confidence": True})
    assert done == {"id": 7, "done": True}
    assert sorted(line["line"] for line in lines) == list(range(len(LINES)))
    texts = server.text("\n".join(LINES)).split("\n")
    for line in lines:
        source, text = LINES[line["line"]], line["text"]
        assert text == texts[line["line"]] and line["lines"] == len(LINES)
        for words, whole in ((line["source_words"], source), (line["target_words"], text)):
            assert all(whole[word["start"] : word["end"]] == word["text"] for word in words)
        assert len(line["word_scores"]) == len(line["target_words"])
        assert all(
            0 <= target < len(line["target_words"])
            and 0 <= word < len(line["source_words"])
            and 0 < weight <= 1
            for target, word, weight in line["alignment"]
        )
        assert line["confidence"] is None and line["missing_terms"] == []


def test_a_newer_request_of_a_slot_cancels_the_older_one(server: Running):
    old = {"id": 1, "slot": "pane", "text": "one two three four\n" * 1_500}
    answers = stream(server, old, {"id": "new", "slot": "pane", "text": "two"})
    assert {"id": 1, "cancelled": True} in answers
    assert [a["text"] for a in answers if a["id"] == "new" and "text" in a] == [server.text("two")]
    answers = stream(server, {**old, "id": 3}, {"cancel": 3, "id": 3})
    assert answers[-1] == {"id": 3, "cancelled": True}


def test_the_stream_says_what_is_wrong(server: Running):
    for message in ({"id": 1}, {"id": 1, "text": 3}, {"id": 1, "text": "x", "prefix": "a\nb"},
                    {"text": "one"}, {"id": 1, "text": "one", "target": "xx"}):  # fmt: skip
        answer = stream(server, message)[-1]
        assert answer["error"]["status"] == 400 and answer["error"]["message"]
    with server.socket("/stream") as socket:
        for text in ("{", "[]", "1", '{"id": [1]}', '{"cancel": null}'):
            socket.send(text)
            assert json.loads(socket.recv(timeout=5))["error"]["status"] == 400


def test_mosess_client(server: Running):
    with xmlrpc.client.ServerProxy(f"{server.url}/RPC2") as client:
        check_mosess_client(client, server)


def check_mosess_client(client, server: Running):
    answer = client.translate({"text": "one two & <three>", "align": True, "nbest": 2})
    assert answer["text"] == server.text("one two & <three>") == answer["nbest"][0]["hyp"]
    assert {"tgt-start", "src-start", "src-end"} == set(answer["align"][0])
    wanted = {"text": "one, two.  three!", "word-align": False, "nbest": "3"}
    answer = client.translate(wanted)
    assert len(answer["nbest"]) > 1 and "align" not in answer
    scores = [one["totalScore"] for one in answer["nbest"]]
    assert scores == sorted(scores, reverse=True)
    assert all(one["word-align"] for one in answer["nbest"] if one["hyp"])
    for found, text in [(answer, answer["text"])] + [(one, one["hyp"]) for one in answer["nbest"]]:
        assert all(link["source-word"] < 3 for link in found["word-align"])
        assert all(link["target-word"] < len(text.split()) for link in found["word-align"])
    with pytest.raises(xmlrpc.client.Fault, match="nbest is not a number from 0 to 10"):
        client.translate({**wanted, "nbest": 3.0})
    for method, arguments in (("translate", ("one",)), ("other", ({"text": "one"},))):
        with pytest.raises(xmlrpc.client.Fault):
            getattr(client, method)(*arguments)
    with pytest.raises(xmlrpc.client.Fault) as large:
        client.translate({"text": "one", "more": "x" * (3 << 20)})
    assert large.value.faultCode == 413


def test_clients_at_the_same_time_get_their_own_texts(server: Running, translate):
    texts = [
        f"{a} {b}" for a in ("one", "two", "three", "four", "five") for b in ("six", "nine", "")
    ]
    texts = [text * (1 + n % 4) for n, text in enumerate(texts)]
    expected = dict(zip(texts, translate(texts).stdout.split("\n")[:-1], strict=True))
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(server.text, texts * 8))
    assert found == [expected[text] for text in texts * 8]


def test_a_sentence_does_not_wait_for_a_book(server: Running):
    book = threading.Thread(target=server.text, args=("one two three four five\n" * 1_900,))
    book.start()
    server.wait_until(lambda: server.service.engine.waiting_lines > 500)
    server.text("seven")
    assert server.service.engine.waiting_lines > 100
    book.join()


def test_a_client_that_leaves_cancels_its_work(server: Running):
    engine = server.service.engine
    for _ in range(3):
        with pytest.raises(httpx.ReadTimeout):
            fields = {"q": "one two three\n" * 1_900, "source": "en", "target": "fr"}
            httpx.post(f"{server.url}/translate", json=fields, timeout=0.1)
        server.wait_until(lambda: not engine.jobs and not engine.waiting_lines, 5)
    with server.socket("/translate") as socket:
        socket.send("one two three\n" * 1_900)
        server.wait_until(lambda: engine.waiting_lines > 0)
    server.wait_until(lambda: not engine.jobs and not engine.waiting_lines, 5)


def test_a_killed_worker_loses_no_request(server: Running):
    expected = server.text("one two three\n" * 1_900)
    results: list[str] = []
    book = threading.Thread(target=lambda: results.append(server.text("one two three\n" * 1_900)))
    book.start()
    server.wait_until(lambda: server.service.engine.waiting_lines > 500)
    server.wait_until(lambda: any(work.worker for work in server.service.engine._running))
    (first, *_) = [work.worker for work in server.service.engine._running if work.worker]
    os.kill(first.pid, signal.SIGKILL)
    book.join()
    assert results == [expected]
    assert server.events("worker_ended")


def test_safe_headers_and_documents_without_assets(server: Running):
    for path in ("/", "/docs", "/languages", "/nothing"):
        answer = server.http.get(path)
        assert answer.headers["x-content-type-options"] == "nosniff"
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
    assert "http" not in server.http.get("/docs").text
    paths = server.http.get("/openapi.json").json()["paths"]
    assert {"/translate", "/detect", "/languages", "/translate_file"} <= set(paths)
    assert server.http.get("/nothing").json() == {"error": "Not Found"}
    assert server.http.get("/translate").status_code == 405


def test_names_and_origins_from_elsewhere_are_refused(server: Running):
    for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}, {"host": ""}):
        answer = server.http.get("/languages", headers=headers)
        assert answer.status_code in (400, 403)
    own = {"origin": server.url}
    assert server.http.get("/languages", headers=own).status_code == 200
    from websockets.exceptions import InvalidStatus

    with pytest.raises(InvalidStatus):
        server.socket("/stream", origin="http://evil.example")
    answer = server.http.options("/translate", headers={"origin": "http://evil.example"})
    assert "access-control-allow-origin" not in answer.headers


def test_metrics_name_what_happens(server: Running):
    server.text("one two")
    text = server.http.get("/metrics").text
    for line in ('nmtkit_requests_total{endpoint="/translate",status="200"}',
                 'nmtkit_lines_total{model="en-fr"}', "nmtkit_queue_lines 0",
                 'nmtkit_worker_ends_total{model="en-fr"}',
                 'nmtkit_request_seconds_bucket{endpoint="/translate",le="+Inf"}'):  # fmt: skip
        assert line in text
    for line in text.splitlines():
        assert line.startswith("# ") or len(line.rsplit(" ", 1)) == 2


def test_the_log_has_no_texts(server: Running):
    server.text("seven seven seven")
    assert server.events("request") and "seven" not in json.dumps(server.log)


def test_limits(model, tmp_path):
    limits = Limits(body=2_000, seconds=0.5, queue=2_000, rate=30, lines=500)
    with running(model, limits, cores=1, origins=("https://page.example",)) as server:
        answer = server.http.post("/translate", content=b"x" * 3_000)
        assert answer.status_code == 413
        answer = server.http.post("/translate", content=iter([b"x" * 1_000] * 3))
        assert answer.status_code == 413
        allowed = {"origin": "https://page.example"}
        answer = server.http.get("/languages", headers=allowed)
        assert answer.headers["access-control-allow-origin"] == "https://page.example"
        answers = [server.translate(q="one") for _ in range(40)]
        assert answers[0].status_code == 200 and answers[-1].status_code == 429
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 3


def test_a_body_that_comes_too_slowly_is_refused(model):
    with running(model, Limits(seconds=0.3)) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(b"POST /translate HTTP/1.1\r\nhost: localhost\r\n"
                               b"content-length: 100\r\n\r\n{")  # fmt: skip
            assert connection.recv(100).startswith(b"HTTP/1.1 408 ")


HEADER = b"POST /translate HTTP/1.1\r\nhost: localhost\r\n"


def test_a_connection_without_a_request_is_closed(model, monkeypatch):
    monkeypatch.setattr("nmtkit.serve.connection.HEADER_SECONDS", 0.5)
    monkeypatch.setattr("nmtkit.serve.exchange.DISCARD_SECONDS", 0.5)
    whole = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"
    refused = b"GET /translate HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9999\r\n\r\n"
    with running(model) as server:
        for parts in ([], [HEADER], [whole, HEADER], [refused, b"{"]):
            with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
                for part in parts:
                    connection.sendall(part)
                    time.sleep(0.1)
                while connection.recv(1_000):
                    continue
        server.wait_until(lambda: len(server.server.server_state.connections) == 0)
        with server.socket("/stream") as stream, server.client() as client:
            for _ in range(2):
                assert client.get("/languages").status_code == 200
                time.sleep(1)
            stream.send(json.dumps({"id": 1, "text": "one", "source": "en", "target": "fr"}))
            assert json.loads(stream.recv(timeout=20))["id"] == 1


def test_too_many_connections_are_refused(model):
    from websockets.exceptions import InvalidStatus

    with running(model, Limits(connections=2)) as server:
        assert server.http.get("/languages").status_code == 200
        with server.socket("/stream"), server.client() as client:
            answer = client.get("/languages")
            assert answer.status_code == 503 and "too many connections" in answer.json()["error"]
            assert int(answer.headers["retry-after"]) > 0
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["connection"] == "close"
            for path in ("/health", "/ready", "/metrics"):
                assert client.get(path).status_code == 200
            with pytest.raises(InvalidStatus) as caught:
                server.socket("/stream")
            refused = caught.value.response
            assert refused.status_code == 503 and int(refused.headers["retry-after"]) > 0
            assert json.loads(refused.body or b"")["error"]
        server.wait_until(lambda: len(server.server.server_state.connections) < 2)
        assert server.http.get("/languages").status_code == 200


def test_a_request_that_takes_too_long_is_ended(model):
    with running(model, Limits(seconds=0.2, characters=10**6), cores=1) as server:
        answer = server.translate(q="one two three four five six\n" * 1_900)
        assert answer.status_code == 408 and answer.json()["error"]
        server.wait_until(lambda: not server.service.engine.waiting_lines, 5)


def test_a_full_queue_is_told(model):
    with running(model, Limits(queue=20_000, characters=10**6), cores=1) as server:
        fields = {"q": "one two three four five six\n" * 1_000, "source": "en", "target": "fr"}
        with ThreadPoolExecutor(6) as pool:
            answers = list(
                pool.map(lambda _: httpx.post(f"{server.url}/translate", json=fields, timeout=60),
                         range(6))
            )  # fmt: skip
        refused = [answer for answer in answers if answer.status_code == 503]
        assert refused and all(int(answer.headers["retry-after"]) > 0 for answer in refused)
        assert any(answer.status_code == 200 for answer in answers)


def test_keys(model, tmp_path, nmtkit):
    keys = tmp_path / "keys"
    key = nmtkit("serve", "--new-key", "omegat", "--keys", keys).stdout.strip()
    second = nmtkit("serve", "--new-key", "weblate", "--keys", keys).stdout.strip()
    assert key not in keys.read_text() and len(key) > 30
    with running(model, keys=keys) as server:
        assert server.translate(q="one").status_code == 403
        assert server.translate(q="one", api_key="wrong").status_code == 403
        assert server.translate(q="one", api_key=1).status_code == 403
        for good in (key, second):
            assert server.translate(q="one", api_key=good).status_code == 200
        bearer = {"authorization": f"Bearer {key}"}
        fields = {"q": "one", "source": "en", "target": "fr"}
        assert server.http.post("/translate", json=fields, headers=bearer).status_code == 200
        assert server.http.post("/translate", params={**fields, "api_key": key}).status_code == 200
        assert server.http.get("/frontend/settings").json()["keyRequired"] is True
        assert key not in json.dumps(server.log)


def test_a_new_folder_under_the_same_name_is_loaded(model, tmp_path):
    folder = tmp_path / "model"
    copytree(model, folder)
    with running(folder) as server:
        before = server.text("one two")
        stop = threading.Event()
        failed: list[str] = []

        def ask() -> None:
            with server.client(timeout=30) as client:
                fields = {"q": "one two", "source": "en", "target": "fr"}
                while not stop.wait(0.01):
                    answer = client.post("/translate", json=fields)
                    if answer.status_code != 200 or answer.json()["translatedText"] != before:
                        failed.append(answer.text)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        copytree(model, tmp_path / "new")
        folder.rename(tmp_path / "old")
        (tmp_path / "new").rename(folder)
        server.wait_until(lambda: len(server.events("model_loaded")) == 2)
        server.call(server.server.reload)
        server.wait_until(lambda: len(server.events("model_loaded")) == 3)
        (folder / "config.toml").write_text("broken", encoding="utf-8")
        server.wait_until(lambda: server.events("model_failed"))
        time.sleep(0.1)
        stop.set()
        for thread in threads:
            thread.join()
        assert not failed
        assert server.text("one two") == before


def test_an_idle_model_is_unloaded_and_loaded_again(model):
    with running(model, unload_idle=0.2) as server:
        server.wait_until(lambda: server.events("model_unloaded"))
        assert server.text("one")
        assert len(server.events("model_loaded")) >= 2


def test_draining_finishes_what_is_at_work(model):
    with running(model, drain=20.0) as server:
        results: list[str] = []
        text = "one two three\n" * 1_000
        work = threading.Thread(target=lambda: results.append(server.text(text)))
        work.start()
        server.wait_until(lambda: server.service.engine.waiting_lines > 10)
        server.call(server.server.stop)
        server.call(server.server.stop)  # `timeout` sends its signal twice
        server.wait_until(lambda: server.service.is_draining)
        with server.client() as client:
            assert client.get("/ready").status_code == 503
        work.join()
        assert len(results) == 1 and results[0].count("\n") == 1_000


def test_a_model_that_cannot_be_loaded_is_one_sentence(model, tmp_path, nmtkit):
    folder = tmp_path / "model"
    copytree(model, folder)
    path = folder / "params.best.safetensors"
    path.write_bytes(path.read_bytes()[:-10])
    result = nmtkit("serve", folder, "--port", 0, status=1)
    assert "params.best.safetensors" in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr
    for arguments, word in (
        ([], "no model"),
        ([tmp_path / "none"], "config.toml"),
        (["--pair", f"en={model}"], "--pair"),
        ([model, "--pair", f"en-fr={model}"], "another model"),
        ([model, "--keys", tmp_path / "none"], "none"),
        ([model, "--host", "203.0.113.1"], "cannot listen"),
        ([model, "--glossary", "x"], "NAME=FILE"),
        ([model, "--cors", "foo"], "--cors foo: not an origin such as"),
        ([model, "--timeout", "0s"], "--timeout: 0 seconds are too short"),
    ):
        assert word in nmtkit("serve", *arguments, status=1).stderr


def test_signals_of_the_real_command(model, monkeypatch):
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    command = [sys.executable, "-m", "nmtkit", "serve", str(model), "--port", "0", "--threads", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        port = 0
        for line in process.stderr:
            event = json.loads(line)
            if event["event"] == "ready" and not port:
                port = event["port"]
                os.kill(process.pid, signal.SIGHUP)
            if event["event"] == "model_loaded" and port:
                break
        fields = {"q": "one", "source": "en", "target": "fr"}
        assert httpx.post(f"http://127.0.0.1:{port}/translate", json=fields).status_code == 200
        os.kill(process.pid, signal.SIGTERM)
        rest = process.stderr.read()
    assert process.returncode == 0
    assert '"stopping"' in rest and "Traceback" not in rest and "Warning" not in rest


def test_a_low_limit_of_open_files_leaves_health_and_the_log(model, tmp_path):
    """Connections that do nothing come faster than they are closed for doing nothing."""
    command = [sys.executable, "-m", "nmtkit", "serve", str(model), "--port", "0", "--threads", "1"]
    log = tmp_path / "log"
    with (
        open(log, "wb") as stderr,
        subprocess.Popen(
            ["sh", "-c", 'ulimit -n 64; exec "$@"', "", *command], stderr=stderr
        ) as it,
        contextlib.ExitStack() as stack,
    ):
        stack.callback(it.terminate)
        while b'"ready"' not in log.read_bytes():
            assert it.poll() is None
            time.sleep(0.1)
        port = json.loads(log.read_bytes().splitlines()[-1])["port"]
        for _ in range(150):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
        assert httpx.get(f"http://127.0.0.1:{port}/health", timeout=10).status_code == 200
        fields = {"q": "one", "source": "en", "target": "fr"}
        answer = httpx.post(f"http://127.0.0.1:{port}/translate", json=fields, timeout=10)
        assert answer.status_code == 200
    events = [json.loads(line)["event"] for line in log.read_text().splitlines()]
    assert events.count("fewer_connections") == 1 and events.count("loop_error") <= 1


def test_many_files_at_once_have_their_own_translations(server: Running):
    data = {"source": "en", "target": "fr"}

    def translated(text: str) -> str:
        files = {"file": ("a.txt", text.encode())}
        with server.client(timeout=60) as client:
            answer = client.post("/translate_file", data=data, files=files)
            assert answer.status_code == 200, answer.text
            return client.get(answer.json()["translatedFileUrl"]).text

    texts = ["one", "two three", "four", "five six seven", "eight"] * 4
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(translated, texts)) == [server.text(text) for text in texts]
    assert not server.events("host_ended")


def test_processes_for_files_write_nothing_beside_the_log(model):
    reading, writing = os.pipe()  # to a file they can write nothing
    stderr = os.dup(2)
    os.dup2(writing, 2)
    os.close(writing)
    try:
        with running(model) as server:
            files = {"file": ("a.html", b"<p>One two. Three.</p>")}
            form = {"source": "en", "target": "fr"}
            assert server.http.post("/translate_file", data=form, files=files).status_code == 200
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
    with open(reading, "rb") as written:
        assert written.read() == b""


def test_a_host_that_ends_is_replaced(model, real_hosts):
    with running(model) as server:
        expected = server.text("one two")
        generation = server.service.engine.pool.models["en", "fr"].current
        assert generation is not None
        os.kill(generation.process._process.pid, signal.SIGKILL)
        server.wait_until(lambda: len(server.events("model_loaded")) == 2)
        assert server.text("one two") == expected


THREADS = """
import sys; sys.path[:] = {path!r}
from nmtkit.serve import model_host
class Host(model_host.ModelHost):
    def __init__(self, settings, commands):
        super().__init__(settings, commands)
        self._forks = settings["device"] == "cpu"
model_host.ModelHost = Host
model_host.main({number})
"""
"""A host whose workers are threads, as those of a model on a GPU are."""


def test_files_beside_a_model_whose_workers_are_threads(model, real_hosts, monkeypatch):
    monkeypatch.setattr("nmtkit.serve.model_process.CODE", THREADS)
    with running(model, device="auto") as server:
        lines = ["one two", "three", "four five six"]
        with ThreadPoolExecutor(3) as pool:
            expected = list(pool.map(server.text, lines))
        generation = server.service.engine.pool.models["en", "fr"].current
        assert generation is not None and not generation.process.forks
        host = generation.process._process.pid
        niceness = os.getpriority(os.PRIO_PROCESS, host)
        form = {"source": "en", "target": "fr"}
        for _ in range(2):
            files = {"file": ("a.txt", "\n".join(lines).encode())}
            answer = server.http.post("/translate_file", data=form, files=files)
            assert answer.status_code == 200, answer.text
            url = answer.json()["translatedFileUrl"]
            assert server.http.get(url).text.split("\n") == expected
        page = server.text("<p>one two</p><p>three</p>", format="html")
        assert page.count("<p>") == page.count("</p>") == 2 and expected[1] in page
        assert os.getpriority(os.PRIO_PROCESS, host) == niceness
        assert server.text(lines) == expected
