"""The progress bar: what its line says, how it fits, and what it does not disturb."""

import io
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from nmtkit import progress_bar
from nmtkit.columns import columns
from nmtkit.parallel.environment import HARMLESS_THREAD
from nmtkit.parallel.fork import can_fork
from nmtkit.progress_bar import SCREEN, Field, ProgressBar, clock, fit


class Terminal(io.StringIO):
    """A terminal in memory."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        """Return True."""
        return True


@pytest.fixture
def open_terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Terminal]]:
    """Return a function that makes stderr a terminal on which bars appear at once.

    A fixture cannot do so itself: pytest replaces stderr again before the test.
    """

    def make() -> Terminal:
        screen = Terminal()
        monkeypatch.setattr("sys.stderr", screen)
        return screen

    monkeypatch.setattr(progress_bar, "DELAY", 0.0)
    monkeypatch.setattr(progress_bar, "INTERVAL", 0.001)
    logger = logging.getLogger("nmtkit")
    level = logger.level
    logger.setLevel(logging.INFO)
    yield make
    SCREEN.close_all()
    logger.setLevel(level)


def wait_for(screen: Terminal, text: str) -> None:
    end = time.monotonic() + 20
    while text not in screen.getvalue():
        assert time.monotonic() < end, screen.getvalue()
        time.sleep(0.002)


@pytest.mark.parametrize("total", [None, 0, 10, 10_000_000])
@pytest.mark.parametrize("done", [0, 7, 10_000_000])
def test_the_line_never_exceeds_the_width(total: int | None, done: int) -> None:
    bar = ProgressBar("übersetzen 日本語", "lines", total)
    bar.update(done)
    for width in (*range(1, 41), 79):
        assert columns(bar.render(width)) <= width


def test_the_line_has_done_and_total_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    bar = ProgressBar("translate", "lines", 10_000)
    assert bar.render(79, blocks=False).startswith(
        "translate: 0 of 10,000 lines, 0:00 so far  ...."
    )
    now[0] = 110.0
    bar.update(2500)
    line = bar.render(79, blocks=False)
    assert line == "translate: 2,500 of 10,000 lines, 250/s, 0:30 left  ######.................."
    now[0] = 115.0
    assert "250/s, 0:25 left" in bar.render(79)  # a rate of what is done, and a falling time
    assert bar.render(39) == "2,500 of 10,000 lines, 0:25 left"


@pytest.mark.parametrize(
    ("unit", "total", "done", "text"),
    [
        ("models", None, 0, "x: 0 models"),
        ("models", None, 1, "x: 1 model,"),
        ("models", None, 2, "x: 2 models,"),
        ("lines", 1, 0, "x: 0 of 1 line,"),
        ("lines", 400, 1, "x: 1 of 400 lines,"),
        ("hypotheses", None, 1, "x: 1 hypothesis,"),
        ("seconds at most", 9, 1, "x: 1 of 9 seconds at most,"),
        ("", None, 0, "x: 0:00 so far"),
    ],
)
def test_units_are_singular_after_one(unit: str, total: int | None, done: int, text: str) -> None:
    bar = ProgressBar("x", unit, total)
    bar.update(done)
    assert bar.render(79).startswith(text)


def test_things_whose_results_come_later_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    bar, ahead = ProgressBar("translate", "lines", 100), [0]
    bar.follow(lambda: ahead[0])
    for count in (0, 25, 50):
        ahead[0] = count
        now[0] = 100.0 + count
        assert bar.render(79).startswith(f"translate: {count} of 100 lines")
    now[0] = 160.0
    assert "0.8/s" not in bar.render(79) and "1.0/s, 0:40 left" in bar.render(79)
    bar.update(60)  # the window's results
    assert bar.render(79).startswith("translate: 60 of 100 lines")


def test_fields_of_the_lowest_rank_are_left_out_first() -> None:
    fields = [Field("a:", 2), Field("bb", 3), Field("cc", 1)]
    assert fit(fields, 9) == "a: bb, cc"
    assert fit(fields, 8) == "a: bb"
    assert fit(fields, 4) == "bb"
    assert fit(fields, 1) == "b"


@pytest.mark.parametrize(
    ("seconds", "text"), [(-1, "0:00"), (7.4, "0:07"), (750, "12:30"), (11_100, "3:05:00")]
)
def test_a_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text


def test_a_bar_is_drawn_without_updates_and_wiped(open_terminal: Callable[[], Terminal]) -> None:
    terminal = open_terminal()
    with ProgressBar("wait", "things", 3):
        wait_for(terminal, "wait: 0 of 3 things")
    lines = terminal.getvalue().split("\r")
    assert lines[-1] == "" and lines[-2].strip() == ""
    assert not any(thread.name == HARMLESS_THREAD for thread in threading.enumerate())


def test_a_short_task_shows_nothing(
    open_terminal: Callable[[], Terminal], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = open_terminal()
    monkeypatch.setattr(progress_bar, "DELAY", 60.0)
    with ProgressBar("wait", "things", 3) as bar:
        time.sleep(0.02)
        bar.update()
    assert terminal.getvalue() == ""


def test_the_bar_opened_last_is_drawn(open_terminal: Callable[[], Terminal]) -> None:
    terminal = open_terminal()
    with ProgressBar("outer", "things"):
        with ProgressBar("inner", "things"):
            wait_for(terminal, "inner")
        wait_for(terminal, "outer")


def test_a_line_is_written_above_the_bar(open_terminal: Callable[[], Terminal]) -> None:
    terminal = open_terminal()
    with ProgressBar("wait", "things"):
        wait_for(terminal, "wait")
        with SCREEN.above():
            terminal.write("a message\n")
        wait_for(terminal, "a message\n\rwait")
    assert terminal.getvalue().split("a message")[0].endswith("\r")


@pytest.mark.parametrize("level", [logging.WARNING, logging.ERROR])
def test_a_quiet_log_shows_no_bar(open_terminal: Callable[[], Terminal], level: int) -> None:
    terminal = open_terminal()
    logging.getLogger("nmtkit").setLevel(level)
    with ProgressBar("wait", "things"):
        time.sleep(0.02)
    assert terminal.getvalue() == ""


def test_what_is_no_terminal_shows_no_bar(open_terminal: Callable[[], Terminal]) -> None:
    terminal = open_terminal()
    terminal.isatty = lambda: False  # type: ignore[method-assign]
    with ProgressBar("wait", "things"):
        time.sleep(0.02)
    assert terminal.getvalue() == ""


def test_an_open_bar_lets_the_process_fork_and_is_not_the_forks(
    open_terminal: Callable[[], Terminal],
) -> None:
    terminal = open_terminal()
    with ProgressBar("wait", "things"):
        wait_for(terminal, "wait")
        assert can_fork()
        for _ in range(50):  # a lock that the thread holds would stay locked in some fork
            process = os.fork()
            if process == 0:
                with SCREEN.above():
                    os._exit(len(SCREEN._bars))
            assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


def test_an_error_of_the_terminal_stops_nothing(open_terminal: Callable[[], Terminal]) -> None:
    terminal = open_terminal()

    def fail(text: str) -> int:
        raise OSError("gone")

    terminal.write = fail  # type: ignore[method-assign]
    with ProgressBar("wait", "things") as bar:
        time.sleep(0.02)
        assert list(bar.track("ab")) == ["a", "b"]
    assert bar.done == 2
