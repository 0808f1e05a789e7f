"""`nmtkit adapt`: a model and corrections in, a model that has learned them out."""

import json
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import click

from nmtkit.cli.allocator import keep_freed_memory
from nmtkit.cli.command import FILES, HARDWARE, TEXT, declare_command, group, option
from nmtkit.cli.console import write_stderr
from nmtkit.cli.corpus_options import parse_pair_of_files
from nmtkit.cli.file_options import file_values_option
from nmtkit.cli.rules import exclusive
from nmtkit.cli.shared_options import (
    Duration,
    FloatRange,
    PathName,
    device_option,
    force_option,
    json_option,
    output_option,
    params_option,
    tag_option,
    threads_option,
)
from nmtkit.cli.startup import configure_threads

if TYPE_CHECKING:
    from nmtkit.training.adaptation.report import AdaptationReport


@declare_command(rules=[exclusive("--time", "--updates")])
@click.argument("model", type=PathName(path_type=Path, file_okay=False))
@group(
    FILES,
    file_values_option(
        "--data",
        parse=parse_pair_of_files,
        required=True,
        metavar="SRC TGT",
        common=True,
        help="Corrections, as raw text. Line n of TGT is the right translation of line n of SRC; or"
        " one file holds both: TSV or TMX.",
    ),
    output_option(
        "The new model folder.",
        type=PathName(path_type=Path, file_okay=False),
        metavar="DIR",
        default=None,
        required=True,
    ),
    file_values_option(
        "--guard",
        "guards",
        parse=parse_pair_of_files,
        multiple=True,
        metavar="SRC REF",
        common=True,
        help="Test set that must not become worse. One file may hold both sides. Without a guard"
        " up to 400 lines of the dev set of the replayed data are one; without such data nothing"
        " measures the loss. Repeatable.",
    ),
    option(
        "--replay",
        type=PathName(path_type=Path, file_okay=False),
        metavar="PREPARED",
        common=True,
        help="Prepared folder of old training pairs to repeat. By default it is that of the model's"
        " own training, if it is still there, unchanged.",
    ),
    params_option,
    json_option("Print the report as JSON."),
)
@group(
    "Settings",
    option(
        "--time",
        type=Duration(),
        metavar="DURATION",
        default="5m",
        common=True,
        help="Time for everything: 5m, 90s, 1h.",
    ),
    option(
        "--updates",
        type=click.IntRange(min=1),
        metavar="N",
        default=None,
        help="Update this many times, however long it takes, so that the same command gives the"
        " same model.",
    ),
    option(
        "--allow-loss",
        type=FloatRange(min=0),
        metavar="BLEU",
        default=1.0,
        common=True,
        help="Largest loss on a guard. If it is larger, nothing is written. It is chrF where spaces"
        " do not separate words, or no line has four words.",
    ),
    option(
        "--seed",
        type=click.IntRange(min=0, max=(1 << 32) - 1),
        metavar="N",
        default=1,
        help="Seed of the order of the pairs, of dropout, and of the choice of corrections that are"
        " held out.",
    ),
)
@group(TEXT, tag_option)
@group(HARDWARE, device_option, threads_option)
@force_option
def command(
    model: Path,
    data: tuple[str, ...],
    output: Path,
    guards: tuple[tuple[str, ...], ...],
    replay: Path | None,
    params: str,
    as_json: bool,
    time: float,
    updates: int | None,
    allow_loss: float,
    seed: int,
    tag: str | None,
    device: str,
    threads: int,
    force: bool,
) -> None:
    """Teach the model of a folder your corrections, with little loss of what it can do.

    The new model has the vocabularies of MODEL, which stays as it is. Up to 200 corrections are
    learned until they come out as you wrote them; of more, a tenth, at most 200, is held out to
    measure what was won. Pairs of the model's training are repeated in between, if the prepared
    folder is still there; else the model rehearses what it has predicted for lines of random words.
    Of the points between old and new parameters the best is chosen by the corrections and the
    guards.

    The report on stderr says what was won on the corrections and lost on each guard: BLEU and chrF
    with their 95 % intervals, and the probability of such a difference between equally good models,
    by bootstrap. If a guard has lost more than --allow-loss, the exit status is 1 and nothing is
    written.

    Lines that cannot be used, because a side is empty or too long, are named and left out. The
    better way for a whole corpus, which takes hours, is 'nmtkit train --from'.

    Examples:
      nmtkit adapt model --data corrections.tsv -o adapted
      nmtkit adapt model --data memory.tmx --guard dev.en dev.fr -o adapted
      nmtkit adapt model --data new.en new.fr --replay prepared --time 20m -o adapted

    """
    started = monotonic()
    configure_threads(threads)
    keep_freed_memory()
    from nmtkit.training.adaptation.adapt import adapt
    from nmtkit.training.adaptation.report import LossRefused

    try:
        report = adapt(
            model,
            data,
            output,
            guards,
            time=time,
            replay=replay,
            allow_loss=allow_loss,
            tag=tag or "",
            seed=seed,
            device=device,
            force=force,
            started=started,
            updates=updates or 0,
            params=params,
        ).report
    except LossRefused as refusal:
        _show(refusal.report, as_json)
        raise
    _show(report, as_json)


def _show(report: "AdaptationReport", as_json: bool) -> None:
    """Print the report: as JSON on stdout, or as text on stderr."""
    if as_json:
        click.echo(json.dumps(report.as_dict(), ensure_ascii=False, indent=2))
        return
    for line in report.lines():
        write_stderr(line)
