"""The learning problem: objective, dual and certificate. It knows no solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from covmetric._utils.validation import (
    FloatArray,
    IntArray,
    as_floats,
    check_tolerance,
    first_index,
    positive_vector,
    read_only,
    signs,
    symmetric,
)
from covmetric._utils.warning import warn
from covmetric.problem.certificate import Certificate
from covmetric.problem.dual import Dual
from covmetric.problem.primal import Primal, PrimalPoint
from covmetric.problem.sums import PairSums
from covmetric.problem.terms import PairTerms
from covmetric.slacks import Slack, get_slack

# Overflow has its own meaning here (an infinite price, a point out of reach) and is not worth a warning.
_quietly = np.errstate(all="ignore")


@dataclass(frozen=True)
class CertifiedPoint:
    """A metric and feasible multipliers, with the certificate that belongs to just these two.

    `ratios` are the squared distances of the pairs over their bounds, in this metric. `derived` says whether W is the
    metric of the multipliers.
    """

    W: FloatArray
    multipliers: FloatArray
    certificate: Certificate
    ratios: FloatArray
    derived: bool


class MetricProblem:
    r"""Find the metric W nearest to the identity that keeps similar pairs near and dissimilar pairs far.

    minimise over W > 0 and xi > 0

        -log det W + tr W - n + sum_k c_k d(xi_k)    subject to    y_k <A_k, W> <= y_k b_k xi_k

    with A_k = F_k F_k^T and F_k = Phi(X_i) - Phi(X_j) for the pair k = (i, j). <A_k, W> is a SQUARED distance, and the
    bounds b_k are in the same units. Only the embedded examples and index pairs are held, not K matrices (but for up to
    16 MB of them, which save time, and during a solve by Newton as many as its `memory` allows).

    Parameters
    ----------
    embedded : array, shape (l, n, m)
        The embedded examples Phi(X).
    pairs : array of int, shape (K, 2)
        Indices into `embedded`.
    similar : array, shape (K,)
        +1 for a pair that should be near, -1 for one that should be far.
    bounds : array, shape (K,), or float
        Bounds b_k > 0 on the squared distances.
    weights : array, shape (K,), or float
        Weights c_k > 0 of the pairs; the paper takes 1/(lambda K).
    slack : {"is", "l2", "re"} or Slack, default="is"
        What missing a bound costs.

    Raises
    ------
    ValueError
        If an argument does not fit; the message names the argument, the index and the value. With slack "is" also where
        a dissimilar pair has F = 0: no metric can move it, and it would cost infinitely much.

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
        index = _check_pairs(pairs, len(examples))
        rows = np.array(np.swapaxes(examples, 1, 2), order="C")
        self._setup(PairSums(read_only(rows), read_only(index)), similar, bounds, weights, slack)

    @classmethod
    def from_differences(
        cls, F: Any, similar: Any, bounds: Any, weights: Any, slack: str | Slack = "is"
    ) -> MetricProblem:
        """The problem given by its differences F, shape (K, n, m), as in the paper's synthetic experiment."""
        differences = as_floats("F", F)
        if differences.ndim != 3 or 0 in differences.shape:
            raise ValueError(f"F must have shape (K, n, m) with K, n, m >= 1; got {differences.shape}")
        K, n, m = differences.shape
        # One more example, the origin, makes every difference a pair.
        rows = np.zeros((K + 1, m, n))
        rows[:K] = np.swapaxes(differences, 1, 2)
        pairs = np.stack([np.arange(K), np.full(K, K)], axis=1)
        problem = cls.__new__(cls)
        problem._setup(PairSums(read_only(rows), read_only(pairs)), similar, bounds, weights, slack)
        return problem

    def _setup(self, sums: PairSums, similar: Any, bounds: Any, weights: Any, slack: str | Slack) -> None:
        K = len(sums.pairs)
        self.slack = get_slack(slack)
        self.sums = sums
        self.pairs: IntArray = sums.pairs
        self.similar: FloatArray = read_only(signs("similar", similar, K))
        self.bounds: FloatArray = read_only(positive_vector("bounds", bounds, K))
        self.weights: FloatArray = read_only(positive_vector("weights", weights, K))
        self.terms = PairTerms(self.sums, self.similar, self.bounds, self.weights, self.slack)
        self._primal, self._dual = Primal(self.terms), Dual(self.terms)
        self._check_scale()

    def replace(
        self,
        *,
        keep: Any = None,
        pairs: Any = None,
        similar: Any = None,
        bounds: Any = None,
        weights: Any = None,
    ) -> MetricProblem:
        """A problem on the same examples with other pairs, bounds or weights; the examples are shared, not copied.

        Parameters
        ----------
        keep : array of int or bool, or None
            The pairs to keep, in this order (None: all).
        pairs, similar : arrays, shapes (q, 2) and (q,), or None
            Pairs to add after those that are kept.
        bounds, weights : arrays or floats, or None
            Of all the pairs of the new problem. None: those of the old pairs stay; only possible if none are added.

        See `SolveResult.warm_start` for the multipliers of a solved problem as a warm start of the new one.

        Examples
        --------
        >>> from covmetric import make_paper_problem
        >>> problem = make_paper_problem(n=4, K=6, lam=1e-2, seed=0)
        >>> problem.replace(keep=[0, 2, 3], weights=7.0).n_pairs
        3
        """
        if (pairs is None) != (similar is None):
            raise ValueError("pairs and similar go together: give both or neither")
        kept = np.arange(self.n_pairs)
        if keep is not None:
            chosen = np.asarray(keep)
            kept = kept[chosen if chosen.size else chosen.astype(int)]
        all_pairs, all_similar = self.pairs[kept], self.similar[kept]
        if pairs is not None:
            if bounds is None or weights is None:
                raise ValueError("with new pairs, bounds and weights of all pairs have to be given")
            added = _check_pairs(pairs, len(self.sums.rows))
            all_pairs = np.concatenate([all_pairs, added])
            all_similar = np.concatenate([all_similar, signs("similar", similar, len(added))])
        if len(all_pairs) == 0:
            raise ValueError("no pairs are left: at least one pair is needed")
        problem = MetricProblem.__new__(type(self))
        same = keep is None and pairs is None
        problem._setup(
            self.sums if same else PairSums(self.sums.rows, read_only(all_pairs)),
            all_similar,
            self.bounds[kept] if bounds is None else bounds,
            self.weights[kept] if weights is None else weights,
            self.slack,
        )
        return problem

    def changed(self, **changes: Any) -> MetricProblem:
        """Deprecated alias of `replace`.

        Parameters
        ----------
        **changes
            As in `replace`.

        Returns
        -------
        MetricProblem
        """
        warn("MetricProblem.changed is deprecated, use MetricProblem.replace", FutureWarning)
        return self.replace(**changes)

    @property
    def n(self) -> int:
        """The size of W."""
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
        near = int((self.similar > 0.0).sum())
        return (
            f"MetricProblem(n={self.n}, m={self.m}, pairs={self.n_pairs} ({near} similar, {self.n_pairs - near} "
            f"dissimilar), slack={self.slack.name!r})"
        )

    @property
    def squared_norms(self) -> FloatArray:
        """||F_k||^2, the squared distances at W = I, shape (K,)."""
        return self._primal.squared_norms

    @_quietly
    def squared_distances(self, W: Any) -> FloatArray:
        """The squared distances <A_k, W> of the pairs, shape (K,)."""
        return self._require(W).ratios * self.bounds

    @_quietly
    def slacks(self, W: Any) -> FloatArray:
        """The best slacks xi for W, shape (K,): 1 where the bound holds, else the squared distance over the bound."""
        return self.best_slacks(self._require(W).ratios)

    def best_slacks(self, ratios: FloatArray) -> FloatArray:
        """The best slacks for squared distances over bounds `ratios`, shape (K,)."""
        return np.where(self.terms.active(ratios), ratios, 1.0)

    @_quietly
    def primal(self, W: Any) -> float:
        """The objective P(W), with the best slack for each pair; infinite where W is not positive definite."""
        point = self._primal.point(self._check_metric(W))
        return np.inf if point is None else point.value

    @_quietly
    def dual(self, multipliers: Any) -> float:
        """The dual objective g(alpha), a lower bound on the optimum; -infinity where alpha is not feasible."""
        point = self._dual.point(self._check_multipliers(multipliers))
        return -np.inf if point is None else point.value

    @_quietly
    def metric(self, multipliers: Any) -> FloatArray:
        """The metric W(alpha) = (I + sum_k y_k alpha_k A_k)^-1 of feasible multipliers."""
        point = self._dual.point(self._check_multipliers(multipliers))
        if point is None:
            raise ValueError(
                "multipliers are not dual feasible (negative, I + S not positive definite, or t beyond the slack's "
                "domain); certified(None, multipliers) repairs them and has the metric of the repaired ones"
            )
        return point.metric

    def clipped(self, multipliers: FloatArray) -> FloatArray:
        """The multipliers, each brought into its own dual domain; not yet scaled so that I + S > 0."""
        return self._dual.clipped(multipliers)

    @_quietly
    def dual_losses(self, multipliers: FloatArray) -> float:
        """sum_k c_k h(t_k), the part of the dual objective that does not need I + S."""
        return self._dual.losses(multipliers)

    def certify(self, W: Any = None, multipliers: Any = None, tol: float = 1e-6) -> Certificate:
        """The certificate of a metric and of multipliers, of which either may be None: it is derived from the other.

        The multipliers are repaired first (see `certified`), so that any array of numbers gives a valid bound.
        """
        return self.certified(W, multipliers, tol).certificate

    @_quietly
    def certified(self, W: Any = None, multipliers: Any = None, tol: float = 1e-6) -> CertifiedPoint:
        """As `certify`, with the metric and the repaired multipliers that the certificate belongs to.

        The repair clips each multiplier to its own domain and scales all of them by the theta in (0, 1] that maximises
        the dual; theta = 0 would give the bound 0, so the gap is finite for every positive definite W. A metric that
        is derived from multipliers, but too ill-conditioned to be stored, is replaced by the identity.
        """
        check_tolerance(tol)
        if W is None and multipliers is None:
            raise ValueError("W and multipliers are both None: give at least one of them")
        return self.certified_arrays(
            None if W is None else self._check_metric(W),
            None if multipliers is None else self._check_multipliers(multipliers),
            tol,
        )

    def certified_arrays(
        self, W: FloatArray | None, multipliers: FloatArray | None, tol: float = 1e-6
    ) -> CertifiedPoint:
        """As `certified`, for a symmetric W and multipliers of the right types and shapes: what solvers hand in."""
        if W is None:
            assert multipliers is not None
            dual = self._dual.repaired(multipliers)
            stored = self._primal.point(dual.metric)
            primal, derived = stored or self._point(np.eye(self.n)), stored is not None
        else:
            primal, derived = self._point(W), False
            dual = self._dual.repaired(self._primal.multipliers(primal.ratios) if multipliers is None else multipliers)
        violation = self.similar * (primal.ratios - self.slack.xi(self._dual.t(dual.multipliers)))
        certificate = Certificate.from_values(
            primal.value,
            dual.value,
            max_violation=max(0.0, float(violation.max())),
            tol=tol,
            rounding=primal.rounding + dual.rounding,
        )
        return CertifiedPoint(primal.metric, dual.multipliers, certificate, primal.ratios, derived)

    def _check_metric(self, W: Any) -> FloatArray:
        metric = as_floats("W", W)
        if metric.shape != (self.n, self.n):
            raise ValueError(f"W must have shape ({self.n}, {self.n}), got {metric.shape}")
        return symmetric("W", metric)

    def _require(self, W: Any) -> PrimalPoint:
        return self._point(self._check_metric(W))

    def _point(self, metric: FloatArray) -> PrimalPoint:
        point = self._primal.point(metric)
        if point is None:
            if not np.isfinite(metric).all():
                raise ValueError("W must be finite")
            smallest = np.linalg.eigvalsh(metric)[0]
            raise ValueError(f"W must be positive definite; its smallest eigenvalue is {smallest:.3g}")
        return point

    def _check_multipliers(self, multipliers: Any) -> FloatArray:
        array = as_floats("multipliers", multipliers)
        if array.shape != (self.n_pairs,):
            raise ValueError(f"multipliers must have one entry per pair, shape ({self.n_pairs},); got {array.shape}")
        return array

    @_quietly
    def _check_scale(self) -> None:
        """No pair may be too far apart to square or to price, nor cost infinitely much whatever W is."""
        ratios = self.squared_norms / self.bounds
        prices = self.weights * self.slack.divergence(np.where(self.squared_norms > 0.0, ratios, 1.0))
        bad = ~(np.isfinite(ratios) & np.isfinite(prices) & (ratios * self.weights < 1e300))
        if bad.any():
            k = first_index(bad)[0]
            raise ValueError(
                f"pair {k} {_pair(self.pairs, k)} is too far from its bound: with the squared distance "
                f"{self.squared_norms[k]:.3g}, bounds[{k}] = {self.bounds[k]:.3g} and weights[{k}] = "
                f"{self.weights[k]:.3g} the objective overflows; rescale the examples or the bounds"
            )
        coincident = self.terms.coincident
        if coincident.any() and np.isinf(self.slack.divergence(np.zeros(1)))[0]:
            k = first_index(coincident)[0]
            raise ValueError(
                f"pair {k} {_pair(self.pairs, k)} is dissimilar, but its examples are equal (F = 0): with slack "
                f"{self.slack.name!r} it costs infinitely much; leave it out, or take slack 'l2' or 're'"
            )


def _pair(pairs: IntArray, k: int) -> str:
    return f"({pairs[k, 0]}, {pairs[k, 1]})"


def _check_pairs(pairs: Any, n_examples: int) -> IntArray:
    array = np.asarray(pairs)
    if array.size == 0:
        raise ValueError("pairs is empty: at least one pair is needed")
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"pairs must have shape (K, 2), got {array.shape}")
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"pairs must be integers (indices into embedded), got dtype {array.dtype}")
    outside = (array < 0) | (array >= n_examples)
    if outside.any():
        where = first_index(outside)
        raise ValueError(f"pairs{where} is {array[tuple(where)]}: it must be in 0..{n_examples - 1}")
    return np.array(array, dtype=np.int64, order="C")
