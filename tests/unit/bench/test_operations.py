"""Formulas for the operations of the models equal counted operations."""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from operations import (
    PAPER,
    SMALL,
    Products,
    Sizes,
    forward_multiplications,
    joeynmt,
    marian,
    opennmt,
    products_of,
    rnnsearch,
    training_operations,
)
from systems import COUNTS, model_settings

from nmtkit.models import MODELS, model_name
from nmtkit.models.cslm import CSLMConfig
from nmtkit.models.deep_lstm import DeepLSTMConfig
from nmtkit.models.grconv import GrConvConfig
from nmtkit.models.phrase_rnn import PhraseRNNConfig
from nmtkit.models.rnnenc import RNNencConfig
from nmtkit.models.rnnsearch import RNNsearchConfig
from tests.unit.models.counted_work import Work, never_onednn  # noqa: F401 (a fixture)

Matrix = npt.NDArray[np.float64]


class Counter:
    """Multiplies matrices and counts the multiplications of numbers."""

    def __init__(self) -> None:
        self.count = 0

    def times(self, left: Matrix, right: Matrix) -> Matrix:
        self.count += left.size * (right.shape[1] if right.ndim == 2 else 1)
        return left @ right


def count_multiplications(sizes: Sizes, src_len: int, tgt_len: int, words: int) -> int:
    """Count the products of Bahdanau et al. 2015, appendix A, for a pair, position by position."""
    m, n, align, pool = sizes.embedding, sizes.hidden, sizes.align, sizes.maxout
    count = Counter()

    def unit(x: Matrix, h: Matrix, c: Matrix | None = None) -> Matrix:
        """Count z, r and the candidate, each from the word, the state and (decoder) the context."""
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
def test_formulas_equal_counted_multiplications(
    sizes: Sizes, src_len: int, tgt_len: int, words: int
) -> None:
    multiplications = count_multiplications(sizes, src_len, tgt_len, words)
    products = rnnsearch(sizes, words)
    assert forward_multiplications(products, src_len, tgt_len) == multiplications
    training = training_operations(products, src_len, tgt_len)
    assert training == pytest.approx(6 * multiplications / tgt_len)


def mflop_per_word(products: Products) -> float:
    """Return MFLOP per target word at the mean lengths of Multi30k."""
    return training_operations(products, 14.018, 15.134) / 1e6


def test_operations_of_the_benchmarked_models() -> None:
    """Operations per target word; torch's FlopCounterMode counted the same for the peers.

    For OpenNMT-py and eole it also counted the projection of the annotations at every step.
    """
    models = (rnnsearch, opennmt, joeynmt, marian)
    operations = [
        [mflop_per_word(model(sizes, 10_000)) for model in models] for sizes in (SMALL, PAPER)
    ]
    assert operations[0] == pytest.approx([19.55, 22.12, 25.69, 28.44], abs=0.01)
    assert operations[1] == pytest.approx([188.7, 149.6, 197.3, 206.0], abs=0.1)


@pytest.mark.parametrize("name", [name for name in COUNTS if name != "rnnsearch"])
def test_operations_of_the_other_models_equal_a_count_by_torch(name: str) -> None:
    """Count what torch multiplies in a training step.

    Each level of a pyramid multiplies its two outer nodes as if they had parents on both sides.
    """
    sizes, words, src_len, tgt_len = Sizes(30, 40, 50, 20), 300, 12, 9
    kind: Any = MODELS[name]
    model = kind(kind.config_class(**model_settings(name, sizes)), words, words)
    needed = training_operations(COUNTS[name](sizes, words), src_len, tgt_len)
    assert count_by_torch(model, words, src_len, tgt_len) == pytest.approx(
        needed, rel=0.15 if name == "grconv" else 0.02
    )


CONFIGS: dict[str, Any] = {
    "rnnenc, factored": RNNencConfig(30, 40, 20, softmax_rank=35),
    "phrase-rnn": PhraseRNNConfig(30, 40, 20, softmax_rank=25),
    "grconv": GrConvConfig(30, 55, 40, 20),
    "deep-lstm, tied": DeepLSTMConfig(30, 40, layers=3, tied=True),
    "cslm": CSLMConfig(5, 20, 45, 35),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=list(CONFIGS))
def test_operations_of_a_config_equal_a_count_by_torch(config: Any) -> None:
    counted, needed = counted_and_needed(config)
    assert counted == pytest.approx(needed, rel=0.15 if "units" in vars(config) else 0.02)


CHANGES: list[dict[str, Any]] = [
    {"tied": True},
    {"softmax_rank": 35},
    {"lexical_module": True},
    {"tied": True, "lexical_module": True},
]


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_output_factors_and_a_lexical_module_are_counted(
    changes: dict[str, Any],
) -> None:
    """RNNsearch itself multiplies less than its equations, so that only changes are compared."""
    plain = RNNsearchConfig(30, 40, 50, 20)
    changed = counted_and_needed(dataclasses.replace(plain, **changes))
    counted, needed = np.subtract(changed, counted_and_needed(plain))
    assert counted == pytest.approx(needed, rel=0.02)


def counted_and_needed(config: Any) -> tuple[float, float]:
    """Return operations per target word of a training step, as torch counts and as we do."""
    words, src_len, tgt_len = 300, 12, 9
    model = MODELS[model_name(config)](config, words, words)
    products = products_of(model_name(config), config, words)
    counted = count_by_torch(model, words, src_len, tgt_len)
    return counted, training_operations(products, src_len, tgt_len)


def count_by_torch(model: Any, words: int, src_len: int, tgt_len: int) -> float:
    """Return operations per target word of a training step."""
    src, tgt = torch.randint(words, (4, src_len)), torch.randint(words, (4, tgt_len))
    with Work() as counter:
        model.loss(src, src >= 0, tgt, tgt >= 0).backward()
    return 2 * counter.products / (4 * tgt_len)


def test_doubling_the_vocabulary_doubles_the_softmax() -> None:
    for model, units in ((rnnsearch, 128), (opennmt, 256), (joeynmt, 256), (marian, 256)):
        once, twice = model(SMALL, 5_000), model(SMALL, 10_000)
        assert twice.target - once.target == units * 5_000
        assert (twice.source, twice.pair) == (once.source, once.pair)
