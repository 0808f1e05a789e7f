"""`nmtkit tune`: an n-best list and references in, weights out."""

import logging
from typing import TYPE_CHECKING

import click

from nmtkit.cli.common import force_option

if TYPE_CHECKING:
    from nmtkit.smt.tuner import TunerConfig

log = logging.getLogger("nmtkit")


@click.command()
@click.argument("nbest", metavar="LIST")
@click.argument("references", metavar="REF")
@click.option("-o", "--output", default="-", metavar="FILE", help="Where the weights are written.")
@click.option(
    "--start",
    metavar="FILE",
    help="Weights to begin with: the moses.ini that the list was made with, or what an earlier"
    " 'nmtkit tune' wrote.  [default: all alike]",
)
@click.option(
    "--method",
    type=click.Choice(["mert", "mira"]),
    default="mert",
    help="Och's minimum error rate training, or Cherry and Foster's batch MIRA, which is quicker"
    " and varies less.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    metavar="N",
    help="Of everything that is drawn.",
)
@click.option(
    "--restarts",
    type=click.IntRange(min=0),
    metavar="N",
    help="For mert: how many more starting points are drawn.  [default: 4]",
)
@click.option(
    "--epochs",
    type=click.IntRange(min=1),
    metavar="N",
    help="For mira: how often it goes through the list.  [default: 60]",
)
@force_option
def command(
    nbest: str,
    references: str,
    output: str,
    start: str | None,
    method: str,
    seed: int,
    restarts: int | None,
    epochs: int | None,
    force: bool,
) -> None:
    """Find weights for the features of the n-best LIST that give its best BLEU against REF.

    LIST has lines as Moses writes them (see 'nmtkit rerank --help'), REF a sentence a line, the
    first of which is number 0; both are tokenised alike. A sentence without hypotheses counts as
    one of which nothing was said. Either may be '-' for stdin, or the name of a .gz file.

    The weights are written as in a moses.ini, in a section [weight], for 'nmtkit rerank'. They are
    never worse on LIST than those of --start. A feature that --start does not name, such as one
    that 'nmtkit score --nbest' has added, begins at 0.

    Moses counts unknown words in its totals, but prints no feature of them. Where --start weighs
    UnknownWordPenalty0, as a moses.ini does, it must be the one that LIST was made with: what the
    totals have beyond its weights is kept as the feature Rest0, which is not tuned, and the weights
    go into the section [original-weight], from which 'nmtkit rerank' computes it.

    \b
    Examples:
      nmtkit tune dev.1000best.gz dev.tok.fr --start moses.ini --output tuned
      nmtkit tune dev.1000best.gz dev.tok.fr --method mira --output tuned
    """
    if restarts is not None and method != "mert":
        raise click.UsageError("--restarts belongs to --method mert.")
    if epochs is not None and method != "mira":
        raise click.UsageError("--epochs belongs to --method mira.")
    if [nbest, references, start].count("-") > 1:
        raise click.UsageError("stdin ('-') can be only one of the files.")
    from nmtkit.io.lines import open_output, read_lines
    from nmtkit.smt.nbest import read_nbest
    from nmtkit.smt.tuner import tune
    from nmtkit.smt.weights import read_weights

    with open_output(output, force) as results:
        weights = read_weights(start) if start else None
        lines = list(read_lines(references))
        tuned = tune(read_nbest(nbest), lines, weights, _config(method, seed, restarts, epochs))
        results.write(tuned.weights.text)
    log.info("BLEU %.2f, after %.2f at the start", 100 * tuned.after, 100 * tuned.before)


def _config(method: str, seed: int, restarts: int | None, epochs: int | None) -> "TunerConfig":
    from nmtkit.smt.mert import MertConfig
    from nmtkit.smt.mira import MiraConfig

    if method == "mira":
        return MiraConfig(seed=seed) if epochs is None else MiraConfig(epochs=epochs, seed=seed)
    return MertConfig(seed=seed) if restarts is None else MertConfig(restarts=restarts, seed=seed)
