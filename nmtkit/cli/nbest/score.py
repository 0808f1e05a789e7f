"""`nmtkit nbest score`: an n-best list in, the list with features of models or an ensemble out."""

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from nmtkit.cli.command import FILES, TEXT, declare_command, group, option
from nmtkit.cli.console import line_bar
from nmtkit.cli.old_spellings import Renamed
from nmtkit.cli.rules import needs, one_stdin
from nmtkit.cli.shared_options import (
    FILE,
    averaging_options,
    force_option,
    model_run_options,
    models_option,
    output_option,
    params_option,
)
from nmtkit.cli.startup import configure_threads, importing
from nmtkit.cli.writers import N_BEST_FEATURE

if TYPE_CHECKING:
    from nmtkit.smt.nbest import Entry

log = logging.getLogger("nmtkit")


@declare_command(
    rules=[
        one_stdin("LIST", "SRC"),
        needs("--weights", "--ensemble"),
        needs("--average", "--ensemble"),
    ],
    renamed=[Renamed("--raw", "--no-tokenized")],
)
@click.argument("nbest", type=FILE, metavar="LIST")
@click.argument("source", type=FILE, metavar="[SRC]", required=False)
@group(
    FILES,
    models_option("Model folder. Repeatable; each adds a feature, or --ensemble makes them one."),
    params_option,
    output_option("File of the list with the scores."),
)
@group(
    "Features",
    option(
        "--feature",
        "features",
        multiple=True,
        metavar="NAME",
        common=True,
        help="Feature name. Given once for each model, or once with --ensemble."
        "  [default: RNN0 or CSLM0]",
    ),
    option(
        "--normalize",
        is_flag=True,
        common=True,
        help="Divide by the number of tokens with </s>.",
    ),
    option(
        "--count-unknown",
        is_flag=True,
        common=True,
        help="Add a feature that counts unknown words. It is WP0= -w for a hypothesis with w words"
        " outside of the (first) model's vocabulary.",
    ),
)
@group(
    "Ensemble",
    option(
        "--ensemble",
        is_flag=True,
        common=True,
        help="Score with all models together, as one feature. It is the score that"
        " 'nmtkit score' gives with the same models.",
    ),
)
@averaging_options
@group(
    TEXT,
    option(
        "--tokenized/--no-tokenized",
        default=None,
        common=True,
        help="Text is tokenised.  [default: tokenized]",
    ),
)
@model_run_options
@force_option
def command(
    nbest: str,
    source: str | None,
    models: tuple[str, ...],
    params: str,
    features: tuple[str, ...],
    ensemble: bool,
    weights: list[float],
    average: str,
    output: str,
    normalize: bool,
    count_unknown: bool,
    tokenized: bool | None,
    batch_size: int,
    device: str,
    threads: int,
    force: bool,
) -> None:
    """Score the hypotheses of the n-best LIST, and write it with the scores added.

    LIST has lines as Moses writes them, and may be '-' for stdin, or compressed:

      NUMBER ||| HYPOTHESIS ||| LM0= -44.02 TM0= -9.1 -12.6 ||| TOTAL

    NUMBER counts the sentences from 0. Each line is written unchanged, with a feature appended for
    each model: the log-probability of the hypothesis. Features are named RNN0, RNN1
    and so on, those of language models CSLM0, ... A model that translates needs SRC, one sentence
    per line; a language model reads no source. With --ensemble the models have one feature, the
    log-probability under the average of their next-word probabilities; then '--mean-with RNN0' of
    'nmtkit nbest rerank' weighs TOTAL and all models together half and half.

    LIST and SRC must be tokenised as in Moses, and the model's corpus should have been prepared
    from the same tokens. For a list of raw text, as 'nmtkit translate --n-best' writes it, add
    --no-tokenized.

    Examples:
      nmtkit nbest score -m cslm moses.100best.gz -o rescored.gz
      nmtkit nbest score -m model moses.100best.gz test.tok.en --feature RNNSEARCH0
      nmtkit nbest score -m lstm.1 -m lstm.2 --ensemble moses.100best.gz test.tok.en

    """
    configure_threads(threads)
    from nmtkit.io.lines import open_output, read_lines
    from nmtkit.smt.nbest import read_nbest

    with (
        open_output(output, force) as results,
        line_bar("score", "hypotheses", [nbest, *([source] if source else [])], output) as bar,
    ):
        with importing():
            from nmtkit.smt.rescorer import Rescorer

        rescorer = Rescorer.load(
            *models,
            names=features,
            device=device,
            batch_size=batch_size,
            count_unknown=count_unknown,
            params=params,
            ensemble=ensemble,
            weights=weights,
            log_linear=average == "logs",
        )
        if source is not None and not rescorer.reads_source:
            raise click.UsageError("A language model reads no source; leave SRC out.")
        sources = None if source is None else list(read_lines(source))
        entries = read_nbest(nbest)
        if tokenized is None and rescorer.tokenizes:
            entries = _warn_if_raw(entries)
            if not rescorer.reads_escapes:
                entries = _warn_if_escaped(entries)
        entries = rescorer.rescore(entries, sources, tokenized is not False, normalize)
        for entry in bar.track(entries):
            results.write(entry.line + "\n")
        for sentence in rescorer.summary():
            log.info("%s", sentence)


def _warn_if_raw(entries: "Iterator[Entry]") -> "Iterator[Entry]":
    """Yield the entries; warn if the list is one of `nmtkit translate`, whose text is raw."""
    for number, entry in enumerate(entries):
        if number == 0 and N_BEST_FEATURE in entry.feature_names:
            log.warning(
                "%s: a list of 'nmtkit translate --n-best', whose text is raw; add --no-tokenized,"
                " or --tokenized if it was made with that",
                entry.path,
            )
        yield entry


def _warn_if_escaped(entries: "Iterator[Entry]") -> "Iterator[Entry]":
    """Yield the entries; warn of the first that has Moses's escapes, which the model never saw."""
    from nmtkit.evaluation.text_checks import find_escape

    warned = False
    for entry in entries:
        if not warned and (escape := find_escape(entry.fields[1])):
            warned = True
            log.warning(
                "%s: has '%s', as Moses escapes its tokens, but a model was trained on text without"
                " escapes; train it on Moses's tokens ('nmtkit prepare --tokenized', or --escape),"
                " or add --tokenized if the scores are meant so",
                entry.location,
                escape,
            )
        yield entry
