"""The log goes to stderr and does not break progress bars."""

import io
import logging
from collections.abc import Iterator

import pytest
from tqdm import tqdm

from nmtkit.cli import console


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    """Restore the log after each test."""
    logger = logging.getLogger("nmtkit")
    level, handlers = logger.level, logger.handlers[:]
    yield
    logger.setLevel(level)
    logger.handlers[:] = handlers


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        (logging.DEBUG, ["nmtkit: small", "nmtkit: note", "nmtkit: warning: odd"]),
        (logging.INFO, ["nmtkit: note", "nmtkit: warning: odd"]),
        (logging.WARNING, ["nmtkit: warning: odd"]),
    ],
)
def test_the_log_goes_to_stderr_by_level(
    level: int, shown: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    console.configure_logging(logging.DEBUG)
    console.configure_logging(level)  # the second call adds no second handler
    logging.getLogger("nmtkit.training").debug("small")
    logging.getLogger("nmtkit").info("note")
    console.warn("odd")
    assert capsys.readouterr() == ("", "".join(f"{line}\n" for line in shown))


def test_a_percent_sign_in_a_warning_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    console.configure_logging(logging.INFO)
    console.warn("100%s")
    assert capsys.readouterr().err == "nmtkit: warning: 100%s\n"


def test_a_log_line_does_not_break_a_progress_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    console.configure_logging(logging.INFO)
    with tqdm(total=2, file=screen, desc="bar", mininterval=0) as bar:
        bar.update()
        console.warn("between")
        bar.update()
    line = next(part for part in screen.getvalue().split("\n") if "between" in part)
    assert line.rpartition("\r")[2] == "nmtkit: warning: between"  # the bar was wiped before


def test_a_closed_stderr_does_not_stop_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr("sys.stderr", Gone())
    console.configure_logging(logging.INFO)
    console.warn("unheard")


@pytest.mark.parametrize(
    ("terminal", "level", "drawn"),
    [(True, logging.INFO, True), (True, logging.WARNING, False), (False, logging.INFO, False)],
)
def test_bars_are_drawn_on_terminals_only(
    terminal: bool, level: int, drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: terminal)
    monkeypatch.setattr("sys.stderr", screen)
    console.configure_logging(level)
    assert console.show_progress() is drawn
