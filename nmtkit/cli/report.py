"""`nmtkit report`: what a model has learned, as pictures and tables in a folder."""

import logging
from typing import Any

import click

from nmtkit.cli.common import (
    batch_size_option,
    configure_threads,
    device_option,
    force_option,
    importing,
    show_progress,
    threads_option,
)

log = logging.getLogger("nmtkit")

COUNT = click.IntRange(min=1)


@click.command()
@click.option(
    "--phrase-table",
    required=True,
    metavar="FILE",
    help="A phrase table in Moses's text format, with counts.",
)
@click.option(
    "-m",
    "--model",
    metavar="DIR",
    help="A model folder. It scores what is shown, unless --column is given, and draws samples.",
)
@click.option("-o", "--output", required=True, metavar="DIR", help="The folder to make.")
@click.option(
    "--column",
    "model_column",
    type=COUNT,
    metavar="N",
    help="Take the model's scores from this column of the table's scores, counted from 1, where"
    " 'nmtkit score --phrase-table' appended them. Without --model there are no samples.",
)
@click.option("--logs", is_flag=True, help="For --column: it holds logarithms (score --logs).")
@click.option(
    "--table-column",
    type=COUNT,
    default=3,
    metavar="N",
    help="The column with the translation model's p(target | source).",
)
@click.option(
    "--pairs",
    type=COUNT,
    default=5000,
    metavar="N",
    help="Phrase pairs in the picture, drawn from the whole table.",
)
@click.option(
    "--phrases",
    type=COUNT,
    default=5,
    metavar="N",
    help="Source phrases in the tables, so many frequent and so many rare ones.",
)
@click.option(
    "--min-words",
    type=COUNT,
    default=4,
    metavar="N",
    help="How many words these source phrases have at least.",
)
@click.option(
    "--top",
    type=COUNT,
    default=3,
    metavar="N",
    help="Targets of each in the tables; source phrases that have fewer are passed over.",
)
@click.option(
    "--samples",
    type=COUNT,
    metavar="N",
    default=50,
    help="Targets to draw from the model for each of these source phrases.",
)
@click.option("--seed", type=int, default=1, metavar="S", help="Decides all that is drawn.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["png", "svg", "pdf"]),
    default="png",
    help="The kind of picture.",
)
@batch_size_option
@device_option
@threads_option
@force_option
def command(
    phrase_table: str,
    model: str | None,
    output: str,
    samples: int,
    kind: str,
    batch_size: int,
    device: str,
    threads: int,
    force: bool,
    **choosing: Any,
) -> None:
    """Put a phrase table and a model side by side, as Cho et al. 2014 did.

    The folder then holds

    \b
      scores.png     phrase pairs by the scores of both (the paper's figure 3)
      scores.tsv     the same pairs with their scores
      phrases.md     of some long source phrases, frequent and rare, the targets that
                     either finds likeliest (table 2), and samples (table 3)
      phrases.json   the same for programs, with correlations and settings

    A score is the natural logarithm of p(target | source). How often a source phrase occurs is the
    second number of the table's counts. The table is read once, as a stream; '-' is stdin.

    \b
    Examples:
      nmtkit report --phrase-table phrase-table.gz --model rnn --output report
      nmtkit report --phrase-table with-rnn.gz --column 5 -m rnn -o report --format pdf
    """
    if model is None and choosing["model_column"] is None:
        raise click.UsageError("The model's scores come from --model or --column; give one.")
    if choosing["logs"] and choosing["model_column"] is None:
        raise click.UsageError("--logs belongs to --column.")
    configure_threads(threads)
    from tqdm import tqdm

    from nmtkit.report.phrases import TABLES, write_phrase_report
    from nmtkit.report.picture import check_matplotlib
    from nmtkit.text.folders import output_folder

    check_matplotlib()
    tqdm.monitor_interval = 0  # its thread would keep the model from sharing work among forks
    with output_folder(output, TABLES, "report on a phrase table", force) as folder:
        with importing():
            from nmtkit.model_folder import load_model
            from nmtkit.phrase_report import compare
            from nmtkit.smt.phrase_choice import Choosing
            from nmtkit.smt.phrase_table import read_phrase_table

        how = Choosing(**choosing)
        loaded = load_model(model, device) if model else None
        bar = tqdm(read_phrase_table(phrase_table), unit=" pairs", disable=not show_progress())
        found = compare(bar, phrase_table, how, loaded, samples, batch_size)
        about = {"table": phrase_table, "model": model, "samples": samples if model else 0}
        write_phrase_report(folder, found, {**about, **choosing}, kind)
    log.info("%s: %s", output, found.sentence())
