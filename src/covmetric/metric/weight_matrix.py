"""The matrix W of a learned metric: dense, or within the span of the examples that it was learned from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from covmetric._utils.validation import FloatArray, as_floats, is_number, read_only, symmetric
from covmetric.problem import expand

# The parts of a dense matrix and of one within a span, as `get_state` names them.
_DENSE_PARTS = ("W", "components")
_SPAN_PARTS = ("basis", "core", "core_root", "scale", "prior_root")
# The largest entry of Q^T Q - I. Bases are orthonormal to 1e-12; the rest allows for a different BLAS.
_ORTHONORMAL = 1e-10


@dataclass(frozen=True, eq=False)
class WeightMatrix:
    """A symmetric positive semi-definite matrix W = R (I + Q (V - I) Q^T) R / scale, or W = V if there is no basis Q.

    Attributes
    ----------
    basis : array of shape (n, r) or None
        The matrix Q with orthonormal columns. None if the matrix is dense.
    core : array of shape (r, r)
        The matrix V, or W itself if `basis` is None. It is read-only.
    core_root : array of shape (r, r)
        The symmetric square root of `core`. It is read-only.
    scale : float
        The number by which the matrix is divided, 1 if `basis` is None.
    prior_root : array of shape (n, n) or None
        The symmetric square root R of the prior. None means the identity.
    """

    basis: FloatArray | None
    core: FloatArray
    core_root: FloatArray
    scale: float = 1.0
    prior_root: FloatArray | None = None

    @classmethod
    def from_dense(cls, W: Any, n: int) -> Self:
        """Return a dense matrix.

        Parameters
        ----------
        W : array of shape (n, n)
            A symmetric positive semi-definite matrix.
        n : int
            The number of rows that it must have.

        Returns
        -------
        WeightMatrix
            The matrix.

        Raises
        ------
        ValueError
            If W is invalid.
        """
        matrix = symmetric("W", as_floats("W", W))
        if len(matrix) != n:
            raise ValueError(f"W must have shape ({n}, {n}), as the embedding has {n} rows; got {matrix.shape}")
        return cls(None, read_only(matrix), read_only(_square_root("W", matrix)))

    @classmethod
    def from_span(cls, basis: Any, core: Any, scale: Any, prior_root: Any, n: int) -> Self:
        """Return a matrix within a span, without building it.

        Parameters
        ----------
        basis, core, scale, prior_root : object
            The parts, as in `LearnedMetric.from_span`.
        n : int
            The number of rows that it must have.

        Returns
        -------
        WeightMatrix
            The matrix.

        Raises
        ------
        ValueError
            If a part is invalid, or if the parts do not fit together.
        """
        V = symmetric("core", as_floats("core", core))
        Q = as_floats("basis", basis)
        if Q.ndim != 2 or len(Q) != n or not 0 < Q.shape[1] <= n:
            raise ValueError(f"basis must have shape ({n}, r) with 0 < r <= {n}; got {Q.shape}")
        if V.shape != (Q.shape[1], Q.shape[1]):
            raise ValueError(f"core must have shape {(Q.shape[1], Q.shape[1])}, as basis has {Q.shape}; got {V.shape}")
        if not np.abs(Q.T @ Q - np.eye(len(V))).max() <= _ORTHONORMAL:
            raise ValueError("basis must have orthonormal columns")
        if not (is_number(scale) and scale > 0):
            raise ValueError(f"scale must be a positive number, got {scale!r}")
        R = None
        if prior_root is not None:
            R = read_only(symmetric("prior_root", as_floats("prior_root", prior_root)))
            if len(R) != n:
                raise ValueError(f"prior_root must have shape ({n}, {n}), got {R.shape}")
        return cls(read_only(Q), read_only(V), read_only(_square_root("core", V)), float(scale), R)

    @property
    def dense(self) -> FloatArray:
        """W, shape (n, n), read-only. It is built at each access if there is a basis."""
        if self.basis is None:
            return self.core
        W: FloatArray = expand(self.basis, self.core) / self.scale
        if self.prior_root is not None:
            W = self.prior_root @ W @ self.prior_root
            W = 0.5 * (W + W.T)
        dense: FloatArray = read_only(W)
        return dense

    @property
    def components(self) -> FloatArray:
        """A matrix L with W = L^T L, shape (n, n), read-only. It is built at each access if there is a basis.

        It is the symmetric square root of W, unless there are a basis and a prior.
        """
        if self.basis is None:
            return self.core_root
        root = expand(self.basis, self.core_root) / np.sqrt(self.scale)
        dense: FloatArray = read_only(root if self.prior_root is None else root @ self.prior_root)
        return dense

    def times_components(self, embedded: FloatArray) -> FloatArray:
        """Return L Phi, without building L from a basis.

        Parameters
        ----------
        embedded : array of shape (..., n, m)
            Embedded examples, or their differences.

        Returns
        -------
        array of shape (..., n, m)
            The products.
        """
        if self.basis is None:
            return np.asarray(self.core_root @ embedded)
        if self.prior_root is not None:
            embedded = self.prior_root @ embedded
        columns = np.swapaxes(embedded, -1, -2)
        rows = columns.reshape(-1, len(self.basis))
        change = self.core_root - np.eye(len(self.core_root))
        mapped = (rows + ((rows @ self.basis) @ change) @ self.basis.T) / np.sqrt(self.scale)
        return np.swapaxes(mapped.reshape(columns.shape), -1, -2)

    def get_state(self) -> dict[str, Any]:
        """Return the parts of the matrix, for a model file.

        Returns
        -------
        dict
            The parts by name: W and its square root `components` if the matrix is dense, otherwise all attributes.
        """
        if self.basis is None:
            return {"W": self.core, "components": self.core_root}
        return {name: getattr(self, name) for name in _SPAN_PARTS}

    @classmethod
    def from_state(cls, state: dict[str, Any], n: int) -> Self:
        """Take the parts of a matrix out of a state.

        Parameters
        ----------
        state : dict
            It has the parts as returned by `get_state`, which are removed. They may come from a hostile file.
        n : int
            The number of rows that the matrix must have.

        Returns
        -------
        WeightMatrix
            The matrix, with the same bits.

        Raises
        ------
        ValueError
            If the parts are invalid or inconsistent.
        """
        in_span = "basis" in state
        parts = {name: state.pop(name) for name in (_SPAN_PARTS if in_span else _DENSE_PARTS)}
        name, root_name = ("core", "core_root") if in_span else _DENSE_PARTS
        for one in (name, root_name):
            part = parts[one]
            if not (isinstance(part, np.ndarray) and part.dtype == np.float64 and part.shape == np.shape(parts[name])):
                raise ValueError(f"{one} must be an array of float64 with the shape of {name}")
        given_root = parts.pop(root_name)
        matrix = cls.from_span(**parts, n=n) if in_span else cls.from_dense(parts["W"], n)
        root = symmetric(root_name, as_floats(root_name, given_root))
        if not np.abs(root @ root - matrix.core).max() <= 1e-8 * np.abs(matrix.core).max():
            raise ValueError(f"{root_name} is not the square root of {name}")
        # Another machine may compute a square root that differs in the last bits: keep the one from the file.
        return replace(matrix, core_root=read_only(root))


def _square_root(name: str, matrix: FloatArray) -> FloatArray:
    """Return the symmetric square root of a positive semi-definite matrix."""
    try:
        eigenvalues, vectors = np.linalg.eigh(matrix)
    except np.linalg.LinAlgError:
        largest = float(np.abs(matrix).max())
        raise ValueError(f"{name} has no eigenvalues in double precision; its largest entry is {largest:.3g}") from None
    if eigenvalues[0] < -1e-10 * max(eigenvalues[-1], 0.0) or eigenvalues[-1] < 0.0:
        raise ValueError(f"{name} must be positive semi-definite; its smallest eigenvalue is {eigenvalues[0]:.3g}")
    root = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T
    return np.asarray(0.5 * (root + root.T), dtype=np.float64)
