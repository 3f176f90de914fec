"""The method of Huang et al.: Log-Euclidean Metric Learning, with its projection reconstructed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, check_counts, check_tolerance
from covmetric.embeddings import Embedding, get_embedding
from covmetric.peers.base import PairPeer
from covmetric.problem import MetricProblem
from covmetric.problem.certificate import Certificate
from covmetric.solvers import History


class LEML(PairPeer):
    """Log-Euclidean Metric Learning: Phi = log, LogDet loss, and ITML's projections as if each pair had rank one.

    This class is a reconstruction, because we did not have the text of the source [1]_. The paper on which this
    library is based says that the method is based on the Log-Euclidean metric, that its loss is a special case of the
    paper's problem, and that it uses the cyclic Dykstra algorithm, but that its authors "misused the Woodbury matrix
    inversion formula when deriving the projection onto a single half-space". The paper does not say how. The original
    may therefore differ from this class.

    The reconstruction uses the distance D(X1, X2) = tr(Q (log X1 - log X2)^2). The problem is our `problem_` with slack
    "is". The algorithm projects cyclically, one pair at a time, by ITML's closed form with p = tr(Q A) instead of
    p = v^T Q v, and with the update Q <- Q + beta Q A Q. That closed form is exact if A = v v^T. But
    A = (log X1 - log X2)^2 has full rank, so the projected Q does not lie on the half-space. The iteration converges to
    a point that is not optimal; for small lam it had not converged after 1,000 cycles on NATOPS. `certificate_` bounds
    the distance from the optimum, and `history_` holds the objective after each cycle.

    The following comes from ITML's code [2]_: the step gamma/(gamma+1) (1/p - 1/xi); the
    rule that stops if ||multipliers - old||_1 / (||multipliers||_2 + ||old||_2) < tol after a cycle; and the limit of
    100,000 projections. The code has tol = 1e-2. Our default is 1e-3, as in metric-learn's ITML, which gives LEML more
    iterations. ITML's code does not warn at the limit, and neither does this class; see `converged_`.

    The following is our choice. Pairs, bounds and weights follow the paper on which this library is based, so that this
    class and ``CovMetric("log", lam=lam, **PAPER_SETTINGS)`` pose the same problem. gamma is the weight of a
    pair, 1/(lam K). In exact arithmetic, Q stays positive definite: |beta| tr(Q A) < 1 in every step that shrinks Q, so
    I + beta Q^1/2 A Q^1/2 is positive definite. If Q becomes singular by rounding, `fit` raises ValueError.

    Parameters
    ----------
    lam : float, default=1e-2
        The weight of each of the K pairs is gamma = 1/(lam K).
    pairs : {'random', 'neighbors'} or PairSelection, default='random'
        How pairs are selected, as in `CovMetric`.
    budget : int or None, default=None
        The number of pairs per class, or per example for "neighbors", as in `CovMetric`.
    bounds : (near, far), {'absolute', 'quantile'} or Bounds, default='absolute'
        The bounds on squared distances in units of `scale`; "absolute" means 0.05 and 0.95.
    scale : {'median', None} or float, default='median'
        The unit of the bounds, a squared distance; "median" is the median over the pairs.
    reg : float, default=0.0
        This fraction of the mean eigenvalue of a matrix is added to its diagonal, which makes singular matrices
        positive definite.
    tol : float, default=1e-3
        The tolerance of ITML's stopping rule. With 0, the number of cycles depends only on `max_iter`.
    max_iter : int, default=100000
        The number of projections after which the current cycle is the last.
    random_state : int, RandomState, Generator or None, default=None
        Selects the random pairs.
    n_jobs : int or None, default=None
        The number of threads. The result does not depend on it.

    Attributes
    ----------
    metric_ : LearnedMetric
        The learned metric.
    W_ : array of shape (n, n)
        The matrix of the metric, Q in the source.
    problem_ : MetricProblem
        The problem, for logarithms divided by sqrt(scale_).
    certificate_ : Certificate
        A proven bound on how far W is from the optimum.
    history_ : History
        One entry per cycle. `seconds` excludes the certificates.
    converged_ : bool
        Whether ITML's stopping rule was met.
    n_iter_ : int
        The number of cycles.
    scale_ : float
        The squared distance that serves as unit.
    classes_ : array of shape (n_classes,)
        The distinct classes.

    References
    ----------
    .. [1] Z. Huang, R. Wang, S. Shan, X. Li and X. Chen. Log-Euclidean metric learning on symmetric positive definite
       manifold with application to image set classification. ICML 2015, PMLR 37:720-729.
    .. [2] J. V. Davis, B. Kulis, P. Jain, S. Sra and I. S. Dhillon. Information-theoretic metric learning. ICML 2007;
       ItmlAlg.m and SetDefaultParams.m of its code.

    Examples
    --------
    >>> from covmetric import solve
    >>> from covmetric.datasets import make_spd_classes
    >>> data = make_spd_classes(n=4)
    >>> peer = LEML(random_state=0).fit(data.X, data.y)
    >>> best = solve(peer.problem_, tol=1e-9)
    >>> best.status.name, peer.certificate_.primal > 1.001 * best.certificate.primal
    ('SOLVED', True)
    """

    max_iter: int

    def __init__(
        self,
        lam: float = 1e-2,
        *,
        pairs: Any = "random",
        budget: int | None = None,
        bounds: Any = "absolute",
        scale: Any = "median",
        reg: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = 100_000,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.lam = lam
        self.pairs = pairs
        self.budget = budget
        self.bounds = bounds
        self.scale = scale
        self.reg = reg
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _embedding(self) -> Embedding:
        return get_embedding("log", reg=self.reg)

    def _solve(self, problem: MetricProblem, rng: np.random.Generator) -> FloatArray:
        result = leml(problem, self.tol, self.max_iter)
        self.certificate_, self.history_ = result.certificate, result.history
        self.converged_ = result.converged
        self.n_iter_ = int(result.history.n_iter[-1])
        return result.W


@dataclass(frozen=True)
class LemlResult:
    """The result of LEML's iteration.

    Attributes
    ----------
    W : array of shape (n, n)
        The matrix of the metric.
    certificate : Certificate
        The certificate of W, with multipliers derived from W.
    history : History
        One entry per cycle. `seconds` excludes the certificates.
    converged : bool
        Whether ITML's stopping rule was met.

    Examples
    --------
    >>> from covmetric import make_paper_problem
    >>> result = leml(make_paper_problem(n=5, K=20, lam=1e-2, seed=0))
    >>> result.converged, result.W.shape
    (True, (5, 5))
    """

    W: FloatArray
    certificate: Certificate
    history: History
    converged: bool


def leml(problem: MetricProblem, tol: float = 1e-3, max_iter: int = 100_000) -> LemlResult:
    """Run LEML's iteration on a problem; see `LEML`.

    Parameters
    ----------
    problem : MetricProblem
        A problem with slack "is".
    tol : float, default=1e-3
        The tolerance of ITML's stopping rule.
    max_iter : int, default=100000
        The number of projections after which the current cycle is the last.

    Returns
    -------
    LemlResult

    Raises
    ------
    ValueError
        If the problem has a different slack, or if a setting is invalid.

    Examples
    --------
    >>> from covmetric import make_paper_problem, solve
    >>> problem = make_paper_problem(n=5, K=20, lam=1e-2, seed=0)
    >>> leml(problem).certificate.primal > 1.01 * solve(problem).certificate.primal
    True
    """
    if problem.slack.name != "is":
        raise ValueError(f"LEML needs a problem with slack 'is', got {problem.slack.name!r}")
    check_tolerance(tol)
    check_counts(max_iter=max_iter)
    state, used = _State(problem), int((problem.squared_norms > 0.0).sum())
    rows, seconds, converged, cycle = [_row(0, 0, 0.0, problem.certify(state.W))], 0.0, False, 0
    while not converged and cycle * used <= max_iter:
        old, started = state.multipliers.copy(), time.perf_counter()
        state.cycle()
        cycle, seconds = cycle + 1, seconds + time.perf_counter() - started
        certificate = problem.certify(state.W)
        rows.append(_row(cycle, cycle * used, seconds, certificate))
        size = np.linalg.norm(state.multipliers) + np.linalg.norm(old)
        converged = bool(size == 0.0 or np.abs(state.multipliers - old).sum() < tol * size)
    n_iter, projections, *values = (np.array(column) for column in zip(*rows, strict=True))
    return LemlResult(state.W, certificate, History(n_iter, projections, *values), converged)


class _State:
    """W, the multipliers (ITML's lambda) and the slacks in the units of the bounds (ITML's bhat)."""

    def __init__(self, problem: MetricProblem) -> None:
        self._problem = problem
        self._embedded = np.ascontiguousarray(problem.embedded)
        self._used = np.flatnonzero(problem.squared_norms > 0.0)  # ITML also drops pairs of equal vectors
        self.W: FloatArray = np.eye(problem.n)
        self.multipliers: FloatArray = np.zeros(problem.n_pairs)
        self._xi: FloatArray = problem.bounds.copy()

    def cycle(self) -> None:
        """Project onto the half-space of each pair once."""
        problem, W, multipliers, xi = self._problem, self.W, self.multipliers, self._xi
        for k in self._used:
            i, j = problem.pairs[k]
            F, y, gamma = self._embedded[i] - self._embedded[j], problem.similar[k], problem.weights[k]
            G = W @ F
            p = np.vdot(F, G)  # tr(W A) instead of v^T W v
            alpha = min(multipliers[k], y * gamma / (gamma + 1.0) * (1.0 / p - 1.0 / xi[k]))
            multipliers[k] -= alpha
            beta = y * alpha / (1.0 - y * alpha * p)
            xi[k] = 1.0 / (1.0 / xi[k] + y * alpha / gamma)
            W = W + beta * (G @ G.T)  # the presumed error: Woodbury's formula needs a matrix, not the scalar beta
        self.W = W


def _row(cycle: int, projections: int, seconds: float, certificate: Certificate) -> tuple[float, ...]:
    return cycle, projections, seconds, certificate.primal, certificate.dual, certificate.gap
