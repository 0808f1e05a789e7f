"""Options of `nmtkit evaluate` for comparing systems, and for buckets of a test set."""

import math
from typing import Any

import click
from click.shell_completion import CompletionItem

from nmtkit.cli.command import group, option
from nmtkit.cli.shared_options import FILE, StringType, language_option

SIDES = ("source", "reference", "both")


class MetricName(StringType):
    """Name of a metric; the registry is imported only when the option or its help is used."""

    name = "metric"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return the choices as `click.Choice` shows them."""
        return f"[{'|'.join(self.names())}]"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the value if it names a metric."""
        return str(click.Choice(self.names()).convert(value, param, ctx))

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that begin with what was typed."""
        return click.Choice(self.names()).shell_complete(ctx, param, incomplete)

    @staticmethod
    def names() -> list[str]:
        """Return the names of all metrics."""
        from nmtkit.evaluation.metrics import METRICS

        return list(METRICS)


class TokenizerName(MetricName):
    """Name of a tokeniser of sacreBLEU, or `auto`."""

    name = "tokeniser"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return a short word, since the choices do not fit on a line."""
        return "NAME"

    @staticmethod
    def names() -> list[str]:
        """Return the names of all tokenisers."""
        from nmtkit.evaluation.bleu_tokenizer import TOKENIZERS

        return ["auto", *TOKENIZERS]


def _bounds(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[float, ...]:
    try:
        bounds = tuple(float(bound) for bound in value.split(",")) if value else ()
    except ValueError:
        bounds = (math.nan,)
    if not all(map(math.isfinite, bounds)):
        raise click.BadParameter(f"'{value}' is not a list of numbers such as 10,20,30.")
    return bounds


def _length(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[int, int] | None:
    if value is None:
        return None
    low, dash, high = value.partition("-")
    if not (dash and low.isdecimal() and high.isdecimal() and int(low) <= int(high)):
        raise click.BadParameter(f"'{value}' is not a range of words such as 10-20.")
    return int(low), int(high)


def comparison_options(function: Any) -> Any:
    """Declare the parameters `name`, `systems`, `measures`, `samples` and `seed`.

    `systems` is a tuple of names and files.
    """
    return group(
        "Systems and metrics",
        option("--name", metavar="NAME", help="Name of the system of HYP.  [default: HYP]"),
        option(
            "--system",
            "systems",
            type=(str, FILE),
            multiple=True,
            metavar="NAME HYP",
            common=True,
            help="Another system and its translations. Repeatable.",
        ),
        option(
            "--measure",
            "measures",
            type=MetricName(),
            multiple=True,
            common=True,
            help="Only this metric. 'bleu' is the papers'. Repeatable.",
        ),
        option(
            "--bootstrap",
            "samples",
            type=click.IntRange(min=0),
            metavar="N",
            common=True,
            help="Samples for intervals and p-values. With 0 there are none. The default is 1000"
            " with --system, and 0 without.",
        ),
        option(
            "--seed",
            type=click.IntRange(min=0),
            metavar="N",
            help="Seed of --bootstrap.  [default: 12345, sacreBLEU's]",
        ),
    )(function)


def bucket_options(function: Any) -> Any:
    """Declare the options that divide a test set into buckets ("parts"), and that draw them."""
    return group(
        "Parts of the test set",
        option(
            "--by",
            type=click.Choice(("length", "unknown", "rank")),
            common=True,
            help="Measure parts of the test set. Sentences are grouped by their number of words, by"
            " the number of unknown words allowed, or by the mean frequency rank of their words.",
        ),
        option(
            "--of",
            "sides",
            type=click.Choice(SIDES),
            multiple=True,
            help="Side whose words --by counts; with 'both' each side must meet the bounds."
            " Repeatable."
            "  [default: source]",
        ),
        option(
            "--bounds",
            callback=_bounds,
            metavar="N,N,...",
            help="Upper bounds of the parts.  [default: 10 to 60 words; 0 to 10 unknown words;"
            " ranks 100, 200, 400, ... 6400]",
        ),
        option(
            "--window",
            type=click.IntRange(min=1),
            metavar="N",
            help="For --by length: windows of N lengths, moved word by word; the papers have 10.",
        ),
        option(
            "--sorted",
            "neighbours",
            type=click.IntRange(min=1),
            metavar="N",
            help="For --by length or rank: windows over N neighbours among the sorted sentences.",
        ),
        option(
            "--length",
            callback=_length,
            metavar="LOW-HIGH",
            help="Only sentences whose source and reference both have this many words: 10-20.",
        ),
        option(
            "--no-unk",
            "no_unknown",
            is_flag=True,
            help="Only sentences without unknown words in source and reference.",
        ),
        option(
            "--source",
            type=FILE,
            metavar="SRC",
            common=True,
            help="Source of the test set. It is tokenised, unless -s names its language.",
        ),
        language_option(
            "src", "Language of SRC, which is raw text. It is tokenised; see --hyphens."
        ),
        option(
            "--src-vocab",
            type=FILE,
            metavar="FILE",
            help="Words of the source by frequency: vocab.src of a model or prepared folder.",
        ),
        option(
            "--tgt-vocab",
            type=FILE,
            metavar="FILE",
            help="Words of the reference by frequency: vocab.tgt.",
        ),
        option(
            "--plot",
            type=FILE,
            metavar="FILE",
            common=True,
            help="Draw the parts: .png, .svg or .pdf. The first metric is drawn. Parts of fewer"
            " than 10 sentences are left out.",
        ),
    )(function)
