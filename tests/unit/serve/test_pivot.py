"""Requests that two models translate in turn, whatever happens to the models and the clients."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from nmtkit.serve.model_process import WorkerEnded
from nmtkit.serve.results import empty_result
from nmtkit.serve.settings import Limits
from nmtkit.serve.task import Task
from tests.integration.serving import Running, running
from tests.unit.serve.fake_hosts import FakeHosts, result_of

FORM = {"source": "fr", "target": "de"}

Answer = dict[str, Any]


def step(message: dict[str, Any]) -> Answer:
    """Answer as the first model, which reads small letters, or as the second one."""
    if "files" in message:
        files = message["files"]
        return {"contents": files["contents"]} if files["is_last"] else {"texts": [["A"]]}
    lines = [line.upper() if line.islower() else f"<{line}>" for line in message["lines"]]
    blank = empty_result(Task.from_message(message["task"]))
    return {"results": [{**blank, **result_of(line)} for line in lines], "seconds": 0.01}


def is_second(message: dict[str, Any]) -> bool:
    """Return whether a message is for the second model."""
    return not message["lines"][0].islower()


@pytest.fixture
def serve(hosts: FakeHosts, tmp_path: Path) -> Any:
    """Return a function that runs a server of fr-en and en-de, with `--pivot en`."""
    hosts.answer = step
    folders = {("fr", "en"): (tmp_path,), ("en", "de"): (tmp_path,)}

    def run(limits: Limits = Limits(), **settings: Any) -> Any:  # noqa: B008
        return running(folders, limits, pivots=("en",), **settings)

    return run


@pytest.fixture
def server(serve: Any) -> Iterator[Running]:
    with serve() as found:
        yield found


def test_both_models_count_their_lines(server: Running) -> None:
    assert server.text("a b\n\n  \nc\n", **FORM) == "<A B>\n\n\n<C>\n"
    assert server.text(["a", "", "b"], **FORM) == ["<A>", "", "<B>"]
    metrics = server.http.get("/metrics").text
    for model in ("fr-en", "en-de"):
        assert f'nmtkit_lines_total{{model="{model}"}} 4' in metrics
        assert f'nmtkit_source_words_total{{model="{model}"}} 5' in metrics


def test_a_line_without_words_between_needs_no_second_model(
    hosts: FakeHosts, server: Running
) -> None:
    hosts.answer = lambda message: {"results": [result_of("") for _ in message["lines"]],
                                    "seconds": 0.01}  # fmt: skip
    before = len(hosts.messages)
    assert server.text("a\nb", **FORM) == "\n"
    assert all(not is_second(message) for message in hosts.messages[before:])


def test_a_prefix_is_for_the_last_model(hosts: FakeHosts, server: Running) -> None:
    with server.socket("/stream") as socket:
        request = {"id": 1, "text": "a\nb\n", "prefix": "\nDer", **FORM}
        socket.send(json.dumps(request))
        answers = [json.loads(socket.recv(10)) for _ in range(4)]
    assert {one["line"]: one["text"] for one in answers[:3]} == {0: "<A>", 1: "<B>", 2: ""}
    given = {m["lines"][0]: m["prefixes"] for m in hosts.messages if "lines" in m}
    assert given["a"] is None
    assert any(m["prefixes"] and "Der" in m["prefixes"] and is_second(m) for m in hosts.messages)


@pytest.mark.parametrize("terms", [{"terms": [["a", "b"]]}, {"glossary": "names"}])
def test_terms_are_refused_and_not_dropped(
    serve: Any, tmp_path: Path, terms: dict[str, Any]
) -> None:
    sentence = "fr-de is translated through en, where terms cannot be applied"
    with serve(glossaries={"names": tmp_path}) as server:
        for fields in ({"q": "a"}, {"q": ["a", "b"]}, {"q": "<p>a</p>", "format": "html"}):
            answer = server.translate(**fields, **FORM, **terms)
            assert answer.status_code == 400 and sentence in answer.json()["error"]
        assert server.text("a", source="fr", target="en", **terms) == "A"
        with server.socket("/stream") as socket:
            socket.send(json.dumps({"id": 1, "text": "a", **FORM, **terms}))
            assert sentence in json.loads(socket.recv(10))["error"]["message"]
        if "glossary" in terms:
            files = {"file": ("a.txt", b"a")}
            answer = server.http.post("/translate_file", data={**FORM, **terms}, files=files)
            assert answer.status_code == 400 and sentence in answer.json()["error"]
        assert server.service.engine.jobs == 0


def test_models_that_are_unloaded_are_loaded_and_stay_while_they_are_needed(
    hosts: FakeHosts, serve: Any
) -> None:
    with serve(unload_idle=0.1) as server:
        server.wait_until(lambda: len(server.events("model_unloaded")) == 2)
        hosts.hold_load, hosts.hold_answer = 0.3, 0.5  # longer than a model may be idle
        assert server.text("a", **FORM) == "<A>"
        assert len(hosts.starts) == 4  # neither was unloaded before its turn
        server.wait_until(lambda: len(server.events("model_unloaded")) == 4)
        files = {"file": ("a.txt", b"a")}
        answer = server.http.post("/translate_file", data=FORM, files=files)
        assert answer.status_code == 200 and len(hosts.starts) == 6


def test_the_time_limit_is_one_for_both_models(hosts: FakeHosts, serve: Any) -> None:
    with serve(Limits(seconds=0.5)) as server:
        hosts.hold_answer = 0.4
        answer = server.translate(q="a", **FORM)
        assert answer.status_code == 408 and server.service.engine.jobs == 0


def test_a_second_model_that_cannot_be_loaded_is_an_answer(hosts: FakeHosts, serve: Any) -> None:
    with serve(unload_idle=0.1) as server:
        server.wait_until(lambda: len(server.events("model_unloaded")) == 2)
        hosts.failure = "broken"
        answer = server.translate(q="a", **FORM)
        assert answer.status_code == 503 and int(answer.headers["retry-after"]) > 0
        models = server.service.engine.pool.models.values()
        assert [model.jobs for model in models] == [0, 0]


def test_a_worker_of_each_model_may_end_once(hosts: FakeHosts, server: Running) -> None:
    """The line is translated again, by the model whose worker has ended."""
    failed: list[bool] = []

    def answer(message: dict[str, Any]) -> Answer:
        if is_second(message) not in failed:
            failed.append(is_second(message))
            raise WorkerEnded
        return step(message)

    hosts.answer = answer
    assert server.text("a", **FORM) == "<A>" and failed == [False, True]
    ends = server.events("worker_ended")
    assert [event["model"] for event in ends] == ["fr-en", "en-de"]


@pytest.mark.parametrize("second", [False, True])
def test_an_error_of_either_model_is_an_answer(
    hosts: FakeHosts, server: Running, second: bool
) -> None:
    def answer(message: dict[str, Any]) -> Answer:
        if is_second(message) == second:
            return {"error": "it is too long", "is_bug": False}
        return step(message)

    hosts.answer = answer
    answer_of_client = server.translate(q="a\nb", **FORM)
    assert answer_of_client.status_code == 400
    assert answer_of_client.json()["error"] == "it is too long"
    assert server.service.engine.jobs == server.service.engine.waiting_lines == 0


def test_a_client_that_leaves_between_the_models_leaves_no_work(
    hosts: FakeHosts, server: Running
) -> None:
    hosts.hold_answer = 0.2
    text = "".join(f"{'a' * n}\n" for n in range(1, 300))
    with pytest.raises(httpx.TimeoutException):
        server.http.post("/translate", json={"q": text, **FORM}, timeout=0.7)
    server.wait_until(lambda: not server.service.engine.jobs)
    assert server.service.engine.waiting_lines == 0
    assert [model.jobs for model in server.service.engine.pool.models.values()] == [0, 0]
    hosts.hold_answer = 0.0
    assert server.text("a", **FORM) == "<A>"


def test_draining_answers_what_two_models_have_begun(hosts: FakeHosts, serve: Any) -> None:
    with serve(drain=10.0) as server, ThreadPoolExecutor(1) as pool:
        hosts.hold_answer = 0.5
        text = pool.submit(server.translate, q="a", **FORM)
        server.wait_until(lambda: hosts.messages)
        server.call(server.server.stop)
        assert text.result().json() == {"translatedText": "<A>"}


def test_an_answer_of_the_second_model_that_cannot_be_used_is_an_error_at_once(
    hosts: FakeHosts, server: Running
) -> None:
    hosts.answer = lambda m: {**step(m), **({"results": [{}]} if is_second(m) else {})}
    answer = server.translate(q="a", **FORM)
    assert answer.status_code == 503 and "line 1" in answer.json()["error"]
    server.clear_events("engine_error")


def test_a_line_does_not_wait_for_a_long_text_of_two_models(hosts: FakeHosts, serve: Any) -> None:
    with serve(cores=1) as server, ThreadPoolExecutor(2) as pool:
        hosts.hold_answer = 1.0
        long = pool.submit(server.translate, q="a\n" * 1_500, **FORM)
        server.wait_until(lambda: hosts.messages)
        short = pool.submit(server.translate, q="b", **FORM)
        server.wait_until(lambda: server.service.engine.jobs == 2)
        begun = len(hosts.messages)
        hosts.hold_answer = 0.0
        assert short.result().json() == {"translatedText": "<B>"}
        assert long.result().json() == {"translatedText": "<A>\n" * 1_500}
    pieces = [message["lines"] for message in hosts.messages]
    first, second = (next(n for n, lines in enumerate(pieces) if one in lines) for one in "bB")
    assert first <= begun + 2 and second <= first + 2 < len(pieces) - 10


def test_files_pass_through_a_process_of_each_model(hosts: FakeHosts, server: Running) -> None:
    assert server.text(["<p>a", "b", "<p>c"], format="html", **FORM) == ["<p>a", "<B>", "<p>c"]
    files = [message["files"] for message in hosts.messages if "files" in message]
    assert [(one["texts"], one["is_last"]) for one in files] == [
        (None, False),
        ([["A"]], True),
    ]
    assert {tuple(one["languages"]) for one in files} == {("fr", "de")}
