"""Speed of this machine: the time of an update, measured on the training data itself."""

import itertools
import time
from typing import NamedTuple

import torch

from nmtkit.config import Config
from nmtkit.data.batch import Batch
from nmtkit.data.batching import Batches
from nmtkit.data.corpus import Corpus
from nmtkit.model_folder import build_model
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.gradient import Gradient, word_sampler
from nmtkit.training.optimizers import make_optimizer

FIRST_UPDATES = 2
"""Updates that are not measured: memory is allocated, and kernels are chosen."""

MIN_UPDATES = 3
"""Updates that are measured at least, however long they take."""


class Speed(NamedTuple):
    """Time that updates of a model take.

    tokens: target tokens of the updates. seconds: wall-clock time of all of them.
    updates: their number.
    """

    tokens: int
    seconds: float
    updates: int

    @property
    def tokens_per_second(self) -> float:
        """Target tokens a second."""
        return self.tokens / self.seconds

    @property
    def seconds_per_update(self) -> float:
        """Mean seconds of an update."""
        return self.seconds / self.updates


def measure_speed(
    config: Config,
    corpus: Corpus,
    vocabularies: tuple[Vocabulary, Vocabulary],
    device: torch.device,
    seconds: float,
) -> Speed:
    """Train a new model for a moment, and forget it; torch's random generators stay as they were.

    :param vocabularies: source and target.
    :param seconds: how long to measure, after the first updates.
    """
    with torch.random.fork_rng(devices=[]):
        model = build_model(config, *map(len, vocabularies)).to(device)
        optimizer = make_optimizer(model, config.training)
        gradient = Gradient(model, optimizer, config.training)
        gradient.sample_words(word_sampler(config.training, vocabularies[1]))
        stream = iter(Batches(corpus, config.data, config.training.seed))

        def update() -> int:
            batches = list(itertools.islice(stream, config.training.gradient_accumulation))
            gradient.compute(batches, 1, None)  # its figures are read, so the device is waited for
            optimizer.step()
            return _tokens(batches)

        for _ in range(FIRST_UPDATES):
            update()
        started = time.monotonic()
        tokens = updates = 0
        while updates < MIN_UPDATES or time.monotonic() - started < seconds:
            tokens += update()
            updates += 1
        return Speed(tokens, max(time.monotonic() - started, 1e-6), updates)


def _tokens(batches: list[Batch]) -> int:
    return sum(batch.tokens for batch in batches)
