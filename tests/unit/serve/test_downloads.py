"""Translated files are kept for some time, and no longer."""

import asyncio

import pytest

from nmtkit.serve import downloads
from nmtkit.serve.downloads import Download, Downloads


def test_a_file_is_forgotten_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "KEPT_SECONDS", 0.01)

    async def add_and_wait() -> None:
        files = Downloads()
        token = files.add("a.txt", b"text")
        assert files.get(token) == Download("a.txt", b"text")
        while files._files:  # though nobody asks for one
            await asyncio.sleep(0.01)
        assert files.get(token) is None

    asyncio.run(add_and_wait())


def test_the_oldest_files_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "MAX_BYTES", 10)

    async def add() -> None:
        files = Downloads()
        tokens = [files.add("a.txt", b"four") for _ in range(3)]
        assert [files.get(token) is not None for token in tokens] == [False, True, True]
        large = files.add("b.txt", b"more than ten bytes")
        assert files.get(large) is not None

    asyncio.run(add())
