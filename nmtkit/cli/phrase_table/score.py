"""`nmtkit phrase-table score`: a phrase table in, the table with a score of each model out."""

import logging

import click

from nmtkit.cli.command import FILES, declare_command, group, option
from nmtkit.cli.console import line_bar
from nmtkit.cli.shared_options import (
    FILE,
    force_option,
    model_run_options,
    models_option,
    output_option,
    params_option,
)
from nmtkit.cli.startup import configure_threads, importing

log = logging.getLogger("nmtkit")


@declare_command()
@click.argument("table", type=FILE, metavar="TABLE")
@group(
    FILES,
    models_option("Model folder. Repeatable; each model appends a score."),
    params_option,
    output_option("File of the table with the scores."),
)
@group(
    "Scores",
    option(
        "--logs",
        is_flag=True,
        common=True,
        help="Append logarithms. Moses takes logarithms itself; other programs may not.",
    ),
    option(
        "--count-unknown",
        is_flag=True,
        common=True,
        help="Append a score that counts unknown words. It is e^-w for a pair with w words, of both"
        " sides together, outside of the (first) model's vocabularies; -w with --logs.",
    ),
)
@model_run_options
@force_option
def command(
    table: str,
    models: tuple[str, ...],
    params: str,
    output: str,
    logs: bool,
    count_unknown: bool,
    batch_size: int,
    device: str,
    threads: int,
    force: bool,
) -> None:
    """Append p(target phrase | source phrase) to the scores of a Moses phrase table.

    Each model appends its probability to the scores of each line of TABLE, in the order of --model;
    Moses takes the logarithm. Nothing else is changed. TABLE may be '-', or compressed, of
    any size. Phrases are tokenised already, and should be as the model's training text was. The
    changes that moses.ini needs are logged at the end.

    Examples:
      nmtkit phrase-table score -m rnn phrase-table.gz -o with-rnn.gz
      nmtkit phrase-table score -m rnn phrase-table.gz --count-unknown -o with-rnn.gz

    """
    configure_threads(threads)
    from nmtkit.io.lines import open_output
    from nmtkit.smt.phrase_table import read_phrase_table

    with open_output(output, force) as results:
        with importing():
            from nmtkit.smt.phrase_scorer import PhraseScorer

        scorer = PhraseScorer.load(
            *models,
            device=device,
            batch_size=batch_size,
            logs=logs,
            count_unknown=count_unknown,
            params=params,
        )
        with line_bar("score", "pairs", [table], output) as bar:
            for line in scorer.lines(read_phrase_table(table)):
                results.write(f"{line.decode()}\n")
                bar.update()
    log.info("%s", scorer.moses_lines(output))
