"""The law of the dev cost that a model of some size reaches with some training.

It was fitted to trainings of many sizes and lengths on several corpora (`bench/plan.py`): with n
units and D target tokens,

    cost = E + A / n^a + B / D^b + C / D^c

as in Hoffmann et al. 2022, eq. (2), where repeated epochs count less and less, as in Muennighoff et
al. 2023, eq. (5). The last term counts in the first million tokens alone. E, which neither size nor
time changes, is left out.
"""

import math

SIZES = (96, 128, 192, 256, 320, 384, 512, 640, 768, 1024)
"""The family: units of the decoder, of each direction of the encoder, and of all other layers."""

SIZE_FACTOR, SIZE_EXPONENT = 12.3, 0.7
"""A and a."""

DATA_FACTOR, DATA_EXPONENT = 0.716, 0.5
"""B and b; D is in millions."""

START_FACTOR, START_EXPONENT = 0.13, 1.5
"""C and c."""

LEAST_FITTED_TOKENS = 800_000
"""Useful target tokens of the shortest trainings that the law was fitted to."""

EPOCHS_OF_USE = 15.0
"""Epochs after which a repeated token teaches only 1 / e of what it did at first."""

USE_SIZE, USE_EXPONENT = 256, 1.5
"""Size of the models to which `EPOCHS_OF_USE` belongs in the long run. Larger models learn sooner
what a small corpus teaches: after 17 epochs of 29,000 pairs 512 units are behind 256."""


def useful_tokens(tokens: float, corpus_tokens: int) -> float:
    """Return the target tokens of a training, where those of repeated epochs count less and less.

    :param tokens: of all updates. corpus_tokens: of an epoch.
    """
    epochs = tokens / max(corpus_tokens, 1)
    if epochs <= 1:
        return tokens
    repeats = EPOCHS_OF_USE * (1 - math.exp((1 - epochs) / EPOCHS_OF_USE))
    return corpus_tokens * (1 + repeats)


def expected_cost(size: int, tokens: float) -> float:
    """Return the dev cost a token of a size, by the useful tokens of its training, without E."""
    millions = tokens / 1e6
    size_part = SIZE_FACTOR * math.pow(size, -SIZE_EXPONENT)
    start_part = START_FACTOR * math.pow(millions, -START_EXPONENT)
    return size_part + DATA_FACTOR * math.pow(millions, -DATA_EXPONENT) + start_part


def final_cost(size: int, corpus_tokens: int) -> float:
    """Return the cost after any number of epochs, without E."""
    epochs = EPOCHS_OF_USE * math.pow(USE_SIZE / size, USE_EXPONENT)
    return expected_cost(size, max(corpus_tokens, 1) * (1 + epochs))
