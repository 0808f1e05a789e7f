"""The limit of open files: how many connections it leaves room for."""

import contextlib

from nmtkit.serve.settings import ModelSettings

SERVER_FILES = 24
"""Open files of a server without models and connections: the log, the listener, the event loop, and
connections that are about to be closed."""

MODEL_FILES = 8
"""Open files of a model beside one for each worker. A new one is loaded beside the old one."""

UNLIMITED = 1 << 20
"""Connections where the system sets no limit of open files."""


def room_for_connections(wanted: int, models: ModelSettings) -> int:
    """Return how many connections can be open, after raising the limit of open files if it helps.

    :param wanted: connections that should have room.
    """
    try:
        import resource
    except ImportError:  # not a Unix
        return UNLIMITED
    own = SERVER_FILES + len(models.folders) * 2 * (models.cores + MODEL_FILES)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return UNLIMITED
    needed = own + wanted
    if soft < needed:
        raised = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with contextlib.suppress(OSError, ValueError):  # macOS has a limit of its own below
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
            soft = raised
    return max(soft - own, 2)
