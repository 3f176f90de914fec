"""The matrix power, Phi(X) = X^p, and the square root."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import FloatArray, Matrices, is_number, symmetric
from covmetric.embeddings.base import Embedding
from covmetric.embeddings.matrices import as_complex, from_spectrum


class Power(Embedding):
    """The matrix power.

    With W = I, D is the squared power-Euclidean distance, without its factor 1/p^2.

    Parameters
    ----------
    p : float, default=0.5
        The exponent, which must not be 0. Singular matrices are accepted if p > 0.
    reg : float, default=0.0
        Adds `reg` times the mean eigenvalue of each matrix to its diagonal; see `Embedding`.

    Examples
    --------
    >>> import numpy as np
    >>> Power(p=2.0).fit_transform(np.diag([1.0, 3.0])).round(12)
    array([[1., 0.],
           [0., 9.]])
    """

    name = "power"

    def __init__(self, p: float = 0.5, reg: float = 0.0) -> None:
        super().__init__(reg=reg)
        self.p = p

    @property
    def requires_definite(self) -> bool:
        """Whether p is negative."""
        return is_number(self.p) and self.p < 0

    def _transform(self, X: Matrices, eps: float) -> Matrices:
        p = self.p
        if not (is_number(p) and p != 0):
            raise ValueError(f"p must be a number other than 0, got {p!r}")
        eigenvalues, vectors = np.linalg.eigh(X)
        if p < 0.0:
            self._require_definite(X, eigenvalues, eps)
        else:
            # Rounding may turn the zero eigenvalues of a singular matrix slightly negative.
            n = X.shape[-1]
            bad = eigenvalues[..., 0] < -10.0 * n * eps * np.abs(eigenvalues).max(axis=-1)
            if bad.any():
                self._refuse(X, bad, "positive semi-definite", eps)
            eigenvalues = np.maximum(eigenvalues, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            return from_spectrum(eigenvalues**p, vectors)

    def _inverse(self, embedded: FloatArray) -> Matrices:
        eigenvalues, vectors = np.linalg.eigh(
            symmetric("embedded", as_complex(embedded) if self.complex_ else embedded)
        )
        if (eigenvalues[..., 0] < -1e-10 * np.abs(eigenvalues).max(axis=-1)).any():
            raise ValueError(
                f"embedded is not a power of any matrix: its smallest eigenvalue is {eigenvalues.min():.3g}"
            )
        return from_spectrum(np.maximum(eigenvalues, 0.0) ** (1.0 / self.p), vectors)


class SquareRoot(Power):
    """The principal square root, which is the power 1/2. Singular matrices are accepted.

    Parameters
    ----------
    reg : float, default=0.0
        Adds `reg` times the mean eigenvalue of each matrix to its diagonal; see `Embedding`.

    Examples
    --------
    >>> import numpy as np
    >>> SquareRoot().fit_transform(np.diag([4.0, 9.0])).round(12)
    array([[2., 0.],
           [0., 3.]])
    """

    name = "sqrt"

    def __init__(self, reg: float = 0.0) -> None:
        super().__init__(p=0.5, reg=reg)

    def __repr__(self) -> str:
        return f"SquareRoot(reg={self.reg!r})"
