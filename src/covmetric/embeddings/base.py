"""The base class of embeddings Phi, with the validation of their input."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from covmetric._utils.tuning import MATRICES_PER_JOB
from covmetric._utils.validation import (
    FloatArray,
    Matrices,
    as_floats,
    as_numbers,
    check_n_jobs,
    first_index,
    is_count,
    is_number,
    precision_of,
    symmetric,
    symmetry_tolerance,
)
from covmetric.embeddings.matrices import as_real, definite
from covmetric.embeddings.rows import RowDescription
from covmetric.model_file import constructor_defaults


class Embedding(RowDescription, ABC):
    """A map Phi from covariance matrices (..., n, n) to matrices (..., n, m), between which distances are computed.

    `fit` validates the training matrices and learns what the embedding needs from them. `transform` maps matrices of
    the same size. Both are batched over the leading axes, compute in float64, and never modify their input.

    Hermitian matrices (complex cross-spectra, polarimetric radar) are mapped to complex matrices Phi = A + iB, which
    `transform` returns as real matrices [[A, -B], [B, A]] / sqrt(2) of shape (..., 2n, 2n). This preserves products,
    logarithms and distances, so that everything else works with real numbers. The learned W is then the real form of
    a Hermitian matrix.

    A new embedding is one file with a subclass, which implements `_transform` and `_inverse`, and one line in
    `covmetric.embeddings.EMBEDDINGS`. If it learns something, it also implements `_fit` and lists the attributes that
    it learns in `fitted_attributes`.

    Parameters
    ----------
    reg : float, default=0.0
        The regularisation: `reg` times the mean eigenvalue tr(X)/n of each matrix is added to its diagonal, which makes
        singular matrices definite. Because it is relative to each matrix, it does not depend on the units of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric.embeddings import get_embedding
    >>> phi = get_embedding("log").fit(np.eye(2)[None])
    >>> phi.transform(np.diag([1.0, np.e])).round(12)
    array([[0., 0.],
           [0., 1.]])
    """

    #: The name of the embedding in `EMBEDDINGS`.
    name: ClassVar[str]
    #: Whether examples are vectors (..., d) instead of matrices (..., n, n).
    takes_vectors: ClassVar[bool] = False
    #: The attributes that `_fit` learns. They are stored in model files, together with `shape_in_` and `complex_`.
    fitted_attributes: ClassVar[tuple[str, ...]] = ()
    #: Whether the training matrices were complex.
    complex_: bool

    def __init__(self, reg: float = 0.0) -> None:
        self.reg = reg

    def fit(self, X: Any, y: Any = None) -> Self:
        """Validate the training examples and learn what the embedding needs.

        Parameters
        ----------
        X : array-like of shape (..., n, n), or (..., d) for vectors
            The training examples.
        y : object, default=None
            Ignored; part of scikit-learn's interface.

        Returns
        -------
        self
            The fitted embedding.

        Raises
        ------
        ValueError
            If an example or a setting is invalid.
        """
        self._fit_transform(X)
        return self

    def transform(self, X: Any, n_jobs: int | None = None) -> FloatArray:
        """Embed examples.

        Parameters
        ----------
        X : array-like of shape (..., n, n), or (..., d) for vectors
            The examples.
        n_jobs : int or None, default=None
            The number of threads. The result does not depend on it.

        Returns
        -------
        array of float64 of shape (..., *shape_out_)
            The embedded examples.

        Raises
        ------
        ValueError
            If an example is invalid, or does not have the shape of the training examples.
        sklearn.exceptions.NotFittedError
            If the embedding is not fitted.
        """
        self.check_fitted()
        matrices, eps = self._check(X)
        if np.iscomplexobj(matrices) and not self.complex_:
            raise ValueError(f"X is complex ({matrices.dtype}), but the embedding was fitted on real matrices")
        if self.complex_:
            matrices = matrices.astype(np.complex128, copy=False)
        shape = self._shape_of_example(matrices)
        if shape != self.shape_in_:
            raise ValueError(f"X holds examples of shape {shape}, but the embedding was fitted on {self.shape_in_}")
        return self._check_finite(self._transform_by_threads(matrices, eps, n_jobs))

    def fit_transform(self, X: Any, y: Any = None, n_jobs: int | None = None) -> FloatArray:
        """Fit the embedding and embed the same examples.

        Parameters
        ----------
        X : array-like of shape (..., n, n), or (..., d) for vectors
            The training examples.
        y : object, default=None
            Ignored; part of scikit-learn's interface.
        n_jobs : int or None, default=None
            The number of threads. The result does not depend on it.

        Returns
        -------
        array of float64 of shape (..., *shape_out_)
            The embedded examples.

        Raises
        ------
        ValueError
            If an example or a setting is invalid.
        """
        return self._fit_transform(X, n_jobs)

    def inverse_transform(self, embedded: Any) -> Matrices:
        """Return the examples that `transform` maps to given values.

        A mean of embedded examples is also mapped to an example.

        Parameters
        ----------
        embedded : array-like of shape (..., *shape_out_)
            Values of Phi.

        Returns
        -------
        array of shape (..., n, n), or (..., d) for vectors
            The examples. The effect of `reg` is removed, so a matrix may be singular, or even slightly indefinite, if
            only `reg` made it definite.

        Raises
        ------
        ValueError
            If the shape is wrong, or no example is mapped to `embedded`.
        sklearn.exceptions.NotFittedError
            If the embedding is not fitted.
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
        """Whether `fit` learns anything except the shape. If not, the map does not depend on the training examples."""
        return type(self)._fit is not Embedding._fit

    @property
    def shape_out_(self) -> tuple[int, int]:
        """The shape (n, m) of an embedded example."""
        n = self.shape_in_[0] * (2 if self.complex_ else 1)
        return n, n

    @property
    def copies_(self) -> int:
        """How often W contains each of its numbers: 2 if it is the real form of a Hermitian matrix, otherwise 1."""
        return 2 if self.complex_ else 1

    @property
    def requires_definite(self) -> bool:
        """Whether Phi requires positive definite matrices; otherwise, semi-definite matrices suffice."""
        return False

    def probe(self) -> Matrices:
        """Return an example that the fitted embedding accepts, for tests of restored settings.

        Returns
        -------
        array of shape `shape_in_`
            The example.
        """
        return np.eye(self.shape_in_[0])

    def get_state(self) -> dict[str, Any]:
        """Return the settings and the fitted attributes, for a model file.

        Returns
        -------
        dict
            The values by name, or only the settings if the embedding is not fitted.
        """
        learned = ("shape_in_", "complex_", *self.fitted_attributes) if hasattr(self, "shape_in_") else ()
        return {name: getattr(self, name) for name in (*constructor_defaults(type(self)), *learned)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Create an embedding from its state, which may come from a hostile file.

        Parameters
        ----------
        state : dict
            The values that `get_state` returns.

        Returns
        -------
        Embedding
            The embedding.

        Raises
        ------
        ValueError
            If the state does not belong to an embedding of this class.
        """
        embedding = cls(**{name: state.pop(name) for name in constructor_defaults(cls)})
        if not state:
            return embedding  # not fitted, such as a parameter of an estimator
        expected = {"shape_in_", "complex_", *cls.fitted_attributes}
        if set(state) != expected:
            raise ValueError(f"{cls.name!r} should have learned {sorted(expected)}, not {sorted(state)}")
        shape = embedding._validated_shape(state["shape_in_"])
        if shape is None or not isinstance(state["complex_"], bool):
            raise ValueError(f"{cls.name!r} cannot have been fitted on examples of shape {state['shape_in_']!r}")
        for name, value in state.items():
            setattr(embedding, name, value)
        embedding._check_restored()
        return embedding

    def _check_restored(self) -> None:
        """Raise ValueError unless the fitted attributes, which come from a file, are valid."""
        for name in self.fitted_attributes:
            as_numbers(name, getattr(self, name))

    def _validated_shape(self, shape: Any) -> tuple[int, ...] | None:
        """Return a shape that comes from a file, or None if it is not the shape of an example."""
        sizes = shape if isinstance(shape, tuple) and len(shape) == 2 else (0, 0)
        return shape if is_count(sizes[0]) and sizes[0] > 0 and sizes[0] == sizes[1] else None

    def check_fitted(self) -> None:
        """Raise scikit-learn's NotFittedError unless the embedding is fitted."""
        if not hasattr(self, "shape_in_"):
            from sklearn.exceptions import NotFittedError  # imported late, because it takes a second

            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")

    def __repr__(self) -> str:
        settings = {k: v for k, v in vars(self).items() if not (k.startswith("_") or k.endswith("_"))}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in settings.items())})"

    def _fit_transform(self, X: Any, n_jobs: int | None = None) -> FloatArray:
        matrices, eps = self._check(X)
        self._fit(matrices, eps)
        self.complex_ = bool(np.iscomplexobj(matrices))
        embedded = self._check_finite(self._transform_by_threads(matrices, eps, n_jobs))
        self.shape_in_ = self._shape_of_example(matrices)
        if embedded.shape[-2:] != self.shape_out_:
            given, name = embedded.shape[-2:], type(self).__name__
            raise TypeError(f"{name}._transform returns shape {given}, but its shape_out_ is {self.shape_out_}")
        return embedded

    def _transform_by_threads(self, X: Matrices, eps: float, n_jobs: int | None) -> FloatArray:
        """Return Phi of validated matrices. Each matrix is mapped separately, so the bits do not depend on `n_jobs`."""
        check_n_jobs(n_jobs)
        if n_jobs in (None, 1) or X.ndim != 3 or len(X) < 2 * MATRICES_PER_JOB:
            return as_real(self._transform(X, eps))
        from joblib import Parallel, delayed

        parts = np.array_split(X, -(-len(X) // MATRICES_PER_JOB))
        try:
            work = (delayed(self._transform)(part, eps) for part in parts)
            return as_real(np.concatenate(Parallel(n_jobs, require="sharedmem")(work)))
        except ValueError:
            return as_real(self._transform(X, eps))  # raises the same error, with the index into X

    def _check_finite(self, embedded: FloatArray) -> FloatArray:
        if not np.isfinite(embedded).all():
            where = first_index(~np.isfinite(embedded))[: embedded.ndim - 2]
            raise ValueError(f"{self.name!r} of X{where or ''} overflows: rescale the matrices")
        return embedded

    def _shape_of_example(self, X: Matrices) -> tuple[int, ...]:
        """Return the shape of one example."""
        return X.shape[-2:]

    def _check(self, X: Any) -> tuple[Matrices, float]:
        """Return validated and regularised matrices, and the machine epsilon that they were computed with."""
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

    def _fit(self, X: Matrices, eps: float) -> None:
        """Learn from validated matrices with machine epsilon `eps`. By default there is nothing to learn."""

    @abstractmethod
    def _transform(self, X: Matrices, eps: float) -> Matrices:
        """Return Phi of validated matrices. It must not modify the object, which several threads use."""

    @abstractmethod
    def _inverse(self, embedded: FloatArray) -> Matrices:
        """Return the matrices, still regularised, whose Phi is `embedded`; see `as_complex` for Hermitian matrices."""

    def _require_definite(self, X: Matrices, eigenvalues: FloatArray, eps: float) -> None:
        """Raise ValueError unless all matrices are numerically definite, given their ascending eigenvalues."""
        good = definite(eigenvalues, eps)
        if not good.all():
            self._refuse(X, ~good, "positive definite", eps)

    def _refuse(self, X: Matrices, bad: Any, required: str, eps: float) -> None:
        """Raise ValueError for the first bad matrix, naming its extreme eigenvalues and the remedy."""
        where = first_index(bad) if bad.ndim else []
        if not X[tuple(where)].any():
            raise ValueError(f"X{where or ''} is all zeros, as for a constant image or series: leave it out")
        eigenvalues = np.linalg.eigvalsh(X[tuple(where)])
        sufficient = max(1e-6, 10.0 * X.shape[-1] * eps)
        remedy = f"set reg, for example {sufficient:.0e}" if self.reg < sufficient else f"raise reg (now {self.reg:g})"
        raise ValueError(
            f"X{where or ''} is not {required}, as {self.name!r} requires: its smallest eigenvalue is "
            f"{eigenvalues[0]:.3g}, its largest {eigenvalues[-1]:.3g}; {remedy}, or shrink the estimate"
        )
