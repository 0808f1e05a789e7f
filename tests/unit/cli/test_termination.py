"""One SIGTERM ends a command, which first removes what it has written by halves."""

import signal
import threading

import click
import pytest

from nmtkit.cli import main
from nmtkit.cli.main import cli
from nmtkit.cli.termination import Terminated, raise_on_sigterm
from nmtkit.io.atomic import atomic_file


def test_a_sigterm_is_raised_once_and_then_has_its_default_effect():
    with pytest.raises(Terminated), raise_on_sigterm():
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
            assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_other_handlers_ranks_and_threads_are_left_alone(monkeypatch):
    with raise_on_sigterm():
        ours = signal.getsignal(signal.SIGTERM)
        with raise_on_sigterm():
            assert signal.getsignal(signal.SIGTERM) is ours
    seen = []

    def look():
        with raise_on_sigterm():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    for name in ("RANK", "MASTER_PORT", "MASTER_ADDR"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    look()
    assert seen == [signal.SIG_DFL] * 2


def test_a_terminated_command_removes_its_output_and_exits_with_143(tmp_path, monkeypatch, capsys):
    @click.command()
    def command():
        with atomic_file(tmp_path / "out") as file:
            file.write(b"half")
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(cli, "get_command", lambda *_: command)
    assert cli.run(["shortlist"]) == main.TERMINATED == 143
    assert list(tmp_path.iterdir()) == [] and capsys.readouterr().err == ""
