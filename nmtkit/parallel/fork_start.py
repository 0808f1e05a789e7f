"""The first steps of a fork: what stop signals do there, and that it ends with its parent.

Stop signals are for the calling process, also those that a terminal or `timeout` sends to all of
its group. A fork begins with the handlers of its parent, which would raise exceptions in it; so
the signals are held back until it has its own.

A fork that waits for its next task never notices that its parent was killed: it holds both ends of
the pipe itself. One that computes notices it at the end of its task. Until then it keeps the locks
that its parent held, so that what the parent left half-written would be no leftover for the next
run (`nmtkit.io.temporary`).
"""

import contextlib
import os
import signal
from collections.abc import Collection, Iterator
from multiprocessing import parent_process

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""SIGHUP comes when a terminal or a connection is closed, unless `nohup` has it ignored."""

TERMINAL_SIGNALS = (signal.SIGINT, signal.SIGHUP)
"""Stop signals that a fork ignores if its parent ends it by SIGTERM."""

_PR_SET_PDEATHSIG = 1
"""Option of Linux's prctl: the signal that a process gets when its parent ends."""


@contextlib.contextmanager
def stop_signals_held() -> Iterator[None]:
    """Hold back stop signals while the block forks: each fork calls `begin_fork`."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def begin_fork(ignored: Collection[signal.Signals] = STOP_SIGNALS) -> None:
    """Let a fork of `multiprocessing` end with its parent, and choose what stop signals do.

    :param ignored: stop signals that do nothing; the others end the fork at once.
    """
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    _end_with_parent()


def _end_with_parent() -> None:
    """Let the system kill this fork when its parent ends.

    The parent is the thread that forked it, which is the only one there (`environment.may_fork`).
    """
    import ctypes  # rarely needed: start-up

    with contextlib.suppress(AttributeError, OSError):  # no Linux
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    parent = parent_process()
    if parent is not None and parent.pid != os.getppid():  # it ended before
        os._exit(1)
