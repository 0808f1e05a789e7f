"""`nmtkit report`: model folders and a test set in, an HTML page on the models out."""

import logging
from typing import Any

import click

from nmtkit.cli.command import FILES, TEXT, declare_command, group, option
from nmtkit.cli.old_spellings import Renamed
from nmtkit.cli.rules import at_least_one
from nmtkit.cli.search_options import RENAMED_SEARCH, search_options
from nmtkit.cli.shared_options import (
    FILE,
    FOLDER,
    force_option,
    model_run_options,
    models_option,
    output_option,
    params_option,
    tokenized_option,
)
from nmtkit.cli.startup import configure_threads, importing
from nmtkit.errors import counted

log = logging.getLogger("nmtkit")


@declare_command(
    rules=[at_least_one("MODEL", "--model")],
    renamed=[
        Renamed("--test {SRC} {REF}", "--source {SRC} --reference {REF}"),
        *RENAMED_SEARCH,
    ],
)
@click.argument("folders", nargs=-1, type=FOLDER, metavar="[MODEL]...")
@group(
    FILES,
    models_option("Model folder, the same as MODEL. Repeatable.", required=False),
    params_option,
    option(
        "--source",
        type=FILE,
        required=True,
        metavar="SRC",
        common=True,
        help="Source file, which the models translate.",
    ),
    option(
        "--reference",
        type=FILE,
        required=True,
        metavar="REF",
        common=True,
        help="Reference file, line by line.",
    ),
    output_option("The page, an HTML file.", default=None, required=True),
    option(
        "--system",
        "systems",
        type=(str, FILE),
        multiple=True,
        metavar="NAME HYP",
        common=True,
        help="Another system and its translations. They are in the same format as REF. Repeatable.",
    ),
)
@group(
    TEXT,
    tokenized_option("SRC and REF are tokenised. Translations are shown tokenised."),
)
@group(
    "Contents",
    option(
        "--n-best",
        type=click.IntRange(min=1),
        default=5,
        metavar="N",
        help="Translations of each sentence on the page; at most the beam size.",
    ),
    option(
        "--bootstrap",
        type=click.IntRange(min=0),
        default=1000,
        metavar="N",
        help="Samples for intervals and p-values. With 0 there are none.",
    ),
)
@search_options
@model_run_options
@force_option
def command(
    folders: tuple[str, ...],
    models: tuple[str, ...],
    source: str,
    reference: str,
    output: str,
    bootstrap: int,
    threads: int,
    force: bool,
    **options: Any,
) -> None:
    """Write an HTML page that compares the translations of a test set by models.

    Each MODEL translates SRC. The page shows the models and their training; the figures of 'nmtkit
    evaluate' with intervals and p-values, also by length, unknown words and word rank; and the
    translations, which can be searched and sorted, with alignments, word scores and n-best lists.
    The file is self-contained. It stays below 5 MB, and says what was left out to achieve that.

    Examples:
      nmtkit report model --source test.en --reference test.fr -o report.html
      nmtkit report rnnsearch rnnenc --source test.en --reference test.fr -o report.html
      nmtkit report model --source test.en --reference test.fr --system Moses moses.fr -o page.html

    """
    configure_threads(threads)
    from nmtkit.io.lines import open_output

    with open_output(output, force) as file:  # first: it may be refused
        with importing():
            from nmtkit.progress_bar import ProgressBar
            from nmtkit.report.model_report import ReportSettings, build_report, evaluation_commands
            from nmtkit.report.page import render_page
            from nmtkit.report.page_words import listed

        settings = ReportSettings(samples=bootstrap, **options)
        with ProgressBar("report", ""):  # where no part of it has a bar
            report = build_report((*folders, *models), (source, reference), settings)
            file.write(render_page(report, evaluation_commands(report)))
    sentences = counted(len(report.sources), "sentence")
    log.info("%s: %s, %s", output, sentences, listed(report.outputs))
