"""Locks on open files and folders; the system removes them when a process ends, even a killed one.

They are locked by the library filelock, which has one way for each system. Only its
`lock_descriptor` fits: what is locked was opened by the caller, who knows that it is no link, no
pipe, and still the file of that name, and the locked file may be a folder and may be renamed. Its
`FileLock` opens a path itself, and on a file system without locks it would fall back on marker
files, which a killed process leaves behind.
"""


def try_lock(descriptor: int) -> bool:
    """Lock an open file or folder until it is closed; return False if it is locked already.

    :raises OSError: the file system has no locks.
    """
    from filelock import lock_descriptor  # here, because importing it takes milliseconds

    return lock_descriptor(descriptor, blocking=False)


def is_locked(descriptor: int) -> bool:
    """Return whether an open file is locked, without keeping others who ask from the answer.

    For that the question takes a shared lock, which filelock does not have.

    :raises OSError: the file system has no locks.
    """
    try:
        import fcntl
    except ImportError:  # not a POSIX system
        return not try_lock(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
