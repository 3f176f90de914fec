"""The alignment of the log-Euclidean kernel with the classes, and its gradient."""

from __future__ import annotations

import numpy as np

from covmetric._utils.half_vectors import half_vectors_of
from covmetric._utils.validation import FloatArray, IntArray
from covmetric.embeddings.matrices import from_spectrum


class Alignment:
    """The centred alignment of the kernel tr(log(G X_i G^T) log(G X_j G^T)) with the classes, and its gradient in G.

    Let K = P P^T with the centred half vectors P of the logarithms, and T = Y Y^T with the centred class indicators Y.
    The alignment <K, T> / (|K| |T|) equals |P^T Y|^2 / (|P^T P| |Y^T Y|), so no l x l matrix is needed.

    Parameters
    ----------
    X : array of shape (l, n, n)
        Symmetric positive definite matrices.
    codes : array of int of shape (l,)
        Their classes, 0..n_classes-1.
    """

    def __init__(self, X: FloatArray, codes: IntArray) -> None:
        # The alignment does not depend on the scale of X; a scale near 1 avoids underflow for data in volts.
        self._X = X / np.trace(X, axis1=1, axis2=2).mean()
        indicators = (codes[:, None] == np.unique(codes)).astype(np.float64)
        self._Y = indicators - indicators.mean(axis=0)
        self._norm_T = float(np.linalg.norm(self._Y.T @ self._Y))
        self.half = half_vectors_of(X.shape[1])

    def __call__(self, G: FloatArray) -> tuple[float, FloatArray]:
        """Return the alignment and its gradient, shape (n, n), at any invertible G."""
        GX = G @ self._X
        eigenvalues, vectors = _spectrum(GX @ G.T)
        P = self.half.pack(from_spectrum(np.log(eigenvalues), vectors))
        P -= P.mean(axis=0)
        PtY, PtP = P.T @ self._Y, P.T @ P
        norm_K = float(np.linalg.norm(PtP))
        if norm_K == 0.0:
            raise ValueError("all matrices in X are equal, so there is no kernel to align")
        value = float((PtY**2).sum()) / (norm_K * self._norm_T)
        # d value = <C, dK>, C = T / (|K| |T|) - value K / |K|^2, and dK = dP P^T + P dP^T.
        by_P = 2.0 * (self._Y @ PtY.T / (norm_K * self._norm_T) - value * P @ PtP / norm_K**2)
        by_log = self.half.unpack(by_P)
        # The derivative of the logarithm, D -> V (Gamma * V^T D V) V^T, is self-adjoint.
        V, Vt = vectors, np.swapaxes(vectors, 1, 2)
        by_Z = V @ (divided_differences(eigenvalues) * (Vt @ by_log @ V)) @ Vt
        return value, 2.0 * np.einsum("lab,lbc->ac", by_Z, GX)


class PenalisedCost:
    """The cost penalty |S|^2 - alignment at G = exp S, as a function of the half vector of S.

    Parameters
    ----------
    target : Alignment
        The alignment.
    penalty : float
        The weight of |S|^2.
    """

    def __init__(self, target: Alignment, penalty: float) -> None:
        self._target, self._penalty = target, penalty

    def __call__(self, s: FloatArray) -> tuple[float, FloatArray]:
        """Return the cost and its gradient, shape (p,), at the half vector s of S, shape (p,)."""
        half = self._target.half
        G, eigenvalues, V = exponential(half.unpack(s))
        value, gradient = self._target(G)
        # The divided differences of the exponential are the reciprocals of the divided differences of the logarithm.
        rotated = (V.T @ (0.5 * (gradient + gradient.T)) @ V) / divided_differences(eigenvalues[None])[0]
        return self._penalty * float(s @ s) - value, 2.0 * self._penalty * s - half.pack(V @ rotated @ V.T)


def exponential(S: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute the exponential of a symmetric matrix.

    Parameters
    ----------
    S : array of shape (n, n)
        A symmetric matrix.

    Returns
    -------
    exponential : array of shape (n, n)
        exp S.
    eigenvalues : array of shape (n,)
        The eigenvalues of exp S, in ascending order.
    vectors : array of shape (n, n)
        The eigenvectors, as columns.
    """
    logarithms, vectors = np.linalg.eigh(S)
    eigenvalues = np.exp(logarithms)
    return from_spectrum(eigenvalues, vectors), eigenvalues, vectors


def divided_differences(eigenvalues: FloatArray) -> FloatArray:
    """Compute the divided differences of the logarithm for all pairs of eigenvalues of a matrix.

    The divided difference of a and b is (log a - log b) / (a - b), or 1/a if a = b. It is evaluated as
    2 artanh(r) / (r (a + b)) with r = (a - b) / (a + b), which is accurate if a is close to b.

    Parameters
    ----------
    eigenvalues : array of shape (l, n)
        Positive eigenvalues of l matrices.

    Returns
    -------
    array of shape (l, n, n)
        The divided differences.
    """
    a, b = eigenvalues[:, :, None], eigenvalues[:, None, :]
    r = (a - b) / (a + b)
    near = np.abs(r) < 1e-6
    safe = np.where(near, 0.5, r)
    # If a and b differ by orders of magnitude, r rounds to 1, but the difference of their logarithms is accurate.
    log_ratio = np.where(np.abs(r) < 0.5, 2.0 * np.arctanh(np.clip(safe, -0.75, 0.75)), np.log(a) - np.log(b))
    return np.asarray(np.where(near, 2.0, log_ratio / safe) / (a + b))


def _spectrum(Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues, raised to the rounding error if G has made Z singular, and eigenvectors."""
    eigenvalues, vectors = np.linalg.eigh(0.5 * (Z + np.swapaxes(Z, -1, -2)))
    floor = np.finfo(np.float64).eps * eigenvalues[..., -1:]
    return np.maximum(eigenvalues, floor), vectors
