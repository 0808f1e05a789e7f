"""`nmtkit report`: what models have learned, as a page; or beside a phrase table, as a folder."""

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
from nmtkit.cli.report_options import (
    PHRASES,
    of_the_page,
    page_options,
    phrase_options,
    refuse_others,
)

log = logging.getLogger("nmtkit")


@click.command()
@page_options
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="The page to write; with --phrase-table the folder to make.",
)
@phrase_options
@batch_size_option
@device_option
@threads_option
@force_option
@click.pass_context
def command(context: click.Context, /, threads: int, **options: Any) -> None:
    """Write a page on what models make of a test set: one HTML file, which needs no other.

    Each of MODEL... translates SRC. The page has what the models are and how they were trained; the
    figures of 'nmtkit evaluate' with their intervals and p-values, also by length, by unknown words
    and by the rank of words; and the translations, to be searched and sorted, with alignments,
    word scores and n-best lists. It stays below 5 MB, and says so where something had to be left
    out for that.

    With --phrase-table a phrase table and a model are put side by side, as Cho et al. 2014 did, in
    a folder with

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
      nmtkit report rnnsearch rnnenc --test test.en test.fr -o report.html
      nmtkit report model --test test.en test.fr --system Moses moses.fr -o report.html
      nmtkit report --phrase-table phrase-table.gz --model rnn --output report
      nmtkit report --phrase-table with-rnn.gz --column 5 -m rnn -o report --format pdf
    """
    page_options = of_the_page(context.command)
    if options["phrase_table"] is not None:
        refuse_others(context, PHRASES, "--phrase-table")
        _check_phrases(options)
        configure_threads(threads)
        _report_phrases(**{k: v for k, v in options.items() if k not in page_options | {"search"}})
        return
    if not options["test"]:
        raise click.UsageError("Name models and their --test SRC REF, or a --phrase-table.")
    if not options["folders"]:
        raise click.UsageError("A report is of models: name a model folder before --test.")
    refuse_others(context, page_options, "--test")
    configure_threads(threads)
    _report_models(**{k: v for k, v in options.items() if k not in PHRASES})


def _report_models(
    folders: tuple[str, ...],
    test: tuple[str, str],
    output: str,
    force: bool,
    bootstrap: int,
    **options: Any,
) -> None:
    from nmtkit.io.lines import open_output

    with open_output(output, force) as file:  # before the work: it may be refused
        with importing():
            from nmtkit.report.model_report import ReportSettings, build_report, evaluation_commands
            from nmtkit.report.page import render_page

        found = build_report(folders, test, ReportSettings(samples=bootstrap, **options))
        file.write(render_page(found, evaluation_commands(found)))
    log.info("%s: %d sentences, %s", output, len(found.sources), " and ".join(found.outputs))


def _check_phrases(options: dict[str, Any]) -> None:
    if options["model"] is None and options["model_column"] is None:
        raise click.UsageError("The model's scores come from --model or --column; give one.")
    if options["logs"] and options["model_column"] is None:
        raise click.UsageError("--logs belongs to --column.")


def _report_phrases(
    phrase_table: str,
    model: str | None,
    output: str,
    samples: int,
    kind: str,
    batch_size: int,
    device: str,
    force: bool,
    **choosing: Any,
) -> None:
    from tqdm import tqdm

    from nmtkit.io.atomic import output_folder
    from nmtkit.report.figure_io import check_matplotlib
    from nmtkit.report.phrase_figures import MARKER_FILE, write_phrase_report

    check_matplotlib()
    tqdm.monitor_interval = 0  # its thread would keep the model from sharing work among forks
    with output_folder(output, MARKER_FILE, "report on a phrase table", force) as folder:
        with importing():
            from nmtkit.model_folder import load_model
            from nmtkit.report.phrase_report import compare
            from nmtkit.smt.phrase_sampling import PhraseSamplingConfig
            from nmtkit.smt.phrase_table import read_phrase_table

        how = PhraseSamplingConfig(**choosing)
        loaded = load_model(model, device) if model else None
        bar = tqdm(read_phrase_table(phrase_table), unit=" pairs", disable=not show_progress())
        found = compare(bar, phrase_table, how, loaded, samples, batch_size)
        about = {"table": phrase_table, "model": model, "samples": samples if model else 0}
        write_phrase_report(folder, found, {**about, **choosing}, kind)
    log.info("%s: %s", output, found.sentence())
