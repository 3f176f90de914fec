"""The method of Yger and Sugiyama: a congruence that aligns the log-Euclidean kernel with the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from covmetric._utils.half_vectors import half_vectors_of
from covmetric._utils.validation import FloatArray, IntArray, Matrices, check_counts, check_tolerance, is_number
from covmetric._utils.warning import warn
from covmetric.embeddings.log import Log
from covmetric.embeddings.matrices import definite
from covmetric.metric import LearnedMetric
from covmetric.peers.alignment import Alignment, PenalisedCost, exponential
from covmetric.peers.base import PeerMetric


class KernelTargetAlignment(PeerMetric):
    """The log-Euclidean distance after X -> G X G, with the G that best aligns its kernel with the classes.

    The following comes from the source [1]_, according to its abstract and to the paper on which this library is based:
    the congruence with a symmetric positive definite G, which is no restriction, because rotations do not change a
    log-Euclidean distance; the kernel tr(log(G X1 G) log(G X2 G)); and the objective, the alignment of this kernel with
    the kernel of the classes. Both kernels are centred [2]_, so that the result does not depend on the two numbers that
    encode "same class" and "different class".

    The optimiser and the penalty are our choice. The source follows Riemannian gradients on the manifold of G. This
    class runs L-BFGS over S = log G, the normal coordinates of that manifold at the identity, from S = 0, with the
    exact gradient by the formula of Daleckii and Krein for the derivatives of the logarithm and of the exponential. On
    the data that we tried, the alignment itself has no maximum: it keeps increasing as G becomes singular. Therefore,
    `penalty` times |log G|^2, the squared affine-invariant distance of G from the identity, is subtracted. The
    objective is not concave, so there is no certificate: "there is no way to know the objective gap", as the paper
    on which this library is based says.

    Parameters
    ----------
    penalty : float, default=1e-4
        The weight of |log G|^2, > 0. On two sets of simulated classes and on NATOPS, the default loses less than one
        percent of the alignment that 1e-5 reaches, and the condition number of G is 500 to 1,300 instead of up to
        40,000.
    reg : float, default=0.0
        This fraction of the mean eigenvalue of a matrix is added to its diagonal, which makes singular matrices
        positive definite.
    tol : float, default=1e-5
        The bound on the largest entry of the gradient.
    max_iter : int, default=1000
        The maximum number of steps. Reaching it issues a ConvergenceWarning.
    n_jobs : int or None, default=None
        The number of threads that transform matrices. The result does not depend on it.

    Attributes
    ----------
    metric_ : LearnedMetric
        The metric of the logarithms after the congruence, with W = I.
    G_ : array of shape (n, n)
        The symmetric positive definite matrix of the congruence.
    alignment_ : float
        The alignment of the learned kernel with the classes, at most 1.
    history_ : array of shape (n_iter_ + 1,)
        The alignment minus the penalty, at the identity and after each step.
    n_iter_ : int
        The number of steps.
    classes_ : array of shape (n_classes,)
        The distinct classes.

    References
    ----------
    .. [1] F. Yger and M. Sugiyama. Supervised LogEuclidean metric learning for symmetric positive definite matrices.
       arXiv:1502.03505, 2015.
    .. [2] C. Cortes, M. Mohri and A. Rostamizadeh. Algorithms for learning kernels based on centered alignment.
       JMLR 13, 2012.

    Examples
    --------
    >>> from covmetric.datasets import make_spd_classes
    >>> data = make_spd_classes(n=4)
    >>> peer = KernelTargetAlignment().fit(data.X, data.y)
    >>> bool(peer.history_[0] < peer.alignment_ <= 1.0), peer.transform(data.X).shape
    (True, (120, 16))
    """

    def __init__(
        self,
        penalty: float = 1e-4,
        *,
        reg: float = 0.0,
        tol: float = 1e-5,
        max_iter: int = 1000,
        n_jobs: int | None = None,
    ) -> None:
        self.penalty = penalty
        self.reg = reg
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _learn(self, X: FloatArray, codes: IntArray) -> LearnedMetric:
        if not (is_number(self.penalty) and self.penalty > 0):
            raise ValueError(f"penalty must be a positive number, got {self.penalty!r}")
        check_tolerance(self.tol)
        check_counts(max_iter=self.max_iter)
        n = X.shape[1]
        # `checked` adds reg and raises ValueError for matrices without a logarithm.
        target = Alignment(CongruentLog(np.eye(n), reg=self.reg).checked(X), codes)
        cost = PenalisedCost(target, self.penalty)
        start = np.zeros(half_vectors_of(n).size)
        costs = [cost(start)[0]]
        solution = minimize(
            cost,
            start,
            jac=True,
            method="L-BFGS-B",
            callback=lambda intermediate_result: costs.append(float(intermediate_result.fun)),
            options={"maxiter": self.max_iter, "gtol": self.tol, "ftol": 0.0, "maxfun": 20 * self.max_iter},
        )
        if not np.abs(solution.jac).max() <= self.tol:
            _warn_not_converged(solution)
        self.G_ = exponential(half_vectors_of(n).unpack(solution.x))[0]
        self.alignment_, self.history_, self.n_iter_ = target(self.G_)[0], -np.array(costs), int(solution.nit)
        embedding = CongruentLog(self.G_, reg=self.reg)
        embedding.fit(X)
        return LearnedMetric(embedding, np.eye(n))


def _warn_not_converged(solution: Any) -> None:
    warn(
        f"the alignment was still increasing after {solution.nit} steps, with a gradient of "
        f"{np.abs(solution.jac).max():.2g}; increase max_iter, tol or penalty",
        ConvergenceWarning,
    )


class CongruentLog(Log):
    """The embedding Phi(X) = log(G X G).

    Parameters
    ----------
    G : array of shape (n, n)
        A symmetric positive definite matrix.
    reg : float, default=0.0
        As in `Embedding`.
    """

    name = "congruent log"

    def __init__(self, G: FloatArray, reg: float = 0.0) -> None:
        super().__init__(reg=reg)
        self.G = G

    def checked(self, X: Any) -> FloatArray:
        """Check and regularise matrices.

        Parameters
        ----------
        X : array of shape (l, n, n)
            The matrices.

        Returns
        -------
        array of shape (l, n, n)
            The matrices plus `reg`.

        Raises
        ------
        ValueError
            If a matrix has no logarithm; the message names its index.
        """
        self.fit(X)
        return self._check(X)[0]

    def _transform(self, X: Matrices, eps: float) -> Matrices:
        self._require(X, X, "positive definite", eps)
        congruent = self.G @ X @ self.G
        congruent = 0.5 * (congruent + np.swapaxes(congruent, -1, -2))
        # The check above covers the rounding of X. This one covers the rounding of the product, as in RecentredLog.
        double = float(np.finfo(np.float64).eps)
        self._require(congruent, X, "positive definite after the learned congruence (increase penalty)", double)
        return super()._transform(congruent, 0.0)

    def _require(self, Z: Matrices, X: Matrices, needs: str, eps: float) -> None:
        is_definite = definite(np.asarray(np.linalg.eigvalsh(Z), dtype=np.float64), eps)
        if not is_definite.all():
            self._refuse(X, ~is_definite, needs, eps)

    def _inverse(self, embedded: FloatArray) -> Matrices:
        inverse = np.linalg.inv(self.G)
        product = inverse @ super()._inverse(embedded) @ inverse
        return np.asarray(0.5 * (product + np.swapaxes(product, -1, -2)))
