"""Signals during training, and the lock on the model folder."""

import signal
import threading

import pytest

from nmtkit.training.signals import StopSignals

pytestmark = pytest.mark.usefixtures("foreground")


def test_an_ignored_signal_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with StopSignals() as interruption:
        signal.raise_signal(signal.SIGINT)
        assert interruption.signal is None
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_is_recorded_and_handlers_are_restored(number, monkeypatch):
    monkeypatch.setattr("nmtkit.parallel.environment.SignalEcho.lasts", lambda _: False)
    second = []

    def before(number, frame):
        second.append((number, signal.getsignal(number)))

    usual = signal.signal(number, before)
    with StopSignals() as interruption:
        assert interruption.signal is None
        signal.raise_signal(number)
        assert interruption.signal == number and second == []
        signal.raise_signal(number)
        assert second == [(number, before)]
    assert signal.getsignal(number) == before
    signal.signal(number, usual)


@pytest.mark.parametrize(("processes", "seconds"), [(1, 0.5), (2, 5.0)])
def test_a_second_signal_that_comes_at_once_counts_as_the_first(monkeypatch, processes, seconds):
    now = [100.0]
    monkeypatch.setattr("nmtkit.parallel.environment.time.monotonic", lambda: now[0])
    monkeypatch.setattr("nmtkit.parallel.environment.size", lambda: processes)
    with StopSignals() as interruption:
        signal.raise_signal(signal.SIGTERM)
        for now[0] in (100.1, 100.0 + seconds):
            signal.raise_signal(signal.SIGINT)
        assert interruption.signal == signal.SIGTERM
        now[0] += 0.1
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_other_threads_handle_no_signals():
    observed = []

    def work():
        with StopSignals() as interruption:
            observed.append((interruption.signal, signal.getsignal(signal.SIGINT)))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert observed == [(None, before)]
