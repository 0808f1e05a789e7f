"""The choice between the plain implementation of a computation and its fast twin.

The expensive computations of the models are implemented twice. The plain implementation is ordinary
torch code, differentiated by autograd, and stands beside the equations: in a model's file or in
`layers.py`. The fast one is in `fast/`. A `Twin` holds both, and models call the twin.

With `NMTKIT_PLAIN=1` in the environment, training, scoring and search use the plain implementations
only, to check a result without the optimised code. This takes several times as long and more
memory. `--quantize` is then refused, because 8-bit products have a fast implementation only. The
variable is read once, when the models are imported; "" and "0" mean the fast implementations. In
bfloat16 the plain ones round wherever `torch.autocast` does, which is more often, and results
differ by that rounding.

`tests/unit/models/test_twins.py` checks that both give the same values and gradients, and
`bench/twins.py` measures the time that the fast ones save.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, ParamSpec, TypeVar

PLAIN = os.environ.get("NMTKIT_PLAIN", "") not in ("", "0")
"""True if only the plain implementations run."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Twin(Generic[Arguments, Result]):
    """A computation with two implementations; calling it runs the one that `PLAIN` selects.

    :param plain: ordinary torch code.
    :param fast: the same values and gradients up to rounding, in less time or memory.
    """

    def __init__(
        self, plain: Callable[Arguments, Result], fast: Callable[Arguments, Result]
    ) -> None:
        self.plain = plain
        self.fast = fast

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """Run the selected implementation."""
        return (self.plain if PLAIN else self.fast)(*args, **kwargs)


@contextmanager
def plain_pieces(plain: bool = True) -> Iterator[None]:
    """Select the plain or the fast implementations for the block; for tests and benchmarks."""
    global PLAIN
    before, PLAIN = PLAIN, plain
    try:
        yield
    finally:
        PLAIN = before
