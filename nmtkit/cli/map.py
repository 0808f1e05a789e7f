"""`nmtkit map`: vectors in, their points in the plane and a picture out."""

from pathlib import Path
from typing import Literal

import click

from nmtkit.cli.command import FILES, declare_command, group, option
from nmtkit.cli.rules import needs
from nmtkit.cli.shared_options import FILE, FloatRange, force_option, output_option, plot_option


@declare_command(
    rules=[
        needs("--perplexity", "--method tsne"),
        needs("--seed", "--method tsne"),
        needs("--zoom", "--plot"),
        needs("--nearest", "--zoom"),
    ]
)
@click.argument("vectors", type=FILE, metavar="VECTORS")
@group(
    FILES,
    output_option("File of the points.  [default: -, unless --plot]", default=None),
)
@group(
    "Projection",
    option(
        "--method",
        type=click.Choice(["pca", "tsne", "none"]),
        common=True,
        help="Method. 'none' takes vectors of two numbers as points.  [default: pca, or none]",
    ),
    option(
        "--perplexity",
        type=FloatRange(min=1),
        metavar="P",
        common=True,
        help="Neighbours that t-SNE considers.  [default: 30]",
    ),
    option(
        "--seed",
        type=click.IntRange(min=0, max=(1 << 32) - 1),
        metavar="N",
        common=True,
        help="Seed of t-SNE.  [default: 1]",
    ),
)
@group(
    "Picture",
    plot_option("Draw the map"),
    option(
        "--zoom",
        "zooms",
        multiple=True,
        metavar="TEXT",
        common=True,
        help="Draw the region around a text enlarged. Repeatable.",
    ),
    option(
        "--nearest",
        type=click.IntRange(min=2),
        metavar="N",
        common=True,
        help="Texts in such a region.  [default: 40]",
    ),
)
@force_option
def command(
    vectors: str,
    plot: Path | None,
    method: Literal["pca", "tsne", "none"] | None,
    perplexity: float | None,
    seed: int | None,
    zooms: tuple[str, ...],
    nearest: int | None,
    output: str | None,
    force: bool,
) -> None:
    """Project vectors into the plane, and draw them as a map.

    VECTORS has a line for each text: the text and its numbers, separated by tabs, as 'nmtkit embed'
    writes them; '-' is stdin. The points are written in the same format, to be drawn again with
    other regions.

    Principal components (pca) show the two directions in which the vectors differ most; Barnes-Hut
    t-SNE (tsne) keeps neighbours together, and takes a minute for 5,000 vectors. Labels are drawn
    where there is room; earlier lines have priority.

    Examples:
      nmtkit map sentences.tsv --plot sentences.svg
      nmtkit map words.tsv --method tsne -o points.tsv
      nmtkit map points.tsv --plot words.png --zoom dog --zoom three

    """
    from nmtkit.io.lines import open_output
    from nmtkit.io.vectors import read_vectors, write_vectors
    from nmtkit.report.map import check_map, make_map, plot_map

    check_map(plot, method, len(zooms), force)
    texts, numbers = read_vectors(vectors)
    method = method or ("none" if numbers.shape[1] == 2 else "pca")
    text_map = make_map(texts, numbers, method, perplexity or 30.0, 1 if seed is None else seed)
    if output or not plot:
        with open_output(output or "-", force) as results:
            write_vectors(results, zip(text_map.texts, text_map.positions.tolist(), strict=True))
    if plot:
        plot_map(plot, text_map, zooms, nearest or 40, force)
