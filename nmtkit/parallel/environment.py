"""Environment variables with which `torchrun` and other launchers describe a job.

They are read without torch, so that a command knows at once whether it is one of several processes.
Whether this process has threads is found out here, too, and whether a stop signal is a new one.
"""

import os
import sys
import threading
import time

REQUIRED_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""Variables that torch needs to connect processes; if one is missing, all are ignored."""


def size() -> int:
    """Return the number of processes of this job (the world size); 1 without a launcher."""
    launched = all(os.environ.get(name) for name in REQUIRED_VARIABLES)
    return int(os.environ["WORLD_SIZE"]) if launched else 1


def rank() -> int:
    """Return the rank of this process, from 0."""
    return int(os.environ["RANK"]) if size() > 1 else 0


def local_rank() -> int:
    """Return the rank of this process among those on its machine, from 0."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def restarted() -> bool:
    """Return True if torchrun has restarted the job after a failure on this machine."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


class SignalEcho:
    """The time after a stop signal in which another one is the same, sent once more.

    `timeout` sends it to a command and to the group that the command is in; a cluster and torchrun
    may both forward it to each process of a job.
    """

    def __init__(self) -> None:
        """Begin: the first signal comes now."""
        self._end = time.monotonic() + (5.0 if size() > 1 else 0.5)

    def lasts(self) -> bool:
        """Return whether a signal that comes now is the first one."""
        return time.monotonic() <= self._end


HARMLESS_THREAD = "nmtkit progress bar"
"""Name of a thread that holds no lock while the process forks."""


def may_fork() -> bool:
    """Return whether forks of this process can do its work.

    Another thread could hold a lock, which would stay locked in the fork. A worker of
    `multiprocessing.Pool` may have no child processes of that module.
    """
    if sys.platform != "linux" or not is_single_threaded():
        return False
    from multiprocessing import current_process  # rarely needed: start-up

    return not current_process().daemon


def is_single_threaded() -> bool:
    """Return whether this process has no threads of Python but one and the harmless one."""
    return all(
        thread is threading.current_thread() or thread.name == HARMLESS_THREAD
        for thread in threading.enumerate()
    )
