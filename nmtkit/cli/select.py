"""`nmtkit select`: a general corpus in, its pairs that are most like a domain out."""

from typing import Any

import click

from nmtkit.cli.command import FILES, HARDWARE, TEXT, declare_command, group, option
from nmtkit.cli.old_spellings import Renamed
from nmtkit.cli.rules import needs, one_of, times
from nmtkit.cli.shared_options import (
    FILE,
    force_option,
    invalid_option,
    language_options,
    output_option,
    tokenized_option,
    workers_option,
)

SIDES = {"--side both": 2, "--side src": 1, "--side tgt": 1}
"""Choice of --side -> number of language models of each kind."""


@declare_command(
    rules=[
        one_of("--pairs", "--words", "--best-cut"),
        needs("--best-cut", "--dev"),
        needs("--dev", "--best-cut"),
        needs("--lm-domain", "--lm-general"),
        needs("--lm-general", "--lm-domain"),
        times("--lm-domain", SIDES),
        times("--lm-general", SIDES),
        needs("--best-cut", "--domain"),
        one_of("--domain", "--lm-domain", unless="--best-cut"),
    ],
    renamed=[Renamed("--scores {FILE}", "--scores-file {FILE}")],
)
@group(
    FILES,
    option(
        "--domain",
        type=FILE,
        nargs=2,
        metavar="SRC TGT",
        common=True,
        help="Text of the domain. Line n of SRC and line n of TGT translate each other.",
    ),
    option(
        "--pool",
        type=FILE,
        nargs=2,
        multiple=True,
        required=True,
        metavar="SRC TGT",
        common=True,
        help="General corpus to select from. It may be of any size, and is read more than once."
        " Repeatable.",
    ),
    output_option(
        "Selected pairs. They are unchanged and in the order of the pool.",
        nargs=2,
        metavar="SRC TGT",
        default=None,
        required=True,
    ),
    option(
        "--scores-file",
        type=FILE,
        metavar="FILE",
        help="File for the score of every pair of the pool, one per line. Lower is better; 'inf' is"
        " never selected.",
    ),
)
@group(
    "Amount",
    option("--pairs", type=click.IntRange(min=1), metavar="N", common=True, help="Select N pairs."),
    option(
        "--words",
        type=click.IntRange(min=1),
        metavar="N",
        common=True,
        help="Select pairs with at most N words in total. Source words are counted, with --side tgt"
        " target words.",
    ),
    option(
        "--best-cut",
        is_flag=True,
        common=True,
        help="Select the amount with the lowest --dev perplexity. Language models are trained on"
        " the best pairs, in amounts that double from a quarter of the domain's size.",
    ),
    option(
        "--dev",
        type=FILE,
        nargs=2,
        metavar="SRC TGT",
        common=True,
        help="Validation set. It is text of the domain that is not in --domain.",
    ),
)
@group(
    "Ranking",
    option(
        "--side",
        type=click.Choice(["both", "src", "tgt"]),
        default="both",
        help="Compare both sides (Axelrod et al. 2011), or one (Moore and Lewis 2010).",
    ),
    option(
        "--order",
        type=click.IntRange(min=1),
        default=4,
        metavar="N",
        help="Order of the language models that are trained: N-grams.",
    ),
    option(
        "--lm-domain",
        type=FILE,
        multiple=True,
        metavar="ARPA",
        help="Language model of the domain instead of --domain, an ARPA file or KenLM's binary"
        " format. Its text is tokenised like the pool. Given twice, the first is for the source"
        " and the second for the target. It needs the package kenlm.",
    ),
    option(
        "--lm-general",
        type=FILE,
        multiple=True,
        metavar="ARPA",
        help="Language model of general text, with the vocabulary of --lm-domain.",
    ),
    option(
        "--seed",
        type=click.IntRange(min=0),
        default=1,
        metavar="N",
        help="Seed of the samples of the pool that the general language models are trained on.",
    ),
)
@language_options
@group(TEXT, tokenized_option("Text is already tokenised."), invalid_option)
@group(HARDWARE, workers_option)
@force_option
def command(
    domain: tuple[str, str] | None,
    pool: tuple[tuple[str, str], ...],
    output: tuple[str, str],
    dev: tuple[str, str] | None,
    lm_domain: tuple[str, ...],
    lm_general: tuple[str, ...],
    scores_file: str | None,
    workers: int,
    force: bool,
    **options: Any,
) -> None:
    r"""Select the sentence pairs of a general corpus that are most like a domain.

    A pair is ranked by the difference of its cross-entropies per word under a language model of the
    domain and one of general text, summed over both sides. The models are trained on --domain and
    on random samples of the pool, each about as long; no model scores a pair that it was trained
    on. Pairs with a blank side are never selected. Files are UTF-8, plain or compressed.

    Example:
      nmtkit select -s en -t fr --domain news.en news.fr --pool un.en un.fr --words 300000000 \
        -o near.en near.fr

    """
    from nmtkit.preprocessing.select import select

    lms = (lm_domain, lm_general) if lm_domain else None
    settings = _settings(**options)
    select(settings, pool, output, domain, dev, lms, scores_file, workers, force)


def _settings(
    pairs: int | None,
    words: int | None,
    best_cut: bool,
    src_language: str,
    tgt_language: str,
    tokenized: bool,
    **ranking: Any,
) -> Any:
    """Convert the options to settings of `select`."""
    from nmtkit.config import TextConfig
    from nmtkit.preprocessing.select import SelectSettings

    text = TextConfig(src_language=src_language, tgt_language=tgt_language, tokenized=tokenized)
    return SelectSettings(text=text, pairs=pairs or 0, words=words or 0, **ranking)
