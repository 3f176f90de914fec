"""The peer of Huang et al.: Log-Euclidean Metric Learning, with the projection as they published it."""

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

    From the source [1]_, as the paper that we follow describes it (we had that account, not the source's own text):
    D(X1, X2) = tr(Q (log X1 - log X2)^2); the problem, which is our `problem_` with slack "is"; cyclic projections, one
    pair at a time, by ITML's closed form with p = tr(Q A) in place of p = v^T Q v, and the update Q <- Q + beta Q A Q.
    That closed form is exact where A = v v^T; (log X1 - log X2)^2 has full rank, so that Q does not land on the
    half-space ("they misused the Woodbury matrix inversion formula"). The iteration settles away from the optimum, or,
    where lam is small, had not settled after 1,000 cycles on NATOPS: `certificate_` says how far at most, and
    `history_` has the objective after each cycle.

    From ITML's released code [2]_, on which the source builds: the step gamma/(gamma+1) (1/p - 1/xi), the rule that
    stops when ||multipliers - old||_1 / (||multipliers||_2 + ||old||_2) < tol after a cycle, and the limit of 100,000
    projections. The code has tol = 1e-2; the default here is the 1e-3 of metric-learn's ITML, which is kinder to LEML.
    It gives no warning at the limit, and neither does this class: see `converged_`.

    Chosen here: pairs, bounds and weights are those of the paper that we follow, so that this class and
    ``CovMetric("log", lam=lam, **PAPER_SETTINGS)`` pose the same problem; gamma is the weight of a pair, 1/(lam K).
    Q cannot leave the cone: |beta| tr(Q A) < 1 in every step that shrinks Q, so I + beta Q^1/2 A Q^1/2 stays definite,
    and there is nothing to be handled. In double precision it may yet become singular; then fit raises ValueError.

    Parameters
    ----------
    lam : float, default=1e-2
        The pairs have weight gamma = 1/(lam K) each.
    pairs : {"random", "neighbors"} or PairSelection, default="random"
    budget : int or None, default=None
        As in `CovMetric`.
    bounds : (near, far), {"absolute", "quantile"} or Bounds, default="absolute"
        In units of `scale`; "absolute": 0.05 and 0.95.
    scale : {"median", None} or float, default="median"
    reg : float, default=0.0
        Share of the mean eigenvalue that is added to the diagonal of each matrix.
    tol : float, default=1e-3
        Of ITML's rule. 0: as many cycles as `max_iter` allows.
    max_iter : int, default=100000
        Projections; the cycle that passes it is the last.
    random_state : int, RandomState, Generator or None, default=None
    n_jobs : int or None, default=None

    Attributes
    ----------
    metric_ : LearnedMetric
    W_ : array, shape (n, n)
        Q of the source.
    problem_ : MetricProblem
    certificate_ : Certificate
    history_ : History
        One entry per cycle; `seconds` without the time that the certificates take.
    converged_ : bool
        Whether ITML's rule was met.
    n_iter_ : int
        Cycles.
    scale_ : float
    classes_ : array

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

    def _solve(self, problem: MetricProblem, rng: np.random.Generator) -> FloatArray:  # noqa: ARG002 (cyclic)
        result = leml(problem, self.tol, self.max_iter)
        self.certificate_, self.history_ = result.certificate, result.history
        self.converged_ = result.converged
        self.n_iter_ = int(result.history.n_iter[-1])
        return result.W


@dataclass(frozen=True)
class LemlResult:
    """Where LEML ended; `certificate` is that of W, with multipliers that are derived from it."""

    W: FloatArray
    certificate: Certificate
    history: History
    converged: bool


def leml(problem: MetricProblem, tol: float = 1e-3, max_iter: int = 100_000) -> LemlResult:
    """LEML's iteration on a problem with slack "is"; see `LEML`.

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
        self._used = np.flatnonzero(problem.squared_norms > 0.0)  # as ITML, which drops pairs of equal vectors
        self.W: FloatArray = np.eye(problem.n)
        self.multipliers: FloatArray = np.zeros(problem.n_pairs)
        self._xi: FloatArray = problem.bounds.copy()

    def cycle(self) -> None:
        """One visit to each pair."""
        problem, W, multipliers, xi = self._problem, self.W, self.multipliers, self._xi
        for k in self._used:
            i, j = problem.pairs[k]
            F, y, gamma = self._embedded[i] - self._embedded[j], problem.similar[k], problem.weights[k]
            G = W @ F
            p = np.vdot(F, G)  # tr(W A), in the place of v^T W v
            alpha = min(multipliers[k], y * gamma / (gamma + 1.0) * (1.0 / p - 1.0 / xi[k]))
            multipliers[k] -= alpha
            beta = y * alpha / (1.0 - y * alpha * p)
            xi[k] = 1.0 / (1.0 / xi[k] + y * alpha / gamma)
            W = W + beta * (G @ G.T)  # the slip: Woodbury's formula needs a matrix in the place of beta
        self.W = W


def _row(cycle: int, projections: int, seconds: float, certificate: Certificate) -> tuple[float, ...]:
    return cycle, projections, seconds, certificate.primal, certificate.dual, certificate.gap
