"""The command `nmtkit`: finds its subcommands, and turns failures into one line and a status.

A subcommand's module is imported when it is called, or its own help asked for, and imports its
driver (and torch) when it runs; so `--help` and shell completion answer at once.

Exit status: 0 done, 1 failed, 2 wrong usage; and what a shell reports of a program that a signal
has ended, 128 and its number: 130 interrupted, 143 asked to terminate, 141 nobody reads stdout any
more.
"""

import atexit
import contextlib
import difflib
import importlib
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
from click.shell_completion import CompletionItem, shell_complete

import nmtkit
from nmtkit.cli.common import LOGGER, configure_logging, write_stderr
from nmtkit.errors import NmtkitError, TrainingInterrupted, is_out_of_memory
from nmtkit.parallel import environment

COMMANDS: dict[str, tuple[str, str]] = {
    "prepare": ("nmtkit.cli.prepare", "Tokenise, clean and split raw parallel text."),
    "select": ("nmtkit.cli.select", "Take the pairs of a corpus that are like a domain."),
    "shortlist": ("nmtkit.cli.shortlist", "List the most frequent words of a corpus."),
    "train": ("nmtkit.cli.train", "Train a model on a prepared corpus."),
    "curves": ("nmtkit.cli.curves", "Tabulate and draw the course of trainings."),
    "translate": ("nmtkit.cli.translate", "Translate lines from stdin to stdout."),
    "score": ("nmtkit.cli.score", "Give the log-probability of translations."),
    "rerank": ("nmtkit.cli.rerank", "Give the best hypotheses of an n-best list."),
    "tune": ("nmtkit.cli.tune", "Find weights for the features of an n-best list."),
    "align": ("nmtkit.cli.align", "Align the words of sentence pairs, and draw them."),
    "embed": ("nmtkit.cli.embed", "Give a model's vectors of sentences or words."),
    "map": ("nmtkit.cli.map", "Draw vectors in the plane, by PCA or t-SNE."),
    "evaluate": ("nmtkit.cli.evaluate", "Compare translations with references."),
    "report": ("nmtkit.cli.report", "Show what models have learned, on a page to look at."),
}
"""Name -> module that holds it under the name `command`, and what it does in one sentence."""

TOGETHER = ("train", "translate", "score")
"""Those that several processes can do together."""

EXTRAS = {
    "matplotlib": "plots",
    "sklearn": "plots",
    "jinja2": "report",
    "tensorboard": "tensorboard",
    "kenlm": "kenlm",
}
"""Module that may be missing -> the extra that installs it."""

COMPLETION_VARIABLE = "_NMTKIT_COMPLETE"
"""Set by the shell's completion code: what is asked for, such as `bash_complete`."""

FAILED = 1
SIGNALLED = 128
INTERRUPTED = 130
BROKEN_PIPE = 141


class LazyGroup(click.Group):
    """A group whose commands are imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(COMMANDS[cmd_name][0]).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not ctx.resilient_parsing:
            near = difflib.get_close_matches(name, COMMANDS, n=1)
            remedy = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(COMMANDS)}."
            ctx.fail(f"No such command '{name}'; {remedy}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [
            CompletionItem(name, help=help_text)
            for name, (_, help_text) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        *_: Any,
        **context_settings: Any,
    ) -> NoReturn:
        """Run a command line and leave with the exit status; see `run`.

        It stands in for click's own, so that tests meet the very statuses that users meet.
        """
        context_settings.pop("standalone_mode", None)
        sys.exit(self.run(args, prog_name, **context_settings))

    def run(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        **context_settings: Any,
    ) -> int:
        """Run a command line, and report what fails.

        :param args: what follows the command's name; by default what this process was given.
        :return: the exit status. A fault of the program is raised.
        """
        open_standard_streams()
        arguments = sys.argv[1:] if args is None else list(args)
        name = prog_name or "nmtkit"
        if instruction := os.environ.get(COMPLETION_VARIABLE):
            return close_stdout(shell_complete(self, {}, name, COMPLETION_VARIABLE, instruction))
        try:
            with self.make_context(name, arguments, **context_settings) as context:
                self.invoke(context)
            sys.stdout.flush()
            status = 0
        except Exit as wish:
            status = wish.exit_code
        except (KeyboardInterrupt, click.Abort):
            status = INTERRUPTED
        except TrainingInterrupted as error:
            status = SIGNALLED + error.signal
        except BrokenPipeError:
            status = BROKEN_PIPE
        except Exception as error:
            status = report(error)
        return close_stdout(status)


def report(error: Exception) -> int:
    """Say in one line what failed; the exit status. A fault of the program is raised again."""
    sentence = explain(error)
    if sentence is None:
        raise error
    LOGGER.debug("the error came about like this:", exc_info=error)
    write_stderr(f"nmtkit: error: {one_line(sentence)}")
    return error.exit_code if isinstance(error, click.ClickException) else FAILED


def explain(error: Exception) -> str | None:
    """A failure that is no fault of the program, in a sentence; None where it may be one."""
    if isinstance(error, NmtkitError):
        return str(error)
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{error.format_message()} See: {error.ctx.command_path} --help"
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError) and error.strerror:
        return f"{place_of(error)}: {error.strerror}"
    if isinstance(error, ModuleNotFoundError):
        module = (error.name or "").partition(".")[0]
        if module in EXTRAS:
            return f"{module} is not installed; run: pip install 'nmtkit[{EXTRAS[module]}]'"
    if is_out_of_memory(error):
        return "not enough memory; use smaller batches, or a device that has more"
    return None


def place_of(error: OSError) -> str:
    """The file that an error of the operating system is about."""
    if isinstance(error.filename, str | bytes | os.PathLike):
        return os.fsdecode(error.filename)
    try:
        sys.stdout.flush()
    except OSError:  # what could not be written is still there, and fails again
        return "stdout"
    return "reading or writing failed"


def one_line(message: str) -> str:
    """`message` without line breaks, which TOML and operating systems put into theirs.

    What a terminal would not print but obey (a message may quote a file that somebody else has
    made) is written as its number.
    """
    line = " ".join(part.strip() for part in message.splitlines())
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def open_standard_streams() -> None:
    """stdout in UTF-8 with bare newlines whatever the locale; a closed stream is an empty one."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")


def close_stdout(status: int) -> int:
    """Write what is left for stdout; the exit status, which is another when that fails.

    Where nobody reads any more, or the disk is full, the rest is dropped here: the interpreter
    would try once more when it ends, and complain.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output(sys.stdout)
        return BROKEN_PIPE
    except OSError:  # reported when it first came up, unless something else had failed before
        drop_output(sys.stdout)
        return status or FAILED
    return status


def drop_output(stream: TextIO) -> None:
    """Let whatever is still buffered in `stream` go nowhere."""
    with contextlib.suppress(OSError, ValueError):  # a stream in memory has no file behind it
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())


def print_versions(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """The versions a report of a problem needs, read without importing torch."""
    if not wanted or ctx.resilient_parsing:
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
    cls=LazyGroup,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.option("-v", "--verbose", is_flag=True, help="Log more, and where an error came from.")
@click.option("-q", "--quiet", is_flag=True, help="Log warnings only, and draw no progress bars.")
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_versions,
    help="Show the versions of nmtkit, torch and Python, and exit.",
)
@click.pass_context
def cli(ctx: click.Context, verbose: bool, quiet: bool) -> None:
    """Neural machine translation from the papers that began it.

    Text is UTF-8, one sentence a line; '-' is stdin or stdout, and a name that ends in .gz is a
    gzip file. Results go to stdout or to the file named, everything else to stderr.

    \b
    Example:
      nmtkit translate --model model < english.txt > french.txt

    'nmtkit COMMAND --help' explains a command.
    """
    if verbose and quiet:
        raise click.UsageError("--verbose and --quiet exclude each other; give one of them.")
    if environment.size() > 1 and ctx.invoked_subcommand not in TOGETHER:
        raise click.UsageError(
            f"'{ctx.invoked_subcommand}' is work for one process, and {environment.size()} were"
            f" started together; only {', '.join(TOGETHER)} can share their work."
        )
    configure_logging(logging.DEBUG if verbose else logging.WARNING if quiet else logging.INFO)


def main() -> NoReturn:
    """What the console script `nmtkit` calls."""
    end_process(cli.run(prog_name="nmtkit"))


def end_process(status: int) -> NoReturn:
    """Leave, all that was to be written being written, without taking apart what is in memory.

    Once torch is imported, the interpreter and torch's own tables take a tenth of a second for
    that, and more where a fork has the same pages. What is registered to be called at the end is.
    Where threads are still at work, or other processes of this job, it is left to the interpreter.
    """
    if threading.active_count() > 1 or environment.size() > 1:
        sys.exit(status)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # nobody reads it
            stream.flush()
    os._exit(status)
