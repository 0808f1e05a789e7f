"""`nmtkit align`: sentence pairs in, the alignments of their words out."""

import contextlib
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nmtkit.cli.common import (
    batch_size_option,
    configure_threads,
    device_option,
    force_option,
    importing,
    terminal_width,
    threads_option,
)
from nmtkit.cli.writers import alignment_line

if TYPE_CHECKING:
    from nmtkit.inference.aligner import Alignment


log = logging.getLogger("nmtkit")


@click.command()
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="[TGT]", required=False)
@click.option("-m", "--model", required=True, metavar="DIR", help="A model folder.")
@click.option(
    "-o", "--output", metavar="FILE", help="Where the alignments are written.  [default: stdout]"
)
@click.option("--soft", is_flag=True, help="Write the whole matrix of each pair, as JSON.")
@click.option("--show", is_flag=True, help="Draw the matrix of each pair with block characters.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Also draw each pair as a picture into this folder: 000001.png and so on.",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["png", "svg", "pdf"]),
    default="png",
    help="The kind of picture that --plot draws.",
)
@click.option(
    "--structure",
    is_flag=True,
    help="Write instead what a grConv model makes of each line of SRC, as JSON; --plot draws it.",
)
@click.option(
    "--reference",
    metavar="GOLD",
    help="Print the alignment error rate against these links: lines of 'i-j' (sure) and 'i?j'"
    " (possible), or NAACL 2003's form. Alignments are then written to --output only.",
)
@click.option(
    "--lexicon",
    metavar="FILE",
    help="Write a table of word translations, for 'nmtkit translate --candidates'. Alignments are"
    " then written to --output only.",
)
@click.option(
    "--min-count",
    type=click.IntRange(min=1),
    metavar="N",
    help="For --lexicon: leave out pairs of words that were linked less often.  [default: 1]",
)
@click.option("--tokenized", is_flag=True, help="Both files are tokenised already.")
@batch_size_option
@device_option
@threads_option
@force_option
def command(
    source: str,
    target: str | None,
    model: str,
    output: str | None,
    soft: bool,
    show: bool,
    plot: Path | None,
    kind: str,
    structure: bool,
    reference: str | None,
    lexicon: str | None,
    min_count: int | None,
    tokenized: bool,
    batch_size: int,
    device: str,
    threads: int,
    force: bool,
) -> None:
    """Align the words of each line of SRC with those of the same line of TGT.

    One line is written for each pair: links 'i-j' from source word i to target word j, counted
    from 0, every target word with the source word that the model looked at most, and never the
    end of a sentence. Words are those after tokenising; pieces of words (BPE) are joined. The
    soft form is a JSON object with the words, and for each target word the weights of the source
    words; both sides end with </s>. Drawings of --show are cut to the width of a terminal.

    A table of word translations has lines 'target source p(target|source)', as Moses's lex.f2e,
    by source word, the most probable first. Words are those that the model reads, with BPE pieces
    of words; p is the share of the links of the source word that go to the target word. Made of
    the model's own training corpus it makes translating faster; see docs/how-to/decode.md.

    A structure is a JSON object with the words of the source, which end with </s>, and the levels
    of the pyramid over them: for each node how much of it is new, its left, and its right child.

    \b
    Examples:
      nmtkit align --model model test.en test.fr > test.links
      head -3 test.en | nmtkit align --model model - first3.fr --plot pictures
      nmtkit align --model model test.en test.fr --reference test.gold
      nmtkit align --model model train.en train.fr --lexicon model/lexicon.gz
    """
    if soft and show:
        raise click.UsageError("--soft and --show exclude each other.")
    if structure:
        if target or soft or show or reference or lexicon or min_count:
            raise click.UsageError("--structure takes SRC alone, and of these options only --plot.")
        configure_threads(threads)
        _write_structures(source, model, output, plot, kind, tokenized, batch_size, device, force)
        return
    if target is None:
        raise click.UsageError("Missing argument 'TGT'; --structure alone does without.")
    if min_count and not lexicon:
        raise click.UsageError("--min-count belongs to --lexicon.")
    if lexicon and lexicon == output:
        raise click.UsageError("--output and --lexicon need different files.")
    configure_threads(threads)
    from nmtkit.io.lines import line_locator, open_output, read_lines, read_parallel

    gold = list(read_lines(reference)) if reference else []
    with contextlib.ExitStack() as stack:
        wanted = output or (None if reference or lexicon else "-")
        results = stack.enter_context(open_output(wanted, force)) if wanted else None
        width = terminal_width() if wanted == "-" else None
        table = stack.enter_context(open_output(lexicon, force)) if lexicon else None
        with importing():
            from nmtkit.inference.aligner import Aligner
            from nmtkit.text.lexicon import LinkCounts

        aligner = Aligner.load(model, device=device, batch_size=batch_size)
        pairs = ((src, tgt) for src, tgt in read_parallel(source, target))
        found: list[set[tuple[int, int]]] = []
        counts = LinkCounts() if table else None
        place = line_locator(source, target)
        alignments = aligner.align(pairs, tokenized, counts, place)
        for number, alignment in enumerate(alignments, start=1):
            if results:
                results.write(_text(alignment, soft, show, width) + "\n")
            if plot:
                _draw(plot / f"{number:06d}.{kind}", alignment, force)
            if reference:
                found.append(set(alignment.links()))
        if table and counts:
            log.info("%s: %d pairs of words", lexicon, counts.write(table, min_count or 1))
    if reference:
        click.echo(_error_rate(found, gold, reference))


def _write_structures(
    source: str,
    model: str,
    output: str | None,
    plot: Path | None,
    kind: str,
    tokenized: bool,
    batch_size: int,
    device: str,
    force: bool,
) -> None:
    from nmtkit.io.lines import open_output, read_lines

    with open_output(output or "-", force) as results:
        with importing():
            from nmtkit.inference.composition import compositions
            from nmtkit.model_folder import load_model

        found = compositions(load_model(model, device), read_lines(source), tokenized, batch_size)
        for number, of_line in enumerate(found, start=1):
            levels = [[[round(w, 6) for w in node] for node in nodes] for nodes in of_line.levels]
            table = {"words": of_line.words, "levels": levels}
            results.write(json.dumps(table, ensure_ascii=False) + "\n")
            if plot:
                from nmtkit.report.composition import plot_composition

                plot.mkdir(parents=True, exist_ok=True)
                plot_composition(
                    plot / f"{number:06d}.{kind}", of_line.words, of_line.levels, force
                )


def _text(alignment: "Alignment", soft: bool, show: bool, width: int | None) -> str:
    if not show:
        return alignment_line(alignment, "soft" if soft else "hard")
    from nmtkit.report.terminal import render_alignment

    drawn = render_alignment(alignment.columns, alignment.rows, alignment.matrix.numpy(), width)
    return drawn + "\n"


def _draw(path: Path, alignment: "Alignment", force: bool) -> None:
    from nmtkit.report.alignment import plot_alignment

    path.parent.mkdir(parents=True, exist_ok=True)
    plot_alignment(path, alignment.columns, alignment.rows, alignment.matrix.numpy(), force)


def _error_rate(links: list[set[tuple[int, int]]], gold: list[str], name: str) -> str:
    from nmtkit.evaluation.aer import alignment_error_rate, read_gold_links

    rate = alignment_error_rate(links, read_gold_links(gold, name, sentences=len(links)))
    return (
        f"AER {rate.value:.4f}  precision {rate.precision:.4f}  recall {rate.recall:.4f}"
        f"  links {rate.links}  sure {rate.sure}  possible {rate.possible}"
    )
