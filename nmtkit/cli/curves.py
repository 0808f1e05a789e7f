"""`nmtkit curves`: model folders in, their learning curves out, as a table and a picture."""

from pathlib import Path
from typing import Literal

import click

from nmtkit.cli.common import force_option


@click.command()
@click.argument("model", nargs=-1, required=True)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw the curves; the ending says how: .png, .svg or .pdf.",
)
@click.option(
    "--by",
    "along",
    type=click.Choice(["updates", "epochs", "seconds"]),
    help="For --plot: what stands along x; seconds are those spent in updates.  [default: updates]",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Where the table is written.  [default: stdout, but nowhere with --plot]",
)
@force_option
def command(
    model: tuple[str, ...],
    plot: Path | None,
    along: Literal["updates", "epochs", "seconds"] | None,
    output: str | None,
    force: bool,
) -> None:
    """Give the learning curve of each model folder MODEL, also while it is being trained.

    The table has a line each 100 updates and each validation, with tabs between the cells: the
    model, 'training' or 'validation', updates, epochs, seconds spent in updates, cost per target
    token (natural log), BLEU, and whether the validation was the best so far.

    The picture shows the costs of all models and, below, BLEU on the dev set. The cost of
    training is what was minimised, with dropout and label smoothing where there are any.

    \b
    Examples:
      nmtkit curves model | cut -f 3,6
      nmtkit curves rnnenc rnnsearch --by seconds --plot curves.svg
    """
    if along and not plot:
        raise click.UsageError("--by belongs to --plot.")
    from nmtkit.io.lines import open_output
    from nmtkit.report.curves import format_table, plot_curves, read_curves

    curves = read_curves(model)
    if output or not plot:
        with open_output(output or "-", force) as results:
            results.writelines(f"{line}\n" for line in format_table(curves))
    if plot:
        plot_curves(plot, curves, along or "updates", force)
