"""`nmtkit score --phrase-table`: what `score` does with a phrase table instead of two files."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import click

from nmtkit.cli.common import configure_threads, importing, show_progress

log = logging.getLogger("nmtkit")

Function = TypeVar("Function", bound=Callable[..., Any])


def phrase_table_options(function: Function) -> Function:
    """`--phrase-table`, `--logs` and `--count-unknown`, for `score_phrase_table`."""
    function = click.option(
        "--count-unknown",
        is_flag=True,
        help="With --phrase-table: append one score more, the word penalty e^-w of a pair with w"
        " words, on both sides together, outside of the (first) model's shortlists; -w with"
        " --logs. With --nbest: one feature more, WP0= -w for a hypothesis with w such words.",
    )(function)
    function = click.option(
        "--logs",
        is_flag=True,
        help="With --phrase-table: append logarithms, for a program that does not take them itself"
        " as Moses does.",
    )(function)
    return click.option(
        "--phrase-table",
        metavar="FILE",
        help="Instead of SRC and TGT: a phrase table in Moses's text format. Each model appends"
        " p(target phrase | source phrase), of which Moses takes the logarithm, to the scores of"
        " each line, in the order of --model; nothing else is changed. The phrases are tokenised"
        " already, and should be as the model's training text was.",
    )(function)


def refuse(given: dict[str, Any], because: str) -> None:
    """End with a usage error if one of these options or arguments, by name, was given."""
    for name, value in given.items():
        if value:
            raise click.UsageError(f"{name} {because}.")


def score_phrase_table(
    phrase_table: str,
    models: tuple[str, ...],
    output: str,
    force: bool,
    threads: int,
    **options: Any,
) -> None:
    """Write the phrase table with the models' scores; say what to change in moses.ini.

    :param options: of `PhraseScorer.load`.
    """
    configure_threads(threads)
    from tqdm import tqdm

    from nmtkit.io.lines import open_output
    from nmtkit.smt.phrase_table import read_phrase_table

    with open_output(output, force) as results:
        with importing():
            from nmtkit.smt.phrase_scorer import PhraseScorer

        tqdm.monitor_interval = 0  # its thread would keep the scorer from sharing work among forks
        scorer = PhraseScorer.load(*models, **options)
        with tqdm(unit=" pairs", disable=not show_progress()) as bar:
            for line in scorer.lines(read_phrase_table(phrase_table)):
                results.write(f"{line.decode()}\n")
                bar.update()
    log.info("%s", scorer.moses_lines(output))
