"""`nmtkit shortlist`: a corpus in, the vocabulary of its most frequent words out."""

import click

from nmtkit.cli.command import FILES, declare_command, group, option
from nmtkit.cli.shared_options import FILE, force_option, output_option

VOCABULARY_SIZE = click.IntRange(min=3)
"""Vocabulary size: `</s>`, `<unk>` and at least one word of the corpus."""


@declare_command()
@click.argument("corpus", type=FILE)
@group(
    FILES,
    output_option(
        "Vocabulary file, if CORPUS is a file. '-' is stdout.  [default: -]", default=None
    ),
)
@group(
    "Size",
    option(
        "--size",
        type=VOCABULARY_SIZE,
        default=30000,
        metavar="K",
        common=True,
        help="Vocabulary size, </s> and <unk> included.",
    ),
    option(
        "--src-size",
        type=VOCABULARY_SIZE,
        metavar="K",
        common=True,
        help="Size of the source vocabulary.  [default: --size]",
    ),
    option(
        "--tgt-size",
        type=VOCABULARY_SIZE,
        metavar="K",
        common=True,
        help="Size of the target vocabulary.  [default: --size]",
    ),
)
@force_option
def command(
    corpus: str,
    size: int,
    src_size: int | None,
    tgt_size: int | None,
    output: str | None,
    force: bool,
) -> None:
    """Make the vocabulary of the K most frequent words of CORPUS ("shortlist").

    CORPUS is a prepared folder, into which vocab.src and vocab.tgt are written, or a tokenised
    file. Each line of a vocabulary has a word, a tab and its count; equally frequent words are in
    code point order. The share of the corpus that the vocabulary covers is logged.

    The papers call this vocabulary a shortlist; Marian calls it the vocabulary, and what it calls a
    shortlist is --candidates of 'nmtkit translate'.

    Examples:
      nmtkit shortlist prepared --size 30000
      nmtkit shortlist corpus.tok.fr.gz --size 15000 -o vocab.fr

    """
    from pathlib import Path

    from nmtkit.preprocessing.shortlists import write_shortlist, write_shortlists

    if Path(corpus).is_dir():
        if output is not None:
            raise click.UsageError(
                "--output needs a file as CORPUS; a prepared folder gets vocab.src and vocab.tgt."
            )
        write_shortlists(corpus, src_size or size, tgt_size or size, force)
    elif src_size or tgt_size:
        raise click.UsageError(
            "--src-size and --tgt-size need a prepared folder as CORPUS; use --size."
        )
    else:
        write_shortlist(corpus, size, output or "-", force)
