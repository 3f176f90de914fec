"""What an embedding Phi is, and the checks that all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from covmetric._validation import FloatArray, as_floats, first, is_number, symmetric

# Matrices that a thread maps at a time.
_PER_JOB = 64


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

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 (scikit-learn's signature)
        """Check the training matrices and learn what the embedding needs. Returns self."""
        self._fit_transform(X)
        return self

    def transform(self, X: Any, n_jobs: int | None = None) -> FloatArray:
        """The embedded matrices, shape (..., n, m); `n_jobs` threads share the work, with the same result."""
        if not hasattr(self, "shape_in_"):
            from sklearn.exceptions import NotFittedError  # scikit-learn takes a second to import

            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")
        matrices, eps = self._check(X)
        shape = self._core_shape(matrices)
        if shape != self.shape_in_:
            raise ValueError(f"X holds examples of shape {shape}, but the embedding was fitted on {self.shape_in_}")
        return self._finite(self._shared(matrices, eps, n_jobs))

    def fit_transform(self, X: Any, y: Any = None, n_jobs: int | None = None) -> FloatArray:  # noqa: ARG002
        """`fit`, then `transform`, on the same matrices."""
        return self._fit_transform(X, n_jobs)

    def __repr__(self) -> str:
        settings = {k: v for k, v in vars(self).items() if not (k.startswith("_") or k.endswith("_"))}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in settings.items())})"

    def _fit_transform(self, X: Any, n_jobs: int | None = None) -> FloatArray:
        matrices, eps = self._check(X)
        self._fit(matrices, eps)
        embedded = self._finite(self._shared(matrices, eps, n_jobs))
        self.shape_in_ = self._core_shape(matrices)
        self.shape_out_ = (int(embedded.shape[-2]), int(embedded.shape[-1]))
        return embedded

    def _shared(self, X: FloatArray, eps: float, n_jobs: int | None) -> FloatArray:
        """`_transform` of checked matrices, by several threads: each matrix is mapped on its own, so the bits agree."""
        if n_jobs in (None, 1) or X.ndim != 3 or len(X) < 2 * _PER_JOB:
            return self._transform(X, eps)
        from joblib import Parallel, delayed

        parts = np.array_split(X, -(-len(X) // _PER_JOB))
        try:
            work = (delayed(self._transform)(part, eps) for part in parts)
            return np.concatenate(Parallel(n_jobs, prefer="threads")(work))
        except ValueError:
            return self._transform(X, eps)  # the same error, with the index into the whole of X

    def _finite(self, embedded: FloatArray) -> FloatArray:
        if not np.isfinite(embedded).all():
            where = first(~np.isfinite(embedded))[: embedded.ndim - 2]
            raise ValueError(f"{self.name!r} of X{where or ''} overflows: rescale the matrices")
        return embedded

    def _core_shape(self, X: FloatArray) -> tuple[int, ...]:
        """The shape of one example."""
        return X.shape[-2:]

    def _check(self, X: Any) -> tuple[FloatArray, float]:
        """X as symmetric float64 matrices, regularised, and the precision that they were computed in."""
        reg = self.reg
        if not (is_number(reg) and reg >= 0):
            raise ValueError(f"reg must be a number >= 0, got {reg!r}")
        values = as_floats("X", X)
        dtype = np.asarray(X).dtype
        single = dtype in (np.float32, np.float16)
        eps = float(np.finfo(dtype if single else np.float64).eps)
        # Entries computed in single precision are symmetric to single precision only.
        matrices = symmetric("X", values, rtol=100.0 * eps if single else 1e-8)
        if reg > 0.0:
            mean = np.trace(matrices, axis1=-2, axis2=-1) / matrices.shape[-1]
            matrices = matrices + reg * mean[..., None, None] * np.eye(matrices.shape[-1])
        return matrices, eps

    def _fit(self, X: FloatArray, eps: float) -> None:  # noqa: B027 (optional)
        """Learn from checked matrices, of precision eps; most embeddings have nothing to learn."""

    @abstractmethod
    def _transform(self, X: FloatArray, eps: float) -> FloatArray:
        """Phi of checked matrices, of precision eps. Must not change the object: threads share it."""

    def _refuse(self, X: FloatArray, bad: Any, needs: str, eps: float) -> None:
        """Raise for the first bad matrix, with its smallest eigenvalue and the remedy."""
        where = first(bad) if bad.ndim else []
        eigenvalues = np.linalg.eigvalsh(X[tuple(where)])
        enough = max(1e-6, 10.0 * X.shape[-1] * eps)
        remedy = f"set reg, for example {enough:.0e}" if self.reg < enough else f"raise reg (now {self.reg:g})"
        raise ValueError(
            f"X{where or ''} is not {needs}, as {self.name!r} needs: its smallest eigenvalue is {eigenvalues[0]:.3g}, "
            f"its largest {eigenvalues[-1]:.3g}; {remedy}, or shrink the estimate"
        )


def definite(eigenvalues: FloatArray, eps: float) -> Any:
    """Whether the smallest of ascending eigenvalues (..., n) stands out of the rounding error of the largest."""
    n = eigenvalues.shape[-1]
    return eigenvalues[..., 0] > n * eps * eigenvalues[..., -1]


def from_spectrum(eigenvalues: FloatArray, vectors: FloatArray) -> FloatArray:
    """V diag(values) V^T, exactly symmetric."""
    product = (vectors * eigenvalues[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return 0.5 * (product + np.swapaxes(product, -1, -2))
