"""Options of `nmtkit report`: those of its page of models, and those of a phrase table."""

from collections.abc import Collection

import click
from click.core import ParameterSource

from nmtkit.cli.common import Function
from nmtkit.cli.search_options import search_options

COUNT = click.IntRange(min=1)

SHARED = {"output", "batch_size", "device", "threads", "force"}
PHRASES = {
    *("phrase_table", "model", "model_column", "logs", "table_column", "pairs", "phrases"),
    *("min_words", "top", "samples", "seed", "kind"),
}
"""Parameters of the phrase table's report alone; what is not in either is the page's."""


def phrase_options(function: Function) -> Function:
    """`--phrase-table` and all that belongs to it, the parameters `PHRASES`."""
    for option in (
        click.option(
            "--format",
            "kind",
            type=click.Choice(["png", "svg", "pdf"]),
            default="png",
            help="With --phrase-table: the kind of picture.",
        ),
        click.option(
            "--seed",
            type=int,
            default=1,
            metavar="S",
            help="With --phrase-table: decides all that is drawn.",
        ),
        click.option(
            "--samples",
            type=COUNT,
            metavar="N",
            default=50,
            help="With --phrase-table: targets to draw from the model for each of these source"
            " phrases.",
        ),
        click.option(
            "--top",
            type=COUNT,
            default=3,
            metavar="N",
            help="With --phrase-table: targets of each in the tables; source phrases that have"
            " fewer are passed over.",
        ),
        click.option(
            "--min-words",
            type=COUNT,
            default=4,
            metavar="N",
            help="With --phrase-table: how many words these source phrases have at least.",
        ),
        click.option(
            "--phrases",
            type=COUNT,
            default=5,
            metavar="N",
            help="With --phrase-table: source phrases in the tables, so many frequent and so many"
            " rare ones.",
        ),
        click.option(
            "--pairs",
            type=COUNT,
            default=5000,
            metavar="N",
            help="With --phrase-table: phrase pairs in the picture, drawn from the whole table.",
        ),
        click.option(
            "--table-column",
            type=COUNT,
            default=3,
            metavar="N",
            help="With --phrase-table: the column with the translation model's p(target | source).",
        ),
        click.option(
            "--logs", is_flag=True, help="For --column: it holds logarithms (score --logs)."
        ),
        click.option(
            "--column",
            "model_column",
            type=COUNT,
            metavar="N",
            help="With --phrase-table: take the model's scores from this column of the table's"
            " scores, counted from 1, where 'nmtkit score --phrase-table' appended them. Without"
            " --model there are no samples.",
        ),
        click.option(
            "-m",
            "--model",
            metavar="DIR",
            help="With --phrase-table: a model folder. It scores what is shown, unless --column is"
            " given, and draws samples.",
        ),
        click.option(
            "--phrase-table",
            metavar="FILE",
            help="The other report: a phrase table in Moses's text format, with counts.",
        ),
    ):
        function = option(function)
    return function


def page_options(function: Function) -> Function:
    """`MODEL... --test` and all that belongs to it: the parameters `folders`, `test`, `systems`,
    `tokenized`, `n_best`, `bootstrap` and `search`."""
    function = search_options(function)
    for option in (
        click.option(
            "--bootstrap",
            type=click.IntRange(min=0),
            default=1000,
            metavar="N",
            help="Samples of the test set for intervals and p-values; 0 gives none.",
        ),
        click.option(
            "--n-best",
            type=COUNT,
            default=5,
            metavar="N",
            help="Translations that the page has of each sentence; fewer where the beam is less.",
        ),
        click.option(
            "--tokenized",
            is_flag=True,
            help="SRC and REF are tokenised, and the translations shall be.",
        ),
        click.option(
            "--system",
            "systems",
            nargs=2,
            multiple=True,
            metavar="NAME HYP",
            help="One more system, and a file of its translations, in the form of REF; may be given"
            " several times.",
        ),
        click.option(
            "--test",
            nargs=2,
            metavar="SRC REF",
            help="What is translated, and its translation by people, line by line.",
        ),
        click.argument("folders", nargs=-1, metavar="[MODEL...]"),
    ):
        function = option(function)
    return function


def refuse_others(context: click.Context, theirs: Collection[str], form: str) -> None:
    """End with a usage error if an option or argument of another form was given.

    :param theirs: the parameters of the form at hand; `SHARED` go with it.
    :param form: what calls it.
    """
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in {*theirs, *SHARED} or source != ParameterSource.COMMANDLINE:
            continue
        if isinstance(parameter, click.Option) and parameter.name != "help":
            raise click.UsageError(f"{max(parameter.opts, key=len)} does not go with {form}.")
        if context.params.get(parameter.name or ""):
            raise click.UsageError(f"MODEL does not go with {form}; name it with --model.")


def of_the_page(command: click.Command) -> set[str]:
    """The parameters of the page alone."""
    return {parameter.name or "" for parameter in command.params} - PHRASES - SHARED
