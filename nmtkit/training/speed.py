"""Speed of this machine: the time of an update, measured on the training data itself."""

import itertools
import time
from collections.abc import Sequence
from typing import NamedTuple

import torch

from nmtkit.config import Config
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


class SpeedProbe:
    """A new model that trains for moments, and is forgotten; random generators stay as they were.

    What other processes share with it is freed with it.
    """

    def __init__(
        self,
        config: Config,
        corpus: Corpus,
        vocabularies: tuple[Vocabulary, Vocabulary],
        device: torch.device,
    ) -> None:
        """Build the model.

        :param vocabularies: source and target.
        """
        with torch.random.fork_rng(devices=[]):
            model = build_model(config, *map(len, vocabularies)).to(device)
            self._optimizer = make_optimizer(model, config.training)
            self._gradient = Gradient(model, self._optimizer, config.training)
            self._gradient.sample_words(word_sampler(config.training, vocabularies[1]))
            self._batches = iter(Batches(corpus, config.data, config.training.seed))
            self._batches_of_update = config.training.gradient_accumulation

    def update(self) -> int:
        """Do an update; return its target tokens."""
        batches = list(itertools.islice(self._batches, self._batches_of_update))
        with torch.random.fork_rng(devices=[]):
            self._gradient.compute(batches, 1, None)  # reads figures: the device is waited for
        self._optimizer.step()
        return sum(batch.tokens for batch in batches)

    def measure(self, seconds: float) -> Speed:
        """Train on, and measure.

        :param seconds: how long; at least for `MIN_UPDATES`.
        """
        started = time.monotonic()
        tokens = updates = 0
        while updates < MIN_UPDATES or time.monotonic() - started < seconds:
            tokens += self.update()
            updates += 1
        return Speed(tokens, max(time.monotonic() - started, 1e-6), updates)


def fastest_speeds(
    configs: Sequence[Config],
    corpus: Corpus,
    vocabularies: tuple[Vocabulary, Vocabulary],
    device: torch.device,
    seconds: float,
    turns: int = 1,
) -> list[Speed]:
    """Return the highest speed of each of some models, which take turns.

    Another program may slow the machine at any moment, and none makes it faster.

    :param vocabularies: source and target.
    :param seconds: how long a model is measured in each turn, after its first updates.
    """
    probes = [SpeedProbe(config, corpus, vocabularies, device) for config in configs]
    for _ in range(FIRST_UPDATES):  # in turns: after a fork this process copies what it changes
        for probe in probes:
            probe.update()
    rounds = [[probe.measure(seconds) for probe in probes] for _ in range(turns)]
    return [
        max(speeds, key=lambda speed: speed.tokens_per_second)
        for speeds in zip(*rounds, strict=True)
    ]
