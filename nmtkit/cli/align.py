"""`nmtkit align`: sentence pairs in, the alignments of their words out."""

import contextlib
import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nmtkit.cli.command import FILES, declare_command, group, option
from nmtkit.cli.console import line_bar, terminal_width, warn
from nmtkit.cli.old_spellings import Renamed
from nmtkit.cli.rules import different_files, excludes, exclusive, needs, one_stdin
from nmtkit.cli.shared_options import (
    FILE,
    FOLDER,
    PathName,
    force_option,
    json_option,
    model_option,
    model_run_options,
    output_option,
    params_option,
    tag_option,
    tokenized_option,
)
from nmtkit.cli.startup import configure_threads, importing
from nmtkit.cli.writers import alignment_line
from nmtkit.errors import counted

if TYPE_CHECKING:
    from nmtkit.inference.word_alignment import Alignment, LinkedPair


log = logging.getLogger("nmtkit")


NEED_TARGET = (
    *("TGT", "--soft", "--show", "--gold", "--lexicon", "--min-count"),
    *("--symmetrize", "--reverse-model", "--rounds"),
)
"""The argument TGT, and options that need it."""

NEED_WEIGHTS = ("--soft", "--show", "--plot", "--lexicon")
"""Options that need the weights of one direction."""


@declare_command(
    rules=[
        *excludes("--composition", *NEED_TARGET, because="it takes SRC alone"),
        exclusive("--composition", "--tag", because="a line may begin with its tag"),
        exclusive("--soft", "--show"),
        needs("--reverse-model", "--symmetrize"),
        exclusive("--tag", "--reverse-model", because="the tag is a word of one model alone"),
        *excludes("--symmetrize", *NEED_WEIGHTS, because="it has links, not weights"),
        needs("--min-count", "--lexicon"),
        needs("--format", "--plot"),
        needs("--json", "--gold", because="--soft writes alignments as JSON"),
        different_files("--output", "--lexicon"),
        one_stdin("SRC", "TGT", "--gold"),
    ],
    renamed=[
        Renamed("--structure", "--composition"),
        Renamed("--reference {GOLD}", "--gold {GOLD}"),
    ],
)
@click.argument("source", type=FILE, metavar="SRC")
@click.argument("target", type=FILE, metavar="[TGT]", required=False)
@group(
    FILES,
    model_option(),
    params_option,
    output_option("File of the alignments.  [default: stdout]", default=None),
    option(
        "--lexicon",
        type=FILE,
        metavar="FILE",
        common=True,
        help="Write a table of word translations. 'nmtkit translate --candidates' reads it."
        " Alignments are then written to --output only.",
    ),
    option(
        "--min-count",
        type=click.IntRange(min=1),
        metavar="N",
        help="Minimum number of links of a word pair in --lexicon.  [default: 1]",
    ),
    tokenized_option("SRC and TGT are already tokenised."),
    tag_option,
)
@group(
    "Links",
    option(
        "--rounds",
        type=click.IntRange(min=0),
        metavar="N",
        help="Rounds of learning which words translate each other, from the pairs themselves; 0:"
        " attention alone.  [default: 6, of weights 0]",
    ),
    option(
        "--symmetrize",
        type=click.Choice(["intersection", "union", "grow-diag-final-and"]),
        metavar="METHOD",
        common=True,
        help="Combine the links of both directions. METHOD is intersection, union or"
        " grow-diag-final-and (Koehn et al. 2003).",
    ),
    option(
        "--reverse-model",
        type=FOLDER,
        metavar="DIR",
        help="Model of the other direction, for --symmetrize. Its attention counts, too; --rounds 0"
        " needs it.",
    ),
)
@group(
    "Format",
    option(
        "--soft",
        is_flag=True,
        common=True,
        help="Write the attention weights of each pair as JSON.",
    ),
    option("--show", is_flag=True, common=True, help="Draw the weights with block characters."),
    option(
        "--plot",
        type=PathName(path_type=Path, file_okay=False),
        metavar="DIR",
        common=True,
        help="Draw a picture of each pair into this folder. They are named 000001.png and so on.",
    ),
    option(
        "--format",
        "picture_format",
        type=click.Choice(["png", "svg", "pdf"]),
        default="png",
        help="Format of the pictures.",
    ),
    option(
        "--composition",
        is_flag=True,
        help="Write how a grConv model composes each line of SRC, as JSON. --plot draws it.",
    ),
)
@group(
    "Evaluation",
    option(
        "--gold",
        type=FILE,
        metavar="GOLD",
        common=True,
        help="Print the alignment error rate against these links. Lines have 'i-j' (sure) and 'i?j'"
        " (possible), or NAACL 2003's format. Alignments are then written to --output only.",
    ),
    json_option("Print the alignment error rate as JSON."),
)
@model_run_options
@force_option
def command(
    source: str,
    target: str | None,
    model: str,
    params: str,
    output: str | None,
    soft: bool,
    show: bool,
    plot: Path | None,
    picture_format: str,
    composition: bool,
    gold: str | None,
    as_json: bool,
    lexicon: str | None,
    min_count: int | None,
    tokenized: bool,
    tag: str | None,
    rounds: int | None,
    symmetrize: str | None,
    reverse_model: str | None,
    batch_size: int,
    device: str,
    threads: int,
    force: bool,
) -> None:
    """Align the words of each line of SRC with those of the same line of TGT.

    Each pair gives one line: links 'i-j' from source word i to target word j, counted from 0. Every
    target word is linked to the source word with the highest weight, never to </s>. Which words
    translate each other is learned from all pairs, in both directions; some 30,000 are read first.
    Words are those after tokenisation; BPE pieces are joined. With --symmetrize words
    may have any number of links, or none. With --soft a line is a JSON object with the words, and
    for each target word the attention to the source words; both sides end with </s>. --show splits
    matrices that are wider than the terminal.

    A table of word translations has lines 'target source p(target|source)', as Moses's lex.f2e,
    ordered by source word, the most probable first. Words are the model's tokens, with BPE
    subwords; p is the share of the links of the source word that go to the target word. A table of
    the model's own training corpus makes translation faster; see docs/how-to/decode.md.

    With --composition a line is a JSON object with the words of the source, which end with </s>,
    and the levels of the pyramid over them: for each node the weights of its new activation, its
    left and its right child.

    Examples:
      nmtkit align -m model test.en test.fr > test.links
      head -3 test.en | nmtkit align -m model - first3.fr --plot pictures
      nmtkit align -m model test.en test.fr --gold test.gold
      nmtkit align -m model train.en train.fr --symmetrize grow-diag-final-and -o train.links
      nmtkit align -m model train.en train.fr --lexicon model/lexicon.gz

    """
    configure_threads(threads)
    if composition:
        _write_compositions(
            source,
            model,
            params,
            output,
            plot,
            picture_format,
            tokenized,
            batch_size,
            device,
            force,
        )
        return
    if symmetrize and rounds == 0 and not reverse_model:
        raise click.UsageError("--symmetrize with --rounds 0 needs --reverse-model.")
    if target is None:
        raise click.UsageError("Missing argument 'TGT'; only --composition takes SRC alone.")
    from nmtkit.io.lines import line_locator, open_output, read_lines, read_parallel

    gold_lines = list(read_lines(gold)) if gold else []
    if gold:
        from nmtkit.evaluation.aer import read_gold_links

        read_gold_links(gold_lines, gold)  # what is damaged is found before the work
    rounds = rounds if rounds is not None else 0 if soft or show or plot else None
    with contextlib.ExitStack() as stack:
        path = output or (None if gold or lexicon else "-")
        results = stack.enter_context(open_output(path, force)) if path else None
        bar = stack.enter_context(line_bar("align", "pairs", [source, target], path))
        width = terminal_width() if path == "-" else None
        table = stack.enter_context(open_output(lexicon, force)) if lexicon else None
        with importing():
            from nmtkit.inference.aligner import Aligner, symmetric_links
            from nmtkit.inference.side_check import swapped_files
            from nmtkit.inference.symmetrization import Symmetrization
            from nmtkit.inference.word_alignment import moses_links
            from nmtkit.model_folder import shared_parameters

        aligner = Aligner.load(model, device, batch_size, params)
        if message := swapped_files(aligner.model, source, target, tokenized):
            warn(message)
        aligner = aligner.with_tag(tag) if tag else aligner
        bar.follow(aligner.lines_done.count)  # all are scored before they are linked
        pairs = ((src, tgt) for src, tgt in read_parallel(source, target))
        pair_name = line_locator(source, target)
        aligned: list[LinkedPair] = []
        counts = None
        if table:
            from nmtkit.text.lexicon import LinkCounts

            counts = LinkCounts()
        lines: Iterator[tuple[str, LinkedPair]]
        if symmetrize:
            backward = None
            if reverse_model:
                params = shared_parameters(params)
                backward = Aligner.load(reverse_model, device, batch_size, params)
            method = Symmetrization(symmetrize)
            both = symmetric_links(aligner, backward, pairs, method, tokenized, pair_name, rounds)
            lines = ((moses_links(one.links), one) for one in both)
        else:
            alignments = aligner.align(pairs, tokenized, counts, pair_name, rounds)
            picture = f"{plot}/{{:06d}}.{picture_format}" if plot else None
            lines = _lines(alignments, soft, show, width, picture, force)
        for line, pair in lines:
            if results:
                results.write(line + "\n")
            if gold:
                aligned.append(pair)
        if table and counts:
            written = counts.write(table, min_count or 1)
            log.info("%s: %s of words", lexicon, counted(written, "pair"))
    if gold:
        click.echo(_format_error_rate(aligned, gold_lines, gold, as_json))


def _write_compositions(
    source: str,
    model: str,
    params: str,
    output: str | None,
    plot: Path | None,
    picture_format: str,
    tokenized: bool,
    batch_size: int,
    device: str,
    force: bool,
) -> None:
    from nmtkit.io.lines import open_output, read_lines

    path = output or "-"
    with open_output(path, force) as results, line_bar("compose", "lines", [source], path) as bar:
        with importing():
            from nmtkit.inference.composition import compositions
            from nmtkit.model_folder import load_model

        pyramids = compositions(
            load_model(model, device, params), read_lines(source), tokenized, batch_size
        )
        for number, pyramid in enumerate(bar.track(pyramids), start=1):
            levels = [[[round(w, 6) for w in node] for node in nodes] for nodes in pyramid.levels]
            table = {"words": pyramid.words, "levels": levels}
            results.write(json.dumps(table, ensure_ascii=False) + "\n")
            if plot:
                from nmtkit.io.sync import make_folder
                from nmtkit.report.composition import plot_composition

                make_folder(plot)
                plot_composition(
                    plot / f"{number:06d}.{picture_format}", pyramid.words, pyramid.levels, force
                )


def _lines(
    alignments: Iterable["Alignment"],
    soft: bool,
    show: bool,
    width: int | None,
    picture: str | None,
    force: bool,
) -> Iterator[tuple[str, "LinkedPair"]]:
    """Yield the line and the links of each pair, and draw it.

    :param picture: pattern of the pictures' paths, for a number; None: draw none.
    """
    from nmtkit.inference.word_alignment import LinkedPair

    for number, alignment in enumerate(alignments, start=1):
        if picture:
            _draw(Path(picture.format(number)), alignment, force)
        lengths = len(alignment.src_words), len(alignment.tgt_words)
        yield (
            _format_alignment(alignment, soft, show, width),
            LinkedPair(alignment.links(), lengths),
        )


def _format_alignment(alignment: "Alignment", soft: bool, show: bool, width: int | None) -> str:
    if not show:
        return alignment_line(alignment, "soft" if soft else "hard")
    from nmtkit.report.terminal import render_alignment

    text = render_alignment(alignment.columns, alignment.rows, alignment.matrix.numpy(), width)
    return text + "\n"


def _draw(path: Path, alignment: "Alignment", force: bool) -> None:
    from nmtkit.io.sync import make_folder
    from nmtkit.report.alignment import plot_alignment

    make_folder(path.parent)
    plot_alignment(path, alignment.columns, alignment.rows, alignment.matrix.numpy(), force)


def _format_error_rate(
    pairs: Sequence["LinkedPair"], lines: list[str], name: str, as_json: bool
) -> str:
    from nmtkit.evaluation.aer import alignment_error_rate, links_outside, read_gold_links

    gold = read_gold_links(lines, name, sentences=len(pairs))
    lengths = [pair.lengths for pair in pairs]
    if outside := links_outside(gold, lengths):
        number, (source, target) = outside[0]
        src, tgt = lengths[number - 1]
        warn(
            f"{name}: {counted(len(outside), 'link')} of words that are not there, first"
            f" {source}-{target} (from 0) of pair {number}, which has {src} and {tgt} words; is it"
            " of the same tokenisation and the same order of sides?"
        )
    rate = alignment_error_rate([set(pair.links) for pair in pairs], gold)
    if as_json:
        figures = asdict(rate)
        return json.dumps({"aer": figures.pop("value"), **figures})
    return (
        f"AER {rate.value:.4f}  precision {rate.precision:.4f}  recall {rate.recall:.4f}"
        f"  links {rate.links}  sure {rate.sure}  possible {rate.possible}"
    )
