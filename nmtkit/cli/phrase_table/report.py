"""`nmtkit phrase-table report`: a phrase table and a model in, a folder of figures out."""

import logging
from typing import Any

import click

from nmtkit.cli.command import FILES, HARDWARE, declare_command, group, option
from nmtkit.cli.console import line_bar
from nmtkit.cli.old_spellings import Renamed
from nmtkit.cli.rules import at_least_one, needs
from nmtkit.cli.shared_options import (
    FILE,
    FOLDER,
    batch_size_option,
    device_option,
    force_option,
    model_option,
    output_option,
    params_option,
    threads_option,
)
from nmtkit.cli.startup import configure_threads, importing

log = logging.getLogger("nmtkit")

AT_LEAST_ONE = click.IntRange(min=1)


@declare_command(
    rules=[at_least_one("--model", "--column"), needs("--logs", "--column")],
    renamed=[Renamed("--samples {N}", "--sample {N}")],
)
@click.argument("table", type=FILE, metavar="TABLE")
@group(
    FILES,
    model_option("Model folder. It scores the pairs unless --column does.", required=False),
    params_option,
    output_option("Folder of the report.", type=FOLDER, metavar="DIR", default=None, required=True),
    option(
        "--format",
        "picture_format",
        type=click.Choice(["png", "svg", "pdf"]),
        default="png",
        common=True,
        help="Format of the picture.",
    ),
)
@group(
    "Scores",
    option(
        "--column",
        "model_column",
        type=AT_LEAST_ONE,
        metavar="N",
        common=True,
        help="Column of the table with the model's scores. Columns are counted from 1; 'nmtkit"
        " phrase-table score' appends them. Without --model there are no samples.",
    ),
    option(
        "--logs",
        is_flag=True,
        help="Scores in --column are logarithms: those of 'nmtkit phrase-table score --logs'.",
    ),
    option(
        "--table-column",
        type=AT_LEAST_ONE,
        default=3,
        metavar="N",
        help="Column of the table with the translation model's p(target | source).",
    ),
)
@group(
    "Contents",
    option(
        "--pairs",
        type=AT_LEAST_ONE,
        default=5000,
        metavar="N",
        common=True,
        help="Phrase pairs in the picture.",
    ),
    option(
        "--phrases",
        type=AT_LEAST_ONE,
        default=5,
        metavar="N",
        common=True,
        help="Source phrases in each table. There is one for frequent and one for rare phrases.",
    ),
    option(
        "--min-words",
        type=AT_LEAST_ONE,
        default=4,
        metavar="N",
        help="Minimum length of these source phrases in words.",
    ),
    option(
        "--top",
        type=AT_LEAST_ONE,
        default=3,
        metavar="N",
        help="Targets per phrase. Source phrases with fewer are left out.",
    ),
    option(
        "--sample",
        type=AT_LEAST_ONE,
        metavar="N",
        default=50,
        help="Targets drawn at random from the model for each source phrase.",
    ),
    option(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="Seed of the random numbers.",
    ),
)
@group(HARDWARE, device_option, threads_option, batch_size_option)
@force_option
def command(
    table: str,
    model: str | None,
    params: str,
    output: str,
    sample: int,
    picture_format: str,
    batch_size: int,
    device: str,
    threads: int,
    force: bool,
    **sampling: Any,
) -> None:
    """Compare a phrase table with a model, as Cho et al. (2014) did.

    TABLE is a phrase table in Moses's text format, with counts. It is read once, as a stream; '-'
    is stdin. The report is a folder with

      scores.png     phrase pairs by the scores of both (the paper's figure 3)
      scores.tsv     the same pairs with their scores
      phrases.md     long source phrases, frequent and rare, with the targets that
                     either scores highest (table 2), and samples (table 3)
      phrases.json   the same for programs, with correlations and settings

    A score is the natural logarithm of p(target | source). The frequency of a source phrase is the
    second number of the table's counts.

    Examples:
      nmtkit phrase-table report -m rnn phrase-table.gz -o report
      nmtkit phrase-table report -m rnn with-rnn.gz --column 5 --format pdf -o report

    """
    configure_threads(threads)
    from nmtkit.io.atomic_folder import output_folder
    from nmtkit.report.figure_io import check_matplotlib
    from nmtkit.report.phrase_figures import MARKER_FILE, write_phrase_report

    check_matplotlib()
    with output_folder(output, MARKER_FILE, "report on a phrase table", force) as folder:
        with importing():
            from nmtkit.model_folder import load_model
            from nmtkit.report.phrase_report import compare
            from nmtkit.smt.phrase_sampling import PhraseSamplingConfig
            from nmtkit.smt.phrase_table import read_phrase_table

        config = PhraseSamplingConfig(**sampling)
        loaded = load_model(model, device, params) if model else None
        with line_bar("read the table", "pairs", [table], None) as bar:
            rows = bar.track(read_phrase_table(table))
            report = compare(rows, table, config, loaded, sample, batch_size)
        about = {
            "table": table,
            "model": model,
            "params": params if model else None,
            "samples": sample if model else 0,
        }
        write_phrase_report(folder, report, {**about, **sampling}, picture_format)
    log.info("%s: %s", output, report.sentence())
