"""A request's lines on their way through the engine."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Hashable, Sequence
from typing import Any

from nmtkit.serve.errors import JobCancelled, RequestError
from nmtkit.serve.task import Task

LineResult = dict[str, Any]
"""What clients learn about a line: see `piece.line_result`."""

Pair = tuple[str, str]
"""Source and target language."""


class Job:
    """Lines of one request that are translated alike.

    pair: languages. task: how. lines: of text. prefixes: of their translations.
    client: who asked. attempts: how often each line was given to a worker that failed.
    """

    def __init__(
        self,
        pair: Pair,
        task: Task,
        lines: Sequence[str],
        prefixes: Sequence[str] | None,
        client: Hashable,
    ) -> None:
        self.pair, self.task = pair, task
        self.lines, self.prefixes = lines, prefixes
        self.client = client
        self.attempts = [0] * len(lines)
        self.on_close: Callable[[], None] = lambda: None
        self._answers: asyncio.Queue[tuple[int, LineResult] | Exception] = asyncio.Queue()
        self._answered = [False] * len(lines)
        self._left = len(lines)
        self.is_closed = False

    @property
    def characters(self) -> int:
        """Characters of all lines."""
        return sum(map(len, self.lines))

    def answer(self, index: int, result: LineResult) -> None:
        """Give the result of a line; those of a closed job are dropped."""
        if self.is_closed:
            return
        assert not self._answered[index], "a line has one result"
        self._answered[index] = True
        self._left -= 1
        self._answers.put_nowait((index, result))
        if not self._left:
            self._close()

    def fail(self, error: Exception) -> None:
        """End the job with an error; the lines that still wait are dropped."""
        if not self.is_closed:
            self._answers.put_nowait(error)
            self._close()

    def cancel(self) -> None:
        """End the job because nobody waits for it any more."""
        self.fail(JobCancelled())

    def expire(self, seconds: float) -> None:
        """End the job because its time is over."""
        sentence = f"not translated within {seconds:g} seconds; send less text at once"
        self.fail(RequestError(408, sentence))

    def _close(self) -> None:
        self.is_closed = True
        self.on_close()

    async def results(self) -> AsyncGenerator[tuple[int, LineResult], None]:
        """Yield the number of each line and its result, as they are ready.

        :raises RequestError: the job has failed.
        :raises JobCancelled: it was cancelled.
        """
        try:
            for _ in self.lines:
                answer = await self._answers.get()
                if isinstance(answer, Exception):
                    raise answer
                yield answer
        finally:
            self.cancel()  # of a reader that has left

    async def all_results(self) -> list[LineResult]:
        """Return the results of all lines, in their order; errors are those of `results`."""
        found: dict[int, LineResult] = {}
        async with contextlib.aclosing(self.results()) as results:
            async for index, result in results:
                found[index] = result
        return [found[index] for index in range(len(self.lines))]
