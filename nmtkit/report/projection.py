"""Projection of vectors into the plane, by PCA or Barnes-Hut t-SNE.

PCA (figure 2 of Sutskever et al. 2014): the two directions of largest variance.
Barnes-Hut t-SNE (van der Maaten 2013; figures 4 and 5 of Cho et al. 2014): preserves near
neighbours; distances between clusters mean little.

Departures and readings:

- The papers do not say how they ran t-SNE. As in van der Maaten 2013, PCA first reduces the
  vectors to at most 50 dimensions; perplexity and seed can be set. The initial positions come from
  PCA, so that the seed changes little.
- The sign of a PCA axis is arbitrary: the vector farthest out gets the positive side.
"""

import numpy as np
from numpy.typing import NDArray

from nmtkit.errors import ConfigError, NmtkitError
from nmtkit.extras import install_command
from nmtkit.io.vectors import Vectors

PCA_DIMENSIONS = 50
"""Largest number of input dimensions of t-SNE (van der Maaten 2013, section 5)."""

DEFAULT_PERPLEXITY = 30.0
"""Effective number of neighbours of each vector; lowered for few vectors."""

INITIAL_STD = 1e-4
"""Standard deviation of the initial positions along x."""

MIN_TSNE_VECTORS = 4
"""Smallest number of vectors for which t-SNE is meaningful."""


def principal_components(vectors: Vectors, count: int = 2) -> tuple[Vectors, NDArray[np.float64]]:
    """Project vectors onto their directions of largest variance.

    :param vectors: Shape: [N, size].
    :param count: Number of components; components that the vectors do not have are 0.
    :return: Positions [N, count] and each component's share of the variance [count].
    """
    centered = vectors - vectors.mean(axis=0)
    left, singular_values, _ = np.linalg.svd(centered, full_matrices=False)
    positions = np.zeros((len(vectors), count))
    variance_shares = np.zeros(count)
    rank = min(count, len(singular_values))
    positions[:, :rank] = left[:, :rank] * singular_values[:rank]
    variance_shares[:rank] = singular_values[:rank] ** 2 / max(
        float((singular_values**2).sum()), np.finfo(float).tiny
    )
    farthest = positions[np.abs(positions).argmax(axis=0), np.arange(count)]
    return positions * np.where(farthest < 0, -1.0, 1.0), variance_shares


def tsne(vectors: Vectors, perplexity: float = DEFAULT_PERPLEXITY, seed: int = 1) -> Vectors:
    """Project vectors into the plane by Barnes-Hut t-SNE.

    :param vectors: Shape: [N, size].
    :param perplexity: Lowered to a third of the number of vectors if these are few.
    :return: Shape: [N, 2].
    :raises ConfigError: There are fewer than `MIN_TSNE_VECTORS` vectors.
    :raises NmtkitError: Scikit-learn is not installed.
    """
    check_sklearn()
    from sklearn.manifold import TSNE

    if len(vectors) < MIN_TSNE_VECTORS:
        raise ConfigError(
            f"t-SNE needs at least {MIN_TSNE_VECTORS} vectors, got {len(vectors)}; use --method pca"
        )
    components, _ = principal_components(vectors, max(2, min(PCA_DIMENSIONS, *vectors.shape)))
    initial_positions = components[:, :2] * (
        INITIAL_STD / max(float(components[:, 0].std()), np.finfo(float).tiny)
    )
    projected = TSNE(
        perplexity=min(perplexity, (len(vectors) - 1) / 3),
        method="barnes_hut",
        init=initial_positions.astype(np.float32),
        learning_rate="auto",
        random_state=seed,
    ).fit_transform(components.astype(np.float32))
    return np.asarray(projected, dtype=float)


def check_sklearn() -> None:
    """Raise if t-SNE cannot be computed; call it before vectors are read.

    :raises NmtkitError: Scikit-learn is not installed.
    """
    try:
        import sklearn.manifold  # noqa: F401
    except ImportError as error:
        raise NmtkitError(
            "t-SNE needs scikit-learn, which is not installed; use --method pca, or run: "
            + install_command("plots")
        ) from error
