"""`nmtkit select`: the pairs of a general corpus that are most like a domain."""

from typing import Any

import click

from nmtkit.cli.common import force_option, language_options, workers_option

FILE = click.Path(allow_dash=True)


@click.command(
    epilog="Example: nmtkit select --domain news.en news.fr --pool crawl.en.gz crawl.fr.gz --pool"
    " un.en un.fr --words 300000000 --output near.en near.fr"
)
@click.option(
    "--domain",
    type=FILE,
    nargs=2,
    metavar="SRC TGT",
    help="Text of the domain, line by line each other's translation. Files are UTF-8, and gzip"
    " where the name ends in .gz.",
)
@click.option(
    "--pool",
    type=click.Path(),
    nargs=2,
    multiple=True,
    required=True,
    metavar="SRC TGT",
    help="The general corpus to select from, of any size; it is read more than once. May be given"
    " repeatedly.",
)
@click.option(
    "--output",
    type=FILE,
    nargs=2,
    required=True,
    metavar="SRC TGT",
    help="The files for the selected pairs, which stand there in the order of the pool, unchanged.",
)
@click.option("--pairs", type=click.IntRange(min=1), metavar="N", help="Take the N best pairs.")
@click.option(
    "--words",
    type=click.IntRange(min=1),
    metavar="N",
    help="Take as many of the best pairs as go into N words, counted on the source (with --side tgt"
    " on the target).",
)
@click.option(
    "--best-cut",
    is_flag=True,
    help="Take as many of the best pairs as make the best language model of the domain: parts that"
    " double, from a quarter of the domain's size, are tried by the perplexity of --dev.",
)
@click.option(
    "--dev",
    type=FILE,
    nargs=2,
    metavar="SRC TGT",
    help="Text of the domain for --best-cut, none of it in --domain.",
)
@click.option(
    "--side",
    type=click.Choice(["both", "src", "tgt"]),
    default="both",
    show_default=True,
    help="Compare both sides (Axelrod et al. 2011), or one (Moore and Lewis 2010).",
)
@click.option(
    "--order",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    metavar="N",
    help="The language models are of N-grams.",
)
@click.option(
    "--lm-domain",
    type=click.Path(),
    multiple=True,
    metavar="ARPA",
    help="A language model of the domain, instead of --domain: an ARPA file, or KenLM's own form,"
    " of text that was tokenised like this one. Given twice, the first is for the source and the"
    " second for the target. It needs the package kenlm.",
)
@click.option(
    "--lm-general",
    type=click.Path(),
    multiple=True,
    metavar="ARPA",
    help="As --lm-domain: the language model of general text, with the same vocabulary.",
)
@click.option(
    "--scores",
    type=FILE,
    metavar="FILE",
    help="Write the score of every pair of the pool, one a line; the lowest is the best, and 'inf'"
    " is never taken.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="Chooses the sample of the pool that the general language model is learned from.",
)
@language_options
@click.option(
    "--tokenized", is_flag=True, help="The files are tokenised already; leave their words alone."
)
@click.option(
    "--invalid",
    type=click.Choice(["error", "drop"]),
    default="error",
    show_default=True,
    help="What to do about a line that is not UTF-8: stop, or never take its pair.",
)
@workers_option
@force_option
def command(
    domain: tuple[str, str] | None,
    pool: tuple[tuple[str, str], ...],
    output: tuple[str, str],
    dev: tuple[str, str] | None,
    lm_domain: tuple[str, ...],
    lm_general: tuple[str, ...],
    scores: str | None,
    workers: int,
    force: bool,
    **options: Any,
) -> None:
    """Select the sentence pairs of a general corpus that are most like a domain.

    A pair is ranked by the difference of its cross-entropies per word under a language model of the
    domain and one of general text, summed over both sides. The models are learned from --domain and
    from a random sample of the pool that is as long. Pairs with a blank side are never taken.
    """
    _check(domain, dev, lm_domain, lm_general, **options)
    from nmtkit.preprocessing.select import select

    lms = (lm_domain, lm_general) if lm_domain else None
    settings = _settings(**options)
    select(settings, pool, output, domain, dev, lms, scores, workers, force)


def _check(
    domain: tuple[str, str] | None,
    dev: tuple[str, str] | None,
    lm_domain: tuple[str, ...],
    lm_general: tuple[str, ...],
    pairs: int | None,
    words: int | None,
    best_cut: bool,
    side: str,
    **_: Any,
) -> None:
    """Refuse options that contradict each other."""
    if bool(pairs) + bool(words) + best_cut != 1:
        raise click.UsageError("How much to take: give one of --pairs, --words and --best-cut.")
    if best_cut != bool(dev):
        raise click.UsageError("--best-cut is found by --dev; give both or neither.")
    sides = 2 if side == "both" else 1
    for given in (lm_domain, lm_general):
        if (lm_domain or lm_general) and len(given) != sides:
            often = "twice" if sides == 2 else "once"
            raise click.UsageError(
                f"With --side {side}, give --lm-domain and --lm-general {often} each, or neither."
            )
    if not domain and (best_cut or not lm_domain):
        raise click.UsageError("Missing option '--domain': the text of the domain is needed.")
    if domain and lm_domain and not best_cut:
        raise click.UsageError("--lm-domain stands in for --domain; leave one of them out.")


def _settings(
    pairs: int | None,
    words: int | None,
    best_cut: bool,
    src_language: str,
    tgt_language: str,
    tokenized: bool,
    **ranking: Any,
) -> Any:
    """The options as the driver's settings."""
    from nmtkit.config import TextConfig
    from nmtkit.preprocessing.select import SelectSettings

    text = TextConfig(src_language=src_language, tgt_language=tgt_language, tokenized=tokenized)
    return SelectSettings(text=text, pairs=pairs or 0, words=words or 0, **ranking)
