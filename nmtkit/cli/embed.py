"""`nmtkit embed`: sentences or the words of a vocabulary in, their vectors out."""

import logging
from typing import Literal

import click

from nmtkit.cli.command import FILES, TEXT, declare_command, group, option
from nmtkit.cli.console import line_bar
from nmtkit.cli.old_spellings import Renamed
from nmtkit.cli.rules import excludes, needs
from nmtkit.cli.shared_options import (
    FILE,
    force_option,
    model_option,
    model_run_options,
    output_option,
    params_option,
    tokenized_option,
)
from nmtkit.cli.startup import configure_threads, importing
from nmtkit.errors import counted

log = logging.getLogger("nmtkit")


@declare_command(
    rules=[
        *excludes("--vocabulary", "TEXT", "--tokenized", because="it takes no text"),
        needs("--limit", "--vocabulary"),
    ],
    renamed=[Renamed("--words {SIDE}", "--vocabulary {SIDE}")],
)
@click.argument("text", type=FILE, metavar="[TEXT]", required=False)
@group(
    FILES,
    model_option(),
    params_option,
    output_option("File of the vectors."),
)
@group(
    TEXT,
    tokenized_option("TEXT is already tokenised."),
    option(
        "--vocabulary",
        type=click.Choice(["source", "target"]),
        common=True,
        help="Words of this vocabulary instead of TEXT. The most frequent come first.",
    ),
    option(
        "--limit",
        type=click.IntRange(min=1),
        metavar="N",
        common=True,
        help="Only the first N words of --vocabulary.",
    ),
)
@model_run_options
@force_option
def command(
    text: str | None,
    model: str,
    params: str,
    vocabulary: Literal["source", "target"] | None,
    limit: int | None,
    output: str,
    tokenized: bool,
    batch_size: int,
    device: str,
    threads: int,
    force: bool,
) -> None:
    """Compute the vector of each line of TEXT: source sentences or phrases.

    Each gives one line: the text and the numbers of its vector, separated by tabs. 'nmtkit map'
    draws them. TEXT is stdin by default.

    The vector of a sentence is the representation that the decoder gets: the summary c (rnnenc,
    grconv, phrase-rnn), or the hidden states and cells of all layers (deep-lstm). RNNsearch has no
    such vector; the backward state at the first word is used. The vector of a word is its row of
    the embedding matrix.

    Examples:
      nmtkit embed --model model sentences.en > sentences.tsv
      nmtkit embed -m model --vocabulary target --limit 5000 | nmtkit map - --plot words.png

    """
    configure_threads(threads)
    from nmtkit.io.lines import open_output, read_lines
    from nmtkit.io.vectors import write_vectors

    files = [] if vocabulary else [text or "-"]
    with open_output(output, force) as results, line_bar("embed", "lines", files, output) as bar:
        with importing():
            from nmtkit.inference.embedder import Embedder

        embedder = Embedder.load(model, device, batch_size, params)
        if vocabulary:
            vectors = embedder.embed_words(vocabulary, limit or 0)
        else:
            vectors = embedder.embed(read_lines(text or "-"), tokenized)
        log.info("%s", counted(write_vectors(results, bar.track(vectors)), "vector"))
