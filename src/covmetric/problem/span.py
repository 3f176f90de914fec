"""The exact reduction of a problem to the span of its differences.

Let Q have orthonormal columns that span the columns of all differences F_k. The metric nearest to the identity is then
W = I + Q (V - I) Q^T, where V solves the problem with the differences Q^T F_k. Both problems have the same objective,
the same dual and the same gap, for the same multipliers. docs/theory/span.md has the proof, and
docs/theory/rounding.md the rounding errors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isqrt

import numpy as np
from scipy.linalg import blas, lapack, qr

from covmetric._utils.tuning import CHUNK_BYTES, SPAN_FRACTION, SPAN_MANY_ROWS, SPAN_ROWS
from covmetric._utils.validation import FloatArray, IntArray, read_only
from covmetric.problem.coordinates import CoordinateError
from covmetric.problem.metric_problem import MetricProblem
from covmetric.problem.sums import PairSums

# The unit roundoff.
_UNIT = 2.0**-53
# Directions are dropped if every example, scaled to unit length, has at most this much of each: a few rounding errors.
# What is dropped is measured afterwards, and counts in the rounding error of certificates.
_NEGLIGIBLE = 2.0**-46
# The reduction is refused unless the coordinates of every difference have ten digits. Differences that are far smaller
# than the distance between the examples and their reference have fewer.
_RELATIVE_ERROR = 1e-10
# The number of terms of a sum of products that are added up at a time.
_BLOCK = 64
# ||Q^T Q - I|| up to which a second pass would gain nothing, since the rounding error of this norm may be as large.
_ORTHONORMAL = 1e-12


@dataclass(frozen=True)
class Reduction:
    """A problem in the coordinates of the span of its differences.

    Attributes
    ----------
    basis : array of shape (n, r)
        The matrix Q, with orthonormal columns.
    problem : MetricProblem
        The problem with the differences Q^T F_k, of size r. Its pairs, and thus its multipliers, are those of the whole
        problem. Its certificates bound the gap of the whole problem at W = I + Q (V - I) Q^T.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric.problem import MetricProblem, reduce_to_basis
    >>> embedded = np.array([[0.0, 0.0, 0.0], [3.0, 4.0, 0.0]])[:, :, None]
    >>> whole = MetricProblem(embedded, [[0, 1]], [1], bounds=1.0, weights=1.0)
    >>> reduction = reduce_to_basis(whole, np.array([[0.6], [0.8], [0.0]]))
    >>> reduction.problem.n, reduction.problem.squared_norms.round(9).tolist()
    (1, [25.0])
    """

    basis: FloatArray
    problem: MetricProblem


def reduce_to_span(problem: MetricProblem) -> Reduction | None:
    """Return a problem in the coordinates of the span of its differences, if that is much smaller.

    If the examples that occur in pairs have fewer than n columns, no array of shape (n, n) is built.

    Parameters
    ----------
    problem : MetricProblem
        The problem.

    Returns
    -------
    Reduction or None
        None if the differences span more than the fraction `tuning.SPAN_FRACTION` of the n directions, if n is so small
        that a reduction does not pay, or if the differences would lose more than six of their digits.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric.problem import MetricProblem, reduce_to_span
    >>> embedded = np.random.default_rng(0).standard_normal((4, 100, 1))
    >>> whole = MetricProblem(embedded, [[0, 1], [2, 3], [1, 2]], [1, 1, -1], bounds=1.0, weights=1.0)
    >>> reduce_to_span(whole).basis.shape
    (100, 3)
    """
    n, m = problem.n, problem.m
    # A single example has m columns.
    if n < SPAN_ROWS or (n < SPAN_MANY_ROWS and m >= n):
        return None
    centring = _centre(problem)
    if centring is None:
        return None
    n_columns = m * len(centring.examples)
    if not (n_columns < n or n >= SPAN_MANY_ROWS):
        return None
    with np.errstate(all="ignore"):
        basis = _few_columns(centring) if n_columns < n else _many_columns(centring)
        if basis is None or len(basis.rows) > SPAN_FRACTION * n:
            return None
        return _reduction(problem, centring, basis)


def reduce_to_basis(problem: MetricProblem, basis: FloatArray) -> Reduction | None:
    """Return a problem in the coordinates of a given basis.

    Parameters
    ----------
    problem : MetricProblem
        The problem.
    basis : array of shape (n, r)
        A matrix Q with orthonormal columns, which span the differences.

    Returns
    -------
    Reduction or None
        None if the columns are not orthonormal, or do not span the differences.

    Examples
    --------
    See `Reduction`.
    """
    centring = _centre(problem)
    if centring is None or basis.ndim != 2 or len(basis) != problem.n or basis.shape[1] == 0:
        return None
    with np.errstate(all="ignore"):
        return _reduction(problem, centring, _measured(np.ascontiguousarray(basis.T)))


def expand(basis: FloatArray, core: FloatArray) -> FloatArray:
    """Return the dense matrix I + Q (V - I) Q^T.

    Parameters
    ----------
    basis : array of shape (n, r)
        The matrix Q, with orthonormal columns.
    core : array of shape (r, r)
        The symmetric matrix V.

    Returns
    -------
    array of shape (n, n)
        A symmetric matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric.problem import expand
    >>> expand(np.array([[0.0], [1.0]]), np.array([[3.0]]))
    array([[1., 0.],
           [0., 3.]])
    """
    half = basis @ (core - np.eye(len(core)))
    dense: FloatArray = half @ basis.T
    dense += dense.T.copy()
    dense *= 0.5
    dense.flat[:: len(dense) + 1] += 1.0
    return dense


@dataclass(frozen=True)
class _Centring:
    """The examples that span the differences, each with the example that is subtracted from it.

    Pairs only compare examples of one component of their graph. An example per component is the reference; it need not
    be subtracted from itself, nor from examples of other components.
    """

    rows: FloatArray  # (l, m, n), all examples
    examples: IntArray  # the examples that occur in pairs, without references and duplicates
    references: IntArray  # the reference of each of these
    original: IntArray  # for each of all examples, the first of those that are equal to it

    def centred(self, part: slice | IntArray = slice(None)) -> FloatArray:
        """Return the rows of examples minus their references, shape (q, n)."""
        difference = self.rows[self.examples[part]]
        difference -= self.rows[self.references[part]]
        return difference.reshape(-1, self.rows.shape[2])


def _centre(problem: MetricProblem) -> _Centring | None:
    """Choose the references; return None if squared distances underflow, or if all differences are zero."""
    rows, pairs = problem.sums.rows, problem.pairs
    count = len(rows)
    original = np.arange(count)
    zero = problem.squared_norms == 0.0
    if zero.any():
        if not all(np.array_equal(rows[i], rows[j]) for i, j in pairs[zero]):
            return None
        original = _first_of_component(pairs[zero], count)
    linked = original[pairs]
    component = _first_of_component(linked, count)
    # A reference with many pairs leaves their differences without a rounding error.
    degree = np.bincount(linked.ravel(), minlength=count)
    reference = np.arange(count)
    by_degree = np.argsort(degree, kind="stable")
    reference[component[by_degree]] = by_degree  # the last one, with the highest degree, remains
    reference = reference[component]
    examples = np.flatnonzero(reference != np.arange(count))
    if len(examples) == 0:
        return None
    return _Centring(rows, examples, reference[examples], original)


def _first_of_component(edges: IntArray, count: int) -> IntArray:
    """Return the first vertex of the component of each vertex of a graph."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(count, count))
    labels = connected_components(graph, directed=False)[1]
    first = np.unique(labels, return_index=True)[1]
    return np.asarray(first[labels], dtype=np.int64)


@dataclass(frozen=True)
class _Basis:
    """The rows of Q^T, with a bound on ||Q^T Q - I|| that is computed from them."""

    rows: FloatArray  # (r, n)
    orthogonality: float
    given: _Coordinates | None = None  # the coordinates of all centred rows, if they are known already


@dataclass(frozen=True)
class _Coordinates:
    """The coordinates G of rows X, with bounds on the norms of the rows of X - G Q^T, for exact differences X."""

    values: FloatArray  # (q, r)
    residuals: FloatArray  # (q,)


def _measured(basis_rows: FloatArray) -> _Basis:
    """Return a basis with a bound on ||Q^T Q - I||."""
    gram = _blocked_gram(basis_rows)
    # The rounding error of a sum of n products is at most the number of roundings times the norms of the columns.
    error = _roundings(basis_rows.shape[1]) * _UNIT * float(gram.trace())
    return _Basis(basis_rows, float(np.linalg.norm(gram - np.eye(len(gram)))) + error)


def _unit_rows(rows: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return the rows that are not zero, scaled to unit length, and the lengths of all; None if one overflows."""
    lengths = np.abs(rows).max(axis=1)
    rows = rows[lengths > 0.0]
    rows /= lengths[lengths > 0.0, None]
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    rows /= norms[:, None]
    lengths[lengths > 0.0] *= norms
    return (rows, lengths) if np.isfinite(norms).all() else None


def _few_columns(centring: _Centring) -> _Basis | None:
    """Return a basis of the span of fewer than n columns."""
    scaled = _unit_rows(centring.centred())
    if scaled is None or len(scaled[0]) == 0:
        return None
    quick = _cholesky_basis(*scaled)
    return _householder_basis(centring) if quick is None else quick


def _cholesky_basis(rows: FloatArray, lengths: FloatArray) -> _Basis | None:
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
        basis = _measured(rows)
        if basis.orthogonality <= _ORTHONORMAL + _roundings(rows.shape[1]) * len(rows) * _UNIT:
            return basis if repeated else replace(basis, given=_factor_coordinates(R, inverse, lengths))
        gram = rows @ rows.T
    return None


def _factor_coordinates(R: FloatArray, inverse: FloatArray, lengths: FloatArray) -> _Coordinates:
    """Return the coordinates of all rows from the Cholesky factor of those that are not zero, scaled to unit length.

    For U = R^T Q^T, where Q^T is the computed product of R^-T and U, docs/theory/rounding.md derives the residuals.
    """
    r = len(R)
    G, T = R.T, inverse.T
    sizes = np.abs(G) @ np.abs(T).sum(axis=1)
    residuals = np.abs(np.eye(r) - G @ T).sum(axis=1) + _UNIT * (2 * (r + 2) * sizes + np.abs(G).sum(axis=1) + 5)
    coordinates = _Coordinates(np.zeros((len(lengths), r)), np.zeros(len(lengths)))
    coordinates.values[lengths > 0.0] = lengths[lengths > 0.0, None] * G
    coordinates.residuals[lengths > 0.0] = (1.0 + 1e-10) * lengths[lengths > 0.0] * residuals
    return coordinates


def _householder_basis(centring: _Centring) -> _Basis | None:
    """Return a basis of the span of the centred rows by Householder's method, without negligible directions."""
    scaled = _unit_rows(centring.centred())
    if scaled is None:
        return None
    Q, R = np.linalg.qr(scaled[0].T)
    rotation, pivots, _ = qr(R, pivoting=True, check_finite=False)
    return _measured(np.asarray(rotation[:, : _rank(pivots)].T @ Q.T))


def _many_columns(centring: _Centring) -> _Basis | None:
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
    return _measured(np.ascontiguousarray(Q[:, : _rank(pivots)].T))


def _rank(pivots: FloatArray) -> int:
    """Return the number of directions that are not negligible, from a triangular factor with pivoting."""
    sizes = np.abs(pivots.diagonal())
    return int(np.count_nonzero(sizes > _NEGLIGIBLE * sizes[0]))


def _reduction(problem: MetricProblem, centring: _Centring, basis: _Basis) -> Reduction | None:
    """Return the problem in the coordinates of the basis, or None if these are not accurate."""
    if not basis.orthogonality <= _RELATIVE_ERROR:
        return None
    sums = None
    if basis.given is not None:
        sums = _coordinate_sums(problem, centring, basis.given, basis.orthogonality)
    if sums is None:
        sums = _coordinate_sums(problem, centring, _measured_coordinates(centring, basis.rows), basis.orthogonality)
    return None if sums is None else Reduction(read_only(basis.rows.T), problem.with_sums(sums))


def _coordinate_sums(
    problem: MetricProblem, centring: _Centring, coordinates: _Coordinates, orthogonality: float
) -> PairSums | None:
    """Return the sums over pairs of examples in coordinates, or None if some differences would lose digits."""
    count, m, _ = centring.rows.shape
    rows, errors = np.zeros((count, m, coordinates.values.shape[1])), np.zeros(count)
    rows[centring.examples] = coordinates.values.reshape(-1, *rows.shape[1:])
    errors[centring.examples] = np.linalg.norm(coordinates.residuals.reshape(-1, m), axis=1)
    error = CoordinateError(read_only(errors[centring.original]), orthogonality)
    deviations, norms = error.deviations(problem.pairs), np.sqrt(problem.squared_norms)
    if not (deviations <= _RELATIVE_ERROR * norms)[norms > 0.0].all():
        return None
    return PairSums(read_only(rows[centring.original]), problem.pairs, error)


def _measured_coordinates(centring: _Centring, basis_rows: FloatArray) -> _Coordinates:
    """Return the coordinates Q^T X of all centred rows, with measured residuals."""
    m, n = centring.rows.shape[1:]
    count = m * len(centring.examples)
    found = _Coordinates(np.empty((count, len(basis_rows))), np.empty(count))
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
