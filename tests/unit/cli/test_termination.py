"""One stop signal ends a command, which first removes what it has written by halves."""

import multiprocessing
import signal
import threading

import click
import pytest

from nmtkit.cli.main import cli
from nmtkit.cli.termination import CLEANUP_SECONDS, Terminated, raise_on_termination
from nmtkit.io.atomic import atomic_file

KINDS = {
    signal.SIGTERM: Terminated,
    signal.SIGHUP: Terminated,
    signal.SIGINT: KeyboardInterrupt,
}


@pytest.fixture
def now(monkeypatch):
    """Return a list with the time of the clock that signals are compared by."""
    times = [100.0]
    monkeypatch.setattr("nmtkit.parallel.environment.time.monotonic", lambda: times[0])
    return times


@pytest.mark.usefixtures("foreground")
@pytest.mark.parametrize("number", KINDS)
def test_a_signal_is_raised_once_however_often_it_is_sent_at_once(now, number):
    with pytest.raises(KINDS[number]), raise_on_termination():
        try:
            signal.raise_signal(number)
        finally:
            is_limited = 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= CLEANUP_SECONDS
            assert is_limited == (number != signal.SIGINT)
            for now[0] in (100.0, 100.4):
                for echo in KINDS:
                    signal.raise_signal(echo)
    if number != signal.SIGINT:
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.usefixtures("foreground")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("first", KINDS)
def test_a_later_signal_ends_the_process_at_once(now, first, number):
    def end_twice():
        with raise_on_termination():
            try:
                signal.raise_signal(first)
            finally:
                now[0] += 1
                signal.raise_signal(number)

    process = multiprocessing.get_context("fork").Process(target=end_twice)
    process.start()
    process.join()
    assert process.exitcode == -number


def test_a_terminal_that_closes_may_say_so_later(now):
    with pytest.raises(Terminated) as error, raise_on_termination():
        try:
            signal.raise_signal(signal.SIGHUP)
        finally:
            now[0] += 20
            signal.raise_signal(signal.SIGHUP)
    assert error.value.signal == signal.SIGHUP
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL


def test_a_signal_that_nohup_has_ignored_stays_ignored():
    old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with raise_on_termination():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, old)


def test_other_handlers_ranks_and_threads_are_left_alone(monkeypatch):
    with raise_on_termination():
        ours = signal.getsignal(signal.SIGTERM)
        with raise_on_termination():
            assert signal.getsignal(signal.SIGTERM) is ours
    seen = []

    def look():
        with raise_on_termination():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    for name in ("RANK", "MASTER_PORT", "MASTER_ADDR"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    look()
    assert seen == [signal.SIG_DFL] * 2


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_terminated_command_removes_its_output_and_exits_with_its_status(
    tmp_path, monkeypatch, capsys, number, status
):
    @click.command()
    def command():
        with atomic_file(tmp_path / "out") as file:
            file.write(b"half")
            signal.raise_signal(number)

    monkeypatch.setattr(cli, "get_command", lambda *_: command)
    assert cli.run(["shortlist"]) == status
    assert list(tmp_path.iterdir()) == [] and capsys.readouterr().err == ""
