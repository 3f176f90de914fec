"""The differences F_k of pairs, by chunks, so that memory need not hold those of all pairs."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from covmetric._utils.distances import squared_distances
from covmetric._utils.tuning import CHUNK_BYTES, KEPT_BYTES
from covmetric._utils.validation import FloatArray, IntArray, read_only
from covmetric.problem.coordinates import CoordinateError
from covmetric.problem.error_free import exact_difference
from covmetric.problem.examples import Examples

# Differences of images lose all digits if two examples are nearly equal: the error is that of the images. Pairs whose
# squared norm is below this fraction of that of an example are transformed after they are subtracted.
_CLOSE = 1e-8


class PairDifferences:
    """The differences F_k = Phi(X_i) - Phi(X_j) of index pairs, in chunks, transformed, or without rounding error.

    Parameters
    ----------
    rows : array of shape (l, m, n)
        The embedded examples, each transposed, C-contiguous.
    pairs : array of int of shape (K, 2)
        Indices into `rows`.
    coordinates : CoordinateError or None, default=None
        If the rows are coordinates in a basis, how far they are from the examples.
    kept_bytes : float or None, default=None
        Arrays over all pairs are kept up to this size. None means `tuning.KEPT_BYTES`.
    examples : Examples or None, default=None
        The examples, if other differences of pairs share them. None creates them from `rows`.
    norms : array of shape (K,) or None, default=None
        The squared norms ||F_k||^2, if they are known.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric.problem.differences import PairDifferences
    >>> rows = np.array([[[0.0, 0.0]], [[1.0, 2.0]], [[3.0, 0.0]]])
    >>> differences = PairDifferences(rows, np.array([[0, 1], [0, 2]]))
    >>> for _, transformed in differences.transformed(None, np.diag([1.0, 10.0])):
    ...     print(transformed.tolist())
    [[[-1.0, -20.0]], [[-3.0, 0.0]]]
    """

    def __init__(
        self,
        rows: FloatArray,
        pairs: IntArray,
        coordinates: CoordinateError | None = None,
        kept_bytes: float | None = None,
        examples: Examples | None = None,
        norms: FloatArray | None = None,
    ) -> None:
        self.rows = rows
        self.pairs = pairs
        self.coordinates = coordinates
        self._given_bytes = kept_bytes
        self.examples = Examples(rows) if examples is None else examples
        self._kept_differences: FloatArray | None = None
        self._kept_norms = norms

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes that cannot be computed from others."""
        return {
            "rows": self.rows,
            "pairs": self.pairs,
            "coordinates": self.coordinates,
            "kept_bytes": self._given_bytes,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    @property
    def kept_bytes(self) -> float:
        """The size up to which arrays over all pairs are kept."""
        return KEPT_BYTES if self._given_bytes is None else self._given_bytes

    @property
    def pairs_per_chunk(self) -> int:
        """The number of pairs of a chunk."""
        _, m, n = self.rows.shape
        return int(max(1, CHUNK_BYTES // (8 * m * n)))

    def _chunks(self, indices: IntArray | None = None, *, keep: bool = True) -> Iterator[tuple[slice, FloatArray]]:
        """Yield consecutive parts of `indices` (None: all pairs) as slices, with their differences, shape (q, m, n).

        With `keep`, small arrays of differences are kept for the next call.
        """
        _, m, n = self.rows.shape
        count = len(self.pairs) if indices is None else len(indices)
        if keep and self._kept_differences is None and 8 * len(self.pairs) * m * n <= self.kept_bytes:
            i, j = self.pairs.T
            self._kept_differences = self.rows[i] - self.rows[j]
        size = self.pairs_per_chunk
        for start in range(0, count, size):
            part = slice(start, min(start + size, count))
            if self._kept_differences is not None:
                yield part, self._kept_differences[part if indices is None else indices[part]]
            else:
                i, j = (self.pairs[part] if indices is None else self.pairs[indices[part]]).T
                yield part, self.rows[i] - self.rows[j]

    def transformed(self, indices: IntArray | None, C: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Iterate over chunks of pairs and their transformed differences C^T F_k.

        Parameters
        ----------
        indices : array of int of shape (a,) or None
            The pairs. None means all pairs.
        C : array of shape (n, n)
            The transform.

        Yields
        ------
        part : slice
            A part of `indices`.
        transformed : array of shape (q, m, n)
            (C^T F_k)^T of these pairs.
        """
        for part, F in self._chunks(indices):
            yield part, (F.reshape(-1, F.shape[2]) @ C).reshape(F.shape)

    def roughly_transformed(self, indices: IntArray, C: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Iterate as `transformed` does, but transform the examples if there are fewer of them than pairs.

        The result loses a few digits if the examples are far apart. It is accurate enough for a step, but not for a
        certificate. Examples that are nearly equal are subtracted first.

        Parameters
        ----------
        indices : array of int of shape (a,)
            The pairs.
        C : array of shape (n, n)
            The transform.

        Yields
        ------
        part : slice
            A part of `indices`.
        transformed : array of shape (q, m, n)
            (C^T F_k)^T of these pairs.
        """
        count, m, n = self.rows.shape
        if len(indices) < 2 * count:
            yield from self.transformed(indices, C)
            return
        images = (self.centred_rows().reshape(-1, n) @ C).reshape(count, m, n)
        size = self.pairs_per_chunk
        for start in range(0, len(indices), size):
            part = slice(start, min(start + size, len(indices)))
            i, j = self.pairs[indices[part]].T
            G = images[i] - images[j]
            if len(self.close_pairs):
                close = np.isin(indices[part], self.close_pairs)
                F = self.rows[i[close]] - self.rows[j[close]]
                G[close] = (F.reshape(-1, n) @ C).reshape(F.shape)
            yield part, G

    def centred_rows(self) -> FloatArray:
        """Return the transposed examples minus their mean.

        Returns
        -------
        array of shape (l, m, n)
        """
        return self.examples.centred()

    @functools.cached_property
    def close_pairs(self) -> IntArray:
        """The pairs of examples that are nearly equal, of shape (q,)."""
        sizes = self.examples.sizes()
        return np.flatnonzero(self.squared_norms() < _CLOSE * sizes[self.pairs].max(axis=1))

    def squared_norms(self) -> FloatArray:
        """Return the squared norms ||F_k||^2 of all pairs.

        Returns
        -------
        array of shape (K,)
        """
        if self._kept_norms is None:
            vectors = self.rows.reshape(len(self.rows), -1)
            self._kept_norms = read_only(squared_distances(vectors, vectors, *self.pairs.T))
        return self._kept_norms

    def exact_rows(self, weights: FloatArray) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
        """Iterate over the rows of the differences, without rounding error, of the pairs with a weight.

        Parameters
        ----------
        weights : array of shape (K,)
            The weights w_k; pairs with a weight of zero are left out.

        Yields
        ------
        weights : array of shape (q,)
            The weight of each row.
        high, low : arrays of shape (q, n)
            The rounded rows of F_k^T, and their rounding errors.
        """
        _, m, n = self.rows.shape
        chosen = np.flatnonzero(weights)
        size = self.pairs_per_chunk
        for start in range(0, len(chosen), size):
            part = chosen[start : start + size]
            i, j = self.pairs[part].T
            high, low = exact_difference(self.rows[i], self.rows[j])
            yield np.repeat(weights[part], m), high.reshape(-1, n), low.reshape(-1, n)

    def _weighted_rows(self, weights: FloatArray) -> Iterator[FloatArray]:
        """Yield chunks of the rows of sqrt(w_k) F_k^T, over the pairs with a positive weight."""
        chosen = np.flatnonzero(weights > 0.0)
        roots = np.sqrt(weights[chosen])
        for part, F in self._chunks(chosen):
            yield (F * roots[part, None, None]).reshape(-1, F.shape[2])
