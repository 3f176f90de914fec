"""Fixed distances that do not change with X -> A X A^T: sums over the eigenvalues of X1^-1 X2."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from covmetric._utils.distances import cross_distances, smallest
from covmetric._utils.tuning import INVARIANT_BOUNDS, INVARIANT_CANDIDATES, INVARIANT_ENTRIES
from covmetric._utils.validation import FloatArray, IntArray
from covmetric.embeddings.recentred_log import RecentredLog
from covmetric.peers.distances.base import FixedDistance

_RELATIVE, _ABSOLUTE = 1e-6, 1e-7  # what rounding may do to a distance beside its bound


class _Whitened(RecentredLog):
    """The matrices seen from their mean, where they are better conditioned than as they come."""

    name = "whitening"


@dataclass(frozen=True)
class _Parts:
    """Whitened matrices Z: vec(log Z), the spectrum of log Z, and R with R R^T = Z, with its inverse."""

    logs: FloatArray
    spectrum: FloatArray
    roots: FloatArray
    inverses: FloatArray

    @classmethod
    def from_logs(cls, logs: FloatArray) -> _Parts:
        spectrum, vectors = np.linalg.eigh(logs)
        half = np.exp(0.5 * spectrum)
        return cls(
            logs.reshape(len(logs), -1),
            spectrum,
            vectors * half[:, None, :],
            np.swapaxes(vectors, 1, 2) / half[:, :, None],
        )


class InvariantDistance(FixedDistance):
    """A sum over x = log eig(X1^-1 X2), by pairs; neighbours by pairs that a lower bound does not rule out.

    ||log X1 - log X2|| is at most ||x||, the affine-invariant distance (Bhatia, Positive Definite Matrices, 2007,
    section 6.1), after whitening, too; each class says what that means for its own distance. The k-th smallest
    distance among the candidates with the smallest bounds rules out all whose bound is larger.
    """

    def fit(self, X: Any) -> Self:
        self._whitening = _Whitened(reg=self.reg)
        self._fitted = _Parts.from_logs(self._whitening.fit_transform(X, n_jobs=self.n_jobs))
        return self

    def nearest(self, X: Any, k: int) -> tuple[FloatArray, IntArray]:
        queries = self._fitted if X is None else self._parts(X)
        count, size = len(queries.logs), max(1, INVARIANT_BOUNDS // len(self._fitted.logs))
        distances, indices = np.empty((count, k)), np.empty((count, k), dtype=np.int64)
        for start in range(0, count, size):
            block = np.arange(start, min(start + size, count))
            distances[block], indices[block] = self._nearest(queries, block, k, own=X is None)
        return distances, indices

    def _nearest(self, queries: _Parts, block: IntArray, k: int, own: bool) -> tuple[FloatArray, IntArray]:
        n = queries.spectrum.shape[1]
        apart = np.sqrt(cross_distances(queries.logs[block], self._fitted.logs, self.n_jobs))
        with np.errstate(over="ignore"):
            lower = (1.0 - _RELATIVE) * self._lower(apart, n) - _ABSOLUTE
        if own:
            lower[np.arange(len(block)), block] = np.inf
        tried = min(2 * k + INVARIANT_CANDIDATES, lower.shape[1] - own)
        columns = np.argpartition(lower, tried - 1, axis=1)[:, :tried]
        rows = np.repeat(np.arange(len(block)), tried)
        values = self._values(queries, block[rows], columns.ravel())
        reach = np.partition(values.reshape(-1, tried), k - 1, axis=1)[:, k - 1 : k]
        np.put_along_axis(lower, columns, np.inf, axis=1)
        more_rows, more = np.nonzero(lower <= reach)
        return smallest(
            len(block),
            k,
            np.concatenate([rows, more_rows]),
            np.concatenate([columns.ravel(), more]),
            np.concatenate([values, self._values(queries, block[more_rows], more)]),
        )

    def pairwise(self, X: Any) -> FloatArray:
        queries = self._parts(X)
        shape = len(queries.logs), len(self._fitted.logs)
        rows, columns = np.divmod(np.arange(shape[0] * shape[1]), shape[1])
        return self._values(queries, rows, columns).reshape(shape)

    def _parts(self, X: Any) -> _Parts:
        return _Parts.from_logs(self._whitening.transform(X, n_jobs=self.n_jobs))

    def _values(self, queries: _Parts, rows: IntArray, columns: IntArray) -> FloatArray:
        """The distances of queries[rows] from the fitted [columns], by chunks that threads share."""
        n = queries.spectrum.shape[1]
        size, result = max(1, INVARIANT_ENTRIES // (n * n)), np.empty(len(rows))

        def fill(start: int) -> None:
            part = slice(start, start + size)
            result[part] = self._of_pairs(queries, rows[part], self._fitted, columns[part])

        starts = range(0, len(rows), size)
        if self.n_jobs in (None, 1) or len(starts) < 2:
            for start in starts:
                fill(start)
            return result
        from joblib import Parallel, delayed

        Parallel(self.n_jobs, require="sharedmem")(delayed(fill)(start) for start in starts)
        return result

    @abstractmethod
    def _of_pairs(self, one: _Parts, i: IntArray, other: _Parts, j: IntArray) -> FloatArray:
        """The distances of one[i] and other[j], pair by pair."""

    @abstractmethod
    def _lower(self, apart: FloatArray, n: int) -> FloatArray:
        """What the distance of n x n matrices is at least, given that of their logarithms."""


class Riemann(InvariantDistance):
    """||x||: affine-invariant."""

    name = "riemann"

    def _of_pairs(self, one: _Parts, i: IntArray, other: _Parts, j: IntArray) -> FloatArray:
        M = other.inverses[j] @ one.roots[i]
        eigenvalues = np.linalg.eigvalsh(M @ np.swapaxes(M, 1, 2))
        # The small ones drown in the rounding error of the large ones; singular values keep twice as many digits.
        lost = eigenvalues[:, 0] < 1e-10 * eigenvalues[:, -1]
        if lost.any():
            eigenvalues[lost] = np.linalg.svd(M[lost], compute_uv=False) ** 2
        return np.asarray(np.sqrt((np.log(eigenvalues) ** 2).sum(axis=1)))

    def _lower(self, apart: FloatArray, n: int) -> FloatArray:  # noqa: ARG002
        return apart


class Stein(InvariantDistance):
    """The root of sum(log cosh(x/2)) = logdet((X1 + X2)/2) - logdet(X1 X2)/2."""

    name = "stein"

    def _of_pairs(self, one: _Parts, i: IntArray, other: _Parts, j: IntArray) -> FloatArray:
        sums = one.roots[i] @ np.swapaxes(one.roots[i], 1, 2) + other.roots[j] @ np.swapaxes(other.roots[j], 1, 2)
        diagonals = np.diagonal(np.linalg.cholesky(0.5 * sums), axis1=1, axis2=2)
        squared = 2.0 * np.log(diagonals).sum(axis=1) - 0.5 * (one.spectrum[i] + other.spectrum[j]).sum(axis=1)
        return np.asarray(np.sqrt(np.maximum(squared, 0.0)))

    def _lower(self, apart: FloatArray, n: int) -> FloatArray:  # noqa: ARG002
        # log cosh(sqrt(u)/2) is concave in u and 0 at 0, so that its sum is at least its value at the sum.
        return np.asarray(np.sqrt(np.logaddexp(0.5 * apart, -0.5 * apart) - np.log(2.0)))


class JDivergence(InvariantDistance):
    """sum(cosh x - 1) = tr(X1^-1 X2 + X2^-1 X1)/2 - n: the symmetrised Kullback-Leibler divergence."""

    name = "jdiv"

    def _of_pairs(self, one: _Parts, i: IntArray, other: _Parts, j: IntArray) -> FloatArray:
        # tr(X1^-1 X2) = ||R1^-1 R2||^2
        there = ((other.inverses[j] @ one.roots[i]) ** 2).sum(axis=(1, 2))
        back = ((one.inverses[i] @ other.roots[j]) ** 2).sum(axis=(1, 2))
        return np.asarray(np.maximum(0.5 * (there + back) - one.spectrum.shape[1], 0.0))

    def _lower(self, apart: FloatArray, n: int) -> FloatArray:
        # cosh(sqrt(u)) - 1 is convex in u: by Jensen, at least n times its value at the mean.
        return np.asarray(n * (np.cosh(apart / np.sqrt(n)) - 1.0))
