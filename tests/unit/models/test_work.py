"""The cost of one gradient in counts instead of time: multiplications, kernel calls, bytes.

These tests detect, on any machine, computation on padding, gradients of matrices at every step,
or a matrix of all logits.
"""

from typing import Any

import pytest
import torch

from nmtkit.models.cslm import CSLM, CSLMConfig
from nmtkit.models.rnnsearch import RNNsearch, RNNsearchConfig
from tests.unit.models.counted_work import Work, never_onednn  # noqa: F401 (a fixture)

M, N, ALIGN, POOL, K = 24, 32, 20, 12, 500


def work(src_lengths, tgt_lengths, words=K):
    """Count the work of the gradient of one batch."""
    torch.manual_seed(1)
    model = RNNsearch(RNNsearchConfig(M, N, ALIGN, POOL), words, words)
    batch: list[Any] = []
    for lengths in (src_lengths, tgt_lengths):
        mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
        batch += [torch.randint(2, words, mask.shape) * mask, mask]
    with Work() as counted:
        model.loss(*batch).backward()
    return counted


def needed(src_lengths, tgt_lengths):
    """Return the multiplications of the equations: forward once, backward twice.

    The sums over the source run over the padded width of the batch."""
    source = 2 * 3 * N * (M + N) + 2 * N * (ALIGN + 3 * N + 2 * POOL)
    target = N * (ALIGN + 2 * N) + N * N + M * 3 * N + (N + M) * 2 * POOL + POOL * K
    pair = ALIGN + 3 * N + 2 * POOL
    pairs = sum(tgt_lengths) * max(src_lengths)
    sentences = len(src_lengths) * N * N
    return 3 * (sum(src_lengths) * source + sum(tgt_lengths) * target + pairs * pair + sentences)


@pytest.mark.parametrize(
    ("src", "tgt"),
    [([6] * 8, [6] * 8), ([20, 3, 3, 3, 2], [4, 3, 20, 2, 2]), ([9, 8, 2, 1], [12, 1, 1, 1])],
    ids=["equally long", "much padding", "more padding"],
)
def test_only_the_products_of_the_equations_are_computed(src, tgt):
    # Sums over the source for C_o include padding, and v_a has two additional terms.
    assert needed(src, tgt) * 0.9 < work(src, tgt).products < needed(src, tgt) * 1.1


def test_kernel_calls_grow_by_the_step_and_not_by_the_sentence():
    calls = work([5] * 4, [5] * 4).calls
    assert work([5] * 12, [5] * 12).calls == calls  # one chunk of logits
    target_step = work([5] * 4, [6] * 4).calls - calls
    source_step = work([6] * 4, [5] * 4).calls - calls
    assert target_step <= 65, "a step of the decoder, forward and backward"
    assert source_step <= 22, "a step of the encoder, forward and backward"
    assert calls - 5 * (target_step + source_step) <= 430, "all else"


def test_the_language_model_computes_nothing_for_padding_or_the_source():
    model = CSLM(CSLMConfig(6, M, N, POOL), K, K)
    target = 6 * M * N + N * POOL + POOL * K
    calls = set()
    for lengths in ([6] * 8, [20, 3, 3, 3, 2], [48]):
        tgt_mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
        tgt = torch.randint(2, K, tgt_mask.shape) * tgt_mask
        src = torch.randint(2, K, (len(lengths), 30))
        with Work() as counted:
            model.loss(src, src >= 0, tgt, tgt_mask).backward()
        assert counted.products == 3 * sum(lengths) * target
        calls.add(counted.calls)
    assert max(calls) - min(calls) <= 1, "there is no loop over positions"


def test_memory_does_not_grow_with_source_times_target():
    short, long = work([10] * 4, [10] * 4), work([40] * 4, [40] * 4)
    assert long.peak - short.peak < 4.5 * short.peak
    wide = work([10] * 4, [10] * 4, words=5000), work([10] * 64, [10] * 64, words=5000)
    logits = 640 * 5000 * 4
    assert wide[1].peak - wide[0].peak < 2 * logits, "all logits are never there"
