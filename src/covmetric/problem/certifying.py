"""Certificates of a metric and of multipliers: what all problems share, however they sum over their pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from covmetric._utils.validation import FloatArray, as_floats, check_tolerance, symmetric
from covmetric.problem.certificate import Certificate
from covmetric.problem.dual import Dual, DualPoint
from covmetric.problem.primal import Primal, PrimalPoint

# The unit roundoff.
_UNIT = 2.0**-53


@dataclass(frozen=True)
class CertifiedPoint:
    """A metric and dual feasible multipliers, with their certificate.

    Attributes
    ----------
    W : array of shape (n, n)
        The metric.
    multipliers : array of shape (K,) or PairMultipliers
        The multipliers; if the problem is in blocks, a description from which each block computes its own.
    certificate : Certificate
        The certificate of exactly this metric and these multipliers.
    ratios : array of shape (K,) or None
        The squared distances of the pairs in this metric, divided by their bounds. None if the problem is in blocks.
    derived : bool
        Whether W is the metric of the multipliers, W(alpha).

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric import make_paper_problem
    >>> point = make_paper_problem(n=3, K=5, seed=0).certified(multipliers=np.zeros(5))
    >>> point.derived, point.certificate.dual
    (True, 0.0)
    """

    W: FloatArray
    multipliers: Any
    certificate: Certificate
    ratios: Any
    derived: bool


class Certifying(ABC):
    """The base class of problems. A subclass sets `_primal` and `_dual`, and knows its size and its pairs.

    Attributes
    ----------
    in_memory : bool
        Whether multipliers and ratios are arrays over all pairs.

    Examples
    --------
    >>> from covmetric.problem import Certifying, MetricProblem
    >>> issubclass(MetricProblem, Certifying)
    True
    """

    in_memory: ClassVar[bool] = True
    _primal: Primal
    _dual: Dual

    @property
    @abstractmethod
    def n(self) -> int:
        """The number of rows and columns of W."""

    @property
    @abstractmethod
    def n_pairs(self) -> int:
        """The number of pairs, K."""

    def certify(self, W: Any = None, multipliers: Any = None, tol: float = 1e-6) -> Certificate:
        """Return the certificate of a metric and of multipliers.

        The multipliers are repaired first (see `certified`), so that any array of numbers gives a valid bound.

        Parameters
        ----------
        W : array of shape (n, n) or None, default=None
            A positive definite metric. None derives it from the multipliers.
        multipliers : array of shape (K,) or None, default=None
            The multipliers alpha. None derives them from W.
        tol : float, default=1e-6
            The tolerance on the relative gap.

        Returns
        -------
        Certificate

        Raises
        ------
        ValueError
            If both arguments are None, or if one is invalid.
        """
        return self.certified(W, multipliers, tol).certificate

    def certified(self, W: Any = None, multipliers: Any = None, tol: float = 1e-6) -> CertifiedPoint:
        """Return a metric and repaired multipliers, with their certificate.

        The repair clips each multiplier to its domain and scales all of them by the theta in (0, 1] that maximises
        the dual. The scale theta = 0 would give the bound 0, so the gap is finite for every positive definite W. If the
        metric that is derived from the multipliers is too ill-conditioned to be stored, the identity takes its place.

        Parameters
        ----------
        W : array of shape (n, n) or None, default=None
            A positive definite metric. None derives it from the multipliers.
        multipliers : array of shape (K,) or None, default=None
            The multipliers alpha. None derives them from W.
        tol : float, default=1e-6
            The tolerance on the relative gap.

        Returns
        -------
        CertifiedPoint

        Raises
        ------
        ValueError
            If both arguments are None, or if one is invalid.
        """
        check_tolerance(tol)
        if W is None and multipliers is None:
            raise ValueError("W and multipliers are both None: give at least one of them")
        with np.errstate(all="ignore"):
            return self.certified_arrays(
                None if W is None else self._check_metric(W),
                None if multipliers is None else self._check_multipliers(multipliers),
                tol,
            )

    def certified_arrays(self, W: FloatArray | None, multipliers: Any, tol: float = 1e-6) -> CertifiedPoint:
        """Return the same as `certified`, without checking types and shapes. The loop of the solvers calls this method.

        Parameters
        ----------
        W : array of shape (n, n) or None
            An exactly symmetric metric. None derives it from the multipliers.
        multipliers : array of shape (K,), PairMultipliers or None
            Finite multipliers. None derives them from W.
        tol : float, default=1e-6
            The tolerance on the relative gap.

        Returns
        -------
        CertifiedPoint
            If its multipliers are an array, they are a copy.

        Raises
        ------
        ValueError
            If W is not positive definite.
        """
        if W is None:
            dual = self._dual.repaired(multipliers, tol)
            primal, derived = self._derived_point(dual, tol)
        else:
            primal, derived = self._point(W, tol), False
            dual = self._dual.repaired(self._proposed_multipliers(primal) if multipliers is None else multipliers, tol)
        certificate = Certificate.from_values(
            primal.value,
            dual.value,
            max_violation=max(0.0, self._max_violation(primal, dual)),
            tol=tol,
            rounding=primal.rounding + dual.rounding + _UNIT * abs(primal.value - dual.value),
        )
        return CertifiedPoint(primal.metric, dual.multipliers, certificate, primal.ratios, derived)

    def _derived_point(self, dual: DualPoint, tol: float) -> tuple[PrimalPoint, bool]:
        """Return the best primal point that repaired multipliers lead to, and whether it is their own metric.

        The metric of the multipliers before they were scaled is tried too: the gap is then never larger than the bound
        in the paper, which belongs to that metric.
        """
        own = self._primal.point(dual.metric, tol)
        other = None if dual.unscaled_metric is None else self._primal.point(dual.unscaled_metric, tol)
        if other is not None and (own is None or other.value < own.value):
            return other, False
        return (self._point(np.eye(self.n), tol), False) if own is None else (own, True)

    def _point(self, metric: FloatArray, tol: float = 0.0) -> PrimalPoint:
        point = self._primal.point(metric, tol)
        if point is None:
            if not np.isfinite(metric).all():
                raise ValueError("W must be finite")
            smallest = np.linalg.eigvalsh(metric)[0]
            raise ValueError(f"W must be positive definite; its smallest eigenvalue is {smallest:.3g}")
        return point

    def _check_metric(self, W: Any) -> FloatArray:
        metric = as_floats("W", W)
        if metric.shape != (self.n, self.n):
            raise ValueError(f"W must have shape ({self.n}, {self.n}), got {metric.shape}")
        return symmetric("W", metric)

    def _check_multipliers(self, multipliers: Any) -> Any:
        array = as_floats("multipliers", multipliers)
        if array.shape != (self.n_pairs,):
            raise ValueError(f"multipliers must have one entry per pair, shape ({self.n_pairs},); got {array.shape}")
        return array

    @abstractmethod
    def _proposed_multipliers(self, primal: PrimalPoint) -> Any:
        """Return the multipliers that belong to a metric."""

    @abstractmethod
    def _max_violation(self, primal: PrimalPoint, dual: DualPoint) -> float:
        """Return the largest violation y_k (s_k - xi_k), of either sign."""

    @abstractmethod
    def zero_multipliers(self) -> Any:
        """Return multipliers that are all zero.

        Returns
        -------
        array of shape (K,) or PairMultipliers
        """

    @abstractmethod
    def finite_multipliers(self, multipliers: Any) -> Any:
        """Return the multipliers, or zeros if they are not finite.

        Parameters
        ----------
        multipliers : array of shape (K,) or PairMultipliers
            The multipliers.

        Returns
        -------
        array of shape (K,) or PairMultipliers
        """

    @abstractmethod
    def pair_arrays(self, point: CertifiedPoint) -> tuple[FloatArray, FloatArray]:
        """Return the multipliers and the best slacks of a certified point, as arrays over all pairs.

        Parameters
        ----------
        point : CertifiedPoint
            The point.

        Returns
        -------
        multipliers : array of shape (K,)
            The multipliers.
        slacks : array of shape (K,)
            The slacks.
        """
