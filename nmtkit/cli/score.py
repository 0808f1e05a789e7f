"""`nmtkit score`: source and target lines in, log-probabilities out."""

import logging

import click

from nmtkit.cli.common import (
    batch_size_option,
    configure_threads,
    device_option,
    force_option,
    importing,
    mixture_options,
    threads_option,
)
from nmtkit.cli.phrase_table import phrase_table_options, refuse, score_phrase_table

log = logging.getLogger("nmtkit")


@click.command()
@click.argument("source", metavar="SRC", required=False)
@click.argument("target", metavar="TGT", required=False)
@phrase_table_options
@click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    required=True,
    metavar="DIR",
    help="A model folder; given several times, the models' probabilities are averaged (but see"
    " --phrase-table).",
)
@mixture_options
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
@click.option("--tokenized", is_flag=True, help="Both files are tokenised already.")
@batch_size_option
@device_option
@threads_option
@force_option
def command(
    source: str | None,
    target: str | None,
    phrase_table: str | None,
    logs: bool,
    count_unknown: bool,
    models: tuple[str, ...],
    weights: list[float],
    average: str,
    output: str,
    per_word: bool,
    normalize: bool,
    tokenized: bool,
    batch_size: int,
    device: str,
    threads: int,
    force: bool,
) -> None:
    """Give the log-probability of each line of TGT as the translation of that line of SRC.

    It is the natural logarithm, summed over the tokens of the target and the end of the sentence.
    An empty target is the end of the sentence alone, and so is an empty source. SRC or TGT may be
    '-' for stdin. A summary with cost per token and perplexity goes to stderr.

    \b
    Examples:
      nmtkit score --model model test.en test.fr
      nmtkit translate --model model test.en | nmtkit score --model model test.en -
      nmtkit score --model model --phrase-table phrase-table.gz -o with-rnn.gz
    """
    if phrase_table:
        others = {"SRC": source, "--weights": weights, "--average logs": average == "logs"}
        others |= {"--per-word": per_word, "--normalize": normalize}
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
    refuse({"--logs": logs, "--count-unknown": count_unknown}, "needs --phrase-table")
    if source is None or target is None:
        raise click.UsageError("Give SRC and TGT, or --phrase-table.")
    if per_word and normalize:
        raise click.UsageError("--per-word and --normalize exclude each other.")
    configure_threads(threads)
    from nmtkit.text.lines import open_output, read_parallel

    with open_output(output, force) as results:
        with importing():
            from nmtkit.ensemble import Ensemble
            from nmtkit.scorer import Scorer, Totals

        ensemble = Ensemble.load(models, device).averaged(weights, average == "logs")
        scorer = Scorer(ensemble, batch_size)
        totals = Totals()
        pairs = ((src, tgt) for src, tgt in read_parallel(source, target))
        for score in scorer.score(pairs, tokenized):
            totals.add(score)
            values = score.word_scores if per_word else [score.log_prob]
            values = [score.normalized] if normalize else values
            results.write(" ".join(f"{value:.6f}" for value in values) + "\n")
    log.info("%s", totals.sentence())
