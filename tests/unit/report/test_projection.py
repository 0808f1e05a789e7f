"""Projections: PCA against its definition, t-SNE by its properties."""

import re
import sys

import numpy as np
import pytest

from nmtkit.errors import ConfigError, NmtkitError
from nmtkit.extras import install_command
from nmtkit.report.projection import principal_components, tsne

RANDOM = np.random.default_rng(3)
VECTORS = RANDOM.standard_normal((40, 6)) * np.array([5.0, 3, 1, 1, 0.5, 0.1]) + 7


def test_components_are_those_of_the_covariance_matrix():
    """Compare with the eigenvectors of sum (x - mean)(x - mean)^T, largest first."""
    mean = sum(VECTORS) / len(VECTORS)
    covariance = np.zeros((6, 6))
    for vector in VECTORS:
        covariance += np.outer(vector - mean, vector - mean)
    values, directions = np.linalg.eigh(covariance)
    positions, variance_shares = principal_components(VECTORS, 3)
    for axis in range(3):
        expected = (VECTORS - mean) @ directions[:, -1 - axis]
        sign = np.sign(expected @ positions[:, axis])
        np.testing.assert_allclose(positions[:, axis], sign * expected, atol=1e-9)
        assert variance_shares[axis] == pytest.approx(values[-1 - axis] / values.sum())


def test_all_components_keep_all_distances():
    positions, variance_shares = principal_components(VECTORS, 6)
    for first, second in ((0, 1), (5, 30), (12, 39)):
        expected = np.linalg.norm(VECTORS[first] - VECTORS[second])
        assert np.linalg.norm(positions[first] - positions[second]) == pytest.approx(expected)
    assert variance_shares.sum() == pytest.approx(1) and (np.diff(variance_shares) <= 0).all()


def test_the_farthest_vector_is_on_the_positive_side_of_each_axis():
    for vectors in (VECTORS, -VECTORS):
        positions, _ = principal_components(vectors)
        assert (positions.max(axis=0) == np.abs(positions).max(axis=0)).all()


@pytest.mark.parametrize("vectors", [[[1.0, 2.0, 3.0]], [[1.0]] * 3, [[2.0, 1.0]] * 5])
def test_equal_vectors_have_equal_positions(vectors):
    positions, variance_shares = principal_components(np.array(vectors))
    assert (
        positions.shape == (len(vectors), 2) and not positions.any() and not variance_shares.any()
    )


def test_tsne_preserves_neighbours():
    pytest.importorskip("sklearn")
    groups = np.repeat(np.arange(3), 12)
    vectors = RANDOM.standard_normal((36, 80)) + 4 * RANDOM.standard_normal((3, 80))[groups]
    positions = tsne(vectors, perplexity=8)
    assert positions.shape == (36, 2)
    away = np.linalg.norm(positions[:, None] - positions, axis=2) + 1e9 * np.eye(36)
    assert (groups[away.argmin(axis=1)] == groups).all()
    np.testing.assert_array_equal(tsne(vectors, perplexity=8), positions)


@pytest.mark.parametrize("vectors", [VECTORS[:4], VECTORS[:9, :1], np.ones((5, 3))])
def test_tsne_accepts_few_short_and_equal_vectors(vectors):
    pytest.importorskip("sklearn")
    positions = tsne(vectors)
    assert positions.shape == (len(vectors), 2) and np.isfinite(positions).all()


def test_three_vectors_are_too_few_for_tsne():
    pytest.importorskip("sklearn")
    with pytest.raises(ConfigError, match="at least 4 vectors, got 3; use --method pca"):
        tsne(VECTORS[:3])


def test_without_sklearn_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    with pytest.raises(
        NmtkitError, match=re.escape(f"use --method pca, or run: {install_command('plots')}")
    ):
        tsne(VECTORS)
