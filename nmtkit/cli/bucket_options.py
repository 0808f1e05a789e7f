"""Options of `nmtkit evaluate` for several systems, and for parts of a test set."""

import math
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from nmtkit.cli.common import Function

if TYPE_CHECKING:
    _StringType = click.ParamType[str]
else:
    _StringType = click.ParamType  # not generic before click 8.4

SIDES = ("source", "reference", "both")


class MetricName(_StringType):
    """Name of a metric in the registry, which is imported only when this option or help asks."""

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


def comparison_options(function: Function) -> Function:
    """`--name --system --measure --bootstrap --seed`: the parameters `name`, `systems`, a tuple of
    names and files, `measures`, `samples`, `seed`."""
    for option in (
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            metavar="N",
            help="Of the samples of --bootstrap.  [default: 12345, sacreBLEU's]",
        ),
        click.option(
            "--bootstrap",
            "samples",
            type=click.IntRange(min=0),
            metavar="N",
            help="Give 95 % intervals, and p-values between systems, from so many samples of the"
            " test set; 0 gives none.  [default: 1000 with --system, otherwise 0]",
        ),
        click.option(
            "--measure",
            "measures",
            type=MetricName(),
            multiple=True,
            help="Only this measure; may be given several times. 'bleu' is the papers'.",
        ),
        click.option(
            "--system",
            "systems",
            nargs=2,
            multiple=True,
            metavar="NAME HYP",
            help="Another system and its translations; may be given several times.",
        ),
        click.option(
            "--name", metavar="NAME", help="What the system of HYP is called.  [default: HYP]"
        ),
    ):
        function = option(function)
    return function


def strata_options(function: Function) -> Function:
    """What strata are made of and by, and their picture."""
    for option in (
        click.option(
            "--plot",
            type=click.Path(dir_okay=False),
            metavar="FILE",
            help="Draw the first measure against what --by says: .png, .svg or .pdf. Parts of fewer"
            " than 10 sentences are left out.",
        ),
        click.option(
            "--sorted",
            "neighbours",
            type=click.IntRange(min=1),
            metavar="N",
            help="Of --by length or rank: windows over N neighbours among the sorted sentences.",
        ),
        click.option(
            "--window",
            type=click.IntRange(min=1),
            metavar="N",
            help="Of --by length: windows of N lengths, moved word by word, as the papers' 10.",
        ),
        click.option(
            "--bounds",
            callback=_bounds,
            metavar="N,N,...",
            help="Of --by: where the parts end.  [default: 10 to 60 words; 0 to 10 unknown words;"
            " ranks 100, 200, 400, ... 6400]",
        ),
        click.option(
            "--of",
            "sides",
            type=click.Choice(SIDES),
            multiple=True,
            help="Of --by: whose words count; may be given several times. 'both' asks the same of"
            " each.  [default: source]",
        ),
        click.option(
            "--by",
            type=click.Choice(("length", "unknown", "rank")),
            help="Give the figures of parts of the test set, too: by the number of words, by the"
            " largest number of unknown words allowed, by the mean frequency rank of the words.",
        ),
        click.option(
            "--words",
            callback=_words,
            metavar="LOW-HIGH",
            help="Only sentences whose source and reference both have so many words (10-20).",
        ),
        click.option(
            "--no-unk",
            "no_unknown",
            is_flag=True,
            help="Only sentences without unknown words in source and reference.",
        ),
        click.option(
            "--tgt-vocab",
            metavar="FILE",
            help="The words of the reference, by frequency: vocab.tgt.",
        ),
        click.option(
            "--src-vocab",
            metavar="FILE",
            help="The words of the source, by frequency: vocab.src of a model or prepared folder.",
        ),
        click.option(
            "--tokenize-source",
            metavar="LANG",
            help="SRC is raw text: tokenise it as text of this language; --hyphens splits it, too.",
        ),
        click.option("--source", metavar="SRC", help="What was translated, tokenised."),
    ):
        function = option(function)
    return function


def _bounds(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[float, ...]:
    try:
        bounds = tuple(float(bound) for bound in value.split(",")) if value else ()
    except ValueError:
        bounds = (math.nan,)
    if not all(map(math.isfinite, bounds)):
        raise click.BadParameter(f"'{value}' is no list of numbers such as 10,20,30.")
    return bounds


def _words(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[int, int] | None:
    if value is None:
        return None
    low, dash, high = value.partition("-")
    if not (dash and low.isdecimal() and high.isdecimal() and int(low) <= int(high)):
        raise click.BadParameter(f"'{value}' is no range of words such as 10-20.")
    return int(low), int(high)
