"""Vectors brought into the plane, to be drawn.

PCA (figure 2 of Sutskever et al. 2014): the two directions in which the vectors differ most.
Barnes-Hut t-SNE (van der Maaten 2013; figures 4 and 5 of Cho et al. 2014): places whose near
neighbours are those of the vectors; distances between groups mean little.

Departures and readings:

- The papers do not say how they ran t-SNE. Before it the vectors are brought to at most 50
  directions by PCA, as van der Maaten does; perplexity and seed can be given. It starts from PCA,
  so that another seed changes little.
- The sign of a PCA axis is arbitrary: of each, the vector farthest out is put on the positive side.
"""

import numpy as np
from numpy.typing import NDArray

from nmtkit.errors import ConfigError, NmtkitError
from nmtkit.io.vectors import Vectors

DIRECTIONS = 50
"""What t-SNE is given at most (van der Maaten 2013, section 5)."""

PERPLEXITY = 30.0
"""About how many near neighbours of each vector t-SNE looks at; fewer where there are few."""

START = 1e-4
"""Standard deviation of the first places along x."""

LEAST = 4
"""Vectors for which t-SNE means anything."""


def principal_components(vectors: Vectors, count: int = 2) -> tuple[Vectors, NDArray[np.float64]]:
    """The vectors by the directions in which they differ most.

    :param vectors: Shape: [N, size].
    :param count: directions; what the vectors do not have is 0.
    :return: places [N, count], and what share of the variance each direction has [count].
    """
    centred = vectors - vectors.mean(axis=0)
    left, spread, _ = np.linalg.svd(centred, full_matrices=False)
    places = np.zeros((len(vectors), count))
    shares = np.zeros(count)
    found = min(count, len(spread))
    places[:, :found] = left[:, :found] * spread[:found]
    shares[:found] = spread[:found] ** 2 / max(float((spread**2).sum()), np.finfo(float).tiny)
    farthest = places[np.abs(places).argmax(axis=0), np.arange(count)]
    return places * np.where(farthest < 0, -1.0, 1.0), shares


def neighbours_in_the_plane(
    vectors: Vectors, perplexity: float = PERPLEXITY, seed: int = 1
) -> Vectors:
    """The vectors' places by Barnes-Hut t-SNE.

    :param vectors: Shape: [N, size].
    :param perplexity: lowered to a third of the vectors where they are few.
    :return: Shape: [N, 2].
    :raises ConfigError: there are fewer than 4 vectors.
    :raises NmtkitError: scikit-learn is not installed.
    """
    check_sklearn()
    from sklearn.manifold import TSNE

    if len(vectors) < LEAST:
        raise ConfigError(
            f"t-SNE needs {LEAST} vectors or more, here are {len(vectors)}; use --method pca"
        )
    directions, _ = principal_components(vectors, max(2, min(DIRECTIONS, *vectors.shape)))
    start = directions[:, :2] * (START / max(float(directions[:, 0].std()), np.finfo(float).tiny))
    found = TSNE(
        perplexity=min(perplexity, (len(vectors) - 1) / 3),
        method="barnes_hut",
        init=start.astype(np.float32),
        learning_rate="auto",
        random_state=seed,
    ).fit_transform(directions.astype(np.float32))
    return np.asarray(found, dtype=float)


def check_sklearn() -> None:
    """See that t-SNE can be computed, before its vectors are read.

    :raises NmtkitError: scikit-learn is not installed.
    """
    try:
        import sklearn.manifold  # noqa: F401
    except ImportError as error:
        raise NmtkitError(
            't-SNE needs scikit-learn, which is not installed; run pip install "nmtkit[plots]", or'
            " use --method pca"
        ) from error
