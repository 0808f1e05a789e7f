"""Fine-tuning on corrections, with old training pairs or the old model's predictions in between.

Each update sums the gradients of a batch of corrections and of a batch of replayed pairs or, where
there are none, of a batch that is rehearsed (`rehearsal.py`).
"""

import dataclasses
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from nmtkit.config import TrainingConfig
from nmtkit.data.batch import Batch
from nmtkit.data.batching import Batches
from nmtkit.errors import ModelError
from nmtkit.io.parameters import Parameters, parameters_of
from nmtkit.models import Model
from nmtkit.progress_bar import ProgressBar
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.adaptation.rehearsal import Rehearsal
from nmtkit.training.cost_gradient import Teacher
from nmtkit.training.gradient import WHOLE_SOFTMAX, Gradient, word_sampler
from nmtkit.training.optimizers import set_learning_rate
from nmtkit.training.plan import MIN_SAMPLED_WORDS, SOFTMAX_SAMPLES

COOLDOWN = 0.5
"""Share of the time, at its end, in which the learning rate falls linearly to 0."""

MAX_NONFINITE = 10
"""Number of updates in a row without a finite gradient after which fine-tuning fails."""


@dataclass(frozen=True)
class FineTuningSettings:
    """How a model is fine-tuned.

    learning_rate: of Adam.
    tokens: target tokens of the corrections in an update, at most.
    replayed_tokens: target tokens of replayed or rehearsed pairs in an update, at most.
    warmup: number of updates over which the learning rate rises.
    rehearsal_weight: weight of the divergence from what is rehearsed, in the cost.
    clip_norm: maximum norm of the gradient.
    softmax_samples: words drawn for the softmax until the learning rate is low; 0: all words.
    dropout_epochs: epochs of the corrections after which dropout is applied to them, as it is to
        replayed pairs from the beginning.
    """

    learning_rate: float = 0.001
    tokens: int = 400
    replayed_tokens: int = 400
    rehearsal_weight: float = 5.0
    warmup: int = 10
    clip_norm: float = 1.0
    softmax_samples: int = 0
    dropout_epochs: float = 0.0


MAX_RATE, OTHER_RATE = 0.001, 0.0005
"""Highest learning rate; and that of models that were not trained by Adam."""

MAX_RATE_OF_FEW = 0.0007
"""Highest learning rate of few corrections, which are seen dozens of times."""

MANY = 2000
"""Corrections from which on there is hardly time to see them three times, ..."""

MAX_RATE_OF_MANY = 0.003
"""... so that they are learned with this highest learning rate, in batches twice as large."""


def settings_for(
    config: TrainingConfig, few: bool = False, many: bool = False, replays: bool = True
) -> FineTuningSettings:
    """Return settings for a model: at most the learning rate that it was trained with.

    Few corrections are to come out exactly, so that they are learned without dropout, beside twice
    as many old pairs if there are any. With many, time counts most: larger batches, a higher
    learning rate, a softmax over drawn words and no dropout before they come again, if there are
    data to replay (measured in `bench/NOTEBOOK.md`).

    :param config: settings of the training of the old model.
    :param many: there are at least `MANY`.
    :param replays: there are old data to replay.
    """

    def rate(highest: float) -> float:
        return min(highest, config.learning_rate) if config.optimizer == "adam" else OTHER_RATE

    if few:
        return FineTuningSettings(
            rate(MAX_RATE_OF_FEW),
            replayed_tokens=800 if replays else 400,
            warmup=100,
            dropout_epochs=math.inf,
        )
    if many and replays:
        return FineTuningSettings(
            rate(MAX_RATE_OF_MANY),
            tokens=800,
            replayed_tokens=800,
            softmax_samples=SOFTMAX_SAMPLES,
            dropout_epochs=3.0,
        )
    return FineTuningSettings(rate(MAX_RATE))


class FineTuner:
    """Fine-tunes a model until its time is over.

    updates: number of updates so far. factor: of the learning rate of the last one.
    """

    def __init__(
        self,
        model: Model,
        corrections: Batches,
        replay: Batches | Rehearsal | None,
        settings: FineTuningSettings,
        config: TrainingConfig,
        words: Vocabulary,
    ) -> None:
        """Update nothing yet.

        :param model: with the old parameters.
        :param replay: what is learned beside the corrections.
        :param config: settings of the training of the old model.
        :param words: target words, with their counts, to draw those of the softmax from.
        """
        self.model = model
        self.settings = settings
        self.batches = corrections
        self.corrections: Iterator[Batch] = iter(corrections)
        self.replay: Iterator[Batch] | None = None if replay is None else iter(replay)
        optimizer = torch.optim.Adam(model.parameters(), lr=settings.learning_rate, fused=True)
        samples = settings.softmax_samples if len(words) >= MIN_SAMPLED_WORDS else 0
        config = dataclasses.replace(config, loss_reduction="token-mean", softmax_samples=samples)
        self.gradient = Gradient(model, optimizer, config)
        self.gradient.sample_words(word_sampler(config, words))
        if isinstance(replay, Rehearsal):
            self.gradient.learn_from(Teacher(replay.teacher, settings.rehearsal_weight))
        self.optimizer = optimizer
        self.updates = 0
        self.skipped_in_a_row = 0
        self.factor = 1.0

    def run(self, seconds: float, done: Callable[[], bool] = lambda: False) -> None:
        """Update until the time is over, or as many times again as until `done` returned True.

        The learning rate falls to 0 at the end, so that what was learned settles.

        :param done: called after each update; its time counts.
        """
        start = time.monotonic()
        with ProgressBar("fine-tune", "seconds at most", math.ceil(seconds)) as bar:
            while (used := time.monotonic() - start) < seconds:
                bar.done = int(used)
                self.update(min(1.0, (1 - used / seconds) / COOLDOWN))
                if done():
                    self._settle(start + seconds)
                    return

    def run_updates(self, count: int) -> None:
        """Update a number of times; the learning rate falls to 0 at the end."""
        for number in range(count):
            self.update(min(1.0, (1 - number / count) / COOLDOWN))

    def _settle(self, end: float) -> None:
        """Update as many times as so far, while the learning rate falls to 0.

        :param end: when the time is over, by `time.monotonic()`.
        """
        first, count = self.factor, self.updates
        for number in range(count):
            if time.monotonic() >= end:
                return
            self.update(first * (1 - number / count))

    def update(self, factor: float = 1.0) -> None:
        """Update the parameters once.

        :param factor: of the learning rate, besides that of the warm-up.
        :raises ModelError: the gradient was not finite too many times in a row.
        """
        batch = next(self.corrections)
        drops = self.batches.progress() >= self.settings.dropout_epochs
        batches = [batch._replace(dropout=drops)]
        if self.replay is not None:
            batches.append(next(self.replay))
        self.updates += 1
        update = self.gradient.compute(
            batches,
            self.updates,
            None,
            samples_words=factor >= WHOLE_SOFTMAX,
        )
        if not math.isfinite(update.cost + update.norm):
            self._skip()
            return
        self.skipped_in_a_row = 0
        if update.norm > self.settings.clip_norm:
            self.gradient.scale(self.settings.clip_norm / update.norm)
        self.factor = factor * min(1.0, self.updates / self.settings.warmup)
        set_learning_rate(self.optimizer, self.settings.learning_rate * self.factor)
        self.optimizer.step()

    def _skip(self) -> None:
        self.skipped_in_a_row += 1
        if self.skipped_in_a_row >= MAX_NONFINITE:
            raise ModelError(
                f"cost or gradient is not finite at update {self.updates}, the"
                f" {MAX_NONFINITE}th time in a row, so the model cannot be adapted; adapt other"
                " parameters"
            )

    def parameters(self) -> Parameters:
        """Return a copy of the parameters as they are now."""
        return {name: value.clone() for name, value in parameters_of(self.model).items()}
