"""Options of beam search, named after the settings of `SearchConfig` that they change."""

from collections.abc import Callable
from typing import Any

import click

from nmtkit.cli.command import SEARCH, gather, group, option
from nmtkit.cli.old_spellings import Renamed
from nmtkit.cli.shared_options import FloatRange
from nmtkit.config_ranges import MAX_BEAM, MAX_LENGTH_PENALTY, MAX_LENGTH_RATIO

FIELDS = (
    "beam",
    "beam_mode",
    "stop",
    "length_penalty",
    "penalty",
    "coverage_penalty",
    "min_length_ratio",
    "max_length_ratio",
    "forbid_unk",
    "no_repeat_ngram",
)
"""Parameter names of the options, which are the fields of `SearchConfig`."""

RENAMED_SEARCH = (Renamed("--rule {MODE}", "--beam-mode {MODE}"),)


def search_options(function: Callable[..., Any]) -> Any:
    """Declare the search options; the command gets the given ones as the parameter `search`.

    `search` is a dict of fields of `SearchConfig`.
    """
    return group(
        SEARCH,
        option(
            "-b",
            "--beam",
            type=click.IntRange(1, MAX_BEAM),
            metavar="K",
            common=True,
            help="Beam size.  [default: the model's]",
        ),
        option(
            "--beam-mode",
            type=click.Choice(["shrinking", "bounded"]),
            help="When a hypothesis is finished, the beam shrinks by one ('shrinking'), or keeps"
            " its size ('bounded').  [default: the model's]",
        ),
        option(
            "--stop",
            type=click.Choice(["early", "exact"]),
            help="Stop searching when better translations are unlikely ('early'), or impossible"
            " ('exact').  [default: the model's]",
        ),
        option(
            "--length-penalty",
            type=FloatRange(0, MAX_LENGTH_PENALTY),
            metavar="A",
            common=True,
            help="Rank by score / length^A. With 0, by the score alone.  [default: the model's]",
        ),
        option(
            "--penalty",
            type=click.Choice(["power", "wu"]),
            help="Base of the power A: the length, or (5 + length) / 6 (Wu et al. 2016)."
            "  [default: the model's]",
        ),
        option(
            "--coverage-penalty",
            type=FloatRange(min=0),
            metavar="B",
            help="Prefer translations that cover the whole source: add B times the sum of the logs"
            " of each source word's attention, at most 1, to the score (Wu et al. 2016). With"
            " '--penalty power' before the division by length^A, with 'wu' after it."
            "  [default: the model's]",
        ),
        option(
            "--min-length-ratio",
            type=FloatRange(0, MAX_LENGTH_RATIO),
            metavar="R",
            help="Shortest translation: longer than R times the source. R is at most that of"
            " --max-length-ratio.  [default: the model's]",
        ),
        option(
            "--max-length-ratio",
            type=FloatRange(0, MAX_LENGTH_RATIO, min_open=True),
            metavar="R",
            help="Longest translation: R times the source length, and at least 10 tokens."
            "  [default: the model's]",
        ),
        option("--no-unk", "forbid_unk", is_flag=True, help="Never choose the unknown word."),
        option(
            "--no-repeat-ngram",
            type=click.IntRange(min=0),
            metavar="N",
            help="Never write the same N tokens (subwords) twice in a translation; 0: allow it."
            "  [default: the model's]",
        ),
    )(gather("search", _given, FIELDS)(function))


def _given(**fields: Any) -> dict[str, Any]:
    """Return the fields that were given."""
    return {field: v for field, v in fields.items() if v is not None and v is not False}
