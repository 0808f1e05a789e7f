"""The multiplications and additions that RNNsearch needs, by its equations (Bahdanau et al. 2015).

Counted are the matrix products of section A.2 over real positions, a multiplication and an
addition each: no padding, no element-wise functions (thousandths of the products), no optimizer.
What the forward pass multiplies once, the backward pass multiplies twice: for the gradient of
either factor.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """m, n, n', l of the paper: embedding, hidden, alignment and maxout units."""

    embedding: int
    hidden: int
    align: int
    maxout: int


SMALL = Sizes(256, 256, 256, 128)
PAPER = Sizes(620, 1000, 1000, 500)
SIZES = {"small": SMALL, "paper": PAPER}
PASSES = 3  # forward once, backward twice


def forward_multiplications(sizes: Sizes, src_len: float, tgt_len: float, words: int) -> float:
    """Multiplications to score one pair of sentences.

    :param src_len, tgt_len: T_x and T_y, `</s>` counted; may be means over a corpus, as every
        term is linear in either, but for the alignment: there their product is taken.
    :param words: K, the target vocabulary's size.
    """
    m, n, align, pool = sizes.embedding, sizes.hidden, sizes.align, sizes.maxout
    unit = m * 3 * n + n * 3 * n  # W, W_z, W_r of the word; U, U_z, U_r of the state
    annotate = 2 * unit + 2 * n * align  # both directions, and U_a h_j
    start = n * n  # W_s
    query = n * align  # W_a s_{i-1}
    read = 2 * n * 3 * n  # C, C_z, C_r of c_i
    readout = (n + m + 2 * n) * 2 * pool + pool * words  # U_o, V_o, C_o; W_o
    attend = src_len * (align + 2 * n)  # v_a . tanh(...), and the sum of alpha_ij h_j
    return src_len * annotate + start + tgt_len * (unit + query + read + readout + attend)


def training_operations(sizes: Sizes, src_len: float, tgt_len: float, words: int) -> float:
    """Multiplications and additions of forward and backward pass, for each target word.

    Parameters as in `forward_multiplications`.
    """
    return 2 * PASSES * forward_multiplications(sizes, src_len, tgt_len, words) / tgt_len
