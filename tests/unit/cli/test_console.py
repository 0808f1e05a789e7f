"""The log goes to stderr ; bars over lines."""

import io
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from nmtkit.cli import console
from nmtkit.progress_bar import ProgressBar


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


def test_a_closed_stderr_does_not_stop_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr("sys.stderr", Gone())
    console.configure_logging(logging.INFO)
    console.warn("unheard")


@pytest.mark.parametrize(
    ("inputs", "output", "typed", "shown"),
    [
        (["FILE"], "out", False, True),
        (["FILE"], None, False, True),
        (["FILE"], "-", False, False),
        (["-"], "out", True, False),
        (["-"], "out", False, True),
    ],
)
def test_bars_over_lines_leave_results_and_typed_lines_alone(
    inputs: list[str],
    output: str | None,
    typed: bool,
    shown: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("stdin", "stdout", "stderr"):
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda name=name: name != "stdin" or typed)
        monkeypatch.setattr(f"sys.{name}", stream)
    console.configure_logging(logging.INFO)
    (tmp_path / "file").write_text("a\nb\nc")
    names = [str(tmp_path / "file") if name == "FILE" else name for name in inputs]
    bar = console.line_bar("read", "lines", names, output)
    assert isinstance(bar, ProgressBar) is shown
    if isinstance(bar, ProgressBar):
        assert bar.total == (3 if inputs == ["FILE"] else None)
    assert list(bar.track("ab")) == ["a", "b"]
