"""What a command does before its work: torch's import and threads, and the outputs of its rank."""

import contextlib
import gc
import os
import sys
from collections.abc import Iterator

from nmtkit.parallel import environment


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Import heavy modules without garbage collection.

    The objects that torch makes when it is imported live as long as the process. Collecting
    garbage while they grow, and once more at exit, takes a third of `import torch`; so the
    collector is off meanwhile, and they are frozen. Nothing changes if torch is imported already.
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

    :param threads: 0 leaves torch's own choice: all cores, or OMP_NUM_THREADS where it is set.
    """
    if threads > 0:
        with importing():
            import torch

        torch.set_num_threads(threads)


def path_on_rank_0(path: str) -> str:
    """Return the path that this process writes to: only rank 0 of a job writes its outputs."""
    return path if environment.rank() == 0 else os.devnull
