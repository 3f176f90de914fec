"""Differences of pairs match the literal differences, whether they are kept or computed by chunks."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from covmetric.problem import differences
from covmetric.problem.differences import PairDifferences


def pairs_and_literal_differences(examples=6):
    """Return 20 pairs of random examples, and their differences, of shape (20, 4, 3)."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((examples, 3, 4))
    pairs = np.stack([rng.integers(examples, size=20), rng.integers(examples, size=20)], axis=1)
    return PairDifferences(rows, pairs), np.swapaxes(rows[pairs[:, 0]] - rows[pairs[:, 1]], 1, 2)


@pytest.fixture(params=["kept", "one pair", "two pairs", "chunks"])
def mode(request, monkeypatch):
    """How the differences are obtained: once for all pairs, or by chunks of one, two or many pairs."""
    if request.param != "kept":
        monkeypatch.setattr(differences, "KEPT_BYTES", 0)
    if request.param == "one pair":
        monkeypatch.setattr(differences, "CHUNK_BYTES", 1)
    if request.param == "two pairs":
        monkeypatch.setattr(differences, "CHUNK_BYTES", 2 * 8 * 3 * 4)


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("examples", [6, 40])
def test_transformed_differences_match_the_literal_differences(examples):
    """With 6 examples each is transformed once, with 40 examples each pair of the 20 is."""
    found, F = pairs_and_literal_differences(examples)
    C = np.random.default_rng(1).standard_normal((4, 4))
    chosen = np.concatenate([np.arange(20), [5, 3]])
    accurate, rough = found.transformed, found.roughly_transformed
    for method, indices in ((accurate, chosen), (accurate, None), (rough, chosen)):
        expected = np.swapaxes(C.T @ (F if indices is None else F[indices]), 1, 2)
        got = np.full_like(expected, np.nan)
        visited = []
        for part, G in method(indices, C):
            assert len(G) == part.stop - part.start
            visited.extend(range(part.start, part.stop))
            got[part] = G
        assert visited == list(range(len(got))), "each pair once, in order"
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("examples", "exact"), [(10, False), (11, True)])
def test_examples_are_transformed_if_there_are_at_least_twice_as_many_pairs(examples, exact):
    """Differences of large examples tell the two ways apart by their rounding errors."""
    rows = np.arange(examples, dtype=float)[:, None, None] / 3.0 + 1e3 * (np.arange(examples) % 2)[:, None, None]
    found = PairDifferences(rows, np.array([[0, 2]] * 20))
    ((_, G),) = found.roughly_transformed(np.arange(20), np.array([[1.1]]))
    ((_, expected),) = found.transformed(np.arange(20), np.array([[1.1]]))
    assert np.array_equal(G, expected) == exact


def test_small_differences_are_kept_and_large_ones_are_not(monkeypatch):
    for bytes_kept, kept in ((8 * 20 * 12, True), (8 * 20 * 12 - 1, False)):
        monkeypatch.setattr(differences, "KEPT_BYTES", bytes_kept)
        found, _ = pairs_and_literal_differences()
        list(found.transformed(None, np.eye(4)))
        assert (found._kept_differences is not None) == kept


def test_squared_norms_match_the_literal_differences():
    found, F = pairs_and_literal_differences()
    np.testing.assert_allclose(found.squared_norms(), (F**2).sum(axis=(1, 2)), rtol=1e-13)
    assert found.squared_norms() is found.squared_norms(), "kept"


def test_exact_rows_have_no_rounding_error():
    """The examples are so far apart that no difference is a double."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((3, 2, 2)) * np.array([1.0, 1e5, 1e-5])[:, None, None]
    pairs = np.array([[0, 1], [1, 2], [0, 2], [2, 1]])
    weights = np.array([1.0, -2.0, 0.0, 3.0])
    ((repeated, high, low),) = PairDifferences(rows, pairs).exact_rows(weights)
    np.testing.assert_array_equal(repeated, [1.0, 1.0, -2.0, -2.0, 3.0, 3.0])
    assert low.any()
    for (i, j), h, r in zip(pairs[[0, 1, 3]], high.reshape(-1, 4), low.reshape(-1, 4), strict=True):
        for a, b, x, y in zip(rows[i].ravel(), rows[j].ravel(), h, r, strict=True):
            assert Fraction(x) + Fraction(y) == Fraction(a) - Fraction(b)
