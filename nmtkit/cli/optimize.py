"""`nmtkit optimize`: a model folder in, the files of `translate --fast` in it out."""

import json

import click

from nmtkit.cli.command import FILES, HARDWARE, declare_command, group, option
from nmtkit.cli.rules import one_stdin
from nmtkit.cli.shared_options import (
    FILE,
    FOLDER,
    FloatRange,
    batch_size_option,
    force_option,
    json_option,
    output_option,
    params_option,
    threads_option,
)
from nmtkit.cli.startup import configure_threads, importing


@declare_command(rules=[one_stdin("--train", "--dev")])
@click.argument("model", type=FOLDER)
@group(
    FILES,
    option(
        "--train",
        type=FILE,
        nargs=2,
        metavar="SRC TGT",
        required=True,
        common=True,
        help="Training text, raw, or text like it.",
    ),
    option(
        "--dev",
        type=FILE,
        nargs=2,
        metavar="SRC TGT",
        required=True,
        common=True,
        help="Validation set, raw; BLEU is compared.",
    ),
    params_option,
    output_option("File of the figures."),
    json_option("Write the figures as JSON."),
)
@group(
    "Limits",
    option(
        "--max-pairs",
        type=click.IntRange(min=1),
        default=100_000,
        metavar="N",
        common=True,
        help="Most training pairs to align.",
    ),
    option(
        "--max-loss",
        type=FloatRange(min=0),
        default=0.3,
        metavar="X",
        common=True,
        help="Largest loss of BLEU, in points. It is chrF where no reference has four words.",
    ),
)
@group(HARDWARE, threads_option, batch_size_option)
@force_option
def command(
    model: str,
    train: tuple[str, str],
    dev: tuple[str, str],
    params: str,
    output: str,
    as_json: bool,
    max_pairs: int,
    max_loss: float,
    threads: int,
    batch_size: int,
    force: bool,
) -> None:
    """Make MODEL translate faster with 'nmtkit translate --fast', and check that it stays good.

    Which words translate each other is learned from the training text, with the model's attention,
    as in 'nmtkit align'. The links give a table of candidates: lexicon.gz in the model folder. The
    dev set is translated as usual, with candidates, with 8-bit products, and with both. The fastest
    way whose BLEU falls by at most --max-loss is kept, or the first such way if the dev set takes
    less than a second; if all lose more, it is an error and nothing is written. The result is in
    fast.json, with the checksums of what was checked: after further training, or for other
    --params, run the command again. Existing files of these names are replaced. One line with both
    figures of BLEU, and how many times as fast it is, is written.

    Examples:
      nmtkit optimize model --train train.en train.fr --dev dev.en dev.fr
      nmtkit translate -m model --fast news.en

    """
    configure_threads(threads)
    from nmtkit.io.lines import open_output

    with open_output(output, force) as figures:
        with importing():
            from nmtkit.training.optimize import optimize

        record = optimize(model, train, dev, max_pairs, max_loss, batch_size, params)
        metric, plain, fast = record.figures
        result = f"{fast:.2f} with {record.contents}"
        if record.speed:
            result += f", {record.speed:.1f} times as fast"
        if not record.contents:
            result = "nothing is faster on this machine"
        text = f"dev {metric} {plain:.2f}; {result}"
        figures.write((json.dumps(record.as_dict()) if as_json else text) + "\n")
