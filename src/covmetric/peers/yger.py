"""The peer of Yger and Sugiyama: a congruence that aligns the log-Euclidean kernel with the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from covmetric._utils.half_vectors import half_vectors_of
from covmetric._utils.validation import FloatArray, IntArray, Matrices, check_counts, check_tolerance, is_number
from covmetric._utils.warning import warn
from covmetric.embeddings.log import Log
from covmetric.embeddings.matrices import definite, from_spectrum
from covmetric.metric import LearnedMetric
from covmetric.peers.base import PeerMetric


class KernelTargetAlignment(PeerMetric):
    """The log-Euclidean distance after X -> G X G, with the G that aligns its kernel best with the classes.

    From the source [1]_, by its abstract and the paper that we follow: the congruence, with a symmetric positive
    definite G (a rotation does not change a log-Euclidean distance, so that no other G can do more); the kernel
    tr(log(G X1 G) log(G X2 G)); and the objective, the alignment of the kernel with the kernel of the classes, after
    both are centred [2]_, so that it does not matter which two numbers stand for "same class" and "other class".

    Chosen here: the optimiser and a penalty. The source follows Riemannian gradients on the manifold of G; this is
    L-BFGS over S = log G, the normal coordinates of that manifold at the identity, from S = 0, with the exact gradient
    by the formula of Daleckii and Krein for the derivatives of the logarithm and of the exponential. The alignment
    alone has no maximum on the data that we looked at: it rises for ever as G becomes singular. So `penalty` times
    |log G|^2, the squared affine-invariant distance of G from the identity, is taken off it. The objective is not
    concave, and there is no certificate: as the paper that we follow says, "there is no way to know the objective gap".

    Parameters
    ----------
    penalty : float, default=1e-4
        The price of |log G|^2, > 0. The default cost the alignment less than one percent of what 1e-5 gave, on two sets
        of simulated classes and NATOPS, and left G a condition number of 500 to 1,300, where 1e-5 had up to 40,000.
    reg : float, default=0.0
        Share of the mean eigenvalue that is added to the diagonal of each matrix.
    tol : float, default=1e-5
        Bound on the largest entry of the gradient.
    max_iter : int, default=1000
        Most steps; reaching it warns.
    n_jobs : int or None, default=None

    Attributes
    ----------
    metric_ : LearnedMetric
        Of the logs after the congruence, with W = I.
    G_ : array, shape (n, n)
        Symmetric, positive definite.
    alignment_ : float
        Of the learned kernel with the classes, at most 1.
    history_ : array, shape (n_iter_ + 1,)
        The alignment less the penalty, at the identity and after each step.
    n_iter_ : int
    classes_ : array

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
        # Refuses what has no logarithm, and adds reg.
        target = Alignment(CongruentLog(np.eye(n), reg=self.reg).checked(X), codes)
        cost = PenalisedCost(target, self.penalty)
        start = np.zeros(half_vectors_of(n).size)
        costs = [cost(start)[0]]
        found = minimize(
            cost,
            start,
            jac=True,
            method="L-BFGS-B",
            callback=lambda intermediate_result: costs.append(float(intermediate_result.fun)),
            options={"maxiter": self.max_iter, "gtol": self.tol, "ftol": 0.0, "maxfun": 20 * self.max_iter},
        )
        if not np.abs(found.jac).max() <= self.tol:
            _warn(found)
        self.G_ = exponential(half_vectors_of(n).unpack(found.x))[0]
        self.alignment_, self.history_, self.n_iter_ = target(self.G_)[0], -np.array(costs), int(found.nit)
        embedding = CongruentLog(self.G_, reg=self.reg)
        embedding.fit(X)
        return LearnedMetric(embedding, np.eye(n))


def _warn(found: Any) -> None:
    from sklearn.exceptions import ConvergenceWarning

    warn(
        f"the alignment was still rising after {found.nit} steps, with a gradient of {np.abs(found.jac).max():.2g}; "
        "raise max_iter, tol or penalty",
        ConvergenceWarning,
    )


class CongruentLog(Log):
    """Phi(X) = log(G X G).

    Parameters
    ----------
    G : array, shape (n, n)
        Symmetric, positive definite.
    reg : float, default=0.0
        See `Embedding`.
    """

    name = "congruent log"

    def __init__(self, G: FloatArray, reg: float = 0.0) -> None:
        super().__init__(reg=reg)
        self.G = G

    def checked(self, X: Any) -> FloatArray:
        """X, regularised; ValueError, with the index, where it has no logarithm."""
        self.fit(X)
        return self._check(X)[0]

    def _transform(self, X: Matrices, eps: float) -> Matrices:
        self._require(X, X, "positive definite", eps)
        congruent = self.G @ X @ self.G
        congruent = 0.5 * (congruent + np.swapaxes(congruent, -1, -2))
        # As for the recentred log, the rounding of X itself was looked at above; this is that of the product.
        double = float(np.finfo(np.float64).eps)
        self._require(congruent, X, "positive definite beside the learned G (raise penalty)", double)
        return super()._transform(congruent, 0.0)

    def _require(self, Z: Matrices, X: Matrices, needs: str, eps: float) -> None:
        good = definite(np.asarray(np.linalg.eigvalsh(Z), dtype=np.float64), eps)
        if not good.all():
            self._refuse(X, ~good, needs, eps)

    def _inverse(self, embedded: FloatArray) -> Matrices:
        inverse = np.linalg.inv(self.G)
        product = inverse @ super()._inverse(embedded) @ inverse
        return np.asarray(0.5 * (product + np.swapaxes(product, -1, -2)))


class Alignment:
    """The centred alignment of tr(log(G X_i G^T) log(G X_j G^T)) with the classes, and its gradient in G.

    With K = P P^T, P the centred half vectors of the logs, and T = Y Y^T, Y the centred class indicators, it is
    <K, T> / (|K| |T|) = |P^T Y|^2 / (|P^T P| |Y^T Y|): no matrix has the size of the number of examples squared.
    """

    def __init__(self, X: FloatArray, codes: IntArray) -> None:
        # Neither a factor of X nor one of G matters; X near 1 keeps volts away from underflow.
        self._X = X / np.trace(X, axis1=1, axis2=2).mean()
        indicators = (codes[:, None] == np.unique(codes)).astype(np.float64)
        self._Y = indicators - indicators.mean(axis=0)
        self._norm_T = float(np.linalg.norm(self._Y.T @ self._Y))
        self.half = half_vectors_of(X.shape[1])

    def __call__(self, G: FloatArray) -> tuple[float, FloatArray]:
        """The alignment and its gradient, shape (n, n), at any invertible G."""
        GX = G @ self._X
        eigenvalues, vectors = _spectrum(GX @ G.T)
        P = self.half.pack(from_spectrum(np.log(eigenvalues), vectors))
        P -= P.mean(axis=0)
        shared, second = P.T @ self._Y, P.T @ P
        norm_K = float(np.linalg.norm(second))
        if norm_K == 0.0:
            raise ValueError("all matrices are equal: there is no kernel to align")
        value = float((shared**2).sum()) / (norm_K * self._norm_T)
        # d value = <C, dK>, C = T / (|K| |T|) - value K / |K|^2, and dK = dP P^T + P dP^T.
        by_P = 2.0 * (self._Y @ shared.T / (norm_K * self._norm_T) - value * P @ second / norm_K**2)
        by_log = self.half.unpack(by_P)
        # The derivative of the log is its own adjoint: V (Gamma * V^T D V) V^T.
        V, Vt = vectors, np.swapaxes(vectors, 1, 2)
        by_Z = V @ (divided_differences(eigenvalues) * (Vt @ by_log @ V)) @ Vt
        return value, 2.0 * np.einsum("lab,lbc->ac", by_Z, GX)


class PenalisedCost:
    """penalty |S|^2 - alignment at G = exp S, and its gradient, as functions of the half vector of S."""

    def __init__(self, target: Alignment, penalty: float) -> None:
        self._target, self._penalty = target, penalty

    def __call__(self, s: FloatArray) -> tuple[float, FloatArray]:
        """The cost and its gradient, shape (p,), at the half vector s of S, shape (p,)."""
        half = self._target.half
        G, eigenvalues, V = exponential(half.unpack(s))
        value, gradient = self._target(G)
        # The differences of exp are those of the log, upside down.
        turned = (V.T @ (0.5 * (gradient + gradient.T)) @ V) / divided_differences(eigenvalues[None])[0]
        return self._penalty * float(s @ s) - value, 2.0 * self._penalty * s - half.pack(V @ turned @ V.T)


def exponential(S: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """exp S of a symmetric S, with its eigenvalues and eigenvectors."""
    logarithms, vectors = np.linalg.eigh(S)
    eigenvalues = np.exp(logarithms)
    return from_spectrum(eigenvalues, vectors), eigenvalues, vectors


def divided_differences(eigenvalues: FloatArray) -> FloatArray:
    """(log a - log b) / (a - b), 1/a where a = b, of all pairs of eigenvalues (l, n): shape (l, n, n).

    As 2 artanh(r) / (r (a + b)), r = (a - b)/(a + b), which loses no digits where a is near b.
    """
    a, b = eigenvalues[:, :, None], eigenvalues[:, None, :]
    r = (a - b) / (a + b)
    near = np.abs(r) < 1e-6
    safe = np.where(near, 0.5, r)
    # Where one is many orders smaller, r rounds to 1, and the difference of the logs has all its digits.
    log_ratio = np.where(np.abs(r) < 0.5, 2.0 * np.arctanh(np.clip(safe, -0.75, 0.75)), np.log(a) - np.log(b))
    return np.asarray(np.where(near, 2.0, log_ratio / safe) / (a + b))


def _spectrum(Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues, lifted out of the rounding error where G has made Z singular, and eigenvectors."""
    eigenvalues, vectors = np.linalg.eigh(0.5 * (Z + np.swapaxes(Z, -1, -2)))
    floor = np.finfo(np.float64).eps * eigenvalues[..., -1:]
    return np.maximum(eigenvalues, floor), vectors
