"""`nmtkit score`: source and target lines, text or an n-best list in, log-probabilities out."""

import logging
from typing import TYPE_CHECKING, Any, TextIO

import click

from nmtkit.cli.common import (
    averaging_options,
    batch_size_option,
    configure_threads,
    device_option,
    force_option,
    importing,
    threads_option,
    written_by_first,
)
from nmtkit.cli.phrase_table import phrase_table_options, refuse, score_phrase_table
from nmtkit.parallel import environment

if TYPE_CHECKING:
    from nmtkit.inference.scorer import Scorer
    from nmtkit.parallel.process_group import ProcessGroup
    from nmtkit.smt.rescorer import Rescorer

log = logging.getLogger("nmtkit")


@click.command()
@click.argument("first", metavar="[SRC]", required=False)
@click.argument("second", metavar="[TGT]", required=False)
@phrase_table_options
@click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    required=True,
    metavar="DIR",
    help="A model folder; given several times, the models' probabilities are averaged, or with"
    " --nbest or --phrase-table each has a feature of its own.",
)
@averaging_options
@click.option(
    "--nbest",
    metavar="LIST",
    help="Score the hypotheses of a Moses n-best list, and write the list with the scores in it.",
)
@click.option(
    "--feature",
    "features",
    multiple=True,
    metavar="NAME",
    help="For --nbest: what the new feature is called; given once for each model.  [default: RNN0,"
    " RNN1, ...; of language models CSLM0, ...]",
)
@click.option("-o", "--output", default="-", metavar="FILE", help="Where the scores are written.")
@click.option(
    "--per-word",
    is_flag=True,
    help="Write the log-probability of every target token, that of the end of the sentence last.",
)
@click.option(
    "--normalize",
    is_flag=True,
    help="Divide each score by the number of target tokens, the end of the sentence counted.",
)
@click.option(
    "--tokenized/--raw",
    default=None,
    help="Whether the files are tokenised already.  [default: --raw; with --nbest --tokenized]",
)
@batch_size_option
@device_option
@threads_option
@force_option
def command(
    first: str | None,
    second: str | None,
    phrase_table: str | None,
    logs: bool,
    count_unknown: bool,
    models: tuple[str, ...],
    weights: list[float],
    average: str,
    nbest: str | None,
    features: tuple[str, ...],
    output: str,
    per_word: bool,
    normalize: bool,
    tokenized: bool | None,
    batch_size: int,
    device: str,
    threads: int,
    force: bool,
) -> None:
    """Give the log-probability of each line of TGT as the translation of that line of SRC.

    It is the natural logarithm, summed over the tokens of the target and the end of the sentence.
    An empty target is the end of the sentence alone, and so is an empty source. SRC or TGT may be
    '-' for stdin. A summary with cost per token and perplexity goes to stderr.

    A language model (recipe 'cslm') scores text: it takes TGT alone.

    With --nbest the hypotheses of a list are scored, which has lines as Moses writes them:

    \b
      NUMBER ||| HYPOTHESIS ||| LM0= -44.02 TM0= -9.1 -12.6 ||| TOTAL

    NUMBER counts the sentences from 0. Each line is written again as it was, with a feature for
    each model behind the others, and with what --count-unknown adds. A model that translates takes
    SRC, too, a sentence a line. The list and SRC are tokenised as Moses left them, so the model's
    corpus should have been prepared from the same tokens; for a list of plain text, which 'nmtkit
    translate --n-best' writes, add --raw.

    \b
    Examples:
      nmtkit score --model model test.en test.fr
      nmtkit translate --model model test.en | nmtkit score --model model test.en -
      nmtkit score --model cslm test.fr
      nmtkit score --model cslm --nbest moses.100best.gz --output rescored.gz
      nmtkit score -m model --nbest moses.100best.gz test.tok.en --feature RNNSEARCH0
      nmtkit score --model model --phrase-table phrase-table.gz -o with-rnn.gz
    """
    if environment.size() > 1:
        refuse({"--phrase-table": phrase_table, "--nbest": nbest}, "is work for one process")
    if phrase_table:
        others: dict[str, Any] = {
            "SRC": first,
            "--nbest": nbest,
            "--feature": features,
            "--weights": weights,
        }
        others |= {"--average logs": average == "logs", "--per-word": per_word}
        others |= {"--normalize": normalize, "--raw": tokenized is False}
        refuse(others, "cannot be used with --phrase-table")
        score_phrase_table(
            phrase_table,
            models,
            output,
            force,
            threads,
            device=device,
            batch_size=batch_size,
            logs=logs,
            count_unknown=count_unknown,
        )
        return
    refuse({"--logs": logs}, "needs --phrase-table")
    refuse({"--count-unknown": count_unknown and not nbest}, "needs --phrase-table or --nbest")
    if per_word and normalize:
        raise click.UsageError("--per-word and --normalize exclude each other.")
    if nbest:
        _check_list_options(second, per_word, bool(weights) or average == "logs")
    elif first is None:
        raise click.UsageError("Missing argument 'SRC'; a language model takes TGT alone.")
    elif features:
        raise click.UsageError("--feature belongs to --nbest.")
    configure_threads(threads)
    from nmtkit.io.lines import open_output

    with open_output(written_by_first(output), force) as results:
        with importing():
            from nmtkit.inference.ensemble import Ensemble
            from nmtkit.inference.scorer import Scorer
            from nmtkit.parallel.process_group import join_process_group
            from nmtkit.smt.rescorer import Rescorer

        if nbest:
            rescorer = Rescorer.load(
                *models,
                names=features,
                device=device,
                batch_size=batch_size,
                count_unknown=count_unknown,
            )
            _write_list(results, rescorer, nbest, first, tokenized is not False, normalize)
            return
        with join_process_group(device) as process_group:
            ensemble = Ensemble.load(models, device).averaged(weights, average == "logs")
            files = (first or "-", second)
            scorer = Scorer(ensemble, batch_size)
            _write_scores(
                results, scorer, files, bool(tokenized), per_word, normalize, process_group
            )


def _check_list_options(second: str | None, per_word: bool, mixed: bool) -> None:
    if second is not None:
        raise click.UsageError("--nbest takes the targets from its list; give SRC alone.")
    if per_word:
        raise click.UsageError("--per-word is not for --nbest: a feature is one number.")
    if mixed:
        raise click.UsageError(
            "--weights and --average are not for --nbest: each model has a feature of its own."
        )


def _check_no_source(reads_source: bool, source: str | None) -> None:
    if source is not None and not reads_source:
        raise click.UsageError("A language model reads no source; leave SRC out.")


def _write_scores(
    results: TextIO,
    scorer: "Scorer",
    files: tuple[str, str | None],
    tokenized: bool,
    per_word: bool,
    normalize: bool,
    process_group: "ProcessGroup",
) -> None:
    """A line of numbers for each pair, or for each line of text."""
    first, second = files
    from nmtkit.inference.scorer import Totals
    from nmtkit.io.lines import line_locator, read_lines, read_parallel

    if second is None:
        scores = scorer.score_text(read_lines(first), tokenized, process_group)
    else:
        _check_no_source(scorer.reads_source, first)
        pairs = ((src, tgt) for src, tgt in read_parallel(first, second))
        scores = scorer.score(
            pairs, tokenized, process_group=process_group, pair_name=line_locator(first, second)
        )
    totals = Totals()
    for score in scores:
        totals.add(score)
        values = score.word_scores if per_word else [score.log_prob]
        values = [score.normalized] if normalize else values
        results.write(" ".join(f"{value:.6f}" for value in values) + "\n")
    log.info("%s", totals.sentence("lines" if second is None else "pairs"))


def _write_list(
    results: TextIO,
    rescorer: "Rescorer",
    nbest: str,
    source: str | None,
    tokenized: bool,
    normalize: bool,
) -> None:
    """The lines of an n-best list, with a feature more for each model."""
    from nmtkit.io.lines import read_lines
    from nmtkit.smt.nbest import read_nbest

    _check_no_source(rescorer.reads_source, source)
    if source == nbest == "-":
        raise click.UsageError("stdin ('-') can be the list or SRC, not both.")
    sources = None if source is None else list(read_lines(source))
    for entry in rescorer.rescore(read_nbest(nbest), sources, tokenized, normalize):
        results.write(entry.line + "\n")
    for sentence in rescorer.summary():
        log.info("%s", sentence)
