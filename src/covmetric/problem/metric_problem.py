"""The learning problem: objective, dual and certificate. It does not depend on any solver."""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric._utils.validation import (
    FloatArray,
    IntArray,
    as_floats,
    positive_vector,
    read_only,
    signs,
)
from covmetric._utils.warning import warn
from covmetric.problem.certifying import CertifiedPoint, Certifying
from covmetric.problem.checks import check_kept, check_pairs, check_scale
from covmetric.problem.dual import Dual, DualPoint
from covmetric.problem.primal import Primal, PrimalPoint
from covmetric.problem.sums import PairSums
from covmetric.problem.terms import PairTerms
from covmetric.slacks import Slack, get_slack

# Overflow means an infinite loss or an infeasible point, which is handled without a warning.
_quietly = np.errstate(all="ignore")


class MetricProblem(Certifying):
    r"""The problem of finding the metric W nearest to the identity, subject to soft bounds on squared distances.

    minimise over W > 0 and xi > 0

        -log det W + tr W - n + sum_k c_k d(xi_k)    subject to    y_k <A_k, W> <= y_k b_k xi_k

    with A_k = F_k F_k^T and F_k = Phi(X_i) - Phi(X_j) for the pair k = (i, j). <A_k, W> is a SQUARED distance, and the
    bounds b_k are in the same units. The problem holds the embedded examples and the index pairs, not K matrices. (Up
    to 16 MB of matrices are kept because they save time. While Newton's method runs, it keeps as many as its `memory`
    allows.)

    Parameters
    ----------
    embedded : array of shape (l, n, m)
        The embedded examples Phi(X).
    pairs : array of int of shape (K, 2)
        Indices into `embedded`.
    similar : array of shape (K,)
        +1 for pairs whose squared distance should be at most the bound, -1 for pairs whose squared distance should be
        at least the bound.
    bounds : array of shape (K,) or float
        Bounds b_k > 0 on the squared distances.
    weights : array of shape (K,) or float
        Weights c_k > 0 of the losses. The paper uses 1/(lambda K).
    slack : {'is', 'l2', 're'} or Slack, default='is'
        The divergence d that penalises violated bounds.

    Attributes
    ----------
    pairs : array of int of shape (K, 2)
        The index pairs, read-only.
    similar, bounds, weights : arrays of shape (K,)
        The signs, bounds and weights of the pairs, read-only.
    slack : Slack
        The divergence d.
    terms : PairTerms
        All of the above in one object. Solvers use it to determine which pairs are active.
    sums : PairSums
        Sums over the pairs, by chunks. Solvers use it for gradients and for squared distances.

    Raises
    ------
    ValueError
        If an argument is invalid; the message names the argument, the index and the value. With slack 'is', also if the
        examples of a dissimilar pair are equal (F = 0), because no metric separates them and their loss is infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric import MetricProblem, solve
    >>> embedded = np.array([[[0.0], [0.0]], [[1.0], [0.0]], [[0.0], [1.0]]])
    >>> problem = MetricProblem(embedded, [[0, 1], [0, 2]], [1, -1], bounds=[0.5, 2.0], weights=10.0)
    >>> result = solve(problem, tol=1e-9)
    >>> result.status.name
    'SOLVED'
    >>> print(result.W.round(3))
    [[0.524 0.   ]
     [0.    1.833]]
    """

    def __init__(
        self,
        embedded: Any,
        pairs: Any,
        similar: Any,
        bounds: Any,
        weights: Any,
        slack: str | Slack = "is",
    ) -> None:
        examples = as_floats("embedded", embedded)
        if examples.ndim != 3 or 0 in examples.shape[1:]:
            raise ValueError(f"embedded must have shape (l, n, m) with n, m >= 1; got {examples.shape}")
        index = check_pairs(pairs, len(examples))
        rows = np.array(np.swapaxes(examples, 1, 2), order="C")
        self._setup(PairSums(read_only(rows), read_only(index)), similar, bounds, weights, slack)

    @classmethod
    def from_differences(
        cls, F: Any, similar: Any, bounds: Any, weights: Any, slack: str | Slack = "is"
    ) -> MetricProblem:
        """Return the problem with given differences F_k, as in the paper's synthetic experiment.

        Parameters
        ----------
        F : array of shape (K, n, m)
            The differences of the pairs.
        similar : array of shape (K,)
            +1 for similar pairs, -1 for dissimilar pairs.
        bounds : array of shape (K,) or float
            Bounds b_k > 0 on the squared distances.
        weights : array of shape (K,) or float
            Weights c_k > 0 of the losses.
        slack : {'is', 'l2', 're'} or Slack, default='is'
            The divergence d that penalises violated bounds.

        Returns
        -------
        MetricProblem

        Raises
        ------
        ValueError
            If an argument is invalid.
        """
        differences = as_floats("F", F)
        if differences.ndim != 3 or 0 in differences.shape:
            raise ValueError(f"F must have shape (K, n, m) with K, n, m >= 1; got {differences.shape}")
        K, n, m = differences.shape
        # The origin is one more example, and every difference is its pair with the origin.
        rows = np.zeros((K + 1, m, n))
        rows[:K] = np.swapaxes(differences, 1, 2)
        pairs = np.stack([np.arange(K), np.full(K, K)], axis=1)
        problem = cls.__new__(cls)
        problem._setup(PairSums(read_only(rows), read_only(pairs)), similar, bounds, weights, slack)
        return problem

    @classmethod
    def from_checked(
        cls, sums: PairSums, similar: FloatArray, bounds: FloatArray, weights: FloatArray, slack: Slack
    ) -> MetricProblem:
        """Create a problem from parts that have been checked before. Blocks of a problem are made in this way.

        Parameters
        ----------
        sums : PairSums
            The examples and the pairs.
        similar, bounds, weights : arrays of shape (K,)
            The signs, bounds and weights of the pairs.
        slack : Slack
            The divergence d.

        Returns
        -------
        MetricProblem
        """
        problem = cls.__new__(cls)
        problem._assign(sums, similar, bounds, weights, slack)
        return problem

    def _setup(self, sums: PairSums, similar: Any, bounds: Any, weights: Any, slack: str | Slack) -> None:
        K = len(sums.pairs)
        self._assign(
            sums,
            read_only(signs("similar", similar, K)),
            read_only(positive_vector("bounds", bounds, K)),
            read_only(positive_vector("weights", weights, K)),
            get_slack(slack),
        )
        if sums.coordinates is None:  # otherwise, the whole problem has been checked
            check_scale(self.terms, self.squared_norms)

    def _assign(
        self, sums: PairSums, similar: FloatArray, bounds: FloatArray, weights: FloatArray, slack: Slack
    ) -> None:
        self.slack, self.sums = slack, sums
        self.pairs: IntArray = sums.pairs
        self.similar, self.bounds, self.weights = similar, bounds, weights
        self.terms = PairTerms(sums, similar, bounds, weights, slack)
        self._primal, self._dual = Primal(self.terms), Dual(self.terms)

    def replace(
        self,
        *,
        keep: Any = None,
        pairs: Any = None,
        similar: Any = None,
        bounds: Any = None,
        weights: Any = None,
    ) -> MetricProblem:
        """Return a problem on the same examples with different pairs, bounds or weights.

        The examples are shared between the two problems, not copied.

        Parameters
        ----------
        keep : array of int or bool, or None, default=None
            The pairs to keep, in this order. None keeps all pairs.
        pairs : array of int of shape (q, 2) or None, default=None
            Pairs to add after the pairs that are kept.
        similar : array of shape (q,) or None, default=None
            +1 or -1 for each added pair.
        bounds : array or float, or None, default=None
            The bounds of all pairs of the new problem. None keeps the old bounds, and is an error if pairs are added.
        weights : array or float, or None, default=None
            The weights of all pairs of the new problem. None keeps the old weights, and is an error if pairs are added.

        Returns
        -------
        MetricProblem

        Raises
        ------
        ValueError
            If an argument is invalid, or if no pairs are left.

        See Also
        --------
        SolveResult.warm_start : The multipliers of a solved problem as a warm start for the new problem.

        Examples
        --------
        >>> from covmetric import make_paper_problem
        >>> problem = make_paper_problem(n=4, K=6, lam=1e-2, seed=0)
        >>> problem.replace(keep=[0, 2, 3], weights=7.0).n_pairs
        3
        """
        if (pairs is None) != (similar is None):
            raise ValueError("pairs and similar must be given together: give both or neither")
        kept = check_kept(keep, self.n_pairs)
        all_pairs, all_similar = self.pairs[kept], self.similar[kept]
        if pairs is not None:
            if bounds is None or weights is None:
                raise ValueError("bounds and weights of all pairs must be given when pairs are added")
            added = check_pairs(pairs, len(self.sums.rows))
            all_pairs = np.concatenate([all_pairs, added])
            all_similar = np.concatenate([all_similar, signs("similar", similar, len(added))])
        if len(all_pairs) == 0:
            raise ValueError("no pairs are left: keep or add at least one pair")
        problem = MetricProblem.__new__(type(self))
        same_pairs = keep is None and pairs is None
        problem._setup(
            self.sums if same_pairs else self._sums_over(all_pairs),
            all_similar,
            self.bounds[kept] if bounds is None else bounds,
            self.weights[kept] if weights is None else weights,
            self.slack,
        )
        return problem

    def _sums_over(self, pairs: IntArray) -> PairSums:
        """Return sums over other pairs of the same examples."""
        return PairSums(self.sums.rows, read_only(pairs), self.sums.coordinates, examples=self.sums.examples)

    def with_sums(self, sums: PairSums) -> MetricProblem:
        """Return a problem on other examples with the same pairs, bounds, weights and slack.

        Parameters
        ----------
        sums : PairSums
            The examples, with the pairs of this problem.

        Returns
        -------
        MetricProblem
        """
        problem = MetricProblem.__new__(type(self))
        problem._setup(sums, self.similar, self.bounds, self.weights, self.slack)
        return problem

    def changed(self, **changes: Any) -> MetricProblem:
        """Deprecated alias of `replace`.

        Parameters
        ----------
        **changes
            The arguments of `replace`.

        Returns
        -------
        MetricProblem
        """
        warn("MetricProblem.changed is deprecated, use MetricProblem.replace", FutureWarning)
        return self.replace(**changes)

    @property
    def n(self) -> int:
        """The number of rows and columns of W."""
        return int(self.sums.rows.shape[2])

    @property
    def m(self) -> int:
        """The number of columns of an embedded example."""
        return int(self.sums.rows.shape[1])

    @property
    def n_pairs(self) -> int:
        """The number of pairs, K."""
        return len(self.pairs)

    @property
    def embedded(self) -> FloatArray:
        """The embedded examples, shape (l, n, m), read-only."""
        return np.swapaxes(self.sums.rows, 1, 2)

    def __repr__(self) -> str:
        n_similar = int((self.similar > 0.0).sum())
        return (
            f"MetricProblem(n={self.n}, m={self.m}, pairs={self.n_pairs} ({n_similar} similar, "
            f"{self.n_pairs - n_similar} dissimilar), slack={self.slack.name!r})"
        )

    @property
    def squared_norms(self) -> FloatArray:
        """The squared norms ||F_k||^2, which are the squared distances at W = I, shape (K,)."""
        return self._primal.squared_norms

    @_quietly
    def squared_distances(self, W: Any) -> FloatArray:
        """Return the squared distances <A_k, W> of the pairs.

        Parameters
        ----------
        W : array of shape (n, n)
            A positive definite metric.

        Returns
        -------
        array of shape (K,)
        """
        return np.asarray(self._point(self._check_metric(W)).ratios * self.bounds)

    @_quietly
    def slacks(self, W: Any) -> FloatArray:
        """Return the best slacks xi for a metric: 1 if the bound holds, otherwise the squared distance over the bound.

        Parameters
        ----------
        W : array of shape (n, n)
            A positive definite metric.

        Returns
        -------
        array of shape (K,)
        """
        return self.best_slacks(self._point(self._check_metric(W)).ratios)

    def best_slacks(self, ratios: FloatArray) -> FloatArray:
        """Return the best slacks xi for given squared distances.

        Parameters
        ----------
        ratios : array of shape (K,)
            Squared distances divided by their bounds.

        Returns
        -------
        array of shape (K,)
        """
        return np.where(self.terms.active(ratios), ratios, 1.0)

    @_quietly
    def primal(self, W: Any) -> float:
        """Return the objective P(W), with the best slack for each pair.

        Parameters
        ----------
        W : array of shape (n, n)
            A symmetric matrix.

        Returns
        -------
        float
            Infinity if W is not positive definite.
        """
        point = self._primal.point(self._check_metric(W))
        return np.inf if point is None else point.value

    @_quietly
    def dual(self, multipliers: Any, tol: float = 0.0) -> float:
        """Return the dual objective g(alpha), a lower bound on the optimum.

        Parameters
        ----------
        multipliers : array of shape (K,)
            The multipliers alpha.
        tol : float, default=0.0
            A relative error that is small enough for the purpose. A large one saves time on ill-conditioned problems.

        Returns
        -------
        float
            Minus infinity if the multipliers are not dual feasible.
        """
        point = self._dual.point(self._check_multipliers(multipliers), tol)
        return -np.inf if point is None else point.value

    @_quietly
    def metric(self, multipliers: Any, tol: float = 0.0) -> FloatArray:
        """Return the metric W(alpha) = (I + sum_k y_k alpha_k A_k)^-1 of dual feasible multipliers.

        Parameters
        ----------
        multipliers : array of shape (K,)
            The multipliers alpha.
        tol : float, default=0.0
            A tolerance on the relative gap. If the rounding error of the dual objective is small beside it, a quicker
            evaluation is enough.

        Returns
        -------
        array of shape (n, n)

        Raises
        ------
        ValueError
            If the multipliers are not dual feasible.
        """
        point = self._dual.point(self._check_multipliers(multipliers), tol)
        if point is None:
            raise ValueError(
                "multipliers are not dual feasible (one is negative, I + S is not positive definite, or t is beyond "
                "the slack's domain); certified(None, multipliers) repairs them and returns their metric"
            )
        return point.metric

    def clipped(self, multipliers: FloatArray) -> FloatArray:
        """Return the multipliers, each clipped to its dual domain.

        The result may still be infeasible, because I + S need not be positive definite. Solvers use this method to
        propose multipliers.

        Parameters
        ----------
        multipliers : array of shape (K,)
            Any finite numbers.

        Returns
        -------
        array of shape (K,)
            A copy.
        """
        return self._dual.clipped(multipliers)

    def dual_losses(self, multipliers: FloatArray) -> float:
        """Return sum_k c_k h(t_k), the part of the dual objective that does not depend on I + S.

        Solvers that have computed log det(I + S) use this method to estimate the dual objective without a sum over the
        A_k. The loop of the solvers silences warnings about overflow.

        Parameters
        ----------
        multipliers : array of shape (K,)
            Multipliers within their domains.

        Returns
        -------
        float
        """
        return self._dual.losses(multipliers)

    def _proposed_multipliers(self, primal: PrimalPoint) -> FloatArray:
        return self._primal.multipliers(primal.ratios)

    def _max_violation(self, primal: PrimalPoint, dual: DualPoint) -> float:
        return self.largest_violation(primal.ratios, dual.multipliers)

    def largest_violation(self, ratios: FloatArray, multipliers: FloatArray) -> float:
        """Return the largest y_k (s_k - xi_k), with the slacks xi that belong to the multipliers.

        Parameters
        ----------
        ratios : array of shape (K,)
            Squared distances divided by their bounds, s_k.
        multipliers : array of shape (K,)
            Dual feasible multipliers.

        Returns
        -------
        float
        """
        return float((self.similar * (ratios - self.slack.xi(self._dual.t(multipliers)))).max())

    def zero_multipliers(self) -> FloatArray:
        return np.zeros(self.n_pairs)

    def finite_multipliers(self, multipliers: FloatArray) -> FloatArray:
        return multipliers if np.isfinite(multipliers).all() else self.zero_multipliers()

    def pair_arrays(self, point: CertifiedPoint) -> tuple[FloatArray, FloatArray]:
        return point.multipliers, self.best_slacks(point.ratios)
