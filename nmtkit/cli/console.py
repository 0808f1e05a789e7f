"""Output on stderr: the log, warnings, and bars over the lines of files."""

import contextlib
import logging
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

import click

Item = TypeVar("Item")


class LineBar(Protocol):
    """A progress bar, or what stands for one."""

    def __enter__(self) -> "LineBar":
        """Open the bar."""

    def __exit__(self, *_: object) -> None:
        """Close the bar."""

    def update(self, count: int = 1) -> None:
        """Count further things."""

    def follow(self, ahead: Callable[[], int]) -> None:
        """Show another count where it is higher."""

    def track(self, items: Iterable[Item]) -> Iterable[Item]:
        """Return items, which are counted."""


LOGGER = logging.getLogger("nmtkit")

VERBOSITY = "nmtkit.verbosity"
"""Key in the context's `meta` for the verbosity option given: "quiet" or "verbose"."""


def warn(message: str) -> None:
    """Log a warning about a problem that does not stop the command."""
    LOGGER.warning("%s", message)


def line_bar(
    label: str,
    unit: str,
    inputs: Sequence[str],
    output: str | None = "-",
    has_total: bool = True,
) -> "LineBar":
    """Return a progress bar over the lines of files, whose number is counted first if it is quick.

    Nothing is drawn where results appear on the same terminal, or lines are typed.

    :param inputs: files with one line for each thing that is counted; the first is read.
    :param output: file of the results; None: they are not written line by line.
    :param has_total: False: what is counted are not the lines of the files.
    """
    from nmtkit.io.inputs import is_terminal
    from nmtkit.io.lines import count_lines

    quiet = not LOGGER.isEnabledFor(logging.INFO)
    covered = output == "-" and sys.stdout.isatty()
    if quiet or covered or not sys.stderr.isatty() or any(map(is_terminal, inputs)):
        return HiddenBar()
    from nmtkit.progress_bar import ProgressBar

    return ProgressBar(label, unit, count_lines(inputs[0]) if inputs and has_total else None)


class HiddenBar:
    """What stands for a progress bar where none is drawn."""

    def __enter__(self) -> "HiddenBar":
        """Do nothing."""
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""

    def update(self, count: int = 1) -> None:
        """Do nothing."""

    def follow(self, ahead: Callable[[], int]) -> None:
        """Do nothing."""

    def track(self, items: Iterable[Item]) -> Iterable[Item]:
        """Return the items."""
        return items


def terminal_width() -> int | None:
    """Return the width of stdout's terminal in cells, or None if stdout is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def choose_verbosity(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    """Set the log level; callback of `--quiet` and `--verbose`.

    :raises click.UsageError: both options were given, before or after the command's name.
    """
    if not value or context.resilient_parsing:
        return
    first = context.meta.setdefault(VERBOSITY, parameter.name)
    if first != parameter.name:
        raise click.UsageError("--quiet and --verbose exclude each other; give one of them.")
    configure_logging(logging.WARNING if parameter.name == "quiet" else logging.DEBUG)


def configure_logging(level: int) -> None:
    """Send the package's log to stderr, one `nmtkit: message` per line.

    A second call changes the level only.

    :param level: lowest level to show, such as `logging.INFO`.
    """
    if not any(isinstance(handler, _StderrHandler) for handler in LOGGER.handlers):
        handler = _StderrHandler()
        handler.setFormatter(_Formatter())
        LOGGER.addHandler(handler)
    LOGGER.setLevel(level)


def write_stderr(line: str) -> None:
    """Write one line to stderr, above any progress bar."""
    bars = sys.modules.get("nmtkit.progress_bar")  # without the module no bar is drawn
    with contextlib.nullcontext() if bars is None else bars.SCREEN.above():
        print(line, file=sys.stderr, flush=True)


def close_bars() -> None:
    """Wipe the progress bars that are still open, as after an error."""
    bars = sys.modules.get("nmtkit.progress_bar")
    if bars is not None:
        bars.SCREEN.close_all()


class _Formatter(logging.Formatter):
    """Formats `nmtkit: message`, with the level's name for warnings and errors."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        level = f"{record.levelname.lower()}: " if record.levelno >= logging.WARNING else ""
        return f"nmtkit: {level}{record.message}"


class _StderrHandler(logging.Handler):
    """Writes to the current `sys.stderr`, so that redirection is respected."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            write_stderr(self.format(record))
        except OSError:  # stderr is closed; the results matter more than the log
            return
        except Exception:
            self.handleError(record)
