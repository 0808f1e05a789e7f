"""`nmtkit rerank`: an n-best list in, the best hypothesis of each sentence out."""

import contextlib
import logging
from typing import TYPE_CHECKING

import click

from nmtkit.cli.common import force_option, warn

if TYPE_CHECKING:
    from nmtkit.smt.reranker import GroupScorer

log = logging.getLogger("nmtkit")


@click.command()
@click.argument("nbest", metavar="LIST")
@click.option(
    "--weights",
    metavar="FILE",
    help="Order by the weighted sum of the features, with the weights of this moses.ini, or of what"
    " 'nmtkit tune' wrote.",
)
@click.option(
    "--original",
    metavar="FILE",
    help="For --weights: the moses.ini that the list was made with; what totals have beyond the"
    " features printed then counts, too.",
)
@click.option(
    "--average",
    "names",
    multiple=True,
    metavar="NAME",
    help="Order by the even average of the total and this feature, a log-probability; may be given"
    " several times.",
)
@click.option(
    "--oracle",
    "references",
    metavar="REF",
    help="Order by sentence BLEU against these references, and tell the corpus BLEU that the list"
    " could reach so.",
)
@click.option(
    "--sentences",
    type=click.IntRange(min=0),
    metavar="N",
    help="How many sentences there are, where the last may have no hypotheses.  [default: to the"
    " list's last]",
)
@click.option(
    "-o", "--output", default="-", metavar="FILE", help="Where the best hypotheses are written."
)
@click.option(
    "--list",
    "list_output",
    metavar="FILE",
    help="Write the whole list, too: best first, the totals replaced by the new scores.",
)
@force_option
def command(
    nbest: str,
    weights: str | None,
    original: str | None,
    names: tuple[str, ...],
    references: str | None,
    sentences: int | None,
    output: str,
    list_output: str | None,
    force: bool,
) -> None:
    """Give the best hypothesis of each sentence of the n-best LIST, one a line.

    LIST has lines as Moses writes them, and may be '-' for stdin or the name of a .gz file:

    \b
      NUMBER ||| HYPOTHESIS ||| LM0= -44.02 TM0= -9.1 -12.6 ||| TOTAL

    Lines come out for the sentences from 0 to the last; where a sentence has no hypotheses the
    line is empty. The best is by default the one with the highest TOTAL; among equals the first.

    A feature without weights counts nothing. Moses counts unknown words in TOTAL but does not print
    that feature; weights that 'nmtkit tune' wrote keep it as Rest0, and so does --original.

    Sentence BLEU is Lin and Och's (2004): one is added to the counts of n-grams longer than a word.
    Corpus BLEU is that of multi-bleu.perl. LIST and REF are tokenised alike.

    \b
    Examples:
      nmtkit rerank moses.1000best.gz --weights tuned --output test.fr
      nmtkit score -m model --nbest moses.1000best.gz test.en | nmtkit rerank - --average RNN0
      nmtkit rerank moses.1000best.gz --oracle test.ref.fr --list best-first.gz
    """
    if sum(map(bool, (weights, names, references))) > 1:
        raise click.UsageError("--weights, --average and --oracle exclude each other.")
    if original and not weights:
        raise click.UsageError("--original belongs to --weights.")
    if sentences is not None and references:
        raise click.UsageError("--sentences is not for --oracle: there are as many as references.")
    if list_output == output:
        raise click.UsageError("--output and --list need different files.")
    if [nbest, weights, original, references].count("-") > 1:
        raise click.UsageError("stdin ('-') can be only one of the files.")
    from nmtkit.io.lines import open_output, read_lines
    from nmtkit.smt.nbest import read_nbest
    from nmtkit.smt.reranker import Reranker

    lines = list(read_lines(references)) if references else None
    with contextlib.ExitStack() as stack:
        results = stack.enter_context(open_output(output, force))
        table = stack.enter_context(open_output(list_output, force)) if list_output else None
        reranker = Reranker(_scores(weights, original, names, lines))
        expected = sentences if lines is None else len(lines)
        for group in reranker.rerank(read_nbest(nbest), expected):
            results.write((group[0].hypothesis if group else "") + "\n")
            if table:
                table.writelines(entry.line + "\n" for entry in group)
        if lines is not None:
            log.info("oracle: BLEU %.2f", reranker.bleu(lines).value)
    if reranker.missing:
        warn(f"{reranker.missing} sentences have no hypotheses in {nbest}; their lines are empty")


def _scores(
    weights: str | None,
    original: str | None,
    names: tuple[str, ...],
    references: list[str] | None,
) -> "GroupScorer":
    """What the options ask to order by."""
    from dataclasses import replace

    from nmtkit.smt.reranker import AverageScorer, OracleScorer, WeightedScorer, total_scores
    from nmtkit.smt.weights import read_weights

    if references is not None:
        return OracleScorer(references)
    if names:
        return AverageScorer(names)
    if weights is None:
        return total_scores
    given = read_weights(weights)
    if original:
        given = replace(given, original=read_weights(original).values)
    return WeightedScorer(given)
