"""The system with a matrix over the entries of W, or over the pairs."""

from __future__ import annotations

import functools
import itertools

import numpy as np
from scipy.linalg import blas, lapack

from covmetric._utils.tuning import SYSTEM_BLOCK_BYTES
from covmetric._utils.validation import FloatArray
from covmetric.solvers.base import StepFailed
from covmetric.solvers.systems.base import System
from covmetric.solvers.systems.products import TransformedExamples, example_work, pair_work
from covmetric.solvers.systems.terms import ActiveTerms, compiled_kernels


def cholesky(matrix: FloatArray) -> FloatArray:
    """Return the upper Cholesky factor of a matrix in column-major order, which is overwritten.

    Parameters
    ----------
    matrix : array of shape (p, p)
        The matrix. Only its upper triangle is read.

    Returns
    -------
    array of shape (p, p)

    Raises
    ------
    StepFailed
        If the matrix is not positive definite in floating point arithmetic.
    """
    factor, failed = lapack.dpotrf(matrix, overwrite_a=True)
    # Not every LAPACK reports a NaN, but a NaN reaches the last pivot.
    if failed or not factor[-1, -1] > 0.0:
        raise StepFailed
    return np.asarray(factor)


def _plus_identity(matrix: FloatArray) -> FloatArray:
    """Add 1 to the diagonal of a matrix in column-major order, which is overwritten."""
    matrix.reshape(-1, order="F")[:: len(matrix) + 1] += 1.0  # a view
    return matrix


def dense_sums(terms: ActiveTerms, matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the sums of forces_k vec(B_k) and of h_k vec(B_k) vec(B_k)^T over the active pairs.

    Parameters
    ----------
    terms : ActiveTerms
        The active pairs.
    matrix : array of shape (p, p)
        A matrix in column-major order to which the second sum is added; it is overwritten.

    Returns
    -------
    force : array of shape (p,)
        The first sum.
    matrix : array of shape (p, p)
        The matrix plus the second sum; only its upper triangle.
    """
    size = terms.half.size
    roots = np.sqrt(terms.springs)
    if 8 * len(terms.active) * size <= SYSTEM_BLOCK_BYTES:
        V = terms.all_half_vectors()
        force = terms.forces @ V
        V *= roots[:, None]
        return force, _add_gram(matrix, V)
    force = np.zeros(size)
    # The matrix is read and written once per block, so large blocks are efficient. Only one triangle is computed.
    block = np.empty((min(len(terms.active), max(1, SYSTEM_BLOCK_BYTES // (8 * size))), size))
    filled = 0
    for part, V in terms.half_vectors():
        force += terms.forces[part] @ V
        V *= roots[part, None]
        while len(V):
            rows = V[: len(block) - filled]
            block[filled : filled + len(rows)] = rows
            filled += len(rows)
            V = V[len(rows) :]
            if filled == len(block):
                matrix = _add_gram(matrix, block)
                filled = 0
    return force, _add_gram(matrix, block[:filled])


def _add_gram(matrix: FloatArray, block: FloatArray) -> FloatArray:
    """Add the upper triangle of V^T V to a matrix in column-major order, which is overwritten."""
    return blas.dsyrk(1.0, block.T, beta=1.0, c=matrix, overwrite_c=True) if len(block) else matrix


class DenseSystem(System):
    """The system with its p x p matrix, which is summed up by chunks of pairs.

    Parameters
    ----------
    terms : ActiveTerms
        The active pairs.
    """

    def __init__(self, terms: ActiveTerms) -> None:
        super().__init__(terms)
        self.force, self._matrix = dense_sums(terms, np.eye(terms.half.size, order="F"))

    @functools.cached_property
    def _factor(self) -> FloatArray:
        return cholesky(self._matrix)

    def solve(self, r: FloatArray) -> FloatArray:
        return np.asarray(lapack.dpotrs(self._factor, r)[0])


class PairSystem(System):
    """The system with the (active pairs) x (active pairs) matrix of Woodbury's identity.

    Parameters
    ----------
    terms : ActiveTerms
        The active pairs.
    """

    keeps_pairs = True

    def __init__(self, terms: ActiveTerms) -> None:
        super().__init__(terms)
        self._roots = np.sqrt(terms.springs)
        self._keep_pairs()
        self.force = self.weighted_sum(terms.forces)

    def _keep_pairs(self) -> None:
        """Compute what represents the B_k."""
        self._V = self._terms.all_half_vectors()

    def weighted_sum(self, weights: FloatArray) -> FloatArray:
        return np.asarray(weights @ self._V)

    def rates(self, x: FloatArray) -> FloatArray:
        return np.asarray(self._V @ x)

    def _inner_products(self) -> FloatArray:
        """Return the lower triangle of the <B_j, B_k> of all active pairs, as a new array."""
        return np.asarray(self._V @ self._V.T)

    def _factored(self, inner_products: FloatArray) -> FloatArray:
        """Return the factor of I + diag(roots) <B_j, B_k> diag(roots), given the upper triangle of the <B_j, B_k>.

        The triangle is in column-major order and is overwritten.
        """
        inner_products *= self._roots
        inner_products *= self._roots[:, None]
        return cholesky(_plus_identity(inner_products))

    def solve(self, r: FloatArray) -> FloatArray:
        x = r.copy()
        if len(self._roots) and not compiled_kernels().solve_pair_system(self._V, self._roots, r, x):
            raise StepFailed
        return x

    @functools.cached_property
    def _products_and_factor(self) -> tuple[FloatArray, FloatArray]:
        products = self._inner_products()
        return products, self._factored(products.copy().T)

    def solve_affine(self, z: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        if len(self._roots) == 0:
            return z.copy(), np.empty(0)
        products, factor = self._products_and_factor
        rates = self.rates(z)
        upper = products.T  # in column-major order
        x = lapack.dpotrs(factor, self._roots * (rates - blas.dsymv(1.0, upper, weights)), overwrite_b=True)[0]
        forces = weights + self._roots * x
        return z - self.weighted_sum(forces), rates - blas.dsymv(1.0, upper, forces)


class ThinSystem(PairSystem):
    """The same matrix from <B_j, B_k> = ||F_j^T W F_k||^2, without half vectors.

    If m = 1, the matrix is the entrywise square of F W F^T, which takes n/2 times fewer operations. Sums over the
    pairs, and F W F^T, are computed from the examples if there are far fewer of them.

    Parameters
    ----------
    terms : ActiveTerms
        The active pairs.
    """

    def _keep_pairs(self) -> None:
        terms = self._terms
        self._examples = TransformedExamples(terms) if example_work(terms) < pair_work(terms) else None

    @functools.cached_property
    def _G(self) -> FloatArray:
        """The transformed differences (C^T F_k)^T."""
        terms = self._terms
        transformed = np.empty((len(terms.active), terms.problem.m, terms.problem.n))
        for part, G in terms.problem.sums.roughly_transformed(terms.active, terms.C):
            transformed[part] = G
        return transformed

    def weighted_sum(self, weights: FloatArray) -> FloatArray:
        if self._examples is not None:
            return self._terms.half.pack(self._examples.weighted_sum(weights))
        rows = self._G.reshape(-1, self._G.shape[2])
        repeated = np.repeat(weights, self._G.shape[1])
        return self._terms.half.pack((rows * repeated[:, None]).T @ rows)

    def rates(self, x: FloatArray) -> FloatArray:
        if self._examples is not None:
            return self._examples.rates(self._terms.half.unpack(x))
        rows = self._G.reshape(-1, self._G.shape[2])
        image = (rows @ self._terms.half.unpack(x)).reshape(self._G.shape)
        return np.asarray(np.einsum("kan,kan->k", image, self._G))

    def solve(self, r: FloatArray) -> FloatArray:
        if len(self._roots) == 0:
            return r.copy()
        x = lapack.dpotrs(self._factor(), self._roots * self.rates(r), overwrite_b=True)[0]
        return np.asarray(r - self.weighted_sum(x * self._roots))

    def _factor(self) -> FloatArray:
        """Return the factor of I + diag(roots) <B_j, B_k> diag(roots)."""
        if self._terms.problem.m > 1:
            return self._factored(self._inner_products().T)
        # Scaled differences make the scaled matrix without another pass over it.
        scales = np.sqrt(self._roots)
        products = self._examples.inner_products(scales) if self._examples is not None else None
        if products is not None:
            return cholesky(_plus_identity(products.T))
        scaled = self._G[:, 0] * scales[:, None]
        matrix = blas.dsyrk(1.0, scaled.T, trans=True)
        matrix *= matrix
        return cholesky(_plus_identity(matrix))

    def _inner_products(self) -> FloatArray:
        m = self._terms.problem.m
        if m == 1 and self._examples is not None:
            products = self._examples.inner_products(np.ones(len(self._roots)))
            if products is not None:
                return products
        total = _squared_product(self._G[:, 0], self._G[:, 0])
        for i, j in itertools.islice(itertools.product(range(m), repeat=2), 1, None):
            total += _squared_product(self._G[:, i], self._G[:, j])
        return total


def _squared_product(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return the entrywise square of A B^T."""
    product = np.asarray(A @ B.T)
    product *= product
    return product
