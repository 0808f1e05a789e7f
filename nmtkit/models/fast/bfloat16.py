"""Matrix products in bfloat16 for search, on processors that multiply it.

Matrices and the rows multiplied by them are rounded to 8 bits of mantissa, products are summed in
float32, and sums rounded once: a relative error of at most 2^-9, as in training in bfloat16. Rows
do not influence each other, so a sentence's translation does not depend on the others of a batch.
"""

import torch
from torch import Tensor

from nmtkit.models.fast.matmul import Prepacked


class BFloat16Matrix:
    """A matrix M in bfloat16, or several of one shape, packed once for many products.

    :param matrix: Shape: [n, w], or [D, n, w] for D separate products.
    """

    def __init__(self, matrix: Tensor) -> None:
        self._packed = Prepacked(matrix.to(torch.bfloat16), min_size=1)

    def matmul(self, a: Tensor) -> Tensor:
        """Return a M in the type of a. Shapes: [N, n] or [D, N, n]; [N, w] or [D, N, w]."""
        return self._packed.matmul(a).to(a.dtype)

    def addmm(self, addend: Tensor, a: Tensor) -> Tensor:
        """Return addend + a M in the type of the addend.

        Shapes: [w], [N, w] or [D, N, w]; [N, n] or [D, N, n]; the result: [N, w] or [D, N, w].
        """
        return addend + self._packed.matmul(a)
