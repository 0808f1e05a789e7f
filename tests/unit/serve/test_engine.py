"""Every request has its answer, whatever workers, loadings and the end of the server do."""

import asyncio
import base64
import contextlib
import json
import threading
import time
import xmlrpc.client
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from nmtkit.serve.model_process import WorkerEnded
from nmtkit.serve.settings import Limits
from tests.integration.serving import running
from tests.unit.serve.fake_hosts import FakeHosts, FakeWorker, result_of, upper


def without_bad_line(kind: dict[str, Any]) -> Any:
    """Return a worker's answers: an error for pieces with the line `bad`."""

    def answer(message: dict[str, Any]) -> dict[str, Any]:
        return {"error": "bad line", **kind} if "bad" in message["lines"] else upper(message)

    return answer


@pytest.mark.parametrize(
    ("kind", "status"),
    [({"is_bug": False}, 400), ({"is_bug": True, "traceback": ""}, 503)],
)
def test_an_error_of_a_line_is_not_one_of_other_requests(
    hosts: FakeHosts, tmp_path, kind: dict[str, Any], status: int
) -> None:
    hosts.answer, hosts.hold_answer = without_bad_line(kind), 0.2
    with running(tmp_path, cores=1) as server, ThreadPoolExecutor(9) as pool:
        first = pool.submit(server.translate, q="first")  # the others wait for it together
        server.wait_until(lambda: hosts.messages)
        texts = ["good 1", "bad", "good 2", "good 3"]
        answers = dict(zip(texts, pool.map(lambda q: server.translate(q=q), texts), strict=True))
        assert first.result().json() == {"translatedText": "FIRST"}
        metrics = server.http.get("/metrics").text
    assert any(len(message["lines"]) > 1 for message in hosts.messages)
    assert answers.pop("bad").status_code == status
    assert 'nmtkit_lines_total{model="en-fr"} 4' in metrics  # without that which has failed
    assert [answer.json() for answer in answers.values()] == [
        {"translatedText": text.upper()} for text in answers
    ]


def test_text_in_the_target_language_needs_no_model(hosts: FakeHosts, tmp_path) -> None:
    text = "Bonjour le monde,\ntout va bien ici\n"
    with running(tmp_path) as server:
        server.wait_until(lambda: hosts.hosts)
        seen = len(hosts.messages)
        assert server.text(text, source="fr") == text
        for one, markup in ((text, "text"), (f"<p>{text}</p>", "html")):
            answer = server.translate(q=one, source="auto", format=markup, alternatives=1).json()
            assert answer["translatedText"] == one and answer["alternatives"] == []
            assert answer["detectedLanguage"]["language"] == "fr"
            assert answer["detectedLanguage"]["confidence"] > 90
        with server.socket("/stream") as socket:
            request = {"id": 1, "text": text, "source": "auto", "target": "fr"}
            socket.send(json.dumps(request))
            line = json.loads(socket.recv(10))
            assert line["text"] == "Bonjour le monde," and line["detected"] == "fr"
        with server.socket("/translate?source=auto") as socket:
            socket.send(text)
            assert socket.recv(10) == text
        with xmlrpc.client.ServerProxy(f"{server.url}/RPC2?source=auto") as moses:
            assert moses.translate({"text": text}) == {"text": " ".join(text.split("\n"))}
        form = {"source": "auto", "target": "fr"}
        file = {"file": ("a.txt", text.encode())}
        answer = server.http.post("/translate_file", data=form, files=file).json()
        assert server.http.get(answer["translatedFileUrl"]).text == text
        assert len(hosts.messages) == seen
        mixed = server.translate(q=["Hello", text], source="auto").json()
        assert mixed["translatedText"] == ["HELLO", text]
        assert [one["language"] for one in mixed["detectedLanguage"]] == ["en", "fr"]


@pytest.mark.parametrize("wrong", [{"results": []}, {"results": None}, {}, {"error": "x"}])
def test_an_answer_that_cannot_be_used_is_an_error_at_once(
    hosts: FakeHosts, tmp_path, wrong: dict[str, Any]
) -> None:
    hosts.answer = lambda message: wrong if "bad" in message["lines"] else upper(message)
    with running(tmp_path) as server:
        started = time.monotonic()
        answer = server.translate(q="good\nbad")
        assert answer.status_code == 503 and "line 2" in answer.json()["error"]
        assert time.monotonic() - started < 10  # not after the time limit
        assert server.events("engine_error")
        server.clear_events("engine_error")


def test_requests_at_work_at_the_end_of_draining_are_answered(hosts: FakeHosts, tmp_path) -> None:
    hosts.hold_answer = 30.0
    files = {"file": ("a.txt", b"one")}
    form = {"source": "en", "target": "fr"}
    with running(tmp_path, drain=0.3) as server, ThreadPoolExecutor(2) as pool:
        text = pool.submit(server.translate, q="one")
        file = pool.submit(
            httpx.post, f"{server.url}/translate_file", data=form, files=files, timeout=20
        )
        with server.socket("/stream") as stream:
            stream.send(json.dumps({"id": 1, "text": "one", **form}))
            server.wait_until(lambda: server.service.engine.jobs == 3)
            server.call(server.server.stop)
            assert json.loads(stream.recv(timeout=10))["error"]["status"] == 503
        for answer in (text.result(), file.result()):
            assert answer.status_code == 503 and "stopping" in answer.json()["error"]
            assert int(answer.headers["retry-after"]) > 0


def test_a_second_stop_waits_for_no_answer(
    hosts: FakeHosts, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it does not come at once, as the second SIGTERM of `timeout` does."""
    monkeypatch.setattr("nmtkit.parallel.environment.SignalEcho.lasts", lambda _: False)
    hosts.hold_answer = 30.0
    with running(tmp_path, drain=30.0) as server, ThreadPoolExecutor(1) as pool:
        text = pool.submit(server.translate, q="one")
        server.wait_until(lambda: server.service.engine.jobs == 1)
        server.call(server.server.stop)
        server.wait_until(lambda: server.service.is_draining)
        started = time.monotonic()
        server.call(server.server.stop)
        with contextlib.suppress(httpx.TransportError):  # the connection may end first
            assert text.result().status_code == 503
        assert time.monotonic() - started < 10


def test_a_list_of_texts_is_one_request(hosts: FakeHosts, tmp_path) -> None:
    hosts.hold_answer = 30.0
    with running(tmp_path, drain=0.3) as server, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(server.translate, q=["one", "two", "three"])
        server.wait_until(lambda: server.service.engine.jobs == 3)
        metrics = httpx.get(f"{server.url}/metrics").text.splitlines()
        assert "nmtkit_requests_open 1" in metrics
        server.call(server.server.stop)
        assert answer.result().status_code == 503
        assert [event["requests"] for event in server.events("stopping")] == [1]


def test_draining_waits_for_the_writing_of_answers(hosts: FakeHosts, tmp_path) -> None:
    """A request that was admitted, and is no job of the engine yet or any more, counts."""
    with running(tmp_path, drain=10.0) as server:
        with server.service.answer():
            server.call(server.server.stop)
            time.sleep(0.5)
            assert not server.server.should_exit
        server.wait_until(lambda: server.server.should_exit)


def test_the_time_limit_includes_the_loading_of_the_model(hosts: FakeHosts, tmp_path) -> None:
    with running(tmp_path, Limits(seconds=0.5), unload_idle=0.1) as server:
        server.wait_until(lambda: server.events("model_unloaded"))
        hosts.hold_load = 5.0
        started = time.monotonic()
        assert server.translate(q="one").status_code == 408
        assert time.monotonic() - started < 4


def test_what_waits_for_a_loading_fills_the_queue(hosts: FakeHosts, tmp_path) -> None:
    limits = Limits(queue=10)
    with running(tmp_path, limits, unload_idle=0.1) as server, ThreadPoolExecutor(1) as pool:
        server.wait_until(lambda: server.events("model_unloaded"))
        hosts.hold_load = 2.0
        first = pool.submit(server.translate, q="six six")
        server.wait_until(lambda: server.service.engine.waiting_lines == 1)
        assert server.translate(q="more").status_code == 503  # together more than 10 characters
        assert first.result().json() == {"translatedText": "SIX SIX"}
        assert server.service.engine.waiting_lines == 0


def test_a_model_that_cannot_be_loaded_when_it_is_needed_is_an_answer(
    hosts: FakeHosts, tmp_path
) -> None:
    with running(tmp_path, unload_idle=0.1) as server:
        server.wait_until(lambda: server.events("model_unloaded"))
        hosts.failure = "broken"
        answer = server.translate(q="one")
        assert answer.status_code == 503 and int(answer.headers["retry-after"]) > 0


def test_pages_of_a_list_are_translated_in_one_process(hosts: FakeHosts, tmp_path) -> None:
    with running(tmp_path) as server:
        texts = [f"<p>{number}</p>" for number in range(250)] + ["line"]
        assert server.text(texts, format="html") == [*texts[:-1], "LINE"]
    assert sum("files" in message for message in hosts.messages) == 1


def test_files_of_a_model_on_a_gpu_are_translated_by_processes_on_the_cpu(
    hosts: FakeHosts, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts.forks = False
    with running(tmp_path, device="cuda") as server:
        assert server.text("one") == "ONE"
        assert len(hosts.starts) == 1  # the second model is loaded for the first file
        for _ in range(3):
            assert server.text("<p>one", format="html") == "<p>one"
        assert [settings["device"] for settings in hosts.starts] == ["cuda", "cpu"]
        devices = [message["device"] for message in hosts.messages]
        assert devices == ["cuda", "cpu", "cpu", "cpu"]
        server.call_async(hosts.hosts[1].end)
        server.wait_until(lambda: not hosts.hosts[1].is_running)
        assert server.text("<p>one", format="html") == "<p>one"
        hosts.failure = "broken"
        server.call_async(hosts.hosts[2].end)
        server.wait_until(lambda: not hosts.hosts[2].is_running)
        assert server.translate(q="<p>one", format="html").status_code == 503
        assert server.text("one") == "ONE"
    assert not any(host.is_running for host in hosts.hosts)


def test_threads_take_turns_with_a_translator() -> None:
    from nmtkit.serve.piece import PieceTranslator
    from nmtkit.serve.task import Task

    at_work = threading.Lock()

    class Fake(PieceTranslator):
        def _translate(self, lines: Any, prefixes: Any, task: Task) -> list[dict[str, Any]]:
            assert at_work.acquire(blocking=False), "another thread is at work"
            time.sleep(0.01)
            at_work.release()
            return [result_of(line) for line in lines]

    translator = Fake(None, {})  # type: ignore[arg-type]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: translator.translate([str(n)], None, Task()), range(8)))
    assert [lines[0]["text"] for lines in found] == [str(number) for number in range(8)]


def test_a_page_is_read_as_unicode_whatever_it_declares(hosts: FakeHosts, tmp_path) -> None:
    """JSON is Unicode: a page's charset says how it was stored, not how it was sent."""
    from nmtkit.documents.encoding import decode
    from nmtkit.documents.html_encoding import declared_encoding

    def read(message: dict[str, Any]) -> dict[str, Any]:
        (data,) = map(base64.b64decode, message["files"]["contents"])
        text, encoding = decode(data, "x", declared_encoding(data))
        shouted = encoding.encode(text.upper())
        return {"contents": [base64.b64encode(shouted).decode()]}

    hosts.answer = read
    with running(tmp_path) as server:
        for charset in ("iso-8859-1", "windows-1251", "utf-16", "klingon"):
            page = f"<meta charset={charset}><p>été дом"
            assert server.text(page, format="html") == page.upper()


def test_workers_that_were_killed_while_idle_are_no_trouble(hosts: FakeHosts, tmp_path) -> None:
    """They are no attempts of a line, which has two."""
    with running(tmp_path, cores=3) as server:
        hosts.hold_answer = 0.2
        assert server.text("\n".join(["one"] * 30))
        generation = server.service.engine.pool.models["en", "fr"].current
        assert generation is not None and len(generation._idle) == 3
        for worker in generation._idle:
            worker.has_ended = True  # type: ignore[misc]
        assert server.text("one") == "ONE" and not server.events("worker_ended")
        assert len(generation._idle) == 1


def test_a_worker_that_is_killed_as_its_client_left_is_no_trouble(
    hosts: FakeHosts, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nmtkit.serve.engine.ABANDONED_SECONDS", 0.05)
    killed = asyncio.Event()

    async def answer(worker: FakeWorker, message: dict[str, Any]) -> dict[str, Any]:
        await killed.wait()
        raise WorkerEnded

    monkeypatch.setattr(FakeWorker, "answer", answer)
    monkeypatch.setattr(FakeWorker, "kill", lambda worker: killed.set())
    with running(tmp_path) as server:
        with server.socket("/translate") as socket:
            socket.send("one")
            server.wait_until(lambda: any(work.worker for work in server.service.engine._running))
        server.wait_until(killed.is_set)
        server.wait_until(lambda: not server.service.engine._running)
        assert not server.events("worker_ended")
        assert 'nmtkit_worker_ends_total{model="en-fr"} 0' in server.http.get("/metrics").text
