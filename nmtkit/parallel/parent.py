"""Forks that end with the process that started them, even if it is killed.

A fork that waits for its next task never notices that its parent was killed: it holds both ends of
the pipe itself. One that computes notices it at the end of its task. Until then it keeps the locks
that its parent held, so that what the parent left half-written would be no leftover for the next
run (`nmtkit.io.temporary`).
"""

import contextlib
import os
import signal
from multiprocessing import parent_process

_PR_SET_PDEATHSIG = 1
"""Option of Linux's prctl: the signal that a process gets when its parent ends."""


def end_with_parent() -> None:
    """Let the system kill this fork of `multiprocessing` when its parent ends.

    The parent is the thread that forked it, which is the only one there (`environment.may_fork`).
    """
    import ctypes  # rarely needed: start-up

    with contextlib.suppress(AttributeError, OSError):  # no Linux
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    parent = parent_process()
    if parent is not None and parent.pid != os.getppid():  # it ended before
        os._exit(1)
