"""The operations of RNNsearch: counted from its equations, product by product."""

import numpy as np
import numpy.typing as npt
import pytest
from operations import PAPER, SMALL, Sizes, forward_multiplications, training_operations

Matrix = npt.NDArray[np.float64]


class Counter:
    """Multiplies matrices and counts the multiplications of numbers."""

    def __init__(self) -> None:
        self.count = 0

    def times(self, left: Matrix, right: Matrix) -> Matrix:
        self.count += left.size * (right.shape[1] if right.ndim == 2 else 1)
        return left @ right


def counted(sizes: Sizes, src_len: int, tgt_len: int, words: int) -> int:
    """Go through the appendix of Bahdanau et al. 2015 for one pair, a position at a time."""
    m, n, align, pool = sizes.embedding, sizes.hidden, sizes.align, sizes.maxout
    count = Counter()

    def unit(x: Matrix, h: Matrix, c: Matrix | None = None) -> Matrix:
        """z, r and the candidate, each from the word, the state and (decoder) the context."""
        for _ in range(3):
            count.times(x, np.zeros((m, n)))
            count.times(h, np.zeros((n, n)))
            if c is not None:
                count.times(c, np.zeros((2 * n, n)))
        return h

    word, state, annotation = np.zeros(m), np.zeros(n), np.zeros(2 * n)
    for _ in range(src_len):
        unit(word, state)
        unit(word, state)
        count.times(annotation, np.zeros((2 * n, align)))
    count.times(state, np.zeros((n, n)))
    for _ in range(tgt_len):
        count.times(state, np.zeros((n, align)))
        count.times(np.zeros((src_len, align)), np.zeros(align))
        context = count.times(np.zeros(src_len), np.zeros((src_len, 2 * n)))
        unit(word, state, context)
        for source in (state, word, context):
            count.times(source, np.zeros((len(source), 2 * pool)))
        count.times(np.zeros(pool), np.zeros((pool, words)))
    return count.count


@pytest.mark.parametrize("sizes", [Sizes(3, 4, 5, 2), Sizes(7, 2, 3, 4)])
@pytest.mark.parametrize(("src_len", "tgt_len", "words"), [(1, 1, 4), (4, 6, 11), (9, 2, 5)])
def test_the_formula_is_the_count(sizes: Sizes, src_len: int, tgt_len: int, words: int) -> None:
    multiplications = counted(sizes, src_len, tgt_len, words)
    assert forward_multiplications(sizes, src_len, tgt_len, words) == multiplications
    training = training_operations(sizes, src_len, tgt_len, words)
    assert training == pytest.approx(6 * multiplications / tgt_len)


def test_sizes_of_the_benchmark() -> None:
    needed = [training_operations(sizes, 14.018, 15.134, 10_000) / 1e6 for sizes in (SMALL, PAPER)]
    assert needed == pytest.approx([19.55, 188.7], rel=1e-3)
