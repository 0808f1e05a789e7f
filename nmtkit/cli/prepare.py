"""`nmtkit prepare`: raw parallel text into a prepared folder."""

from typing import Any

import click

from nmtkit.cli.common import force_option, language_options, workers_option

FILE = click.Path(allow_dash=True)
PHRASES_HELD_OUT = 1000


@click.command(
    epilog="Example: nmtkit prepare --train train.en train.fr --dev dev.en dev.fr --test news"
    " news.en news.fr -s en -t fr --bpe 10000 --output prepared, or nmtkit prepare --phrase-table"
    " phrase-table.gz --output phrases"
)
@click.option(
    "--train",
    type=FILE,
    nargs=2,
    metavar="SRC TGT",
    help="The training data: a source file and a target file, line by line each other's"
    " translation. Files are UTF-8, and gzip where the name ends in .gz.",
)
@click.option(
    "--phrase-table",
    type=FILE,
    metavar="FILE",
    help="Training data of another form: the phrase pairs of a phrase table in Moses's text format."
    " Their words are left as they are (as with --tokenized, also those of --dev and --test). How"
    " often a pair was seen counts for nothing, and each is kept once: copies are looked for among"
    " the lines with one source phrase, which Moses writes together; with --dedup in the whole"
    " table, which takes memory.",
)
@click.option(
    "--dev",
    type=FILE,
    nargs=2,
    metavar="SRC TGT",
    help="The data that training is watched with. Every line is kept.",
)
@click.option(
    "--held-out",
    type=click.IntRange(min=0),
    metavar="N",
    help="Take N random pairs out of the training data, with all copies of them, and watch training"
    f" with these. Which they are depends on the pairs alone.  [default: {PHRASES_HELD_OUT} of a"
    " phrase table where there is no --dev, else 0]",
)
@click.option(
    "--test",
    "tests",
    type=(str, FILE, FILE),
    multiple=True,
    metavar="NAME SRC TGT",
    help="A test set and the name for its files. Every line is kept. May be given repeatedly.",
)
@click.option(
    "--output", type=click.Path(), required=True, metavar="DIR", help="The folder to make."
)
@language_options
@click.option(
    "--tokenized", is_flag=True, help="The files are tokenised already; leave their words alone."
)
@click.option(
    "--hyphens",
    is_flag=True,
    help="Split words at hyphens, as tokenizer.perl -a does: 'well @-@ known'.",
)
@click.option(
    "--escape",
    is_flag=True,
    help="Write & ' \" | < > [ ] as XML entities, as tokenizer.perl does without -no-escape.",
)
@click.option(
    "--max-length",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    metavar="N",
    help="Leave out training pairs with more words on either side, counted before BPE.",
)
@click.option(
    "--max-ratio",
    type=click.FloatRange(min=1),
    default=9.0,
    show_default=True,
    metavar="R",
    help="Leave out training pairs with more than R times as many words on one side.",
)
@click.option("--dedup", is_flag=True, help="Leave out training pairs that were there before.")
@click.option(
    "--bpe",
    "merges",
    type=click.IntRange(min=1),
    metavar="MERGES",
    help="Learn so many BPE merges from the training data and apply them everywhere.",
)
@click.option(
    "--bpe-separate",
    is_flag=True,
    help="Learn BPE on each side alone. Without this it is learned on both together.",
)
@click.option(
    "--bpe-codes",
    type=click.Path(),
    multiple=True,
    metavar="FILE",
    help="Apply the BPE merges of this subword-nmt file instead. Given twice, the first is for"
    " the source and the second for the target.",
)
@click.option(
    "--invalid",
    type=click.Choice(["error", "drop"]),
    default="error",
    show_default=True,
    help="What to do about a line that is not UTF-8: stop, or drop its training pair (in dev and"
    " test sets the line stays, with replacement characters).",
)
@workers_option
@force_option
def command(
    train: tuple[str, str] | None,
    phrase_table: str | None,
    dev: tuple[str, str] | None,
    tests: tuple[tuple[str, str, str], ...],
    output: str,
    workers: int,
    force: bool,
    **options: Any,
) -> None:
    """Turn raw parallel text, or a phrase table, into a prepared folder: tokenised, cleaned, cut by
    BPE if wanted.

    The folder holds the text ready for training, the BPE merges, and a manifest with every
    setting, checksum and count. It appears whole or not at all.
    """
    from nmtkit.preprocessing.prepare import prepare

    named = {name: (src, tgt) for name, src, tgt in tests}
    if len(named) < len(tests):
        raise click.BadParameter("Each test set needs a name of its own.", param_hint="'--test'")
    pairs = _training_data(train, phrase_table)
    if phrase_table:
        options = _phrase_options(dev, **options)
    if dev and options["held_out"]:
        raise click.UsageError("The dev set is either given (--dev) or --held-out; choose one.")
    prepare(_settings(**options), output, pairs, dev or None, named, workers, force)


def _training_data(train: tuple[str, str] | None, phrase_table: str | None) -> Any:
    """What the driver takes: two files, or a phrase table alone."""
    if bool(train) == bool(phrase_table):
        raise click.UsageError("Training data is either --train or --phrase-table; give one.")
    return train or (phrase_table,)


def _phrase_options(dev: tuple[str, str] | None, **options: Any) -> dict[str, Any]:
    """The options as a phrase table needs them."""
    if options["hyphens"] or options["escape"]:
        raise click.UsageError(
            "The words of a phrase table are left as they are; leave out --hyphens and --escape."
        )
    if options["held_out"] is None and not dev:
        options["held_out"] = PHRASES_HELD_OUT
    return {**options, "tokenized": True}


def _settings(
    merges: int | None,
    bpe_separate: bool,
    bpe_codes: tuple[str, ...],
    src_language: str,
    tgt_language: str,
    tokenized: bool,
    hyphens: bool,
    escape: bool,
    held_out: int | None,
    **cleaning: Any,
) -> Any:
    """The options as the driver's settings."""
    from nmtkit.config import TextConfig
    from nmtkit.preprocessing.prepare import PrepareSettings

    if merges and bpe_codes:
        raise click.UsageError("BPE is either learned (--bpe) or given (--bpe-codes); choose one.")
    if bpe_separate and not merges:
        raise click.UsageError("--bpe-separate says how BPE is learned; give --bpe too.")
    if len(bpe_codes) > 2:
        raise click.UsageError("--bpe-codes can be given once, for both sides, or twice.")
    separate = bpe_separate or len(bpe_codes) == 2
    text = TextConfig(
        src_language=src_language,
        tgt_language=tgt_language,
        tokenized=tokenized,
        hyphens=hyphens,
        escape=escape,
        bpe=("separate" if separate else "joint") if merges or bpe_codes else "none",
    )
    return PrepareSettings(
        text=text, merges=merges or 0, codes=bpe_codes, held_out=held_out or 0, **cleaning
    )
