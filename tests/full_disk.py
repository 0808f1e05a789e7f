"""A disk that is full."""

import contextlib
import resource
from collections.abc import Iterator


@contextlib.contextmanager
def full_disk(size: int) -> Iterator[None]:
    """Let writes fail that make a file larger than `size` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
