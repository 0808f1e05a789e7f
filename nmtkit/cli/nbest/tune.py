"""`nmtkit nbest tune`: an n-best list and references in, weights out."""

import logging
from typing import TYPE_CHECKING

import click

from nmtkit.cli.command import FILES, declare_command, group, option
from nmtkit.cli.rules import needs, one_stdin
from nmtkit.cli.shared_options import FILE, force_option, more_references_option, output_option

if TYPE_CHECKING:
    from nmtkit.smt.tuner import TunerConfig

log = logging.getLogger("nmtkit")


@declare_command(
    rules=[
        needs("--restarts", "--method mert"),
        needs("--epochs", "--method mira"),
        one_stdin("LIST", "REF", "--reference", "--start"),
    ]
)
@click.argument("nbest", type=FILE, metavar="LIST")
@click.argument("references", type=FILE, metavar="REF")
@group(
    FILES,
    more_references_option,
    output_option("File of the weights."),
    option(
        "--start",
        type=FILE,
        metavar="FILE",
        common=True,
        help="Initial weights. The file is the moses.ini of the list, or was written by an"
        " earlier 'nmtkit nbest tune'.  [default: equal]",
    ),
)
@group(
    "Optimizer",
    option(
        "--method",
        type=click.Choice(["mert", "mira"]),
        default="mert",
        common=True,
        help="MERT (Och 2003) or batch MIRA. MIRA (Cherry and Foster 2012) is faster, and its"
        " results vary less.",
    ),
    option(
        "--restarts",
        type=click.IntRange(min=0),
        metavar="N",
        common=True,
        help="Random starting points of MERT.  [default: 4]",
    ),
    option(
        "--epochs",
        type=click.IntRange(min=1),
        metavar="N",
        common=True,
        help="Passes of MIRA over the list.  [default: 60]",
    ),
    option(
        "--seed",
        type=click.IntRange(min=0),
        default=1,
        metavar="N",
        common=True,
        help="Seed of the random numbers.",
    ),
)
@force_option
def command(
    nbest: str,
    references: str,
    more_references: tuple[str, ...],
    output: str,
    start: str | None,
    method: str,
    seed: int,
    restarts: int | None,
    epochs: int | None,
    force: bool,
) -> None:
    """Tune the weights of the features of the n-best LIST to its best BLEU on REF.

    LIST has lines as Moses writes them (see 'nmtkit nbest --help-all'), REF one sentence per line;
    the first is number 0. Both are tokenised alike. A sentence without hypotheses counts as an
    empty translation. Either may be '-' for stdin, or compressed. Each --reference adds a
    reference of every sentence. If there is no file REF, the files REF0, REF1 and so on are read,
    as Moses's scripts do.

    The weights are written as in a moses.ini, in a section [weight], for 'nmtkit nbest rerank'.
    They are never worse on LIST than those of --start. A feature that --start does not name, such
    as one that 'nmtkit nbest score' added, starts at 0.

    Moses counts unknown words in its totals, but prints no feature for them. If --start has a
    weight for UnknownWordPenalty0, as a moses.ini does, it must be the one of LIST: the part
    of the totals that its weights do not explain is kept as the feature Rest0, which is not tuned,
    and its weights are written to the section [original-weight], from which 'nmtkit nbest rerank'
    computes Rest0.

    Examples:
      nmtkit nbest tune dev.1000best.gz dev.tok.fr --start moses.ini -o tuned
      nmtkit nbest tune dev.1000best.gz dev.tok.fr --method mira -o tuned

    """
    from nmtkit.evaluation.references import read_references
    from nmtkit.io.lines import open_output
    from nmtkit.smt.nbest import read_nbest
    from nmtkit.smt.tuner import tune
    from nmtkit.smt.weights import read_weights

    with open_output(output, force) as results:
        weights = read_weights(start) if start else None
        lines = read_references([references, *more_references])
        tuned = tune(read_nbest(nbest), lines, weights, _config(method, seed, restarts, epochs))
        results.write(tuned.weights.text)
    log.info("BLEU %.2f, after %.2f at the start", 100 * tuned.after, 100 * tuned.before)


def _config(method: str, seed: int, restarts: int | None, epochs: int | None) -> "TunerConfig":
    from nmtkit.smt.mert import MertConfig
    from nmtkit.smt.mira import MiraConfig

    if method == "mira":
        return MiraConfig(seed=seed) if epochs is None else MiraConfig(epochs=epochs, seed=seed)
    return MertConfig(seed=seed) if restarts is None else MertConfig(restarts=restarts, seed=seed)
