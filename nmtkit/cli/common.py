"""What several commands share: options that mean the same everywhere, and words on stderr."""

import contextlib
import gc
import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import click

from nmtkit.parallel import environment

LOGGER = logging.getLogger("nmtkit")

Function = TypeVar("Function", bound=Callable[..., Any])


def device_option(function: Function) -> Function:
    """`--device auto|cpu|cuda`, the parameter `device`."""
    return click.option(
        "--device",
        type=click.Choice(["auto", "cpu", "cuda"]),
        default="auto",
        show_default=True,
        help="Where the model runs; 'auto' takes a GPU where there is one.",
    )(function)


def threads_option(function: Function) -> Function:
    """`--threads N`, the parameter `threads`, for `configure_threads`."""
    return click.option(
        "--threads",
        type=click.IntRange(min=0),
        metavar="N",
        default=0,
        show_default=True,
        help="How many CPU cores the model uses; 0 takes them all, or as many as the environment"
        " variable OMP_NUM_THREADS says.",
    )(function)


def batch_size_option(function: Function) -> Function:
    """`--batch-size N`, the parameter `batch_size`."""
    return click.option(
        "--batch-size",
        type=click.IntRange(min=1),
        metavar="N",
        default=64,
        show_default=True,
        help="How many sentences the model works on together; it changes the speed alone.",
    )(function)


def averaging_options(function: Function) -> Function:
    """`--weights` and `--average`: the parameters `weights`, a list of numbers, and `average`."""
    function = click.option(
        "--average",
        type=click.Choice(["probabilities", "logs"]),
        default="probabilities",
        show_default=True,
        help="What is averaged over several models: their probabilities of the next word, or the"
        " logarithms of these.",
    )(function)
    return click.option(
        "--weights",
        callback=_numbers,
        metavar="W,W,...",
        help="How much each model counts, in the order of --model.  [default: all alike]",
    )(function)


def _numbers(context: click.Context, parameter: click.Parameter, value: str | None) -> list[float]:
    try:
        return [float(number) for number in value.split(",")] if value else []
    except ValueError:
        raise click.BadParameter(f"'{value}' is no list of numbers such as 0.6,0.4.") from None


def language_options(function: Function) -> Function:
    """`-s` and `-t`: the parameters `src_language` and `tgt_language`."""
    for short, side, word, default in (
        ("-t", "tgt", "target", "fr"),
        ("-s", "src", "source", "en"),
    ):
        function = click.option(
            short,
            f"--{side}-language",
            default=default,
            show_default=True,
            metavar="LANG",
            help=f"The {word} language, by its two-letter code.",
        )(function)
    return function


def workers_option(function: Function) -> Function:
    """`--workers N`, the parameter `workers`."""
    return click.option(
        "--workers",
        type=click.IntRange(min=1),
        default=lambda: os.cpu_count() or 1,
        show_default="all CPU cores",
        metavar="N",
        help="How many processes share the work. The result does not depend on it.",
    )(function)


def force_option(function: Function) -> Function:
    """`--force`, the parameter `force`."""
    return click.option(
        "--force", is_flag=True, help="Replace output that exists already; otherwise refuse."
    )(function)


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Import what a command needs without looking for garbage meanwhile.

    What torch makes when it is imported lives as long as the process. Looking through it again
    and again while it grows, and once more at the end, takes a third of `import torch`; so it is
    left alone, and set apart for good. Where torch is there already, nothing is changed.
    """
    if "torch" in sys.modules or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def configure_threads(threads: int) -> None:
    """Let torch use so many cores; call it before the first tensor is computed.

    :param threads: cores; 0 leaves torch's own choice: all, or OMP_NUM_THREADS where it is set.
    """
    if threads > 0:
        with importing():
            import torch

        torch.set_num_threads(threads)


def written_by_first(path: str) -> str:
    """Where this process writes an output: of those that do one job together, rank 0 writes it."""
    return path if environment.rank() == 0 else os.devnull


def warn(message: str) -> None:
    """Tell the user, on stderr, of something odd that does not stop the command."""
    LOGGER.warning("%s", message)


def show_progress() -> bool:
    """Whether a progress bar may be drawn: on a terminal, and not with `--quiet`."""
    return sys.stderr.isatty() and LOGGER.isEnabledFor(logging.INFO)


def terminal_width() -> int | None:
    """Cells of a line where stdout is a terminal; else None."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def configure_logging(level: int) -> None:
    """Send the package's log to stderr, one `nmtkit: message` a line.

    Calling it again changes the level alone.

    :param level: the least important level shown, such as `logging.INFO`.
    """
    if not any(isinstance(handler, _StderrHandler) for handler in LOGGER.handlers):
        handler = _StderrHandler()
        handler.setFormatter(_Formatter())
        LOGGER.addHandler(handler)
    LOGGER.setLevel(level)


def write_stderr(line: str) -> None:
    """One line on stderr, above the progress bars where there are any."""
    bars = sys.modules.get("tqdm")  # not imported here: without tqdm no bar can be drawn
    if bars is None:
        print(line, file=sys.stderr, flush=True)
    else:
        bars.tqdm.write(line, file=sys.stderr)
        sys.stderr.flush()


class _Formatter(logging.Formatter):
    """`nmtkit: message`, and the level's name where it is a warning or worse."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        level = f"{record.levelname.lower()}: " if record.levelno >= logging.WARNING else ""
        return f"nmtkit: {level}{record.message}"


class _StderrHandler(logging.Handler):
    """Writes to what `sys.stderr` is at that moment, so that a redirected one is respected."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            write_stderr(self.format(record))
        except OSError:  # nobody reads stderr any more; the results matter more than the log
            return
        except Exception:
            self.handleError(record)
