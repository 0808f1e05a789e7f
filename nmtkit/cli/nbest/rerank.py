"""`nmtkit nbest rerank`: an n-best list in, the best hypothesis of each sentence out."""

import contextlib
import logging
from typing import TYPE_CHECKING

import click

from nmtkit.cli.command import FILES, declare_command, group, option
from nmtkit.cli.console import warn
from nmtkit.cli.old_spellings import Renamed
from nmtkit.cli.rules import different_files, exclusive, needs, one_stdin
from nmtkit.cli.shared_options import FILE, force_option, output_option
from nmtkit.errors import counted

if TYPE_CHECKING:
    from nmtkit.smt.reranker import GroupScorer

log = logging.getLogger("nmtkit")


@declare_command(
    rules=[
        exclusive("--weights-file", "--mean-with", "--oracle"),
        needs("--original", "--weights-file"),
        exclusive("--sentences", "--oracle", because="the references determine their number"),
        different_files("--output", "--list"),
        one_stdin("LIST", "--weights-file", "--original", "--oracle"),
    ],
    renamed=[
        Renamed("--weights {FILE}", "--weights-file {FILE}"),
        Renamed("--average {NAME}", "--mean-with {NAME}"),
    ],
)
@click.argument("nbest", type=FILE, metavar="LIST")
@group(
    FILES,
    output_option("File of the best hypotheses."),
    option(
        "--list",
        "list_output",
        type=FILE,
        metavar="FILE",
        common=True,
        help="File for the whole list, best first. Its totals are the new scores.",
    ),
    option(
        "--sentences",
        type=click.IntRange(min=0),
        metavar="N",
        common=True,
        help="Number of sentences.  [default: to the list's last]",
    ),
)
@group(
    "Order",
    option(
        "--weights-file",
        type=FILE,
        metavar="FILE",
        common=True,
        help="Order by these weights of the features. The file is a moses.ini, or was written by"
        " 'nmtkit nbest tune'.",
    ),
    option(
        "--original",
        type=FILE,
        metavar="FILE",
        common=True,
        help="The moses.ini that the list was made with. With --weights-file, the part of the"
        " totals that the printed features do not explain is then counted, too.",
    ),
    option(
        "--mean-with",
        "names",
        multiple=True,
        metavar="NAME",
        common=True,
        help="Order by the mean of TOTAL and this feature. The feature is a log-probability."
        " Repeatable.",
    ),
    option(
        "--oracle",
        "references",
        type=FILE,
        multiple=True,
        metavar="REF",
        common=True,
        help="Order by sentence BLEU against these references. The corpus BLEU that the list could"
        " reach is logged. Repeatable, for several references of each sentence.",
    ),
)
@force_option
def command(
    nbest: str,
    weights_file: str | None,
    original: str | None,
    names: tuple[str, ...],
    references: tuple[str, ...],
    sentences: int | None,
    output: str,
    list_output: str | None,
    force: bool,
) -> None:
    """Write the best hypothesis of each sentence of the n-best LIST, one per line.

    LIST has lines as Moses writes them, and may be '-' for stdin, or compressed:

      NUMBER ||| HYPOTHESIS ||| LM0= -44.02 TM0= -9.1 -12.6 ||| TOTAL

    Lines are written for the sentences from 0 to the last; a sentence without hypotheses has an
    empty line. By default the best hypothesis is the one with the highest TOTAL; ties go to the
    first.

    A feature without weights is ignored. Moses counts unknown words in TOTAL but does not print
    that feature; weights that 'nmtkit nbest tune' wrote keep it as Rest0, and so does --original.

    Sentence BLEU is Lin and Och's (2004): one is added to the counts of n-grams longer than a word.
    Corpus BLEU is that of multi-bleu.perl. LIST and REF are tokenised alike. If there is no file
    REF, the files REF0, REF1 and so on are read, as Moses's scripts do.

    Examples:
      nmtkit nbest rerank moses.1000best.gz --weights-file tuned -o test.fr
      nmtkit nbest score -m model moses.1000best.gz test.en | nmtkit nbest rerank - --mean-with RNN0
      nmtkit nbest rerank moses.1000best.gz --oracle test.ref.fr --list best-first.gz

    """
    from nmtkit.evaluation.references import read_references
    from nmtkit.io.lines import open_output
    from nmtkit.smt.nbest import read_nbest
    from nmtkit.smt.reranker import Reranker

    lines = read_references(references) if references else None
    with contextlib.ExitStack() as stack:
        results = stack.enter_context(open_output(output, force))
        table = stack.enter_context(open_output(list_output, force)) if list_output else None
        reranker = Reranker(_scores(weights_file, original, names, lines))
        expected = sentences if lines is None else len(lines[0])
        for hypotheses in reranker.rerank(read_nbest(nbest), expected):
            results.write((hypotheses[0].hypothesis if hypotheses else "") + "\n")
            if table:
                table.writelines(entry.line + "\n" for entry in hypotheses)
        if lines is not None:
            log.info("oracle: BLEU %.2f", reranker.bleu(lines).value)
    if reranker.missing:
        missing = counted(reranker.missing, "sentence")
        warn(f"{nbest}: no hypotheses for {missing}; the output has empty lines there")


def _scores(
    weights_file: str | None,
    original: str | None,
    names: tuple[str, ...],
    references: list[list[str]] | None,
) -> "GroupScorer":
    """Return the scorer that the options select."""
    from dataclasses import replace

    from nmtkit.smt.reranker import AverageScorer, OracleScorer, WeightedScorer, total_scores
    from nmtkit.smt.weights import read_weights

    if references is not None:
        return OracleScorer(references)
    if names:
        return AverageScorer(names)
    if weights_file is None:
        return total_scores
    weights = read_weights(weights_file)
    if original:
        values = read_weights(original).values
        weights = replace(weights, original=values, original_path=original)
    return WeightedScorer(weights)
