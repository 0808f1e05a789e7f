"""`nmtkit curves`: model folders in, their learning curves out, as a table and a picture."""

import json
from pathlib import Path
from typing import Literal

import click

from nmtkit.cli.command import FILES, declare_command, group, option
from nmtkit.cli.old_spellings import Renamed
from nmtkit.cli.rules import at_least_one, needs
from nmtkit.cli.shared_options import (
    FOLDER,
    force_option,
    json_option,
    models_option,
    output_option,
    plot_option,
)


@declare_command(
    rules=[at_least_one("MODEL", "--model"), needs("--x-axis", "--plot")],
    renamed=[Renamed("--by {UNIT}", "--x-axis {UNIT}")],
)
@click.argument("folders", nargs=-1, type=FOLDER, metavar="[MODEL]...")
@group(
    FILES,
    models_option("Model folder, the same as MODEL. Repeatable.", required=False),
    output_option(
        "File of the table.  [default: -, unless --plot]",
        default=None,
    ),
    json_option("Write the table as JSON."),
)
@group(
    "Picture",
    plot_option("Draw the curves"),
    option(
        "--x-axis",
        type=click.Choice(["updates", "epochs", "seconds"]),
        common=True,
        help="Unit of the x axis. Seconds count validations, too.  [default: updates]",
    ),
)
@force_option
def command(
    folders: tuple[str, ...],
    models: tuple[str, ...],
    plot: Path | None,
    x_axis: Literal["updates", "epochs", "seconds"] | None,
    output: str | None,
    as_json: bool,
    force: bool,
) -> None:
    """Tabulate and draw the learning curves of each MODEL folder.

    It works during training, too. The table has a row every 100 updates and one for each
    validation, with tabs between the cells: the model, 'training' or 'validation', updates, epochs,
    seconds so far, over all runs, cost per target token (natural log), BLEU, whether the validation
    was the best so far, and chrF if it was measured. With --json it is a list of objects with the
    names of the columns as keys.

    The picture shows the costs of all models and, below, BLEU on the validation set, or chrF where
    it was measured. The training cost is what was minimised, including dropout and label smoothing.

    Examples:
      nmtkit curves model | cut -f 3,6
      nmtkit curves rnnenc rnnsearch --x-axis seconds --plot curves.svg

    """
    from nmtkit.io.lines import open_output
    from nmtkit.report.curves import format_table, plot_curves, read_curves, records_of
    from nmtkit.report.figure_io import check_figure_path

    if plot:
        check_figure_path(plot, force)
    curves = read_curves([*folders, *models])
    if output or not plot:
        with open_output(output or "-", force) as results:
            if as_json:
                results.write(json.dumps(records_of(curves), ensure_ascii=False, indent=2) + "\n")
            else:
                results.writelines(f"{line}\n" for line in format_table(curves))
    if plot:
        plot_curves(plot, curves, x_axis or "updates", force)
