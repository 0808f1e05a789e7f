"""Vectors in the plane: PCA against its definition, t-SNE by what it promises."""

import sys

import numpy as np
import pytest

from nmtkit.errors import ConfigError, NmtkitError
from nmtkit.report.projection import neighbours_in_the_plane, principal_components

RANDOM = np.random.default_rng(3)
VECTORS = RANDOM.standard_normal((40, 6)) * np.array([5.0, 3, 1, 1, 0.5, 0.1]) + 7


def test_the_components_are_those_of_the_covariance_matrix():
    """Computed from its definition: eigenvectors of sum (x - mean)(x - mean)^T, largest first."""
    mean = sum(VECTORS) / len(VECTORS)
    covariance = np.zeros((6, 6))
    for vector in VECTORS:
        covariance += np.outer(vector - mean, vector - mean)
    values, directions = np.linalg.eigh(covariance)
    places, shares = principal_components(VECTORS, 3)
    for axis in range(3):
        expected = (VECTORS - mean) @ directions[:, -1 - axis]
        sign = np.sign(expected @ places[:, axis])
        np.testing.assert_allclose(places[:, axis], sign * expected, atol=1e-9)
        assert shares[axis] == pytest.approx(values[-1 - axis] / values.sum())


def test_all_components_keep_all_distances():
    places, shares = principal_components(VECTORS, 6)
    for one, other in ((0, 1), (5, 30), (12, 39)):
        expected = np.linalg.norm(VECTORS[one] - VECTORS[other])
        assert np.linalg.norm(places[one] - places[other]) == pytest.approx(expected)
    assert shares.sum() == pytest.approx(1) and (np.diff(shares) <= 0).all()


def test_of_each_axis_the_farthest_vector_is_on_the_positive_side():
    for vectors in (VECTORS, -VECTORS):
        places, _ = principal_components(vectors)
        assert (places.max(axis=0) == np.abs(places).max(axis=0)).all()


@pytest.mark.parametrize("vectors", [[[1.0, 2.0, 3.0]], [[1.0]] * 3, [[2.0, 1.0]] * 5])
def test_vectors_that_do_not_differ_have_one_place(vectors):
    places, shares = principal_components(np.array(vectors))
    assert places.shape == (len(vectors), 2) and not places.any() and not shares.any()


def test_with_tsne_neighbours_stay_neighbours():
    pytest.importorskip("sklearn")
    groups = np.repeat(np.arange(3), 12)
    vectors = RANDOM.standard_normal((36, 80)) + 4 * RANDOM.standard_normal((3, 80))[groups]
    places = neighbours_in_the_plane(vectors, perplexity=8)
    assert places.shape == (36, 2)
    away = np.linalg.norm(places[:, None] - places, axis=2) + 1e9 * np.eye(36)
    assert (groups[away.argmin(axis=1)] == groups).all()
    np.testing.assert_array_equal(neighbours_in_the_plane(vectors, perplexity=8), places)


@pytest.mark.parametrize("vectors", [VECTORS[:4], VECTORS[:9, :1], np.ones((5, 3))])
def test_tsne_takes_few_short_and_equal_vectors(vectors):
    pytest.importorskip("sklearn")
    places = neighbours_in_the_plane(vectors)
    assert places.shape == (len(vectors), 2) and np.isfinite(places).all()


def test_three_vectors_are_too_few_for_tsne():
    pytest.importorskip("sklearn")
    with pytest.raises(ConfigError, match="4 vectors or more, here are 3; use --method pca"):
        neighbours_in_the_plane(VECTORS[:3])


def test_without_sklearn_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    with pytest.raises(NmtkitError, match=r'pip install "nmtkit\[plots\]", or use --method pca'):
        neighbours_in_the_plane(VECTORS)
