"""The plan of a training that has a given time: size, batches, learning rate and validations.

Of a family of sizes the one with the lowest expected dev cost is taken, by the law of
`nmtkit.training.scaling_law`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from nmtkit.training.scaling_law import SIZES, expected_cost, final_cost, useful_tokens

Precision = Literal["float32", "bfloat16"]

START_SECONDS = 7.0
"""Seconds of starting, measuring this machine and learning word pairs, on two cores."""

TRAINING_SHARE = 0.89
"""Share of the rest of the time that updates would take at the speed that was measured.

What is left is for guided attention, which is not measured, the softmax over all words at the end,
validations and saving.
"""

FILLED = 0.93
"""Target tokens of a batch as a share of its size, which counts padding."""

MAX_VALIDATIONS = 10
"""Number of validations, if there is time for them."""

VALIDATION_SHARE = 0.03
"""Share of the time that validations may take; those of a large dev set take more."""

LEAST_TRAINING_SHARE = 0.1
"""Share of the time that is planned for updates however large the dev set is, and however short the
time."""

COST_OF_VALIDATION, COST_OF_TRANSLATION = 0.5, 3.0
"""Time in which the cost of a dev token is measured, at least, and in which it is translated with
beam 1, by the time of a training token."""

PASSES_OF_TRAINING = 3
"""Multiplications of an update by those of its forward pass."""

SMALL_BATCH, LARGE_BATCH, LARGE_ACCELERATOR_BATCH = 800, 1600, 6400
"""Target tokens of the smallest batch, padding counted, and of the largest on a CPU and elsewhere.

Larger ones take less time for each token; on a CPU little is left to gain."""

UPDATES_FOR_LARGER_BATCHES = 2200
"""Batches grow beyond the smallest if there are more updates than these: with fewer, a model learns
less from the same tokens."""

LEARNING_RATE_OF_ONE_UNIT = 0.7
"""Learning rate times size in the smallest batches, the same for all sizes: 0.0055 for 128 units.

It grows with the square root of the batch."""

SOFTMAX_SAMPLES = 500
"""Words to draw for the softmax."""

CURRICULUM_SHARE = 0.35
"""Share of the updates in which sentences become as long as all, ..."""

CURRICULUM_EPOCHS = 1.2
"""... with fewer epochs than these. With a few more, long and short sentences from the beginning
teach as much, and with many the shortest would come too often (`bench/NOTEBOOK.md`)."""

GUIDANCE = 0.2
"""Weight of the links that guide the attention at first; it falls to 0 at the end."""

MIN_SAMPLED_WORDS = 2000
"""Vocabulary from which on they are drawn."""

BATCH_WORDS = 250
"""Different target words of a batch, about."""

DROPOUT = ((0.0, 0.0), (4.0, 0.1), (8.0, 0.2), (13.0, 0.3), (30.0, 0.4))
"""Dropout from a number of expected epochs on: more where the same pairs are seen often."""

MAX_LENGTH = 150
"""Tokens of the longest sentences: those of the words that `prepare` keeps by default, and more."""

COOLDOWN_SHARE = 0.4
"""Share of the time in which the learning rate falls to 0."""


class CorpusFigures(NamedTuple):
    """Size of the training data.

    pairs: sentence pairs. src_tokens, tgt_tokens: their tokens, `</s>` counted.
    src_words, tgt_words: sizes of the vocabularies. dev_tokens: target tokens of the dev set.
    draws_words: the softmax of a large vocabulary may be over drawn words. The host draws them, so
    that on a GPU that computes batches by CUDA graphs it is over all words.
    """

    pairs: int
    src_tokens: int
    tgt_tokens: int
    src_words: int
    tgt_words: int
    dev_tokens: int
    draws_words: bool = True

    def products(self, size: int) -> float:
        """Return millions of multiplications a target token takes forward, by size of the model.

        The encoder has gates in two directions, keys, values and votes for translations; the
        decoder has gates, attention and readout; the softmax has a row for each word that is drawn.
        """
        words = self.softmax_samples + BATCH_WORDS if self.softmax_samples else self.tgt_words
        return self._products(size, words)

    def _products(self, size: int, words: int) -> float:
        """Return millions of multiplications, forward, with a softmax over so many words."""
        encoder = (6 + 6 + 2 * 6 + 1) * size * size * self.src_tokens / max(self.tgt_tokens, 1)
        decoder = (3 + 4 + 2 + 2 + 1) * size * size
        attention = 7 * size * self.src_tokens / max(self.pairs, 1)
        return (encoder + decoder + attention + words * size) / 1e6

    def validation_tokens(
        self, size: int, translated: bool, samples: bool = True, fixed_share: float = 0.0
    ) -> float:
        """Return how many tokens could be trained on in the time of a validation.

        Its softmax is over all words, which weighs most in small models.

        :param size: that of the model.
        :param translated: the dev set is translated, too.
        :param samples: the softmax of the training is over drawn words, if there are many.
        :param fixed_share: share of a training token's time that is no multiplication.
        """
        whole = self._products(size, self.tgt_words)
        trained = self.products(size) if samples else whole
        products = max(COST_OF_VALIDATION, whole / (PASSES_OF_TRAINING * trained))
        cost = fixed_share * COST_OF_VALIDATION + (1 - fixed_share) * products
        return (cost + (COST_OF_TRANSLATION if translated else 0.0)) * max(self.dev_tokens, 1)

    @property
    def softmax_samples(self) -> int:
        """Words to draw for the softmax; 0 for all words, where these are few."""
        many = self.tgt_words >= MIN_SAMPLED_WORDS
        return SOFTMAX_SAMPLES if self.draws_words and many else 0

    def parameters(self, size: int) -> int:
        """Return about how many parameters a model of the family has."""
        return (self.src_words + self.tgt_words) * size + 38 * size * size


class SpeedModel(NamedTuple):
    """Time of a target token: `fixed` seconds, and `per_product` for each million multiplications.

    The fixed part is what calls of small kernels take; it weighs most in small models.
    """

    fixed: float
    per_product: float

    @classmethod
    def through(cls, points: Mapping[float, float]) -> "SpeedModel":
        """Return the speed that one or two measurements give, from millions of products to seconds.

        Neither part is negative, and noise never makes a larger model as fast as a small one.
        """
        if len(points) == 1:
            [(products, seconds)] = points.items()
            return cls(0.0, seconds / products)
        (few, fast), (many, slow) = sorted(points.items())
        per_product = max((slow - fast) / (many - few), 0.5 * slow / many)
        return cls(max(slow - per_product * many, 0.0), per_product)

    def slower(self, factor: float) -> "SpeedModel":
        """Return the speed at which everything takes `factor` times as long."""
        return SpeedModel(factor * self.fixed, factor * self.per_product)

    def seconds(self, products: float) -> float:
        """Return the seconds of a target token that takes `products` million multiplications."""
        return self.fixed + self.per_product * products

    def fixed_share(self, products: float) -> float:
        """Return the share of that time that is no multiplication."""
        return self.fixed / self.seconds(products)


class BatchLimits(NamedTuple):
    """How large batches may be.

    smallest, largest: target tokens of a batch, padding counted; equal if a setting asks for a
    size. accumulated: batches of an update.
    """

    smallest: int = SMALL_BATCH
    largest: int = LARGE_BATCH
    accumulated: int = 1


CPU_BATCHES = BatchLimits()
"""Limits where nothing is asked for."""


@dataclass(frozen=True)
class Plan:
    """What a training does with its time.

    size: of the family. tokens: target tokens of all updates. figures: of the training data.
    precision: of the matrix products. training_share: share of the time after the start that
    updates take. fixed_share: share of a token's time that is no multiplication.
    """

    size: int
    tokens: float
    figures: CorpusFigures
    limits: BatchLimits = CPU_BATCHES
    precision: Precision = "float32"
    training_share: float = TRAINING_SHARE
    fixed_share: float = 0.0

    @property
    def _training_tokens(self) -> float:
        """Tokens that could be trained on in the time that validations may take."""
        return VALIDATION_SHARE / self.training_share * self.tokens

    @property
    def measures_bleu(self) -> bool:
        """Return True if the dev set can be translated twice: the first time tells the time."""
        return self._training_tokens >= 2 * self._validation_tokens(True)

    @property
    def validations(self) -> int:
        """Number of validations."""
        possible = self._training_tokens / self._validation_tokens(self.measures_bleu)
        return min(max(int(possible), 1), MAX_VALIDATIONS)

    def _validation_tokens(self, translated: bool) -> float:
        """Return how many tokens could be trained on in the time of a validation."""
        fixed = self.fixed_share
        return self.figures.validation_tokens(self.size, translated, fixed_share=fixed)

    @property
    def validation_share(self) -> float:
        """Share of the time that all validations take; of a large dev set more than is aimed at."""
        validated = self.validations * self._validation_tokens(self.measures_bleu)
        return self.training_share * validated / max(self.tokens, 1e-9)

    def without_validations(self) -> "Plan":
        """Return this plan with no more updates than a large dev set leaves time for."""
        taken = self.validation_share - VALIDATION_SHARE
        if taken <= 0:
            return self
        share = max(self.training_share - taken, LEAST_TRAINING_SHARE)
        tokens = share / self.training_share * self.tokens
        return replace(self, tokens=tokens, training_share=share)

    @property
    def epochs(self) -> float:
        """Number of epochs, in which each pair is used once, whatever the weight of its corpus."""
        return self.tokens / max(self.figures.tgt_tokens, 1)

    @property
    def useful_tokens(self) -> float:
        """Target tokens of the training, where those of repeated epochs count less and less."""
        return useful_tokens(self.tokens, self.figures.tgt_tokens)

    @property
    def expected_cost(self) -> float:
        """Expected dev cost a token, without the part that no size and no time changes."""
        return expected_cost(self.size, self.useful_tokens)

    @property
    def batch_size(self) -> int:
        """Target tokens of a batch, padding counted."""
        hundreds = self.tokens / (FILLED * UPDATES_FOR_LARGER_BATCHES * 100)
        return min(max(100 * round(hundreds), self.limits.smallest), self.limits.largest)

    @property
    def _update_size(self) -> int:
        """Target tokens of an update, padding counted."""
        return self.limits.accumulated * self.batch_size

    @property
    def updates(self) -> int:
        """Number of updates. A batch has the whole of a corpus that is smaller."""
        batch_tokens = min(FILLED * self.batch_size, max(self.figures.tgt_tokens, 1))
        return max(1, round(self.tokens / (self.limits.accumulated * batch_tokens)))

    @property
    def learning_rate(self) -> float:
        """Learning rate of the steady part, rounded: lower for larger models."""
        factor = math.sqrt(self._update_size / SMALL_BATCH)
        return float(f"{LEARNING_RATE_OF_ONE_UNIT * factor / self.size:.2g}")

    @property
    def dropout(self) -> float:
        """Dropout of the model."""
        return [dropout for epochs, dropout in DROPOUT if self.epochs >= epochs][-1]

    @property
    def curriculum_updates(self) -> int:
        """Number of updates in which sentences become as long as all; 0: none is kept for later."""
        return round(CURRICULUM_SHARE * self.updates) if self.epochs < CURRICULUM_EPOCHS else 0

    def settings(self) -> dict[str, Any]:
        """Return the settings as a TOML table, to be merged with those of a recipe."""
        sizes = dict.fromkeys(("embedding", "hidden", "align", "maxout"), self.size)
        return {
            "model": {**sizes, "dropout": self.dropout, "lexical_module": True},
            "data": {"batch_size": self.batch_size, "max_length": MAX_LENGTH},
            "training": {
                "precision": self.precision,
                "learning_rate": self.learning_rate,
                "softmax_samples": self.figures.softmax_samples,
                "curriculum_updates": self.curriculum_updates,
                "init_output_bias": True,
                "init_source_embeddings": True,
                "guided_alignment": GUIDANCE,
                "guided_updates": self.updates,
                "warmup": min(100, max(1, self.updates // 10)),
                "cooldown_share": COOLDOWN_SHARE,
                "validate_every": -(-self.updates // self.validations),
                "dev_bleu": self.measures_bleu,
                "dev_beam": 1,
                "patience": 0,
                "lr_decay_patience": 0,
                "average_checkpoints": 1,
                "keep_checkpoints": 1,
            },
        }


def after_start(seconds: float) -> float:
    """Return the seconds of a training that are left after it has started, at least a tenth."""
    return max(seconds - START_SECONDS, LEAST_TRAINING_SHARE * seconds)


def useful_sizes(figures: CorpusFigures) -> list[int]:
    """Return the sizes up to that with the lowest expected cost after any number of epochs."""
    largest = min(SIZES, key=lambda size: final_cost(size, figures.tgt_tokens))
    return [size for size in SIZES if size <= largest]


def best_plan(
    figures: CorpusFigures,
    speed: SpeedModel,
    seconds: float,
    sizes: Sequence[int] = SIZES,
    limits: BatchLimits = CPU_BATCHES,
    precision: Precision = "float32",
) -> Plan:
    """Return the plan whose expected dev cost is lowest.

    Where validating the dev set takes the time of updates, it is that of the smallest model: none
    is planned, larger than another, because it has the same small share of the time.

    :param seconds: time of the whole training.
    :param sizes: those to choose from, ascending.
    :param precision: that of the speed.
    """

    def plan(size: int) -> Plan:
        products = figures.products(size)
        tokens = TRAINING_SHARE * after_start(seconds) / speed.seconds(products)
        share = speed.fixed_share(products)
        plan = Plan(size, tokens, figures, limits, precision, fixed_share=share)
        return plan.without_validations()

    plans = [plan(size) for size in sizes]
    fitting = [plan for plan in plans if plan.training_share > LEAST_TRAINING_SHARE]
    return min(fitting or plans[:1], key=lambda plan: plan.expected_cost)
