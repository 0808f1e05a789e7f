"""`nmtkit shortlist`: the most frequent words of a corpus."""

import click

from nmtkit.cli.common import force_option

SIZE = click.IntRange(min=3)


@click.command(
    epilog="Examples: nmtkit shortlist prepared --size 30000;"
    " nmtkit shortlist corpus.tok.fr.gz --size 15000 --output vocab.fr"
)
@click.argument("corpus", type=click.Path(allow_dash=True))
@click.option(
    "--size",
    type=SIZE,
    default=30000,
    show_default=True,
    metavar="K",
    help="How many words to keep, </s> and <unk> counted.",
)
@click.option("--src-size", type=SIZE, metavar="K", help="As --size, for the source alone.")
@click.option("--tgt-size", type=SIZE, metavar="K", help="As --size, for the target alone.")
@click.option(
    "--output",
    type=click.Path(allow_dash=True),
    metavar="FILE",
    help="The vocabulary file to write, where CORPUS is a file; '-' is stdout.  [default: -]",
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
    """List the most frequent words of CORPUS, and report how much of it they cover.

    CORPUS is a prepared folder, which gets the files vocab.src and vocab.tgt, or a tokenised
    file. Of equally frequent words those come first whose characters do. Each line has a word, a
    tab and its count.
    """
    from pathlib import Path

    from nmtkit.preprocessing.prepare import cut_shortlist, cut_shortlists

    if Path(corpus).is_dir():
        if output is not None:
            raise click.UsageError(
                "--output is for a file; a prepared folder gets vocab.src and vocab.tgt."
            )
        cut_shortlists(corpus, src_size or size, tgt_size or size, force)
    elif src_size or tgt_size:
        raise click.UsageError("--src-size and --tgt-size are for a prepared folder; use --size.")
    else:
        cut_shortlist(corpus, size, output or "-", force)
