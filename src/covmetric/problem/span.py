"""The exact reduction of a problem to the span of its differences.

Let Q have orthonormal columns that span the columns of all differences F_k. The metric nearest to the identity is then
W = I + Q (V - I) Q^T, where V solves the problem with the differences Q^T F_k. Both problems have the same objective,
the same dual and the same gap, for the same multipliers. docs/theory/span.md has the proof, and
docs/theory/rounding.md the rounding errors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covmetric._utils import tuning
from covmetric._utils.threads import limited_threads
from covmetric._utils.tuning import SPAN_FRACTION, SPAN_MANY_ROWS, SPAN_ROWS
from covmetric._utils.validation import FloatArray, read_only
from covmetric.problem.basis import Basis, Coordinates, find_basis, measured_basis, measured_coordinates
from covmetric.problem.centring import Centring, centre
from covmetric.problem.coordinates import CoordinateError
from covmetric.problem.metric_problem import MetricProblem
from covmetric.problem.sums import PairSums

# The reduction is refused unless the coordinates of every difference have ten digits. Differences that are far smaller
# than the distance between the examples and their reference have fewer.
_RELATIVE_ERROR = 1e-10


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
    with np.errstate(all="ignore"), limited_threads(1 if n < tuning.ONE_THREAD_BELOW else None, "blas"):
        centring = centre(problem)
        if centring is None or not (centring.n_columns < n or n >= SPAN_MANY_ROWS):
            return None
        basis = find_basis(centring)
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
    centring = centre(problem)
    if centring is None or basis.ndim != 2 or len(basis) != problem.n or basis.shape[1] == 0:
        return None
    with np.errstate(all="ignore"):
        return _reduction(problem, centring, measured_basis(np.ascontiguousarray(basis.T)))


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


def _reduction(problem: MetricProblem, centring: Centring, basis: Basis) -> Reduction | None:
    """Return the problem in the coordinates of the basis, or None if these are not accurate."""
    if not basis.orthogonality <= _RELATIVE_ERROR:
        return None
    sums = None
    if basis.given is not None:
        sums = _coordinate_sums(problem, centring, basis.given, basis.orthogonality)
    if sums is None:
        sums = _coordinate_sums(problem, centring, measured_coordinates(centring, basis.rows), basis.orthogonality)
    return None if sums is None else Reduction(read_only(basis.rows.T), problem.with_sums(sums))


def _coordinate_sums(
    problem: MetricProblem, centring: Centring, coordinates: Coordinates, orthogonality: float
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
