"""The process of a model's host, as the server sees it."""

import asyncio
import socket
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from nmtkit.errors import ModelError
from nmtkit.serve.model_process import ModelProcess


def test_a_worker_that_nobody_waits_for_any_more_ends() -> None:
    async def start_and_leave() -> bytes:
        mine, host = socket.socketpair()
        with mine, host:
            process = ModelProcess(cast(Any, None), mine)
            starting = asyncio.create_task(process.new_worker())
            await asyncio.sleep(0)
            _, descriptors, _, _ = socket.recv_fds(host, 100, 1)
            with socket.socket(fileno=descriptors[0]) as worker:
                await asyncio.sleep(0.01)
                starting.cancel()
                await asyncio.gather(starting, return_exceptions=True)
                await asyncio.sleep(0.01)
                assert starting.cancelled()
                worker.settimeout(10)
                return worker.recv(100)

    assert asyncio.run(start_and_leave()) == b""


def test_a_path_that_is_no_text_is_left_out_of_the_path_of_imports(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, Path("modules")])
    settings = {"folders": [str(tmp_path)], "device": "cpu", "params": "best", "glossaries": {}}
    with pytest.raises(ModelError, match="config.toml"):
        asyncio.run(ModelProcess.start(settings))
