"""The size of a corpus is what a training uses of it."""

import itertools

import numpy as np
import pytest

from nmtkit.config import DataConfig
from nmtkit.data import corpus_size as module
from nmtkit.data.batching import Batches
from nmtkit.data.corpus import Corpus, Side
from nmtkit.data.corpus_size import corpus_size

SEGMENTS = [[], [(7, 2), (13, 1)], [(5, 0), (15, 3)], [(12, 1), (0, 4), (8, 1)]]


def side(lengths):
    """Return sentences of some numbers of words and `</s>`."""
    ids = np.concatenate([[*range(2, 2 + length), 0] for length in lengths])
    return Side(ids.astype(np.int64), np.cumsum([0, *(lengths + 1)]).astype(np.int64))


def random_corpus(seed):
    src, tgt = np.random.default_rng(seed).integers(1, 12, (2, 20))
    return Corpus(side(src), side(tgt))


@pytest.mark.parametrize(
    ("segments", "max_length", "block"),
    list(itertools.product(SEGMENTS, [8, 10, 100], [1, 6, 1000])),
)
def test_an_epoch_has_the_size_of_its_batches(monkeypatch, segments, max_length, block):
    monkeypatch.setattr(module, "BLOCK_PAIRS", block)
    corpus = random_corpus(max_length)
    config = DataConfig(max_length=max_length, batch_size=3, batch_unit="sentences", sort_pool=2)
    batches = Batches(corpus, config, 1, segments=segments)
    used = [0, 0, 0]
    for batch in batches:
        masks = batch.src_mask, batch.tgt_mask
        sums = len(batch.lines), *(int(mask.sum()) for mask in masks)
        used = [total + new for total, new in zip(used, sums, strict=True)]
        if batches.position.epoch:
            break
    assert list(corpus_size(corpus, max_length, segments)) == used


def test_nothing_is_used_if_all_pairs_are_too_long():
    assert corpus_size(random_corpus(0), 0) == (0, 0, 0)
