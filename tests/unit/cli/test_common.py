"""Options mean the same in every command; the log goes to stderr and leaves bars whole."""

import gc
import io
import logging
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
import torch
from click.testing import CliRunner
from tqdm import tqdm

from nmtkit.cli import common


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    """Leaves the log and torch's threads as they were."""
    logger, threads = logging.getLogger("nmtkit"), torch.get_num_threads()
    level, handlers = logger.level, logger.handlers[:]
    yield
    logger.setLevel(level)
    logger.handlers[:] = handlers
    torch.set_num_threads(threads)


@click.command()
@common.device_option
@common.threads_option
@common.force_option
def command(device: str, threads: int, force: bool) -> None:
    """Print what was given."""
    click.echo(f"{device} {threads} {force}")


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        ([], "auto 0 False\n"),
        (["--device", "cpu", "--threads", "2", "--force"], "cpu 2 True\n"),
    ],
)
def test_options_reach_the_command(arguments: list[str], printed: str) -> None:
    assert CliRunner().invoke(command, arguments).output == printed


@pytest.mark.parametrize("arguments", [["--device", "tpu"], ["--threads", "-1"]])
def test_a_value_out_of_range_is_wrong_usage(arguments: list[str]) -> None:
    assert CliRunner().invoke(command, arguments).exit_code == 2


def test_help_shows_the_defaults() -> None:
    text = CliRunner().invoke(command, ["--help"]).output
    assert "[default: auto]" in text and "0" in text.partition("--threads")[2]


def test_torch_uses_the_threads_it_is_given() -> None:
    common.configure_threads(1)
    assert torch.get_num_threads() == 1
    common.configure_threads(2)
    common.configure_threads(0)
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        (logging.DEBUG, ["nmtkit: small", "nmtkit: note", "nmtkit: warning: odd"]),
        (logging.INFO, ["nmtkit: note", "nmtkit: warning: odd"]),
        (logging.WARNING, ["nmtkit: warning: odd"]),
    ],
)
def test_the_log_goes_to_stderr_by_its_level(
    level: int, shown: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    common.configure_logging(logging.DEBUG)
    common.configure_logging(level)  # the second call adds no second handler
    logging.getLogger("nmtkit.training").debug("small")
    logging.getLogger("nmtkit").info("note")
    common.warn("odd")
    assert capsys.readouterr() == ("", "".join(f"{line}\n" for line in shown))


def test_a_percent_sign_in_a_warning_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    common.configure_logging(logging.INFO)
    common.warn("100%s")
    assert capsys.readouterr().err == "nmtkit: warning: 100%s\n"


def test_a_line_does_not_break_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    common.configure_logging(logging.INFO)
    with tqdm(total=2, file=screen, desc="bar", mininterval=0) as bar:
        bar.update()
        common.warn("between")
        bar.update()
    line = next(part for part in screen.getvalue().split("\n") if "between" in part)
    assert line.rpartition("\r")[2] == "nmtkit: warning: between"  # the bar was wiped before


def test_what_torch_brings_is_set_apart_from_garbage() -> None:
    code = (
        "import gc\n"
        "from nmtkit.cli.common import importing\n"
        "with importing():\n"
        "    assert not gc.isenabled()\n"
        "    import torch\n"
        "print(gc.isenabled(), gc.get_freeze_count() > 100_000)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"


def test_garbage_is_looked_for_as_before_where_torch_is_there() -> None:
    frozen = gc.get_freeze_count()
    with common.importing():
        assert gc.isenabled()
    assert gc.isenabled() and gc.get_freeze_count() == frozen


def test_nobody_reading_stderr_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr("sys.stderr", Gone())
    common.configure_logging(logging.INFO)
    common.warn("unheard")


@pytest.mark.parametrize(
    ("terminal", "level", "wanted"),
    [(True, logging.INFO, True), (True, logging.WARNING, False), (False, logging.INFO, False)],
)
def test_bars_are_for_terminals(
    terminal: bool, level: int, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: terminal)
    monkeypatch.setattr("sys.stderr", screen)
    common.configure_logging(level)
    assert common.show_progress() is wanted
