"""`nmtkit prepare`: raw parallel text into a prepared folder."""

from typing import Any

import click

from nmtkit.cli.cleaning_options import cleaning_options
from nmtkit.cli.command import FILES, HARDWARE, TEXT, declare_command, group, option
from nmtkit.cli.corpus_options import TRAIN_OPTIONS, dev_option, test_option
from nmtkit.cli.rules import at_least_one, excludes, exclusive, needs
from nmtkit.cli.shared_options import (
    FILE,
    FOLDER,
    force_option,
    invalid_option,
    language_option,
    output_option,
    tokenized_option,
    workers_option,
)

HELD_OUT_PHRASE_PAIRS = 1000
"""Default of `--held-out` for a phrase table without `--dev`."""

RAW_TEXT_OPTIONS = (
    "--hyphens",
    "--escape",
    "--nfc",
    "--punctuation",
    "--protected",
    "--joiners",
    "--case truecase",
    "--case markers",
)

SETTINGS_OF_MODEL = (
    *("-s", "-t", "--tokenizer", "--tokenized", "--hyphens", "--escape", "--nfc", "--no-nfc"),
    *("--punctuation", "--protected", "--no-protected", "--joiners", "--no-joiners", "--case"),
    *("--copy-names", "--no-copy-names", "--markup", "--subword", "--subword-size", "--bpe"),
    *("--bpe-separate", "--bpe-codes", "--vocabulary-threshold", "--glossary"),
)
"""Options whose values `--like` takes from a model."""

KEEPS_WORDS = "the words of a phrase table are left unchanged"


def _at_most_two(
    context: click.Context, parameter: click.Parameter, files: tuple[str, ...]
) -> tuple[str, ...]:
    if len(files) > 2:
        raise click.BadParameter("give one file for both sides, or two.")
    return files


@declare_command(
    rules=[
        at_least_one("--train", "--corpora", "--phrase-table"),
        at_least_one("--src-language", "--like"),
        at_least_one("--tgt-language", "--like"),
        *excludes("--like", *SETTINGS_OF_MODEL, because="the model's text settings are used"),
        exclusive("--like", "--phrase-table"),
        *excludes("--phrase-table", "--train", "--corpora", "--tag"),
        exclusive("--dev", "--held-out >0"),
        needs("--leakage drop", "--dev", "--test", because="pairs are looked up there"),
        needs("--leakage drop-any", "--dev", "--test", because="pairs are looked up there"),
        *(
            exclusive(tokenized, name, because=because)
            for tokenized, because in (
                ("--tokenized", "words of tokenised text are left unchanged"),
                ("--phrase-table", KEEPS_WORDS),
            )
            for name in RAW_TEXT_OPTIONS
        ),
        exclusive("--case truecase", "--bpe-codes", because="merges follow the case of words"),
        exclusive("--bpe", "--bpe-codes"),
        exclusive("--bpe", "--subword-size"),
        exclusive("--bpe-codes", "--subword-size"),
        exclusive("--bpe-codes", "--bpe-separate"),
        exclusive("--tokenized", "--tokenizer moses"),
        *excludes("--markup", "--tokenized", "--phrase-table", because="it is found in raw text"),
        exclusive("--copy-names", "--phrase-table", because=KEEPS_WORDS),
        exclusive("--copy-names", "--subword none", because="placeholders are for subwords"),
        exclusive("--copy-names", "--subword sentencepiece", because="it splits raw text"),
        exclusive("--copy-names", "--case markers", because="names have no capitals then"),
    ]
)
@group(
    FILES,
    *TRAIN_OPTIONS,
    option(
        "--phrase-table",
        type=FILE,
        metavar="FILE",
        common=True,
        help="Training data: the pairs of a Moses phrase table. Words are left unchanged, as with"
        " --tokenized, also those of --dev and --test. Each pair is kept once, whatever its count."
        " Copies are searched among neighbouring lines with the same source phrase, as Moses orders"
        " them; with --dedup in the whole table, which takes memory.",
    ),
    dev_option,
    option(
        "--held-out",
        type=click.IntRange(min=0),
        metavar="N",
        help="Move N random pairs with all their copies from the training data to the validation"
        " set. The choice depends on the pairs alone."
        f"  [default: {HELD_OUT_PHRASE_PAIRS} of a phrase table without --dev, else 0]",
    ),
    test_option,
    output_option("Prepared folder.", type=FOLDER, metavar="DIR", default=None, required=True),
)
@group(
    TEXT,
    language_option("src"),
    language_option("tgt"),
    option(
        "--like",
        type=FOLDER,
        metavar="MODEL",
        help="Prepare the text as that of this model, whose training is to go on: 'train --from"
        " MODEL'. Languages, all settings of text and subwords, and the vocabularies are the"
        " model's.",
    ),
    option(
        "--tokenizer",
        type=click.Choice(["auto", "moses", "none"]),
        default="auto",
        show_default=True,
        help="How words are found: by Moses's rules, or not at all: with SentencePiece lines are"
        " split as they are, else whitespace separates words. 'auto' chooses by the script if"
        " --subword does, is 'none' with SentencePiece, and else 'moses'.",
    ),
    tokenized_option("Text is already tokenised. Its words are left unchanged."),
    option(
        "--hyphens",
        is_flag=True,
        help="Split words at hyphens, as tokenizer.perl -a does: 'well @-@ known'.",
    ),
    option(
        "--escape",
        is_flag=True,
        help="Write & ' \" | < > [ ] as XML entities, as tokenizer.perl does without -no-escape.",
    ),
    option(
        "--nfc/--no-nfc",
        default=None,
        help="Write characters with accents in one way, Unicode's form NFC."
        "  [default: --nfc, where words are found in raw text]",
    ),
    option(
        "--punctuation",
        is_flag=True,
        help="Replace quotation marks, dashes and spaces by plain ones, as"
        " normalize-punctuation.perl does. Translations have plain ones, too.",
    ),
    option(
        "--protected/--no-protected",
        default=None,
        help="Keep tags, entities, addresses, paths and placeholders whole, as tokenizer.perl"
        " -protected does.  [default: --protected, where words are found in raw text]",
    ),
    option(
        "--joiners/--no-joiners",
        default=None,
        help="Mark spacing that detokenisation would not restore by tokens, so that a model learns"
        " it: 'A ￭ / ￭ B'.  [default: --joiners, where words are found in raw text]",
    ),
    option(
        "--case",
        type=click.Choice(["keep", "truecase", "markers"]),
        default="keep",
        show_default=True,
        help="How case is kept. truecase: learn and apply Moses's truecasing; translations begin"
        " with a capital. markers: small letters, and tokens before words with capitals; undone"
        " exactly.",
    ),
    option(
        "--copy-names/--no-copy-names",
        default=None,
        help="Copy names and numbers that are rare in the training data: placeholders stand for"
        " them, in whose place 'translate' puts the names of its input.  [default: --copy-names, if"
        " BPE splits raw text with capitals]",
    ),
    option(
        "--markup",
        type=click.Choice(["html", "xml"]),
        help="Let symbols stand for inline markup, so that a model learns where it goes, for"
        " 'translate --markup'. Markup of pairs whose sides have not the same elements is left"
        " out.",
    ),
    option(
        "--no-language-check",
        is_flag=True,
        help="Do not look first whether the text is in the scripts and languages of -s and -t, and"
        " the sides are not swapped. Languages are looked at if the package py3langid is"
        " installed.",
    ),
    invalid_option,
)
@group(
    "Subwords",
    option(
        "--subword",
        type=click.Choice(["auto", "bpe", "sentencepiece", "none"]),
        default="auto",
        metavar="METHOD",
        common=True,
        help="Auto, bpe, sentencepiece or none. 'auto' chooses by the script: BPE if words are"
        " written apart and Moses has rules for both languages, else SentencePiece; BPE"
        " with --tokenized, --tokenizer moses, --bpe or --bpe-codes. It is 'none' for phrase tables"
        " without --subword-size, --bpe and --bpe-codes.",
    ),
    option(
        "--subword-size",
        type=click.IntRange(min=1),
        metavar="N",
        help="BPE merges or SentencePiece pieces to learn.  [default: 8,000 below 100,000 pairs,"
        " 16,000 below a million, else 32,000]",
    ),
    option(
        "--bpe",
        type=click.IntRange(min=1),
        metavar="N",
        help="Learn N BPE merges: --subword bpe --subword-size N.",
    ),
    option(
        "--bpe-separate",
        is_flag=True,
        help="Learn subwords on each side separately instead of on both together.",
    ),
    option(
        "--bpe-codes",
        type=FILE,
        multiple=True,
        callback=_at_most_two,
        metavar="FILE",
        help="Apply the merges of this subword-nmt file, or with --subword sentencepiece this"
        " model, whose normalisation is applied, too. Given twice, the first is for the source and"
        " the second for the target.",
    ),
    option(
        "--vocabulary-threshold",
        type=click.IntRange(min=0),
        metavar="N",
        help="Split pieces that are rarer than this in their side's training data again. 1: no text"
        " has a piece that its side never had.  [default: 1, with --bpe-codes 0]",
    ),
    option(
        "--glossary",
        "glossaries",
        multiple=True,
        metavar="REGEX",
        help="Do not split what this regular expression matches (BPE only). Repeatable.",
    ),
)
@cleaning_options
@group(HARDWARE, workers_option)
@force_option
def command(
    train: tuple[Any, ...],
    corpora: str | None,
    columns: tuple[int, int],
    tags: tuple[tuple[str, str], ...],
    phrase_table: str | None,
    dev: tuple[str, ...] | None,
    tests: dict[str, tuple[str, ...]],
    output: str,
    no_language_check: bool,
    dry_run: bool,
    **options: Any,
) -> None:
    r"""Turn raw parallel text, or a phrase table, into a prepared folder.

    Text is tokenised, cleaned and split into subwords. The folder holds the text ready for
    training, the subword models, a manifest with every setting, checksum and count, and what was
    dropped: all pairs in dropped.tsv.gz, numbers and samples in cleaning.html. It is written
    completely or not at all. Files are UTF-8, plain or compressed.

    Examples:
      nmtkit prepare -s en -t fr --train a.en a.fr --dev b.en b.fr -o out
      nmtkit prepare --train a.en a.fr --dev b.en b.fr -s en -t fr --bpe 10000 -o prepared
      nmtkit prepare -s en -t fr --train a.en a.fr --dev b.en b.fr --test news c.en c.fr -o prepared
      nmtkit prepare -s en -t fr --train news:2 a.en a.fr --train b.tmx \
        --dev c.en c.fr -o prepared
      nmtkit prepare --like model --train a.en a.fr --dev b.en b.fr -o domain
      nmtkit prepare -s en -t fr --train a.en a.fr --dry-run -o report
      nmtkit prepare -s en -t fr --phrase-table phrase-table.gz -o phrases

    """
    from dataclasses import replace

    from nmtkit.preprocessing.api import prepare
    from nmtkit.preprocessing.corpora import read_corpora, with_tags

    if phrase_table:
        options["tokenized"] = True
        if options["held_out"] is None and not dev:
            options["held_out"] = HELD_OUT_PHRASE_PAIRS
        training_data: Any = (phrase_table,)
    else:
        listed = read_corpora(corpora) if corpora else []
        named = [replace(corpus, columns=columns) for corpus in train]
        training_data = with_tags([*named, *listed], tags)
    given = {name: value for name, value in options.items() if value is not None}
    report = prepare(
        training_data,
        output,
        dev or None,
        tests,
        columns=columns,
        language_check=not no_language_check,
        dry_run=dry_run,
        **given,
    )
    if dry_run:
        from nmtkit.preprocessing.cleaning_report import table_lines

        click.echo("\n".join(table_lines(report)))
