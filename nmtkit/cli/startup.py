"""Steps before a command's work: importing torch, threads, and output paths by rank."""

import contextlib
import gc
import os
import sys
from collections.abc import Iterator

from nmtkit.parallel import environment


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Disable garbage collection while the block imports torch, then freeze its objects.

    The objects that torch creates on import live as long as the process. Garbage collections during
    the import and at exit take a third of the time of `import torch`. Nothing changes if torch is
    already imported.
    """
    if "torch" in sys.modules or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def configure_threads(threads: int) -> None:
    """Set the number of torch's threads; call it before the first tensor is computed.

    :param threads: 0: torch's default, which is OMP_NUM_THREADS if it is set, else all cores.
    """
    if threads > 0:
        with importing():
            import torch

        torch.set_num_threads(threads)


def path_on_rank_0(path: str) -> str:
    """Return the path that this process writes to: `path` on rank 0, os.devnull on other ranks."""
    return path if environment.rank() == 0 else os.devnull
