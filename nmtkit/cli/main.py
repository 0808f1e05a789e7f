"""The command `nmtkit`: its subcommands, and errors as one line and an exit status.

A subcommand's module is imported when it is called or its own help is shown, and imports its driver
(and torch) when it runs; so `--help` and shell completion answer at once.

Exit status: 0 success, 1 failure, 2 wrong usage; after a signal 128 plus its number, as shells
report it: 130 interrupted, 143 terminated, 129 terminal closed, 141 broken pipe.
"""

import atexit
import contextlib
import io
import logging
import os
import platform
import sys
import threading
from collections.abc import Sequence
from typing import Any, NoReturn, TextIO

import click
from click.exceptions import Exit

import nmtkit
from nmtkit.cli.command import GENERAL, group, option
from nmtkit.cli.command_group import LazyGroup
from nmtkit.cli.console import LOGGER, close_bars, configure_logging, write_stderr
from nmtkit.cli.old_spellings import Renamed
from nmtkit.cli.termination import Terminated, raise_on_termination
from nmtkit.errors import NAME_ERRORS, NmtkitError, TrainingInterrupted, is_out_of_memory
from nmtkit.extras import install_command
from nmtkit.parallel import environment
from nmtkit.posix import check_platform, check_working_folder

COMMANDS: dict[str, tuple[str, str]] = {
    "prepare": ("nmtkit.cli.prepare", "Tokenise, clean and split raw parallel text."),
    "select": ("nmtkit.cli.select", "Select the pairs of a corpus that are like a domain."),
    "shortlist": ("nmtkit.cli.shortlist", "Make the vocabulary of the most frequent words."),
    "train": ("nmtkit.cli.train", "Train a model on a prepared corpus."),
    "adapt": ("nmtkit.cli.adapt", "Teach a model your corrections."),
    "curves": ("nmtkit.cli.curves", "Tabulate and draw learning curves."),
    "optimize": ("nmtkit.cli.optimize", "Make a model translate faster, and check its quality."),
    "calibrate": ("nmtkit.cli.calibrate", "Learn how sure a model can be of its translations."),
    "translate": ("nmtkit.cli.translate", "Translate lines from stdin to stdout."),
    "serve": ("nmtkit.cli.serve", "Translate for programs, over HTTP and WebSocket."),
    "score": ("nmtkit.cli.score", "Compute log-probabilities of translations."),
    "nbest": ("nmtkit.cli.nbest", "Score, rerank and tune n-best lists of Moses."),
    "phrase-table": ("nmtkit.cli.phrase_table", "Score phrase tables of Moses, and compare."),
    "align": ("nmtkit.cli.align", "Align the words of sentence pairs, and draw them."),
    "embed": ("nmtkit.cli.embed", "Compute vectors of sentences or words."),
    "map": ("nmtkit.cli.map", "Draw vectors in the plane, by PCA or t-SNE."),
    "evaluate": ("nmtkit.cli.evaluate", "Compare translations with references."),
    "report": ("nmtkit.cli.report", "Write a page on models and their translations."),
    "check": ("nmtkit.cli.check", "Find damaged files, and say how to mend them."),
}
"""Name -> module that defines `command`, and the command's purpose in one sentence."""

MOVED = (
    Renamed("rerank", "nbest rerank"),
    Renamed("tune", "nbest tune"),
    Renamed("score --phrase-table {TABLE}", "phrase-table score {TABLE}"),
    Renamed("score --nbest {LIST}", "nbest score {LIST}"),
    Renamed("report --phrase-table {TABLE}", "phrase-table report {TABLE}"),
)
"""Command lines of version 0.1.0, and the commands that replace them."""

MULTI_PROCESS_COMMANDS = ("train", "translate", "score")
"""Commands that several processes can run together, as under torchrun."""

EXTRAS = {
    "matplotlib": "plots",
    "sklearn": "plots",
    "tensorboard": "tensorboard",
    "kenlm": "kenlm",
    "starlette": "serve",
    "uvicorn": "serve",
    "websockets": "serve",
    "python_multipart": "serve",
}
"""Optional module -> extra of the package that installs it."""

COMPLETION_VARIABLE = "_NMTKIT_COMPLETE"
"""Environment variable in which a shell requests completions: `bash_complete`."""

FAILED = 1
SIGNALLED = 128
INTERRUPTED = 130
BROKEN_PIPE = 141


class Program(LazyGroup):
    """The command `nmtkit` itself: runs a subcommand and reports its errors."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        *_: Any,
        **context_settings: Any,
    ) -> NoReturn:
        """Run a command line and exit with its status; see `run`.

        This overrides click's method, so that tests see the same statuses as users.
        """
        context_settings.pop("standalone_mode", None)
        sys.exit(self.run(args, prog_name, **context_settings))

    def run(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        **context_settings: Any,
    ) -> int:
        """Run a command line, report errors, and return the exit status.

        Exceptions that are bugs of the program are raised again.

        :param args: arguments after `nmtkit`; by default those of this process.
        """
        open_standard_streams()
        configure_logging(logging.INFO)
        arguments = sys.argv[1:] if args is None else list(args)
        name = prog_name or "nmtkit"
        if instruction := os.environ.get(COMPLETION_VARIABLE):
            from click.shell_completion import shell_complete

            return close_stdout(shell_complete(self, {}, name, COMPLETION_VARIABLE, instruction))
        try:
            with raise_on_termination():
                with self.make_context(name, arguments, **context_settings) as context:
                    self.invoke(context)
                sys.stdout.flush()
            status = 0
        except Exit as end:
            status = end.exit_code
        except (KeyboardInterrupt, click.Abort):
            status = INTERRUPTED
        except (Terminated, TrainingInterrupted) as error:
            status = SIGNALLED + error.signal
        except BrokenPipeError:
            status = BROKEN_PIPE
        except Exception as error:
            close_bars()
            status = report(error)
        finally:
            close_bars()
        return close_stdout(status)


def report(error: Exception) -> int:
    """Write an error on one line of stderr, and return the exit status.

    An exception that is a bug of the program is raised again.
    """
    message = explain(error)
    if message is None:
        raise error
    LOGGER.debug("traceback of the error:", exc_info=error)
    write_stderr(f"nmtkit: error: {one_line(message)}")
    return error.exit_code if isinstance(error, click.ClickException) else FAILED


def explain(error: Exception) -> str | None:
    """Return the message for an error of the user or the system; None for a bug."""
    if isinstance(error, NmtkitError):
        return str(error)
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{error.format_message()} See: {error.ctx.command_path} --help"
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError) and error.strerror:
        return f"{file_of_error(error)}: {error.strerror}"
    if isinstance(error, ModuleNotFoundError):
        module = (error.name or "").partition(".")[0]
        if module in EXTRAS:
            return f"{module} is not installed; run: {install_command(EXTRAS[module])}"
    if is_out_of_memory(error):
        return "not enough memory; use smaller batches, or a device that has more"
    return None


def file_of_error(error: OSError) -> str:
    """Return the file that an operating system error is about, as far as it is known."""
    if isinstance(error.filename, str | bytes | os.PathLike):
        return os.fsdecode(error.filename)
    try:
        sys.stdout.flush()
    except OSError:  # the output that could not be written is still buffered, and fails again
        return "stdout"
    return "reading or writing failed"


def one_line(message: str) -> str:
    """Return a message without line breaks and control characters.

    Messages of TOML and operating systems have line breaks. Control characters are escaped, because
    a message may quote an untrusted file.
    """
    line = " ".join(part.strip() for part in message.splitlines())
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def open_standard_streams() -> None:
    """Make stdout UTF-8 with LF newlines in any locale; replace closed streams by os.devnull.

    Reading a stdin and writing to a stdout that were closed fails, so that lines are not lost
    without an error; the log may be lost. Streams that another process made non-blocking wait
    again: Python loses what such a stream does not take at once.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is not None:
            # a stream in memory, or no POSIX system
            with contextlib.suppress(OSError, ValueError, AttributeError):
                os.set_blocking(stream.fileno(), True)
        else:
            access = os.O_RDONLY if name == "stdout" else os.O_WRONLY
            null = os.open(os.devnull, access)
            setattr(sys, name, open(null, mode, encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        if isinstance(sys.stdout.buffer, io.RawIOBase):  # PYTHONUNBUFFERED: a write that ends
            # half way, as on a disk that fills up, would lose its rest without an error
            sys.stdout = open(sys.stdout.fileno(), "w", buffering=1, closefd=False)  # noqa: SIM115
        sys.stdout.reconfigure(encoding="utf-8", errors=NAME_ERRORS, newline="\n")


def close_stdout(status: int) -> int:
    """Flush stdout, and return the exit status, which changes if flushing fails.

    If the reader has left or the disk is full, the rest of the output is dropped; otherwise the
    interpreter would try again at exit and report a second error.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output(sys.stdout)
        return BROKEN_PIPE
    except OSError:  # already reported, unless another error came before
        drop_output(sys.stdout)
        return status or FAILED
    return status


def drop_output(stream: TextIO) -> None:
    """Discard the output that is still buffered in `stream`."""
    with contextlib.suppress(OSError, ValueError):  # a stream in memory has no file descriptor
        with open(os.devnull, "wb") as null:
            os.dup2(null.fileno(), stream.fileno())


def print_versions(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    """Print the versions that a bug report needs, without importing torch."""
    if not value or ctx.resilient_parsing:
        return
    from importlib import metadata

    try:
        torch_version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        torch_version = "not installed"
    click.echo(f"nmtkit {nmtkit.__version__}")
    click.echo(f"torch {torch_version}")
    click.echo(f"Python {platform.python_version()}")
    ctx.exit()


@click.group(
    cls=Program,
    lazy_commands=COMMANDS,
    moved=MOVED,
    context_settings={
        "max_content_width": 100,
        "show_default": True,
    },
)
@group(
    GENERAL,
    option(
        "--version",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=print_versions,
        help="Show the versions of nmtkit, torch and Python, and exit.",
    ),
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Neural machine translation from the papers that began it.

    Text is UTF-8, one sentence per line; '-' is stdin or stdout. Inputs may be compressed with
    gzip, bzip2, xz or Zstandard, whatever their names; outputs are if their names end in .gz, .bz2,
    .xz or .zst. Results go to stdout or to --output, everything else to stderr.

    Example:
      nmtkit translate --model model < english.txt > french.txt

    The exit status is 0 if the work is done, 1 if it failed, 2 if the command line is wrong.

    """
    check_platform()
    check_working_folder()
    if environment.size() > 1 and ctx.invoked_subcommand not in MULTI_PROCESS_COMMANDS:
        raise click.UsageError(
            f"'{ctx.invoked_subcommand}' runs in one process, and {environment.size()} were"
            f" started together; only {', '.join(MULTI_PROCESS_COMMANDS)} can share their work."
        )


def main() -> NoReturn:
    """Run the console script `nmtkit`."""
    end_process(cli.run(prog_name="nmtkit"))


def end_process(status: int) -> NoReturn:
    """Flush streams, run exit handlers, and exit without freeing memory.

    Freeing memory takes 0.1 s once torch is imported, and more if a fork shares the pages. If
    threads are still running, or the job has other processes, the interpreter exits as usual.
    """
    if threading.active_count() > 1 or environment.size() > 1:
        sys.exit(status)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # closed by its reader
            stream.flush()
    os._exit(status)
