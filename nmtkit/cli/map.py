"""`nmtkit map`: vectors in, their places in the plane and a picture out."""

from pathlib import Path
from typing import Literal

import click

from nmtkit.cli.common import force_option


@click.command()
@click.argument("vectors", metavar="VECTORS")
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw the map; the ending says how: .png, .svg or .pdf.",
)
@click.option(
    "--method",
    type=click.Choice(["pca", "tsne", "none"]),
    help="How vectors come into the plane; 'none' is for those that are places already.  [default:"
    " pca, but none for vectors of two numbers]",
)
@click.option(
    "--perplexity",
    type=click.FloatRange(min=1),
    metavar="P",
    help="For t-SNE: about how many near neighbours of each count.  [default: 30]",
)
@click.option("--seed", type=click.IntRange(min=0), metavar="S", help="For t-SNE.  [default: 1]")
@click.option(
    "--zoom",
    "zooms",
    multiple=True,
    metavar="TEXT",
    help="Draw the region around this text once more, larger; may be given several times.",
)
@click.option(
    "--nearest",
    type=click.IntRange(min=2),
    metavar="N",
    help="For --zoom: texts in such a region.  [default: 40]",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Where the places are written.  [default: stdout, but nowhere with --plot]",
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
    """Bring vectors into the plane, and draw them as a map.

    VECTORS has a line for each text: the text and its numbers, with tabs between, as 'nmtkit embed'
    writes them; '-' is stdin. Places are written in the same form, and so can be drawn again with
    other regions.

    Principal components (pca) show the two directions in which the vectors differ most; with
    Barnes-Hut t-SNE (tsne) neighbours stay neighbours, which takes a minute for 5,000 vectors.
    Labels are written as far as there is room, those of the first lines first.

    \b
    Examples:
      nmtkit map sentences.tsv --plot sentences.svg
      nmtkit map words.tsv --method tsne --output places.tsv
      nmtkit map places.tsv --plot words.png --zoom dog --zoom three
    """
    if (perplexity or seed is not None) and method != "tsne":
        raise click.UsageError("--perplexity and --seed belong to --method tsne.")
    if (zooms or nearest) and not plot:
        raise click.UsageError("--zoom and --nearest belong to --plot.")
    if nearest and not zooms:
        raise click.UsageError("--nearest belongs to --zoom.")
    from nmtkit.io.lines import open_output
    from nmtkit.io.vectors import read_vectors, write_vectors
    from nmtkit.report.map import check_map, make_map, plot_map

    check_map(plot, method, len(zooms), force)
    texts, numbers = read_vectors(vectors)
    chosen = method or ("none" if numbers.shape[1] == 2 else "pca")
    drawn = make_map(texts, numbers, chosen, perplexity or 30.0, 1 if seed is None else seed)
    if output or not plot:
        with open_output(output or "-", force) as results:
            write_vectors(results, zip(drawn.texts, drawn.positions.tolist(), strict=True))
    if plot:
        plot_map(plot, drawn, zooms, nearest or 40, force)
