"""An orthonormal basis of the span of centred examples, and their coordinates, with bounds on the rounding errors.

docs/theory/rounding.md derives the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isqrt

import numpy as np
from scipy.linalg import blas, lapack, qr

from covmetric._utils.tuning import CHUNK_BYTES, SPAN_FRACTION
from covmetric._utils.validation import FloatArray
from covmetric.problem.centring import Centring

# The unit roundoff.
_UNIT = 2.0**-53
# Directions are dropped if every example, scaled to unit length, has at most this much of each: a few rounding errors.
# What is dropped is measured afterwards, and counts in the rounding error of certificates.
_NEGLIGIBLE = 2.0**-46
# The number of terms of a sum of products that are added up at a time.
_BLOCK = 64
# ||Q^T Q - I|| up to which a second pass would gain nothing, since the rounding error of this norm may be as large.
_ORTHONORMAL = 1e-12


@dataclass(frozen=True)
class Coordinates:
    """The coordinates G of rows X, with bounds on the norms of the rows of X - G Q^T, for exact differences X.

    Attributes
    ----------
    values : array of shape (q, r)
        The coordinates.
    residuals : array of shape (q,)
        The bounds.
    """

    values: FloatArray
    residuals: FloatArray


@dataclass(frozen=True)
class Basis:
    """The rows of Q^T, with a bound on ||Q^T Q - I|| that is computed from them.

    Attributes
    ----------
    rows : array of shape (r, n)
        The rows of Q^T.
    orthogonality : float
        The bound, in the Frobenius norm.
    given : Coordinates or None
        The coordinates of all centred rows, if they are known already.
    """

    rows: FloatArray
    orthogonality: float
    given: Coordinates | None = None


def find_basis(centring: Centring) -> Basis | None:
    """Return a basis of the span of the differences.

    If the examples that occur in pairs have fewer than n columns, no array of shape (n, n) is built.

    Parameters
    ----------
    centring : Centring
        The examples and their references.

    Returns
    -------
    Basis or None
        None if a difference overflows, if all are zero, or if at least n columns span nearly everything.
    """
    few = centring.n_columns < centring.rows.shape[2]
    return _basis_of_few_columns(centring) if few else _basis_of_many_columns(centring)


def measured_basis(basis_rows: FloatArray) -> Basis:
    """Return a basis with a bound on ||Q^T Q - I||.

    Parameters
    ----------
    basis_rows : array of shape (r, n)
        The rows of Q^T.

    Returns
    -------
    Basis
    """
    gram = _blocked_gram(basis_rows)
    # The rounding error of a sum of n products is at most the number of roundings times the norms of the columns.
    error = _roundings(basis_rows.shape[1]) * _UNIT * float(gram.trace())
    return Basis(basis_rows, float(np.linalg.norm(gram - np.eye(len(gram)))) + error)


def _unit_rows(rows: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return the rows that are not zero, scaled to unit length, and the lengths of all; None if one overflows."""
    lengths = np.abs(rows).max(axis=1)
    rows = rows[lengths > 0.0]
    rows /= lengths[lengths > 0.0, None]
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    rows /= norms[:, None]
    lengths[lengths > 0.0] *= norms
    return (rows, lengths) if np.isfinite(norms).all() else None


def _basis_of_few_columns(centring: Centring) -> Basis | None:
    """Return a basis of the span of fewer than n columns."""
    scaled = _unit_rows(centring.centred())
    if scaled is None or len(scaled[0]) == 0:
        return None
    quick = _cholesky_basis(*scaled)
    return _householder_basis(centring) if quick is None else quick


def _cholesky_basis(rows: FloatArray, lengths: FloatArray) -> Basis | None:
    """Return a basis by the Cholesky factor of the Gram matrix, or None if the rows are nearly dependent.

    A second pass is as accurate as Householder's method if the first pass leaves columns that are nearly orthonormal
    (Yamamoto, Nakatsukasa, Yanagisawa and Fukaya, ETNA 44, 2015). The rows are overwritten.
    """
    gram = rows @ rows.T
    for repeated in (False, True):
        R, failed = lapack.dpotrf(gram, lower=False, clean=True)
        if failed:
            return None
        inverse = lapack.dtrtri(R)[0]
        rows = blas.dtrmm(1.0, inverse, rows.T, side=1, overwrite_b=True).T
        basis = measured_basis(rows)
        if basis.orthogonality <= _ORTHONORMAL + _roundings(rows.shape[1]) * len(rows) * _UNIT:
            return basis if repeated else replace(basis, given=_factor_coordinates(R, inverse, lengths))
        gram = rows @ rows.T
    return None


def _factor_coordinates(R: FloatArray, inverse: FloatArray, lengths: FloatArray) -> Coordinates:
    """Return the coordinates of all rows from the Cholesky factor of those that are not zero, scaled to unit length.

    For U = R^T Q^T, where Q^T is the computed product of R^-T and U, docs/theory/rounding.md derives the residuals.
    """
    r = len(R)
    G, T = R.T, inverse.T
    sizes = np.abs(G) @ np.abs(T).sum(axis=1)
    residuals = np.abs(np.eye(r) - G @ T).sum(axis=1) + _UNIT * (2 * (r + 2) * sizes + np.abs(G).sum(axis=1) + 5)
    coordinates = Coordinates(np.zeros((len(lengths), r)), np.zeros(len(lengths)))
    coordinates.values[lengths > 0.0] = lengths[lengths > 0.0, None] * G
    coordinates.residuals[lengths > 0.0] = (1.0 + 1e-10) * lengths[lengths > 0.0] * residuals
    return coordinates


def _householder_basis(centring: Centring) -> Basis | None:
    """Return a basis of the span of the centred rows by Householder's method, without negligible directions."""
    scaled = _unit_rows(centring.centred())
    if scaled is None:
        return None
    Q, R = np.linalg.qr(scaled[0].T)
    rotation, pivots, _ = qr(R, pivoting=True, check_finite=False)
    return measured_basis(np.asarray(rotation[:, : _rank(pivots)].T @ Q.T))


def _basis_of_many_columns(centring: Centring) -> Basis | None:
    """Return a basis of the span of at least n columns, or None if they span nearly everything."""
    count, m, n = len(centring.examples), *centring.rows.shape[1:]
    # In nearly all problems, a few of the columns span everything.
    few = np.linspace(0, count - 1, min(count, -(-2 * n // m)), dtype=np.int64)
    sample = _unit_rows(centring.centred(few))
    if sample is None:
        return None
    spectrum = np.linalg.eigvalsh(sample[0].T @ sample[0])
    if np.count_nonzero(spectrum > n * _UNIT * spectrum[-1]) > SPAN_FRACTION * n:
        return None
    R = np.zeros((0, n))
    size = -(-4 * n // m)
    for start in range(0, count, size):
        scaled = _unit_rows(centring.centred(slice(start, start + size)))
        if scaled is None:
            return None
        R = np.asarray(np.linalg.qr(np.vstack([R, scaled[0]]), mode="r"))
    Q, pivots, _ = qr(R.T, pivoting=True, check_finite=False)
    return measured_basis(np.ascontiguousarray(Q[:, : _rank(pivots)].T))


def _rank(pivots: FloatArray) -> int:
    """Return the number of directions that are not negligible, from a triangular factor with pivoting."""
    sizes = np.abs(pivots.diagonal())
    return int(np.count_nonzero(sizes > _NEGLIGIBLE * sizes[0]))


def measured_coordinates(centring: Centring, basis_rows: FloatArray) -> Coordinates:
    """Return the coordinates of all centred rows, with measured residuals.

    Parameters
    ----------
    centring : Centring
        The examples and their references.
    basis_rows : array of shape (r, n)
        The rows of Q^T.

    Returns
    -------
    Coordinates
    """
    m, n = centring.rows.shape[1:]
    count = centring.n_columns
    found = Coordinates(np.empty((count, len(basis_rows))), np.empty(count))
    size = max(1, 8 * CHUNK_BYTES // (8 * m * n))
    for start in range(0, len(centring.examples), size):
        differences, part = centring.centred(slice(start, start + size)), slice(m * start, m * (start + size))
        np.matmul(differences, basis_rows.T, out=found.values[part])
        found.residuals[part] = _residuals(differences, found.values[part], basis_rows)
    return found


def _residuals(differences: FloatArray, coordinates: FloatArray, basis_rows: FloatArray) -> FloatArray:
    """Return bounds on the norms of the rows of X - G Q^T, for exact differences X."""
    r = len(basis_rows)
    residual, product = differences.copy(), np.empty_like(differences)
    for start in range(0, r, _BLOCK):
        part = slice(start, start + _BLOCK)
        np.matmul(coordinates[:, part], basis_rows[part], out=product)
        residual -= product
    measured, norms, sizes = (np.linalg.norm(A, axis=1) for A in (residual, differences, coordinates))
    # Each entry accumulates the roundings of a block and of the sum over the blocks, and X has been rounded once.
    roundings = _UNIT * (min(_BLOCK, r) + -(-r // _BLOCK) + 2)
    return np.asarray((1.0 + 1e-10) * measured + roundings * (norms + float(np.linalg.norm(basis_rows)) * sizes))


def _blocked_gram(rows: FloatArray) -> FloatArray:
    """Return the Gram matrix of the rows, summed by blocks and groups of them, so that few roundings accumulate."""
    length = rows.shape[1]
    group = _BLOCK * _group(length)
    product: FloatArray = np.zeros((len(rows), len(rows)))
    for first in range(0, length, group):
        partial = np.zeros_like(product)
        for start in range(first, min(first + group, length), _BLOCK):
            part = rows[:, start : start + _BLOCK]
            partial += part @ part.T
        product += partial
    return product


def _group(length: int) -> int:
    """Return the number of blocks in a group."""
    return isqrt(max(1, length // _BLOCK))


def _roundings(length: int) -> int:
    """Return the number of roundings, at most, that an entry of a Gram matrix that is summed by blocks accumulates."""
    blocks, group = -(-length // _BLOCK), _group(length)
    return min(_BLOCK, length) + group + -(-blocks // group) + 1
