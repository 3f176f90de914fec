"""What an embedding Phi is, and the checks that all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from covmetric._validation import FloatArray, as_floats, first, symmetric


class Embedding(ABC):
    """A map Phi from covariance matrices (..., n, n) to matrices (..., n, m), in which distances are taken.

    `fit` checks the training matrices and learns what the embedding needs of them; `transform` maps any matrices of the
    same size. All work is batched over the leading axes, in float64; the input is never changed.

    Parameters
    ----------
    reg : float, default=0.0
        Adds `reg` times the mean eigenvalue, tr(X)/n, to the diagonal of each matrix: the remedy for singular input. It
        is a share of each matrix's own scale, so it means the same for volts and for microvolts.
    """

    name: ClassVar[str]

    def __init__(self, reg: float = 0.0) -> None:
        self.reg = reg

    def fit(self, X: Any) -> Self:
        """Check the training matrices and learn what the embedding needs. Returns self."""
        matrices = self._check(X)
        self.shape_in_ = self._core_shape(matrices)
        self._fit(matrices)
        return self

    def transform(self, X: Any) -> FloatArray:
        """The embedded matrices, shape (..., n, m)."""
        if not hasattr(self, "shape_in_"):
            from sklearn.exceptions import NotFittedError  # scikit-learn takes a second to import

            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")
        matrices = self._check(X)
        shape = self._core_shape(matrices)
        if shape != self.shape_in_:
            raise ValueError(f"X holds examples of shape {shape}, but the embedding was fitted on {self.shape_in_}")
        return self._transform(matrices)

    def fit_transform(self, X: Any) -> FloatArray:
        """`fit`, then `transform`, on the same matrices."""
        return self.fit(X).transform(X)

    def __repr__(self) -> str:
        settings = ", ".join(f"{key}={value!r}" for key, value in vars(self).items() if not key.endswith("_"))
        return f"{type(self).__name__}({settings})"

    def _core_shape(self, X: FloatArray) -> tuple[int, ...]:
        """The shape of one example."""
        return X.shape[-2:]

    def _check(self, X: Any) -> FloatArray:
        """X as symmetric float64 matrices, regularised."""
        reg = self.reg
        if not (isinstance(reg, int | float | np.floating) and np.isfinite(reg) and reg >= 0.0):
            raise ValueError(f"reg must be a number >= 0, got {reg!r}")
        array = np.asarray(X)
        single = array.dtype in (np.float32, np.float16)
        self._eps = float(np.finfo(array.dtype if single else np.float64).eps)
        # Entries computed in single precision are symmetric to single precision only.
        matrices = symmetric("X", as_floats("X", array), rtol=100.0 * self._eps if single else 1e-8)
        if reg > 0.0:
            mean = np.trace(matrices, axis1=-2, axis2=-1) / matrices.shape[-1]
            matrices = matrices + reg * mean[..., None, None] * np.eye(matrices.shape[-1])
        return matrices

    def _fit(self, X: FloatArray) -> None:
        """Learn from checked matrices; most embeddings have nothing to learn, but refuse what they cannot map."""
        self._transform(X)

    @abstractmethod
    def _transform(self, X: FloatArray) -> FloatArray:
        """Phi of checked matrices."""

    def _refuse(self, X: FloatArray, bad: Any, needs: str) -> None:
        """Raise for the first bad matrix, with its smallest eigenvalue and the remedy."""
        where = first(bad) if bad.ndim else []
        eigenvalues = np.linalg.eigvalsh(X[tuple(where)])
        raise ValueError(
            f"X{where or ''} is not {needs}, as {self.name!r} needs: its smallest eigenvalue is {eigenvalues[0]:.3g}, "
            f"its largest {eigenvalues[-1]:.3g}; set reg (now {self.reg:g}), for example 1e-6, or shrink the estimate"
        )


def definite(eigenvalues: FloatArray, eps: float) -> Any:
    """Whether the smallest of ascending eigenvalues (..., n) stands out of the rounding error of the largest."""
    n = eigenvalues.shape[-1]
    return eigenvalues[..., 0] > n * eps * eigenvalues[..., -1]


def from_spectrum(eigenvalues: FloatArray, vectors: FloatArray) -> FloatArray:
    """V diag(values) V^T, exactly symmetric."""
    product = (vectors * eigenvalues[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return 0.5 * (product + np.swapaxes(product, -1, -2))
