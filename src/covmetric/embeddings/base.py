"""What an embedding Phi is, and the checks that all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from covmetric._utils.tuning import MATRICES_PER_JOB
from covmetric._utils.validation import (
    FloatArray,
    IntArray,
    Matrices,
    as_floats,
    as_numbers,
    first_index,
    is_count,
    is_number,
    precision_of,
    symmetric,
    symmetry_tolerance,
)
from covmetric.model_file import constructor_defaults


class Embedding(ABC):
    """A map Phi from covariance matrices (..., n, n) to matrices (..., n, m), in which distances are taken.

    `fit` checks the training matrices and learns what the embedding needs of them; `transform` maps any matrices of the
    same size. All work is batched over the leading axes, in float64; the input is never changed.

    Hermitian matrices (complex: cross-spectra, polarimetric radar) are mapped as complex matrices, and the result
    Phi = A + iB is handed on as the real matrix [[A, -B], [B, A]] / sqrt(2), shape (..., 2n, 2n). This keeps products,
    logarithms and distances, so that all that follows is real; the learned W is then the real form of a Hermitian one.

    Parameters
    ----------
    reg : float, default=0.0
        Adds `reg` times the mean eigenvalue, tr(X)/n, to the diagonal of each matrix: the remedy for singular input. It
        is a share of each matrix's own scale, so it means the same for volts and for microvolts.
    """

    name: ClassVar[str]
    #: Whether examples are vectors (..., d) instead of matrices (..., n, n).
    takes_vectors: ClassVar[bool] = False
    #: The attributes that `_fit` learns, besides the shape and the type of the examples; model files hold them.
    fitted_attributes: ClassVar[tuple[str, ...]] = ()
    shape_in_: tuple[int, ...]
    complex_: bool

    def __init__(self, reg: float = 0.0) -> None:
        self.reg = reg

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 (scikit-learn's signature)
        """Check the training matrices and learn what the embedding needs. Returns self."""
        self._fit_transform(X)
        return self

    def transform(self, X: Any, n_jobs: int | None = None) -> FloatArray:
        """The embedded matrices, shape (..., n, m); `n_jobs` threads share the work, with the same result."""
        self.check_fitted()
        matrices, eps = self._check(X)
        if np.iscomplexobj(matrices) and not self.complex_:
            raise ValueError(f"X is complex ({matrices.dtype}), but the embedding was fitted on real matrices")
        if self.complex_:
            matrices = matrices.astype(np.complex128, copy=False)
        shape = self._core_shape(matrices)
        if shape != self.shape_in_:
            raise ValueError(f"X holds examples of shape {shape}, but the embedding was fitted on {self.shape_in_}")
        return self._finite(self._shared(matrices, eps, n_jobs))

    def fit_transform(self, X: Any, y: Any = None, n_jobs: int | None = None) -> FloatArray:  # noqa: ARG002
        """`fit`, then `transform`, on the same matrices."""
        return self._fit_transform(X, n_jobs)

    def inverse_transform(self, embedded: Any) -> Matrices:
        """The matrices (..., n, n) that `transform` maps to `embedded`, shape (..., n, m).

        Means of embedded matrices have such a matrix, too. `reg` is undone: where it mattered, the matrix may be
        singular, and less.
        """
        self.check_fitted()
        values = as_floats("embedded", embedded)
        if values.shape[-2:] != self.shape_out_:
            raise ValueError(f"embedded must have shape (..., {self.shape_out_}), got {values.shape}")
        matrices = self._inverse(values)
        if self.reg > 0.0:
            n = matrices.shape[-1]
            mean = np.trace(matrices, axis1=-2, axis2=-1) / n / (1.0 + self.reg)
            matrices = matrices - self.reg * mean[..., None, None] * np.eye(n)
        return matrices

    @property
    def learns(self) -> bool:
        """Whether `fit` learns anything but a shape; where it does not, each example is mapped on its own."""
        return type(self)._fit is not Embedding._fit

    @property
    def shape_out_(self) -> tuple[int, int]:
        """The shape (n, m) of an embedded example."""
        n = self.shape_in_[0] * (2 if self.complex_ else 1)
        return n, n

    @property
    def copies_(self) -> int:
        """How often a matrix on the embedding holds each of its numbers: twice in the real form of a Hermitian one."""
        return 2 if self.complex_ else 1

    @property
    def requires_definite(self) -> bool:
        """Whether Phi needs positive definite matrices; otherwise semi-definite ones are fine."""
        return False

    def channel_names(self, names: Sequence[str] | None = None) -> list[str]:
        """Return the names of the channels or features of an example.

        Parameters
        ----------
        names : sequence of str or None, default=None
            Names to use; None: x0, x1, ...

        Returns
        -------
        list of str

        Raises
        ------
        ValueError
            If there is not one name per channel.
        """
        n = self.shape_in_[0]
        if names is None:
            return [f"x{i}" for i in range(n)]
        labels = [str(name) for name in names]
        if len(labels) != n:
            raise ValueError(f"names must have one entry per channel, {n}; got {len(labels)}")
        return labels

    def row_names(self, names: Sequence[str] | None = None) -> list[str]:
        """Return the names of the rows of Phi, which are those of W.

        Parameters
        ----------
        names : sequence of str or None, default=None
            Names of the channels; None: x0, x1, ...

        Returns
        -------
        list of str
        """
        return self.channel_names(names)

    def row_channels(self) -> IntArray:
        """Return the channels that each row of Phi belongs to, in equal parts.

        Returns
        -------
        array of int, shape (rows, k)
        """
        return np.arange(self.shape_in_[0])[:, None]

    def filters(self, vectors: Matrices) -> Matrices:
        """Return how the channels are combined into directions of the rows of Phi.

        Parameters
        ----------
        vectors : array of shape (rows, k)
            Directions in the coordinates that W acts on, as columns.

        Returns
        -------
        array of shape (rows, k)
            The vectors themselves, unless Phi mixes the channels.
        """
        return vectors

    def patterns(self, vectors: Matrices) -> Matrices:
        """Return how directions of the rows of Phi show in the channels.

        Parameters
        ----------
        vectors : array of shape (rows, k)
            Directions in the coordinates that W acts on, as columns.

        Returns
        -------
        array of shape (rows, k)
            The vectors themselves, unless Phi mixes the channels.
        """
        return vectors

    def probe(self) -> Matrices:
        """Return an example that the fitted embedding certainly takes.

        Returns
        -------
        array of shape `shape_in_`
        """
        return np.eye(self.shape_in_[0])

    def get_state(self) -> dict[str, Any]:
        """Return the settings and, if fitted, what was learned, for a model file.

        Returns
        -------
        dict
        """
        learned = ("shape_in_", "complex_", *self.fitted_attributes) if hasattr(self, "shape_in_") else ()
        return {name: getattr(self, name) for name in (*constructor_defaults(type(self)), *learned)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Make an embedding of its state, which may come from a hostile file.

        Parameters
        ----------
        state : dict
            As of `get_state`.

        Returns
        -------
        Embedding

        Raises
        ------
        ValueError
            If the state does not make sense.
        """
        embedding = cls(**{name: state.pop(name) for name in constructor_defaults(cls)})
        if not state:
            return embedding  # not fitted: the parameter of an estimator
        expected = {"shape_in_", "complex_", *cls.fitted_attributes}
        if set(state) != expected:
            raise ValueError(f"{cls.name!r} should have learned {sorted(expected)}, not {sorted(state)}")
        shape = embedding._example_shape(state["shape_in_"])
        if shape is None or not isinstance(state["complex_"], bool):
            raise ValueError(f"{cls.name!r} cannot have been fitted on examples of shape {state['shape_in_']!r}")
        for name, value in state.items():
            setattr(embedding, name, value)
        embedding._check_restored()
        return embedding

    def _check_restored(self) -> None:
        """Raise ValueError unless the fitted attributes, which come from a file, make sense."""
        for name in self.fitted_attributes:
            as_numbers(name, getattr(self, name))

    def _example_shape(self, shape: Any) -> tuple[int, ...] | None:
        """The shape of an example, if it is one."""
        sizes = shape if isinstance(shape, tuple) and len(shape) == 2 else (0, 0)
        return shape if is_count(sizes[0]) and sizes[0] > 0 and sizes[0] == sizes[1] else None

    def check_fitted(self) -> None:
        """Raise scikit-learn's NotFittedError unless the embedding is fitted."""
        if not hasattr(self, "shape_in_"):
            from sklearn.exceptions import NotFittedError  # scikit-learn takes a second to import

            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")

    def __repr__(self) -> str:
        settings = {k: v for k, v in vars(self).items() if not (k.startswith("_") or k.endswith("_"))}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in settings.items())})"

    def _fit_transform(self, X: Any, n_jobs: int | None = None) -> FloatArray:
        matrices, eps = self._check(X)
        self._fit(matrices, eps)
        self.complex_ = bool(np.iscomplexobj(matrices))
        embedded = self._finite(self._shared(matrices, eps, n_jobs))
        self.shape_in_ = self._core_shape(matrices)
        if embedded.shape[-2:] != self.shape_out_:
            given, name = embedded.shape[-2:], type(self).__name__
            raise TypeError(f"{name}._transform returns shape {given}, but its shape_out_ is {self.shape_out_}")
        return embedded

    def _shared(self, X: Matrices, eps: float, n_jobs: int | None) -> FloatArray:
        """Phi of checked matrices, by several threads: each matrix is mapped on its own, so the bits agree."""
        if not (n_jobs is None or (isinstance(n_jobs, int | np.integer) and n_jobs != 0)):
            raise ValueError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r}")
        if n_jobs in (None, 1) or X.ndim != 3 or len(X) < 2 * MATRICES_PER_JOB:
            return as_real(self._transform(X, eps))
        from joblib import Parallel, delayed

        parts = np.array_split(X, -(-len(X) // MATRICES_PER_JOB))
        try:
            work = (delayed(self._transform)(part, eps) for part in parts)
            return as_real(np.concatenate(Parallel(n_jobs, prefer="threads")(work)))
        except ValueError:
            return as_real(self._transform(X, eps))  # the same error, with the index into the whole of X

    def _finite(self, embedded: FloatArray) -> FloatArray:
        if not np.isfinite(embedded).all():
            where = first_index(~np.isfinite(embedded))[: embedded.ndim - 2]
            raise ValueError(f"{self.name!r} of X{where or ''} overflows: rescale the matrices")
        return embedded

    def _core_shape(self, X: Matrices) -> tuple[int, ...]:
        """The shape of one example."""
        return X.shape[-2:]

    def _check(self, X: Any) -> tuple[Matrices, float]:
        """X as symmetric or Hermitian matrices, regularised, and the precision that they were computed in."""
        reg = self.reg
        if not (is_number(reg) and reg >= 0):
            raise ValueError(f"reg must be a number >= 0, got {reg!r}")
        values = as_numbers("X", X)
        eps = precision_of(np.asarray(X).dtype)
        matrices = symmetric("X", values, rtol=symmetry_tolerance(eps))
        if reg > 0.0:
            mean = np.trace(matrices, axis1=-2, axis2=-1) / matrices.shape[-1]
            matrices = matrices + reg * mean[..., None, None] * np.eye(matrices.shape[-1])
        return matrices, eps

    def _fit(self, X: Matrices, eps: float) -> None:  # noqa: B027 (optional)
        """Learn from checked matrices, of precision eps; most embeddings have nothing to learn."""

    @abstractmethod
    def _transform(self, X: Matrices, eps: float) -> Matrices:
        """Phi of checked matrices, of precision eps. Must not change the object: threads share it."""

    @abstractmethod
    def _inverse(self, embedded: FloatArray) -> Matrices:
        """The matrices, regularised, whose Phi is `embedded`; see `as_complex`."""

    def _require_definite(self, X: Matrices, eigenvalues: FloatArray, eps: float) -> None:
        """Raise ValueError unless all matrices X, with these ascending eigenvalues, are numerically definite."""
        good = definite(eigenvalues, eps)
        if not good.all():
            self._refuse(X, ~good, "positive definite", eps)

    def _refuse(self, X: Matrices, bad: Any, needs: str, eps: float) -> None:
        """Raise for the first bad matrix, with its smallest eigenvalue and the remedy."""
        where = first_index(bad) if bad.ndim else []
        if not X[tuple(where)].any():
            raise ValueError(f"X{where or ''} is all zeros, as of a constant image or series: leave it out")
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


def from_spectrum(eigenvalues: FloatArray, vectors: Matrices) -> Matrices:
    """V diag(values) V^H, exactly symmetric or Hermitian."""
    product = (vectors * eigenvalues[..., None, :]) @ np.swapaxes(vectors.conj(), -1, -2)
    return 0.5 * (product + np.swapaxes(product.conj(), -1, -2))


def as_real(embedded: Matrices) -> FloatArray:
    """A + iB as the real matrix [[A, -B], [B, A]] / sqrt(2), of the same norm; what is real already stays."""
    if not np.iscomplexobj(embedded):
        return embedded
    real, imaginary = embedded.real, embedded.imag
    upper, lower = np.concatenate([real, -imaginary], axis=-1), np.concatenate([imaginary, real], axis=-1)
    return np.asarray(np.concatenate([upper, lower], axis=-2) / np.sqrt(2.0))


def as_complex(embedded: FloatArray) -> Matrices:
    """The complex matrices that `as_real` makes real."""
    n, m = embedded.shape[-2] // 2, embedded.shape[-1] // 2
    real = embedded[..., :n, :m] + embedded[..., n:, m:]
    imaginary = embedded[..., n:, :m] - embedded[..., :n, m:]
    return np.asarray((real + 1j * imaginary) / np.sqrt(2.0))
