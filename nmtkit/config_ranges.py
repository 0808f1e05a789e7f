"""Ranges of the allowed values of settings."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple


class AllowedRange(NamedTuple):
    """Range of allowed values of a setting, with its description for messages."""

    description: str
    contains: Callable[[Any], bool]


MAX_BEAM = 10_000
"""A beam takes memory for each hypothesis and word of the vocabulary."""

MAX_LENGTH_PENALTY = 10.0
"""Exponents in use are about 1; the power of a length has to be a finite number."""

MAX_LENGTH_RATIO = 1000.0
"""No translation is so much longer than its source; the limit in tokens must be finite."""

MAX_SEED = (1 << 63) - 1
"""torch's generators take no larger one."""

MAX_PARTS = 1024
"""More processes than any machine has cores for."""

MAX_ACCUMULATION = 10_000
"""The batches of an update are in memory together."""

MIN_EPOCHS_APART = 1e-6
"""Epochs are divided by it; the number of decays must be finite."""

AT_LEAST_ONE = AllowedRange("at least 1", lambda value: value >= 1)
LAYER_SIZE = AllowedRange("from 1 to 1,000,000", lambda value: 1 <= value <= 1_000_000)
LAYER_COUNT = AllowedRange("from 1 to 100", lambda value: 1 <= value <= 100)
NOT_NEGATIVE = AllowedRange("at least 0", lambda value: 0 <= value < math.inf)
POSITIVE = AllowedRange("above 0", lambda value: 0 < value < math.inf)
EPOCHS_APART = AllowedRange(
    f"at least {MIN_EPOCHS_APART:.6f}", lambda value: MIN_EPOCHS_APART <= value < math.inf
)
PROBABILITY = AllowedRange("in [0, 1)", lambda value: 0 <= value < 1)
DECAY_RATE = AllowedRange("above 0 and below 1", lambda value: 0 < value < 1)
BEAM = AllowedRange(f"from 1 to {MAX_BEAM:,}", lambda value: 1 <= value <= MAX_BEAM)
EXPONENT = AllowedRange(
    f"from 0 to {MAX_LENGTH_PENALTY:g}", lambda value: 0 <= value <= MAX_LENGTH_PENALTY
)
LENGTH_RATIO = AllowedRange(
    f"above 0 and at most {MAX_LENGTH_RATIO:,g}", lambda value: 0 < value <= MAX_LENGTH_RATIO
)
DECAY_FACTOR = AllowedRange("above 0 and at most 1", lambda value: 0 < value <= 1)
SEED = AllowedRange(f"from 0 to {MAX_SEED}", lambda value: 0 <= value <= MAX_SEED)
PARTS = AllowedRange(f"from 1 to {MAX_PARTS:,}", lambda value: 1 <= value <= MAX_PARTS)
ACCUMULATION = AllowedRange(
    f"from 1 to {MAX_ACCUMULATION:,}", lambda value: 1 <= value <= MAX_ACCUMULATION
)
RANK = AllowedRange("from 0 to 1,000,000", lambda value: 0 <= value <= 1_000_000)

RANGES: dict[str, AllowedRange] = {
    "model.dropout": PROBABILITY,
    "model.softmax_rank": RANK,
    "model.layers": LAYER_COUNT,
    "model.context": LAYER_COUNT,
    "data.max_length": AT_LEAST_ONE,
    "data.batch_size": AT_LEAST_ONE,
    "data.sort_pool": AT_LEAST_ONE,
    "data.bpe_dropout": PROBABILITY,
    "data.terms_augment": PROBABILITY,
    "training.seed": SEED,
    "training.learning_rate": POSITIVE,
    "training.rho": DECAY_RATE,
    "training.epsilon": POSITIVE,
    "training.clip_norm": NOT_NEGATIVE,
    "training.label_smoothing": PROBABILITY,
    "training.softmax_samples": NOT_NEGATIVE,
    "training.curriculum_updates": NOT_NEGATIVE,
    "training.guided_alignment": NOT_NEGATIVE,
    "training.guided_updates": NOT_NEGATIVE,
    "training.gradient_accumulation": ACCUMULATION,
    "training.batch_parts": PARTS,
    "training.max_updates": NOT_NEGATIVE,
    "training.max_epochs": NOT_NEGATIVE,
    "training.validate_every": AT_LEAST_ONE,
    "training.validate_epochs": NOT_NEGATIVE,
    "training.patience": NOT_NEGATIVE,
    "training.dev_beam": BEAM,
    "training.lr_decay": DECAY_FACTOR,
    "training.lr_decay_patience": NOT_NEGATIVE,
    "training.lr_decay_after": NOT_NEGATIVE,
    "training.lr_decay_every": EPOCHS_APART,
    "training.warmup": NOT_NEGATIVE,
    "training.cooldown": NOT_NEGATIVE,
    "training.time_limit": NOT_NEGATIVE,
    "training.cooldown_share": PROBABILITY,
    "training.max_nonfinite": AT_LEAST_ONE,
    "training.average_checkpoints": AT_LEAST_ONE,
    "training.keep_checkpoints": AT_LEAST_ONE,
    "text.vocabulary_threshold": NOT_NEGATIVE,
    "search.beam": BEAM,
    "search.length_penalty": EXPONENT,
    "search.coverage_penalty": NOT_NEGATIVE,
    "search.no_repeat_ngram": NOT_NEGATIVE,
    "search.max_length_ratio": LENGTH_RATIO,
    "search.min_length_ratio": NOT_NEGATIVE,
}
