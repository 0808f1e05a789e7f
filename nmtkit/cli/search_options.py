"""Options of `translate` that say how translations are looked for."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])


def search_options(function: Function) -> Function:
    """`--beam` and all others that are settings of search: the one parameter `search`, those fields
    of `SearchConfig` that were given."""

    @functools.wraps(function)
    def command(*arguments: Any, **options: Any) -> Any:
        given = {name: options.pop(name) for name in _FIELDS}
        given["forbid_unk"] = options.pop("no_unk") or None
        search = {name: value for name, value in given.items() if value is not None}
        return function(*arguments, search=search, **options)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command  # type: ignore[return-value]


_FIELDS = (
    "beam",
    "beam_mode",
    "length_penalty",
    "penalty",
    "coverage_penalty",
    "min_length_ratio",
    "max_length_ratio",
)
"""Parameters of the options, named as the fields of `SearchConfig`."""

_OPTIONS: list[Callable[[Function], Function]] = [
    click.option(
        "-b",
        "--beam",
        type=click.IntRange(min=1),
        metavar="K",
        help="Hypotheses kept of each sentence.  [default: the model's]",
    ),
    click.option(
        "--rule",
        "beam_mode",
        type=click.Choice(["shrinking", "bounded"]),
        help="What a finished hypothesis does to the beam: it takes its place with it, or leaves it"
        " to another.  [default: the model's]",
    ),
    click.option(
        "--length-penalty",
        type=click.FloatRange(min=0),
        metavar="A",
        help="The best translation is that of the highest score / length^A; 0 counts the score"
        " alone.  [default: the model's]",
    ),
    click.option(
        "--penalty",
        type=click.Choice(["power", "wu"]),
        help="What A is the power of: the length, or (5 + length) / 6 (Wu et al. 2016)."
        "  [default: the model's]",
    ),
    click.option(
        "--coverage-penalty",
        type=click.FloatRange(min=0),
        metavar="B",
        help="Of the translations that search has found, prefer one that leaves no source word out:"
        " B times the logarithms of what each was looked at, at most once, are added (Wu et al."
        " 2016).  [default: the model's]",
    ),
    click.option(
        "--min-length-ratio",
        type=click.FloatRange(min=0),
        metavar="R",
        help="No translation is shorter than R times the source length.  [default: the model's]",
    ),
    click.option(
        "--max-length-ratio",
        type=click.FloatRange(min=0, min_open=True),
        metavar="R",
        help="Search ends after R times the source length, but grants 10 tokens at least."
        "  [default: the model's]",
    ),
    click.option("--no-unk", is_flag=True, help="Never choose the unknown word."),
]
