"""A request's lines on their way through the engine, from one model to the next."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Hashable, Sequence

from nmtkit.serve.errors import JobCancelled, RequestError
from nmtkit.serve.results import LineResult, pivoted_result
from nmtkit.serve.routes import Pair, Route
from nmtkit.serve.task import Task

Key = tuple[Pair, Task]
"""The model that a line needs, and what it does; lines with the same key are searched together."""


class Job:
    """Lines of one request that are translated alike.

    keys: of the models that translate each line in turn. lines: of text.
    client: who asked. attempts: how often each line was given to a worker that failed.

    :param route: pairs of the models. task: how. prefixes: of the translations, or None.
    """

    def __init__(
        self,
        route: Route,
        task: Task,
        lines: Sequence[str],
        prefixes: Sequence[str] | None,
        client: Hashable,
    ) -> None:
        self.keys: list[Key] = list(zip(route, task.steps(len(route)), strict=True))
        self.lines, self.client = lines, client
        self.attempts = [0] * len(lines)
        self._task, self._prefixes = task, prefixes
        self._halfway: dict[int, LineResult] = {}
        self.on_close: Callable[[], None] = lambda: None
        self._answers: asyncio.Queue[tuple[int, LineResult] | Exception] = asyncio.Queue()
        self._answered = [False] * len(lines)
        self._left = len(lines)
        self.is_closed = False

    @property
    def characters(self) -> int:
        """Characters of all lines."""
        return sum(map(len, self.lines))

    def key(self, index: int) -> Key:
        """Return the model that translates a line now, and its task."""
        return self.keys[-1 if index in self._halfway else 0]

    def text(self, index: int) -> str:
        """Return what this model reads: the line, or the translation of the one before."""
        text: str = self._halfway[index]["text"] if index in self._halfway else self.lines[index]
        return text

    def prefix(self, index: int) -> str:
        """Return how this model's translation of a line begins; that of the last one alone may."""
        is_last = len(self.keys) == 1 or index in self._halfway
        return self._prefixes[index] if self._prefixes and is_last else ""

    def take(self, index: int, result: LineResult) -> bool:
        """Take this model's result of a line; return whether another model goes on with it."""
        if len(self.keys) == 1:
            self.answer(index, result)
        elif index in self._halfway:
            self.answer(index, pivoted_result(self._halfway[index], result, self._task))
        else:
            self._halfway[index] = result
            self.attempts[index] = 0
            return True
        return False

    def answer(self, index: int, result: LineResult) -> None:
        """Give the result of a line to the client; those of a closed job are dropped."""
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
