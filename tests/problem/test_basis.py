"""Bases of the span of centred examples: orthonormal, complete, and with bounds that hold in longer arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import MetricProblem
from covmetric.problem.basis import find_basis, measured_basis, measured_coordinates
from covmetric.problem.centring import centre


def centring_of(n, n_examples, m=1, rank=None):
    """Return the centring of random examples in a chain of pairs, which span at most `rank` directions."""
    rng = np.random.default_rng(0)
    examples = rng.standard_normal((n_examples, n, m))
    if rank is not None:
        examples = rng.standard_normal((n, rank)) @ rng.standard_normal((n_examples, rank, m)) / np.sqrt(rank)
    pairs = np.stack([np.arange(n_examples - 1), np.arange(1, n_examples)], axis=1)
    return centre(MetricProblem(examples, pairs, np.ones(len(pairs)), 1.0, 1.0))


def true_residuals(centring, coordinates, basis_rows):
    rows = centring.rows.astype(np.longdouble)
    exact = (rows[centring.examples] - rows[centring.references]).reshape(-1, rows.shape[2])
    return np.sqrt(((exact - coordinates.values.astype(np.longdouble) @ basis_rows.astype(np.longdouble)) ** 2).sum(1))


SHAPES = [
    pytest.param({"n": 70, "n_examples": 6}, 5, id="few columns: Cholesky"),
    pytest.param({"n": 70, "n_examples": 6, "m": 3}, 15, id="few matrices: Cholesky"),
    pytest.param({"n": 70, "n_examples": 30, "rank": 4}, 4, id="few dependent columns: Householder"),
    pytest.param({"n": 70, "n_examples": 200, "m": 2, "rank": 9}, 9, id="many columns"),
]


@pytest.mark.parametrize(("shape", "r"), SHAPES)
def test_basis_and_coordinates_are_within_their_bounds(shape, r):
    centring = centring_of(**shape)
    basis = find_basis(centring)
    assert basis.rows.shape == (r, 70)
    Q = basis.rows.T.astype(np.longdouble)
    assert np.sqrt(((Q.T @ Q - np.eye(r)) ** 2).sum()) <= basis.orthogonality <= 1e-12
    assert measured_basis(basis.rows).orthogonality == basis.orthogonality
    known = [] if basis.given is None else [basis.given]
    for coordinates in (*known, measured_coordinates(centring, basis.rows)):
        assert coordinates.values.shape == (centring.n_columns, r)
        residuals = true_residuals(centring, coordinates, basis.rows)
        assert (residuals <= coordinates.residuals).all()
        assert coordinates.residuals.max() < 1e-10


@pytest.mark.parametrize(
    ("shape", "known"), [(SHAPES[0], True), (SHAPES[1], True), (SHAPES[2], False), (SHAPES[3], False)]
)
def test_coordinates_of_independent_columns_come_with_the_basis(shape, known):
    assert (find_basis(centring_of(**shape.values[0])).given is not None) == known


def test_there_is_no_basis_if_many_columns_span_everything():
    assert find_basis(centring_of(n=20, n_examples=60)) is None
