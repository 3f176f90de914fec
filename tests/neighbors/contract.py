"""The contract of a search: the exact neighbours, as found by a literal implementation."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.neighbors import SEARCHES, Search
from tests import naive

KINDS = (
    "random", "clustered", "decaying", "duplicates", "grid", "constant", "tiny", "huge", "extreme", "offset", "outlier",
)  # fmt: skip


def make(name: str, **settings) -> Search:
    """Return a search of the registry; skip the test if it needs a package that is not installed."""
    try:
        SEARCHES[name]().fit([[0.0]])
    except ImportError as error:
        pytest.skip(str(error))
    return SEARCHES[name](**settings)


def vectors(kind: str, count: int = 300, q: int = 40, seed: int = 0):
    """Return vectors of shape (count, q) whose distances are of a certain kind."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((count, q))
    decay = 0.8 ** np.arange(q)
    return {
        "random": lambda: noise,
        "clustered": lambda: rng.standard_normal((12, q))[np.arange(count) % 12] + 1e-6 * noise,
        "decaying": lambda: noise * decay,
        "duplicates": lambda: np.round(noise[np.arange(count) // 4] * decay, 1),
        "grid": lambda: rng.integers(0, 3, (count, q)).astype(float) * (decay > 0.4),
        "constant": lambda: np.full((count, q), 0.1),
        "tiny": lambda: 1e-12 * noise * decay,
        "huge": lambda: 1e12 * noise * decay,
        "extreme": lambda: 1e-200 * noise * decay,
        "offset": lambda: 1e6 + noise * decay,
        "outlier": lambda: np.vstack([noise[1:] * decay, np.full((1, q), 1e9)]),
    }[kind]()


def expected_neighbors(references, queries, k):
    """Return the literal answer, with one neighbour more if there is one; squares neither overflow nor underflow."""
    unit = 1e-200 if 0.0 < np.ptp(references) < 1e-100 else 1.0
    k = min(k + 1, len(references) - (queries is None))
    distances, indices = naive.nearest(references / unit, None if queries is None else queries / unit, k)
    return unit * distances, indices


def assert_agree(found, expected) -> None:
    """Raise AssertionError unless the neighbours agree with `expected_neighbors`, up to the order of near ties."""
    distances, indices = found
    k = distances.shape[1]
    assert distances.shape == indices.shape == (len(expected[0]), k)
    np.testing.assert_allclose(distances, expected[0][:, :k], rtol=1e-9, atol=0.0)
    # Sums in another order may swap near ties, among them the last neighbour and the additional one.
    tied = np.diff(expected[0], axis=1, append=np.inf) <= 1e-12 * expected[0]
    clear = ~(tied | np.roll(tied, 1, axis=1))[:, :k]
    np.testing.assert_array_equal(indices[clear], expected[1][:, :k][clear])
    assert all(len(set(row)) == len(row) for row in indices.tolist())
    assert distances.dtype == np.float64
    assert indices.dtype == np.int64


def assert_finds_neighbors(search: Search, kind: str, k: int) -> None:
    """Raise AssertionError unless a search finds the neighbours of queries, and of the fitted vectors."""
    X = vectors(kind)
    references, queries = X[:260], X[260:]
    search.fit(references)
    assert_agree(search.nearest(queries, k), expected_neighbors(references, queries, k))
    assert_agree(search.nearest(None, k), expected_neighbors(references, None, k))


def assert_sorts_ties_by_index(search: Search, kind: str) -> None:
    """Raise AssertionError unless vectors at the same distance come in the order of their indices."""
    X = vectors(kind)
    found = search.fit(X).nearest(X[:20], 7)
    np.testing.assert_array_equal(found[1], naive.nearest(X, X[:20], 7)[1])
