"""The interface of the linear system of a second-order step, (I + sum_k h_k vec(B_k) vec(B_k)^T) x = r."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from covmetric._utils.validation import FloatArray
from covmetric.solvers.systems.terms import ActiveTerms, rates_along


class System(ABC):
    """The linear system of one step.

    Parameters
    ----------
    terms : ActiveTerms
        The active pairs.

    Attributes
    ----------
    force : array of shape (p,)
        The sum of forces_k vec(B_k), a by-product of the system.
    gave_up : bool
        Whether the system was solved inexactly because an exact solution took too long.
    preconditioned : bool
        Whether conjugate gradients needed a preconditioner. The system of the next step then needs it, too.
    exact : bool
        Whether the system is solved up to rounding errors.
    keeps_pairs : bool
        Whether the system keeps the B_k, so that `rates` takes no pass over the differences.
    """

    force: FloatArray
    gave_up = False
    preconditioned = False
    exact: ClassVar[bool] = True
    keeps_pairs: ClassVar[bool] = False

    def __init__(self, terms: ActiveTerms) -> None:
        self._terms = terms

    def weighted_sum(self, weights: FloatArray) -> FloatArray:
        """Return the sum of w_k vec(B_k) over the active pairs.

        Parameters
        ----------
        weights : array of shape (a,)
            The weights w_k, of either sign.

        Returns
        -------
        array of shape (p,)
        """
        terms = self._terms
        total = terms.problem.sums.weighted_sum(terms.over_all_pairs(weights))
        return terms.half.pack(terms.from_metric(total))

    def rates(self, x: FloatArray) -> FloatArray:
        """Return <B_k, X> of the active pairs.

        Parameters
        ----------
        x : array of shape (p,)
            The half vector of X.

        Returns
        -------
        array of shape (a,)
        """
        terms = self._terms
        dW = terms.to_metric(terms.half.unpack(x))
        return rates_along(terms.problem.sums, dW)[terms.active]

    @abstractmethod
    def solve(self, r: FloatArray) -> FloatArray:
        """Return the solution x of (I + sum_k h_k vec(B_k) vec(B_k)^T) x = r.

        Parameters
        ----------
        r : array of shape (p,)
            The right-hand side.

        Returns
        -------
        array of shape (p,)

        Raises
        ------
        StepFailed
            If the matrix is not positive definite in floating point arithmetic.
        """

    def solve_affine(self, z: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the solution x for r = z - sum_k w_k vec(B_k), and <B_k, X> of the active pairs.

        The matrix is factorised once, however often this is called.

        Parameters
        ----------
        z : array of shape (p,)
            The part of the right-hand side that does not depend on the pairs.
        weights : array of shape (a,)
            The weights w_k.

        Returns
        -------
        x : array of shape (p,)
            The solution.
        rates : array of shape (a,)
            The inner products.

        Raises
        ------
        StepFailed
            If the matrix is not positive definite in floating point arithmetic.
        """
        x = self.solve(z - self.weighted_sum(weights))
        return x, self.rates(x)
