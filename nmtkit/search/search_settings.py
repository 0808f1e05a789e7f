"""What the settings of a search mean for its loop, and which of them mean nothing."""

from typing import Any, TypeVar

from nmtkit.config import SearchConfig
from nmtkit.errors import ConfigError

Lengths = TypeVar("Lengths", bound=Any)


def check_settings(settings: SearchConfig, n_best: int) -> None:
    """:raises ConfigError: a setting has no meaning, or the beam is too narrow for the list."""
    if settings.beam < 1:
        raise ConfigError(f"the beam must hold at least 1 hypothesis, not {settings.beam}")
    if not 1 <= n_best <= settings.beam:
        raise ConfigError(
            f"{n_best} translations of each sentence cannot come from a beam of {settings.beam};"
            " ask for at least 1 and at most as many as the beam is wide"
        )
    if not 0 <= settings.length_penalty < float("inf"):
        raise ConfigError(f"the length penalty must be 0 or more, not {settings.length_penalty}")
    if not 0 <= settings.coverage_penalty < float("inf"):
        raise ConfigError(
            f"the coverage penalty must be 0 or more, not {settings.coverage_penalty}"
        )
    if not 0 < settings.max_length_ratio < float("inf"):
        raise ConfigError(f"the length ratio must be above 0, not {settings.max_length_ratio}")
    if not 0 <= settings.min_length_ratio <= settings.max_length_ratio:
        raise ConfigError(
            f"the least length ratio must be from 0 to the largest, {settings.max_length_ratio},"
            f" not {settings.min_length_ratio}"
        )


def length_divisor(settings: SearchConfig, lengths: Lengths) -> Lengths:
    """Return the number by which a score is divided to rank a hypothesis.

    :param lengths: lengths of hypotheses, `</s>` counted: a number or a tensor.
    """
    base: Any = (5 + lengths) / 6 if settings.penalty == "wu" else lengths
    divisor: Lengths = base**settings.length_penalty
    return divisor


def hypotheses_to_find(settings: SearchConfig, n_best: int) -> int:
    """Return how many hypotheses of a sentence search finds, to choose the n best from."""
    return settings.beam if settings.coverage_penalty else n_best


def shrinks(settings: SearchConfig) -> bool:
    """Whether a finished hypothesis takes its place in the beam with it."""
    return settings.beam_mode == "shrinking" or settings.beam == 1


def continuations(settings: SearchConfig) -> int:
    """How many of a sentence's continuations are enough to go on with.

    At most one continuation of a hypothesis ends it; so where the places of finished ones are
    filled again, twice as many as the beam holds.
    """
    return settings.beam if shrinks(settings) else 2 * settings.beam
