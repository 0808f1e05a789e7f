"""How this process's C library deals with memory that is free again."""

import ctypes
import os
from collections.abc import Mapping

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""What glibc's <malloc.h> calls these settings."""

LARGEST_PIECE = 32 << 20
"""Up to so many bytes a tensor lies where others lay before: the most that glibc would itself come
to."""

KEPT = 1 << 30
"""Bytes at the end of the heap that may be free and stay ours."""


def keep_freed_memory() -> bool:
    """Let what is freed be taken again, instead of giving it back to the system.

    A training frees at every update what the next one takes again. glibc gives it back in between,
    so that the system must find and empty 4 KiB after the other anew: at the paper's size 60,000
    times an update. Peaks are as high as before. What the environment says of this goes first.

    :return: whether it was done; other C libraries have settings of their own.
    """
    if _is_told_by(os.environ):
        return False
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return bool(set_option(M_MMAP_THRESHOLD, LARGEST_PIECE) and set_option(M_TRIM_THRESHOLD, KEPT))


def _is_told_by(environment: Mapping[str, str]) -> bool:
    names = {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"}
    return not names.isdisjoint(environment) or "threshold" in environment.get("GLIBC_TUNABLES", "")
