"""Products with the sums over the pairs that conjugate gradients need, in three ways that differ in speed only."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod

import numpy as np

from covmetric._utils.tuning import EXAMPLE_ENTRY, KEPT_BYTES
from covmetric._utils.validation import FloatArray
from covmetric.solvers.systems.terms import ActiveTerms, compiled_kernels

# Inner products of examples are not subtracted if the squared distance is smaller than this fraction of the larger
# squared norm: the difference would lose too many digits for a step.
_CLOSE = 1e-6


class PairProducts(ABC):
    """Sums over the B_k = C^T A_k C of the active pairs.

    Parameters
    ----------
    terms : ActiveTerms
        The active pairs.
    """

    def __init__(self, terms: ActiveTerms) -> None:
        self._terms = terms

    @abstractmethod
    def hessian(self, X: FloatArray) -> FloatArray:
        """Return the sum of h_k <B_k, X> B_k.

        Parameters
        ----------
        X : array of shape (n, n)
            A symmetric matrix.

        Returns
        -------
        array of shape (n, n)
        """

    def weighted_sum(self, weights: FloatArray) -> FloatArray:
        """Return the sum of w_k B_k.

        Parameters
        ----------
        weights : array of shape (a,)
            The weights w_k, of either sign.

        Returns
        -------
        array of shape (n, n)
        """
        terms = self._terms
        return terms.from_metric(terms.problem.sums.weighted_sum(terms.over_all_pairs(weights)))


class OriginalPairs(PairProducts):
    """Sums over the A_k, from their lower triangles or from chunks of differences; nothing else is kept.

    Parameters
    ----------
    terms : ActiveTerms
        The active pairs.
    """

    def __init__(self, terms: ActiveTerms) -> None:
        super().__init__(terms)
        self._springs = terms.over_all_pairs(terms.springs)

    def hessian(self, X: FloatArray) -> FloatArray:
        terms, half = self._terms, self._terms.half
        E, lower = terms.to_metric(X), terms.problem.sums.lower_triangles()
        if lower is None:
            return terms.from_metric(terms.problem.sums.hessian_product(E, terms.springs, terms.active))
        out = np.empty(half.size)
        compiled_kernels().stretch(lower, half.doubled(E), self._springs, out)
        return terms.from_metric(half.from_lower(out))


class TransformedPairs(PairProducts):
    """Sums over differences that are transformed by C once, so that no product needs C.

    Parameters
    ----------
    terms : ActiveTerms
        The active pairs.
    """

    def __init__(self, terms: ActiveTerms) -> None:
        super().__init__(terms)
        self._G = np.empty((len(terms.active), terms.problem.m, terms.problem.n))
        for part, some in terms.problem.sums.roughly_transformed(terms.active, terms.C):
            self._G[part] = some
        self._buffer = np.empty_like(self._G)

    def hessian(self, X: FloatArray) -> FloatArray:
        G, buffer = self._G, self._buffer
        rows, flat = G.reshape(-1, len(X)), buffer.reshape(-1, len(X))
        np.matmul(rows, X, out=flat)
        pulls = self._terms.springs * np.einsum("kan,kan->k", buffer, G)
        np.multiply(G, pulls[:, None, None], out=buffer)
        return np.asarray(flat.T @ rows)


class TransformedExamples(PairProducts):
    """Sums over pairs of examples that are transformed by C once; a pair then takes m n operations instead of m n^2.

    With the examples as the rows of G, <B_k, X> is the inner product of the differences of G and G X, and the sum of
    w_k B_k is G^T L G with the Laplacian L of the graph whose edges are the pairs.

    Parameters
    ----------
    terms : ActiveTerms
        The active pairs.
    """

    def __init__(self, terms: ActiveTerms) -> None:
        super().__init__(terms)
        sums = terms.problem.sums
        self._pairs = sums.pairs[terms.active]
        rows = sums.centred_rows()
        self._rows = rows.reshape(-1, rows.shape[2]) @ terms.C
        self._images = np.empty_like(self._rows)

    def _by_example(self, rows: FloatArray) -> FloatArray:
        """Return the same rows with one line per example."""
        return rows.reshape(len(self._terms.problem.sums.rows), -1)

    def hessian(self, X: FloatArray) -> FloatArray:
        return self.weighted_sum(self._terms.springs * self.rates(X))

    def rates(self, X: FloatArray) -> FloatArray:
        """Return <B_k, X> of the active pairs.

        Parameters
        ----------
        X : array of shape (n, n)
            A symmetric matrix.

        Returns
        -------
        array of shape (a,)
        """
        np.matmul(self._rows, X, out=self._images)
        rates = np.empty(len(self._pairs))
        compiled_kernels().pair_products(
            self._by_example(self._rows), self._by_example(self._images), self._pairs, rates
        )
        return rates

    def weighted_sum(self, weights: FloatArray) -> FloatArray:
        compiled_kernels().laplacian_product(
            self._by_example(self._rows), self._pairs, weights, self._by_example(self._images)
        )
        return np.asarray(self._images.T @ self._rows)

    @functools.cached_property
    def _grams(self) -> FloatArray | None:
        """The inner products of the examples, or None if those of a pair may not be subtracted."""
        grams, (i, j) = self._rows @ self._rows.T, self._pairs.T
        sizes = grams.diagonal()
        distances = sizes[i] + sizes[j] - 2.0 * grams[i, j]
        return None if (distances < _CLOSE * np.maximum(sizes[i], sizes[j])).any() else grams

    def inner_products(self, scales: FloatArray) -> FloatArray | None:
        """Return d_j^2 d_k^2 <B_j, B_k> of the active pairs, for examples with a single column.

        <B_j, B_k> is the square of F_j^T W F_k, which is a sum of four inner products of examples. There are far fewer
        of those than of differences.

        Parameters
        ----------
        scales : array of shape (a,)
            The numbers d_k.

        Returns
        -------
        array of shape (a, a) or None
            The lower triangle, with zeros above it; or None if the examples of a pair are so close to each other in
            this metric that their inner products may not be subtracted.
        """
        if self._grams is None:
            return None
        out = np.zeros((len(self._pairs), len(self._pairs)))
        compiled_kernels().squared_products(self._grams, self._pairs, scales, out)
        return out


def choose_products(terms: ActiveTerms) -> PairProducts:
    """Return the fastest way to sum over the pairs among those whose arrays are small.

    Parameters
    ----------
    terms : ActiveTerms
        The active pairs.

    Returns
    -------
    PairProducts
    """
    sums = terms.problem.sums
    if sums.lower_triangles() is not None:
        return OriginalPairs(terms)
    if 8.0 * sums.rows.size <= KEPT_BYTES and example_work(terms) < pair_work(terms):
        return TransformedExamples(terms)
    if 8.0 * len(terms.active) * terms.problem.m * terms.problem.n <= KEPT_BYTES:
        return TransformedPairs(terms)
    return OriginalPairs(terms)


def pair_work(terms: ActiveTerms) -> float:
    """Return the operations of a product with the differences of the active pairs.

    Parameters
    ----------
    terms : ActiveTerms
        The active pairs.

    Returns
    -------
    float
    """
    n, m = terms.problem.n, terms.problem.m
    return 8.0 * n * n * m * len(terms.active)


def example_work(terms: ActiveTerms) -> float:
    """Return the operations of a product with the examples instead of their differences.

    Parameters
    ----------
    terms : ActiveTerms
        The active pairs.

    Returns
    -------
    float
        Infinity if it would be less than `pair_work`, but examples of a pair are nearly equal: their images may then
        not be subtracted.
    """
    n, m, sums = terms.problem.n, terms.problem.m, terms.problem.sums
    work = 8.0 * n * n * m * len(sums.rows) + EXAMPLE_ENTRY * n * m * len(terms.active)
    # It takes a pass over all examples to find close pairs.
    return float("inf") if work < pair_work(terms) and len(sums.close_pairs) else work
