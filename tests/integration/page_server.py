"""A server for tests of the page of `nmtkit serve`: its endpoints, with a translator of few words.

Words in the text ask for what a test needs: `slow` delays its line, `status413` and the like
answer with an error, `hangup` closes the connection.
"""

import asyncio
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from nmtkit.serve.page import load_page

ENGLISH = "the a cat dog sleeps black big house and eats hello".split()
FRENCH = "le un chat chien dort noir grand maison et mange bonjour".split()
WORDS = dict(zip(ENGLISH, FRENCH, strict=True))
BACK = {target: source for source, target in WORDS.items()}
OTHERS = {"chat": ["chat", "matou", "minou"], "dort": ["dort", "sommeille"], "le": ["le", "un"]}
ADJECTIVES = {"black", "big"}
DOUBTED = {"noir": 0.35, "grand": 0.65}
SLOW_SECONDS = 0.6
LANGUAGES = [
    {"code": "en", "name": "English", "targets": ["fr", "ar"]},
    {"code": "fr", "name": "French", "targets": ["en"]},
    {"code": "ar", "name": "Arabic", "targets": []},
]
SETTINGS = {
    "apiKeys": False,
    "charLimit": 2000,
    "filesTranslation": True,
    "supportedFilesFormat": [".txt", ".docx"],
}
WORD = re.compile(r"\w+|[^\w\s]")


@dataclass
class PageServer:
    """A server that runs in a thread.

    received: what clients sent on /stream. files: names of uploaded files. settings: the answer of
    /frontend/settings, which a test may change.
    """

    port: int = 0
    received: list[dict[str, Any]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=lambda: dict(SETTINGS))
    languages: list[dict[str, Any]] = field(default_factory=lambda: list(LANGUAGES))
    glossaries: list[str] = field(default_factory=lambda: ["medicine", "law"])
    fail_next: list[int] = field(default_factory=list)
    calibrated: bool = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @contextmanager
    def run(self) -> Iterator[None]:
        """Serve until the block ends; the port stays the same when called again."""
        import uvicorn

        with socket.create_server(("127.0.0.1", self.port)) as listener:
            self.port = listener.getsockname()[1]
            config = uvicorn.Config(
                self._application(),
                log_level="critical",
                lifespan="off",
                timeout_graceful_shutdown=1,
            )
            server = uvicorn.Server(config)
            thread = threading.Thread(
                target=server.run, kwargs={"sockets": [listener]}, daemon=True
            )
            thread.start()
            while not server.started:
                time.sleep(0.01)
            try:
                yield
            finally:
                server.should_exit = True
                thread.join()

    def texts(self) -> list[str]:
        """Return the texts of all requests."""
        return [message["text"] for message in self.received if "text" in message]

    def _application(self) -> Any:
        from starlette.applications import Starlette
        from starlette.responses import JSONResponse, Response
        from starlette.routing import Route, WebSocketRoute

        async def page(_: Any) -> Any:
            content = load_page()
            return Response(content.html, headers=content.headers)

        async def translate_file(request: Any) -> Any:
            async with request.form() as form:
                upload, target = form["file"], form["target"]
                self.files.append(upload.filename)
                data = await upload.read()
            if b"status" in data:
                return JSONResponse({"error": "The file is too large."}, status_code=413)
            name = f"{target}-{upload.filename}"
            disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
            return Response(data.upper(), media_type="text/plain", headers=disposition)

        def answer(value: str) -> Any:
            async def give(_: Any) -> Any:
                return JSONResponse(getattr(self, value))

            return give

        routes = [
            Route("/", page),
            Route("/languages", answer("languages")),
            Route("/frontend/settings", answer("settings")),
            Route("/glossaries", answer("glossaries")),
            Route("/translate_file", translate_file, methods=["POST"]),
            WebSocketRoute("/stream", self._stream),
        ]
        return Starlette(routes=routes)

    async def _stream(self, connection: Any) -> None:
        from starlette.websockets import WebSocketDisconnect

        await connection.accept()
        slots: dict[str, tuple[int, asyncio.Task[None]]] = {}
        try:
            while True:
                message = json.loads(await connection.receive_text())
                self.received.append(message)
                if "cancel" in message:
                    continue
                slot = message.get("slot", str(message["id"]))
                if slot in slots and not slots[slot][1].done():
                    number, task = slots[slot]
                    task.cancel()
                    await connection.send_json({"id": number, "cancelled": True})
                task = asyncio.create_task(self._answer(connection, message))
                slots[slot] = (message["id"], task)
        except WebSocketDisconnect:
            pass
        finally:
            for _, task in slots.values():
                task.cancel()

    async def _answer(self, connection: Any, message: dict[str, Any]) -> None:
        number, text = message["id"], message["text"]
        error = re.search(r"status(\d+)", text)
        status = self.fail_next.pop() if self.fail_next else int(error[1]) if error else 0
        if status:
            said = {"status": status, "message": f"refused with {status}"}
            await connection.send_json({"id": number, "error": said})
        elif "hangup" in text:
            await connection.close()
        elif message.get("alternatives"):
            found = alternatives(text, message["prefix"])
            await connection.send_json({"id": number, "alternatives": found})
        else:
            lines = text.split("\n")
            for line, source in enumerate(lines):
                await asyncio.sleep(SLOW_SECONDS if "slow" in source else 0)
                answer = translate(source, message, self.calibrated)
                await connection.send_json(
                    {"id": number, "line": line, "lines": len(lines), **answer}
                )
            await connection.send_json({"id": number, "done": True})


def placed(text: str, words: list[str]) -> list[dict[str, Any]]:
    """Return words with their offsets in code points."""
    result, at = [], 0
    for word in words:
        start = text.index(word, at)
        at = start + len(word)
        result.append({"text": word, "start": start, "end": at})
    return result


def translate(source: str, message: dict[str, Any], calibrated: bool = True) -> dict[str, Any]:
    """Translate word by word, adjectives behind their noun; begin with the prefix."""
    src_words = WORD.findall(source)
    order = list(range(len(src_words)))
    for i in range(len(order) - 1):
        if src_words[i].lower() in ADJECTIVES:
            order[i], order[i + 1] = order[i + 1], order[i]
    terms = {source: target.split("|")[0] for source, target in message.get("terms") or []}
    table = {**(WORDS if message["target"] != "en" else BACK), **terms}
    tgt_words = [table.get(src_words[j].lower(), src_words[j].upper()) for j in order]
    prefix = message.get("prefix", "")
    head = WORD.findall(prefix)
    tgt_words = head + tgt_words[len(head) :]
    order = (order + [0] * len(tgt_words))[: len(tgt_words)]
    text = prefix.rstrip() + "".join(
        (" " if i and re.match(r"[\w<]", word) else "") + word
        for i, word in enumerate(tgt_words)
        if i >= len(head)
    )
    links = [[i, j, 0.9] for i, j in enumerate(order)]
    links += [[i, j + 1, 0.1] for i, j in enumerate(order) if j + 1 < len(src_words)]
    sure = [DOUBTED.get(word, 0.95) for word in tgt_words] if message.get("confidence") else None
    return {
        "text": text,
        "source_words": placed(source, src_words),
        "target_words": placed(text, tgt_words),
        "alignment": links,
        "word_scores": [-0.1] * len(tgt_words),
        "confidence": min(sure, default=1.0) if sure and calibrated else None,
        "word_confidences": sure if calibrated else None,
        "missing_terms": [w for w in src_words if terms.get(w) == "impossible"],
    }


def alternatives(source: str, prefix: str) -> list[dict[str, Any]]:
    """Return translations that go on differently after the prefix."""
    message = {"target": "fr", "prefix": prefix}
    best = translate(source, message)["text"]
    following = WORD.findall(best[len(prefix) :])
    words = OTHERS.get(following[0], [following[0]]) if following else []
    rest = best[len(prefix) :].lstrip().removeprefix(following[0] if following else "")
    return [
        {"text": f"{prefix}{word}{rest}", "word": word, "score": -0.5 * (n + 1)}
        for n, word in enumerate(words)
    ]
