"""Affine-invariant fixed distances: sums over the eigenvalues of X1^-1 X2, unchanged by X -> A X A^T."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from covmetric._utils.distances import cross_distances, smallest
from covmetric._utils.tuning import INVARIANT_BOUNDS, INVARIANT_CANDIDATES, INVARIANT_ENTRIES
from covmetric._utils.validation import FloatArray, IntArray, check_n_jobs
from covmetric.embeddings.recentred_log import RecentredLog
from covmetric.peers.distances.base import FixedDistance

# The margins by which rounding may push a distance below its lower bound. They are far above double precision, and far
# too small to add candidates.
_RELATIVE_MARGIN, _ABSOLUTE_MARGIN = 1e-6, 1e-7


class _Whitened(RecentredLog):
    """Whitening by the mean of the matrices, which improves their condition."""

    name = "whitening"


@dataclass(frozen=True)
class _Factors:
    """Whitened matrices Z as vec(log Z), the eigenvalues of log Z, roots R with R R^T = Z, and R^-1."""

    logs: FloatArray
    spectrum: FloatArray
    roots: FloatArray
    inverses: FloatArray

    @classmethod
    def from_logs(cls, logs: FloatArray) -> _Factors:
        spectrum, vectors = np.linalg.eigh(logs)
        half = np.exp(0.5 * spectrum)
        return cls(
            logs.reshape(len(logs), -1),
            spectrum,
            vectors * half[:, None, :],
            np.swapaxes(vectors, 1, 2) / half[:, :, None],
        )


class InvariantDistance(FixedDistance):
    """Base class of distances that are sums over x = log eig(X1^-1 X2).

    The search for neighbours uses a lower bound: ||log X1 - log X2|| is at most ||x||, the affine-invariant distance
    (Bhatia, Positive Definite Matrices, 2007, section 6.1). This also holds after whitening. From this bound, each
    subclass derives a lower bound on its distance. The search computes the distances of the candidates with the
    smallest bounds; the k-th smallest of these distances rules out all matrices whose bound is larger.

    Parameters
    ----------
    reg : float, default=0.0
        As in `FixedDistance`.
    n_jobs : int or None, default=None
        As in `FixedDistance`.
    """

    def fit(self, X: Any) -> Self:
        self._whitening = _Whitened(reg=self.reg)
        self._fitted = _Factors.from_logs(self._whitening.fit_transform(X, n_jobs=self.n_jobs))
        return self

    def nearest(self, X: Any, k: int) -> tuple[FloatArray, IntArray]:
        queries = self._fitted if X is None else self._factors(X)
        count, size = len(queries.logs), max(1, INVARIANT_BOUNDS // len(self._fitted.logs))
        distances, indices = np.empty((count, k)), np.empty((count, k), dtype=np.int64)
        for start in range(0, count, size):
            block = np.arange(start, min(start + size, count))
            distances[block], indices[block] = self._nearest(queries, block, k, exclude_self=X is None)
        return distances, indices

    def _nearest(self, queries: _Factors, block: IntArray, k: int, exclude_self: bool) -> tuple[FloatArray, IntArray]:
        n = queries.spectrum.shape[1]
        log_distances = np.sqrt(cross_distances(queries.logs[block], self._fitted.logs, self.n_jobs))
        with np.errstate(over="ignore"):
            lower = (1.0 - _RELATIVE_MARGIN) * self._lower_bound(log_distances, n) - _ABSOLUTE_MARGIN
        if exclude_self:
            lower[np.arange(len(block)), block] = np.inf
        tried = min(2 * k + INVARIANT_CANDIDATES, lower.shape[1] - exclude_self)
        columns = np.argpartition(lower, tried - 1, axis=1)[:, :tried]
        rows = np.repeat(np.arange(len(block)), tried)
        values = self._values(queries, block[rows], columns.ravel())
        radius = np.partition(values.reshape(-1, tried), k - 1, axis=1)[:, k - 1 : k]
        np.put_along_axis(lower, columns, np.inf, axis=1)
        more_rows, more = np.nonzero(lower <= radius)
        return smallest(
            len(block),
            k,
            np.concatenate([rows, more_rows]),
            np.concatenate([columns.ravel(), more]),
            np.concatenate([values, self._values(queries, block[more_rows], more)]),
        )

    def pairwise(self, X: Any) -> FloatArray:
        queries = self._factors(X)
        shape = len(queries.logs), len(self._fitted.logs)
        rows, columns = np.divmod(np.arange(shape[0] * shape[1]), shape[1])
        return self._values(queries, rows, columns).reshape(shape)

    def _factors(self, X: Any) -> _Factors:
        return _Factors.from_logs(self._whitening.transform(X, n_jobs=self.n_jobs))

    def _values(self, queries: _Factors, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return the distances between queries[rows] and the stored matrices [columns], by chunks in threads."""
        check_n_jobs(self.n_jobs)
        n = queries.spectrum.shape[1]
        size, result = max(1, INVARIANT_ENTRIES // (n * n)), np.empty(len(rows))

        def fill(start: int) -> None:
            part = slice(start, start + size)
            result[part] = self._pair_distances(queries, rows[part], self._fitted, columns[part])

        starts = range(0, len(rows), size)
        if self.n_jobs in (None, 1) or len(starts) < 2:
            for start in starts:
                fill(start)
            return result
        from joblib import Parallel, delayed

        Parallel(self.n_jobs, require="sharedmem")(delayed(fill)(start) for start in starts)
        return result

    @abstractmethod
    def _pair_distances(self, first: _Factors, i: IntArray, second: _Factors, j: IntArray) -> FloatArray:
        """Return the distances between first[i] and second[j], pair by pair."""

    @abstractmethod
    def _lower_bound(self, log_distances: FloatArray, n: int) -> FloatArray:
        """Return lower bounds on the distances of n x n matrices, given the distances of their logarithms."""


class Riemann(InvariantDistance):
    """The affine-invariant distance ||x||.

    Parameters
    ----------
    reg : float, default=0.0
        As in `FixedDistance`.
    n_jobs : int or None, default=None
        As in `FixedDistance`.
    """

    name = "riemann"

    def _pair_distances(self, first: _Factors, i: IntArray, second: _Factors, j: IntArray) -> FloatArray:
        M = second.inverses[j] @ first.roots[i]
        eigenvalues = np.linalg.eigvalsh(M @ np.swapaxes(M, 1, 2))
        # Rounding errors of the large eigenvalues swamp the small ones; singular values keep twice as many digits.
        inaccurate = eigenvalues[:, 0] < 1e-10 * eigenvalues[:, -1]
        if inaccurate.any():
            eigenvalues[inaccurate] = np.linalg.svd(M[inaccurate], compute_uv=False) ** 2
        return np.asarray(np.sqrt((np.log(eigenvalues) ** 2).sum(axis=1)))

    def _lower_bound(self, log_distances: FloatArray, n: int) -> FloatArray:
        return log_distances


class Stein(InvariantDistance):
    """The log-det distance, the square root of sum(log cosh(x/2)) = logdet((X1 + X2)/2) - logdet(X1 X2)/2.

    Parameters
    ----------
    reg : float, default=0.0
        As in `FixedDistance`.
    n_jobs : int or None, default=None
        As in `FixedDistance`.
    """

    name = "stein"

    def _pair_distances(self, first: _Factors, i: IntArray, second: _Factors, j: IntArray) -> FloatArray:
        sums = first.roots[i] @ np.swapaxes(first.roots[i], 1, 2) + second.roots[j] @ np.swapaxes(second.roots[j], 1, 2)
        diagonals = np.diagonal(np.linalg.cholesky(0.5 * sums), axis1=1, axis2=2)
        squared = 2.0 * np.log(diagonals).sum(axis=1) - 0.5 * (first.spectrum[i] + second.spectrum[j]).sum(axis=1)
        return np.asarray(np.sqrt(np.maximum(squared, 0.0)))

    def _lower_bound(self, log_distances: FloatArray, n: int) -> FloatArray:
        # log cosh(sqrt(u)/2) is concave in u and 0 at u = 0, so that the sum is at least its value at sum(u).
        return np.asarray(np.sqrt(np.logaddexp(0.5 * log_distances, -0.5 * log_distances) - np.log(2.0)))


class JDivergence(InvariantDistance):
    """The symmetrised Kullback-Leibler divergence, sum(cosh x - 1) = tr(X1^-1 X2 + X2^-1 X1)/2 - n.

    Parameters
    ----------
    reg : float, default=0.0
        As in `FixedDistance`.
    n_jobs : int or None, default=None
        As in `FixedDistance`.
    """

    name = "jdiv"

    def _pair_distances(self, first: _Factors, i: IntArray, second: _Factors, j: IntArray) -> FloatArray:
        # tr(X1^-1 X2) = ||R1^-1 R2||^2
        forward = ((second.inverses[j] @ first.roots[i]) ** 2).sum(axis=(1, 2))
        backward = ((first.inverses[i] @ second.roots[j]) ** 2).sum(axis=(1, 2))
        return np.asarray(np.maximum(0.5 * (forward + backward) - first.spectrum.shape[1], 0.0))

    def _lower_bound(self, log_distances: FloatArray, n: int) -> FloatArray:
        # cosh(sqrt(u)) - 1 is convex in u. By Jensen's inequality, the sum is at least n times its value at the mean.
        return np.asarray(n * (np.cosh(log_distances / np.sqrt(n)) - 1.0))
