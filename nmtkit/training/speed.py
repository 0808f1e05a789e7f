"""Speed of this machine: the time of an update, measured on the training data itself.

Of several processes that train together, each computes a part of every batch at the same time. The
part of the first is measured; the exchange of gradients is not.
"""

import itertools
import time
from collections.abc import Sequence
from typing import NamedTuple

import torch

from nmtkit.config import Config
from nmtkit.data.batch import Batch
from nmtkit.data.batching import Batches
from nmtkit.data.corpus import Corpus
from nmtkit.model_folder import build_model
from nmtkit.parallel import environment
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.gradient import Gradient, word_sampler
from nmtkit.training.optimizers import make_optimizer

FIRST_UPDATES = 2
"""Updates that are not measured: memory is allocated, and kernels are chosen."""

MIN_UPDATES = 3
"""Updates of each turn at least, however long they take."""


class Speed(NamedTuple):
    """Time that updates of a model take.

    tokens: target tokens of the updates. seconds: least wall-clock time of each, together.
    mean_seconds: mean time of each, together.
    """

    tokens: int
    seconds: float
    mean_seconds: float

    @property
    def tokens_per_second(self) -> float:
        """Target tokens a second, at best."""
        return self.tokens / self.seconds


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
            part = (0, environment.size())
            self._batches = iter(Batches(corpus, config.data, config.training.seed, part=part))
            self._batches_of_update = config.training.gradient_accumulation

    def next_batches(self) -> list[Batch]:
        """Return the batches of the next update."""
        return list(itertools.islice(self._batches, self._batches_of_update))

    def train(self, updates: Sequence[list[Batch]]) -> list[float]:
        """Train; return the wall-clock seconds of each update.

        :param updates: the batches of each.
        """
        times = [time.perf_counter()]
        for batches in updates:
            with torch.random.fork_rng(devices=[]):
                self._gradient.compute(batches, 1, None)  # reads figures: the device is waited for
            self._optimizer.step()
            times.append(time.perf_counter())
        return [end - start for start, end in itertools.pairwise(times)]


def fastest_speeds(
    configs: Sequence[Config],
    corpus: Corpus,
    vocabularies: tuple[Vocabulary, Vocabulary],
    device: torch.device,
    seconds: float,
    turns: int = 1,
) -> list[Speed]:
    """Return the speed of each of some models, which take turns.

    Another program may slow the machine at any moment, and none makes it faster, so that models are
    best compared by the least time of each update. Batches differ in speed, too: all models do the
    same number of updates, and in each turn the same ones.

    :param vocabularies: source and target.
    :param seconds: mean time of a model in each turn, after its first updates.
    :param turns: how many times the updates are done.
    """
    probes = [SpeedProbe(config, corpus, vocabularies, device) for config in configs]
    for _ in range(FIRST_UPDATES):  # in turns: after a fork this process copies what it changes
        first = [probe.train([probe.next_batches()])[0] for probe in probes]
    count = max(MIN_UPDATES, round(seconds * len(probes) / sum(first)))
    updates = [[probe.next_batches() for _ in range(count)] for probe in probes]
    rounds = [
        [probe.train(own) for probe, own in zip(probes, updates, strict=True)] for _ in range(turns)
    ]
    return [
        _speed(own, times) for own, times in zip(updates, zip(*rounds, strict=True), strict=True)
    ]


def _speed(updates: Sequence[list[Batch]], turns: Sequence[Sequence[float]]) -> Speed:
    """Return the speed of some updates.

    :param updates: the batches of each.
    :param turns: in each turn the seconds of each update.
    """
    tokens = sum(batch.tokens for batches in updates for batch in batches)
    least = sum(map(min, zip(*turns, strict=True)))
    return Speed(tokens, least, sum(map(sum, turns)) / len(turns))
