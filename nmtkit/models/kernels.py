"""The choice between the plain pieces of the models and their fast twins.

A piece that takes time is written twice. The plain one is ordinary torch code, differentiated by
autograd, and stands beside the equations: in a model's file or in `layers.py`. The fast one is in
`fast/`. A `Twin` holds both, and models call the twin.

`NMTKIT_PLAIN=1` in the environment runs everything by the plain pieces: training, scoring and
search. Whoever doubts a result can so turn the machinery off. It takes several times as long and
more memory, and refuses `--quantize`, which is machinery alone. The variable is read here, once,
when the models are imported; "" and "0" leave the fast pieces on. In bfloat16 the plain pieces
round wherever `torch.autocast` does, which is more often; results then differ by that.

tests/unit/models/test_twins.py holds that both give the same values and gradients, and
`bench/twins.py` measures what the fast ones buy.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, ParamSpec, TypeVar

PLAIN = os.environ.get("NMTKIT_PLAIN", "") not in ("", "0")
"""Whether everything runs by the plain pieces."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Twin(Generic[Arguments, Result]):
    """One computation written twice; calling it runs the one that `PLAIN` chooses.

    :param plain: ordinary torch code.
    :param fast: the same values and gradients, but for rounding, in less time or memory.
    """

    def __init__(
        self, plain: Callable[Arguments, Result], fast: Callable[Arguments, Result]
    ) -> None:
        self.plain = plain
        self.fast = fast

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """Run the chosen one."""
        return (self.plain if PLAIN else self.fast)(*args, **kwargs)


@contextmanager
def plain_pieces(plain: bool = True) -> Iterator[None]:
    """Run what is inside by the plain pieces, or by the fast ones; for tests and benchmarks."""
    global PLAIN
    before, PLAIN = PLAIN, plain
    try:
        yield
    finally:
        PLAIN = before
