"""`nmtkit embed`: sentences or the words of a vocabulary in, their vectors out."""

import logging
from typing import Literal

import click

from nmtkit.cli.common import (
    batch_size_option,
    configure_threads,
    device_option,
    force_option,
    importing,
    threads_option,
)

log = logging.getLogger("nmtkit")


@click.command()
@click.argument("text", metavar="[TEXT]", required=False)
@click.option("-m", "--model", required=True, metavar="DIR", help="A model folder.")
@click.option(
    "--words",
    type=click.Choice(["source", "target"]),
    help="Give instead the words of this side's vocabulary, the most frequent first.",
)
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="For --words: so many at most."
)
@click.option(
    "-o",
    "--output",
    default="-",
    metavar="FILE",
    show_default="stdout",
    help="Where the vectors are written.",
)
@click.option("--tokenized", is_flag=True, help="TEXT is tokenised already.")
@batch_size_option
@device_option
@threads_option
@force_option
def command(
    text: str | None,
    model: str,
    words: Literal["source", "target"] | None,
    limit: int | None,
    output: str,
    tokenized: bool,
    batch_size: int,
    device: str,
    threads: int,
    force: bool,
) -> None:
    """Give the vector that a model makes of each line of TEXT, source sentences or phrases.

    A line is written for each: the text, and the numbers of its vector, with tabs between.
    'nmtkit map' draws them. TEXT is stdin where it is left out.

    The vector of a sentence is what the model itself takes for the whole of it: the summary c
    (rnnenc, grconv, phrase-rnn), or the hidden states and cells of all layers (deep-lstm).
    RNNsearch has no such vector; it gives the backward state at the first word. The vector of
    a word is its row of the embedding matrix.

    \b
    Examples:
      nmtkit embed --model model sentences.en > sentences.tsv
      nmtkit embed --model model --words target --limit 5000 | nmtkit map - --plot words.png
    """
    if words and (text or tokenized):
        raise click.UsageError("--words takes no TEXT: it is about the model's own words.")
    if limit and not words:
        raise click.UsageError("--limit belongs to --words.")
    configure_threads(threads)
    from nmtkit.io.lines import open_output, read_lines
    from nmtkit.io.vectors import write_vectors

    with open_output(output, force) as results:
        with importing():
            from nmtkit.inference.embedder import Embedder

        embedder = Embedder.load(model, device, batch_size)
        if words:
            embeddings = embedder.embed_words(words, limit or 0)
        else:
            embeddings = embedder.embed(read_lines(text or "-"), tokenized)
        log.info("%d vectors", write_vectors(results, embeddings))
