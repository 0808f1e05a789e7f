"""`nmtkit score`: source and target lines (or text) in, log-probabilities out."""

import json
import logging
from typing import TYPE_CHECKING

import click

from nmtkit.cli.command import FILES, TEXT, declare_command, group, option
from nmtkit.cli.console import line_bar, warn
from nmtkit.cli.old_spellings import Renamed
from nmtkit.cli.rules import exclusive
from nmtkit.cli.shared_options import (
    FILE,
    averaging_options,
    force_option,
    json_option,
    model_run_options,
    models_option,
    output_option,
    params_option,
    tag_option,
    tokenized_option,
)
from nmtkit.cli.startup import configure_threads, importing, path_on_rank_0

if TYPE_CHECKING:
    from nmtkit.inference.ensemble import Ensemble
    from nmtkit.inference.scorer import Score

log = logging.getLogger("nmtkit")


@declare_command(
    rules=[exclusive("--per-word", "--normalize", because="--json writes both", unless="--json")],
    renamed=[Renamed("--raw", "")],
)
@click.argument("source", type=FILE, metavar="SRC")
@click.argument("target", type=FILE, metavar="[TGT]", required=False)
@group(
    FILES,
    models_option("Model folder. Repeatable; the probabilities are averaged."),
    params_option,
    output_option("File of the scores."),
    json_option("Write a JSON object per line."),
)
@group(
    "Scores",
    option(
        "--per-word",
        is_flag=True,
        common=True,
        help="Write the log-probability of each target token. The last is </s>.",
    ),
    option(
        "--normalize",
        is_flag=True,
        common=True,
        help="Divide by the number of tokens, </s> included.",
    ),
)
@group(
    TEXT,
    tokenized_option("SRC and TGT are tokenised."),
    tag_option,
)
@averaging_options
@model_run_options
@force_option
def command(
    source: str,
    target: str | None,
    models: tuple[str, ...],
    params: str,
    weights: list[float],
    average: str,
    output: str,
    as_json: bool,
    per_word: bool,
    normalize: bool,
    tokenized: bool,
    tag: str | None,
    batch_size: int,
    device: str,
    threads: int,
    force: bool,
) -> None:
    """Compute the log-probability of each line of TGT given that line of SRC.

    It is a natural logarithm, summed over the target tokens including </s>. An empty source or
    target is </s> alone. SRC or TGT may be '-' for stdin. A summary with cost per token and
    perplexity goes to stderr. Processes that torchrun starts together share the lines.

    A language model (recipe 'cslm') scores text: it takes one file.

    With --json each line is an object with 'log_prob' and 'tokens'; --normalize adds 'normalized',
    --per-word 'word_log_probs'.

    Examples:
      nmtkit score -m model test.en test.fr
      nmtkit translate -m model test.en | nmtkit score -m model test.en -
      nmtkit score -m cslm test.fr

    """
    configure_threads(threads)
    from nmtkit.io.lines import line_locator, open_output, read_lines, read_parallel

    with (
        open_output(path_on_rank_0(output), force) as results,
        line_bar("score", "lines", [source, *([target] if target else [])], output) as bar,
    ):
        with importing():
            from nmtkit.inference.ensemble import Ensemble
            from nmtkit.inference.scorer import Scorer, Totals
            from nmtkit.parallel.process_group import join_process_group

        with join_process_group(device) as process_group:
            ensemble = Ensemble.load(models, device, params).averaged(weights, average == "logs")
            ensemble = ensemble.with_tag(tag) if tag else ensemble
            scorer = Scorer(ensemble, batch_size)
            bar.follow(scorer.lines_done.count)
            if target is None:
                scores = scorer.score_text(read_lines(source), tokenized, process_group)
            elif not scorer.reads_source:
                raise click.UsageError("A language model reads no source; leave SRC out.")
            else:
                _warn_if_swapped(ensemble, source, target, tokenized)
                pairs = ((src, tgt) for src, tgt in read_parallel(source, target))
                pair_name = line_locator(source, target)
                scores = scorer.score(
                    pairs, tokenized, process_group=process_group, pair_name=pair_name
                )
            totals = Totals()
            for score in bar.track(scores):
                totals.add(score)
                line = (_json if as_json else _numbers)(score, per_word, normalize)
                results.write(f"{line}\n")
            log.info("%s", totals.summary("line" if target is None else "pair"))


def _warn_if_swapped(ensemble: "Ensemble", source: str, target: str, tokenized: bool) -> None:
    """Warn if the files are probably in the wrong order."""
    from nmtkit.inference.side_check import swapped_files

    if message := swapped_files(ensemble.first, source, target, tokenized):
        warn(message)


def _numbers(score: "Score", per_word: bool, normalize: bool) -> str:
    values = score.word_scores if per_word else [score.log_prob]
    values = [score.normalized] if normalize else values
    return " ".join(f"{value:.6f}" for value in values)


def _json(score: "Score", per_word: bool, normalize: bool) -> str:
    """Return the figures of one line as a JSON object."""
    record: dict[str, object] = {"log_prob": score.log_prob, "tokens": len(score.word_scores)}
    if normalize:
        record["normalized"] = score.normalized
    if per_word:
        record["word_log_probs"] = score.word_scores
    return json.dumps(record)
