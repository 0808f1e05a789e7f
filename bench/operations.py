"""Count the multiplications and additions that each system's model needs.

Only matrix products over real positions count, as one multiplication and one addition each: no
padding, no element-wise functions (thousandths of the products), no optimizer. The backward pass
multiplies twice what the forward pass multiplies once, for the gradients of both factors.
RNNsearch follows the equations of Bahdanau et al. 2015, section A.2, in order.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Sizes:
    """m, n, n', l of the paper: sizes of embedding, hidden, alignment and maxout layers."""

    embedding: int
    hidden: int
    align: int
    maxout: int


SMALL = Sizes(256, 256, 256, 128)
PAPER = Sizes(620, 1000, 1000, 500)
WIDE = Sizes(512, 512, 512, 512)
"""As wide everywhere, also before the softmax, as the peers' models are."""
SIZES = {"small": SMALL, "paper": PAPER, "wide": WIDE}
PASSES = 3  # forward once, backward twice
LSTM_LAYERS = 4
"""Layers of the deep LSTM on each side."""
CSLM_CONTEXT = 6
"""Context words of the language model."""


@dataclass(frozen=True)
class Products:
    """Multiplications of one forward pass.

    Separately per sentence, per source position, per target position, per pair of a source and a
    target position, and per pair of source positions (a node of grConv's pyramid).
    """

    sentence: int
    source: int
    target: int
    pair: int
    node: int = 0


Count = Callable[[Sizes, int], Products]
"""A function from sizes and K, the target vocabulary size, to the products of a model."""


def gated_unit(inputs: int, hidden: int) -> int:
    """Return the multiplications of two gates and a candidate, for inputs and state."""
    return 3 * hidden * (inputs + hidden)


def rnnsearch(sizes: Sizes, words: int) -> Products:
    """Count RNNsearch, as in the paper."""
    m, n, align, pool = sizes.embedding, sizes.hidden, sizes.align, sizes.maxout
    return Products(
        sentence=n * n,  # W_s
        source=2 * gated_unit(m, n) + 2 * n * align,  # both directions; U_a h_j
        target=n * align  # W_a s_{i-1}
        + gated_unit(m + 2 * n, n)  # of E_y y_{i-1} and c_i
        + (n + m + 2 * n) * 2 * pool  # U_o, V_o, C_o
        + pool * words,  # W_o
        pair=align + 2 * n,  # v_a . tanh(...); the sum of alpha_ij h_j
    )


def rnnenc(sizes: Sizes, words: int) -> Products:
    """Count the RNN Encoder-Decoder; products with its context are computed once per sentence."""
    m, n, pool = sizes.embedding, sizes.hidden, sizes.maxout
    return Products(
        sentence=n * n + n * (3 * n + 2 * pool),  # W_s; C, C_o
        source=gated_unit(m, n),
        target=gated_unit(m, n) + (n + m) * 2 * pool + pool * words,
        pair=0,
    )


def phrase_rnn(sizes: Sizes, words: int) -> Products:
    """Count RNNenc with a layer after its context and an output matrix of rank m."""
    factored = factored_output(rnnenc(sizes, words), sizes.maxout, sizes.embedding, words)
    return with_context_layer(factored, sizes)


def with_context_layer(products: Products, sizes: Sizes) -> Products:
    """Count a layer after the context."""
    return replace(products, sentence=products.sentence + sizes.hidden**2)


def factored_output(products: Products, width: int, rank: int, words: int) -> Products:
    """Count an output matrix of two factors, not of one.

    :param width: l, units of the readout. rank: 0: it is one matrix.
    """
    change = width * rank + rank * words - width * words if rank else 0
    return replace(products, target=products.target + change)


def grconv(sizes: Sizes, words: int, units: int = 0) -> Products:
    """Count grConv.

    :param units: of the pyramid; 0: twice as many as those of the decoder, as in the paper.
    """
    m, n, pool, units = sizes.embedding, sizes.hidden, sizes.maxout, units or grconv_units(sizes)
    return Products(
        sentence=units * n + units * (3 * n + 2 * pool),
        source=m * units,
        target=rnnenc(sizes, words).target,
        pair=0,
        node=2 * units * (units + 3),  # W_l, G_l, W_r, G_r
    )


def grconv_units(sizes: Sizes) -> int:
    """Return the number of units of grConv's pyramid."""
    return 2 * sizes.hidden


def deep_lstm(sizes: Sizes, words: int, layers: int = LSTM_LAYERS) -> Products:
    """Count the deep LSTM: four gates per layer, output layer over n units."""
    m, n = sizes.embedding, sizes.hidden
    side = 4 * n * (m + n) + (layers - 1) * 4 * n * 2 * n
    return Products(sentence=0, source=side, target=side + n * words, pair=0)


def cslm(
    sizes: Sizes, words: int, context: int = CSLM_CONTEXT, units: tuple[int, int] | None = None
) -> Products:
    """Count the language model.

    :param context: words that it reads. units: of the two hidden layers; None: `cslm_units`.
    """
    m, (first, second) = sizes.embedding, units or cslm_units(sizes)
    target = context * m * first + first * second + second * words
    return Products(sentence=0, source=0, target=target, pair=0)


def cslm_units(sizes: Sizes) -> tuple[int, int]:
    """Return the layer sizes of the language model, in the ratio 1536 : 1024 : 512 (embedding)."""
    return 3 * sizes.embedding, 2 * sizes.embedding


def products_of(model: str, config: Any, words: int) -> Products:
    """Count one of nmtkit's models by its config.

    :param model: its name, as `model.type`.
    """
    align, width = getattr(config, "align", 0), getattr(config, "maxout", config.hidden)
    sizes = Sizes(config.embedding, config.hidden, align, width)
    if model == "cslm":
        return cslm(sizes, words, config.context, (config.hidden, config.second))
    counts: dict[str, Callable[[], Products]] = {
        "rnnsearch": lambda: rnnsearch(sizes, words),
        "rnnenc": lambda: rnnenc(sizes, words),
        "phrase-rnn": lambda: with_context_layer(rnnenc(sizes, words), sizes),
        "grconv": lambda: grconv(sizes, words, config.units),
        "deep-lstm": lambda: deep_lstm(sizes, words, config.layers),
    }
    products = counts[model]()
    rank = config.embedding if config.tied else getattr(config, "softmax_rank", 0)
    if getattr(config, "lexical_module", False):  # L E_x x_j, and the sum of alpha_ij L E_x x_j
        votes = rank or width
        source, pair = products.source + config.embedding * votes, products.pair + votes
        products = replace(products, source=source, pair=pair)
    return factored_output(products, width, rank, words)


def opennmt(sizes: Sizes, words: int) -> Products:
    """Count OpenNMT-py and eole: n/2 units per direction, input feeding, output over n units."""
    m, n = sizes.embedding, sizes.hidden
    return Products(
        sentence=0,
        source=2 * gated_unit(m, n // 2) + n * n,
        target=gated_unit(m + n, n) + n * n + 2 * n * n + n * words,
        pair=2 * n,
    )


def joeynmt(sizes: Sizes, words: int) -> Products:
    """Count JoeyNMT: n units per direction, input feeding, output layer over n units."""
    m, n = sizes.embedding, sizes.hidden
    return Products(
        sentence=2 * n * n,
        source=2 * gated_unit(m, n) + 2 * n * n,
        target=gated_unit(m + n, n) + n * n + 3 * n * n + n * words,
        pair=3 * n,
    )


def marian(sizes: Sizes, words: int) -> Products:
    """Count Marian's s2s: two gated units around the attention, output layer over m units."""
    m, n = sizes.embedding, sizes.hidden
    return Products(
        sentence=2 * n * n,
        source=2 * gated_unit(m, n) + 2 * n * n,
        target=gated_unit(m, n) + n * n + gated_unit(2 * n, n) + (n + m + 2 * n) * m + m * words,
        pair=3 * n,
    )


def forward_multiplications(products: Products, src_len: float, tgt_len: float) -> float:
    """Return the multiplications to score one sentence pair.

    :param src_len, tgt_len: T_x and T_y with `</s>`; means over a corpus are allowed. As long
        sentences go together, the pairs of positions are then slightly underestimated, by
        hundredths of the total.
    """
    source, target = src_len * products.source, tgt_len * products.target
    nodes = src_len * (src_len - 1) / 2 * products.node
    return products.sentence + source + target + src_len * tgt_len * products.pair + nodes


def training_operations(products: Products, src_len: float, tgt_len: float) -> float:
    """Return the multiplications and additions of forward and backward pass per target word.

    Parameters as in `forward_multiplications`.
    """
    return 2 * PASSES * forward_multiplications(products, src_len, tgt_len) / tgt_len
