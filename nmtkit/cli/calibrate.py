"""`nmtkit calibrate`: a model folder and a dev set in, the file of `translate --confidence` out."""

import dataclasses
import json

import click

from nmtkit.cli.command import FILES, declare_command, group, option
from nmtkit.cli.shared_options import (
    FILE,
    FOLDER,
    force_option,
    json_option,
    model_run_options,
    output_option,
    params_option,
)
from nmtkit.cli.startup import configure_threads, importing
from nmtkit.config_ranges import MAX_BEAM


@declare_command()
@click.argument("models", type=FOLDER, nargs=-1, required=True, metavar="MODEL...")
@group(
    FILES,
    option(
        "--dev",
        type=FILE,
        nargs=2,
        metavar="SRC TGT",
        required=True,
        common=True,
        help="Dev set, raw. It has about a thousand pairs that the model was not trained on.",
    ),
    option(
        "--good",
        metavar="chrF>=N",
        default="median",
        common=True,
        help="When a translation is good. By default its chrF is at least the median of the dev"
        " set.",
    ),
    option(
        "--reverse-model",
        "reverse_models",
        type=FOLDER,
        multiple=True,
        metavar="DIR",
        common=True,
        help="Model of the other direction, whose scores help. 'translate' then needs it, and"
        " 'serve', which takes none, gives no confidences. Repeatable; several form an ensemble.",
    ),
    option(
        "--beam",
        type=click.IntRange(1, MAX_BEAM),
        metavar="K",
        help="Beam size of the translations.  [default: from the model's settings]",
    ),
    params_option,
    output_option("File of the figures."),
    json_option("Write the figures as JSON."),
)
@model_run_options
@force_option
def command(
    models: tuple[str, ...],
    dev: tuple[str, str],
    good: str,
    reverse_models: tuple[str, ...],
    beam: int | None,
    params: str,
    output: str,
    as_json: bool,
    device: str,
    threads: int,
    batch_size: int,
    force: bool,
) -> None:
    """Fit the confidences of 'nmtkit translate --confidence' to a dev set.

    The dev set is translated. Of each translation it is known whether it is good, and which of its
    words the reference has. Two logistic regressions learn that from what the model itself predicts
    at each word, from its attention and from lengths. The result is calibration.json in the folder
    of MODEL, with the checksum of the parameters: after further training, or for other --params,
    run the command again. Several models are one ensemble, whose calibration is in the folder of
    the first. An existing calibration is replaced. Lines of more than 5,000 characters are left
    out.

    The figures are those of cross-validation on the dev set: the expected calibration error, which
    is the mean distance between confidence and frequency, and the area under the ROC curve, which
    is how often a good translation has the higher confidence than a bad one.

    Examples:
      nmtkit calibrate model --dev dev.en dev.fr
      nmtkit translate -m model --confidence news.en

    """
    configure_threads(threads)
    from nmtkit.io.lines import open_output

    with open_output(output, force) as figures:
        with importing():
            from nmtkit.training.calibrate import calibrate

        record = calibrate(models, dev, good, reverse_models, beam, device, batch_size, params)
        table = dataclasses.asdict(record)
        for name in ("sentences", "words", "scores", "levels"):
            del table[name]
        values = record.figures
        text = (
            f"good: {record.good}; sentences: calibration error"
            f" {values['sentence_ece']:.3f}, area under ROC {values['sentence_auc']:.3f}; words:"
            f" {values['word_ece']:.3f}, {values['word_auc']:.3f}"
        )
        figures.write((json.dumps(table) if as_json else text) + "\n")
