"""Options of `prepare` that name training corpora, dev and test sets."""

from collections.abc import Sequence
from typing import Any

import click

from nmtkit.cli.command import option
from nmtkit.cli.file_options import file_values_option
from nmtkit.cli.shared_options import FILE


def _parse_train(values: Sequence[str]) -> Any:
    from nmtkit.preprocessing.corpora import parse_corpus

    return parse_corpus(values)


def parse_pair_of_files(values: Sequence[str]) -> Any:
    """Read the values of an option that takes SRC TGT, or one TSV or TMX file."""
    from nmtkit.preprocessing.corpora import parse_bitext

    return parse_bitext(values)


def _parse_test(values: Sequence[str]) -> Any:
    from nmtkit.preprocessing.corpora import parse_test_set

    return parse_test_set(values)


def _unique_names(
    context: click.Context, parameter: click.Parameter, tests: tuple[Any, ...]
) -> dict[str, Any]:
    files_by_name = {test.name: test.files for test in tests}
    if len(files_by_name) < len(tests):
        raise click.BadParameter("two test sets have the same name; give each its own.")
    return files_by_name


TRAIN_OPTIONS = (
    file_values_option(
        "--train",
        parse=_parse_train,
        multiple=True,
        metavar="SRC TGT",
        common=True,
        help="Training corpus. Line n of SRC and line n of TGT translate each other; or one file"
        " holds both: TSV, TMX, or a zip file of OPUS. A name may precede the files, with a weight:"
        " NAME:2 SRC TGT uses each pair twice in every epoch, NAME:0.5 in every second one."
        " Repeatable.",
    ),
    option(
        "--corpora",
        type=FILE,
        metavar="FILE",
        help="Training corpora in a TOML file, a table for each: [NAME], files = [SRC, TGT],"
        " weight, tag. Paths are relative to the file.",
    ),
    option(
        "--columns",
        type=(click.IntRange(min=1), click.IntRange(min=1)),
        default=(1, 2),
        metavar="SRC TGT",
        help="Columns of source and target in TSV files of --train, --dev and --test.",
    ),
    option(
        "--tag",
        "tags",
        type=(str, str),
        multiple=True,
        metavar="NAME TAG",
        help="Put the word TAG, such as <news>, before each source line of a corpus, as one token."
        " 'translate --tag' does the same. Repeatable.",
    ),
)

dev_option = file_values_option(
    "--dev",
    parse=parse_pair_of_files,
    metavar="SRC TGT",
    common=True,
    help="Validation set. Every line is kept. One file may hold both sides.",
)

test_option = file_values_option(
    "--test",
    "tests",
    parse=_parse_test,
    multiple=True,
    callback=_unique_names,
    metavar="NAME SRC TGT",
    common=True,
    help="Test set, and the name of its files. Every line is kept. One file may hold both"
    " sides. Repeatable.",
)
