"""The spectrum of a prior, and the data that a prior is computed from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from covmetric._utils.tuning import SPAN_FRACTION, SPAN_ROWS
from covmetric._utils.validation import FloatArray, IntArray
from covmetric.constraints import LabelledPairs


@dataclass(frozen=True)
class PriorData:
    """The training data and the settings that a prior may use.

    Attributes
    ----------
    embedded : array of shape (l, n, m)
        The embedded examples.
    codes : array of int of shape (l,) or None, default=None
        The classes of the examples, 0..n_classes-1. None if only pairs are labelled.
    pairs : LabelledPairs or None, default=None
        The chosen pairs. None if the prior does not use them.
    pair_weights : array of shape (K,) or None, default=None
        The relative weights of the pairs. None weights all pairs equally.
    copies : int, default=1
        The `copies_` of the embedding: 2 if W is the real form of a Hermitian matrix.
    t : float, default=0.5
        The position on the geodesic, for 'gmml'.
    shrinkage : 'auto' or float, default='auto'
        The shrinkage of the scatter matrices, for 'within' and 'gmml'.
    """

    embedded: FloatArray
    codes: IntArray | None = None
    pairs: LabelledPairs | None = field(default=None, repr=False)
    pair_weights: FloatArray | None = None
    copies: int = 1
    t: float = 0.5
    shrinkage: Any = "auto"


def binary_exponent(values: FloatArray) -> int:
    """Return the exponent of the power of two that brings the largest absolute value into [1/2, 1).

    Division by a power of two is exact, so that priors can be computed from examples of any scale, without overflow.

    Parameters
    ----------
    values : array
        Finite numbers.

    Returns
    -------
    int
        The exponent; 0 if all values are 0.

    Examples
    --------
    >>> import numpy as np
    >>> binary_exponent(np.array([3.0, -6.0]))
    3
    """
    return int(np.frexp(np.abs(values).max(initial=0.0))[1])


@dataclass(frozen=True)
class Spectrum:
    """A symmetric positive definite matrix, given by its eigenvalues.

    Attributes
    ----------
    eigenvalues : array of shape (r,)
        The eigenvalues that belong to `vectors`.
    vectors : array of shape (n, r)
        Orthonormal eigenvectors, as columns.
    rest : float, default=0.0
        The eigenvalue of all directions that are orthogonal to `vectors`. It has no meaning if r = n.

    Examples
    --------
    >>> import numpy as np
    >>> Spectrum(np.array([9.0]), np.array([[1.0], [0.0]]), 4.0).root()
    array([[3., 0.],
           [0., 2.]])
    """

    eigenvalues: FloatArray
    vectors: FloatArray
    rest: float = 0.0

    @property
    def is_thin(self) -> bool:
        """Whether `vectors` span so few directions that the matrix is better kept as a `Spectrum`."""
        n, r = self.vectors.shape
        return bool(n >= SPAN_ROWS and r <= SPAN_FRACTION * n)

    def scaled(self, exponent: float) -> Spectrum:
        """Return the spectrum of the matrix times a power of two.

        Parameters
        ----------
        exponent : float
            The exponent of the power.

        Returns
        -------
        Spectrum
            The spectrum of the multiple.

        Raises
        ------
        ValueError
            If an eigenvalue overflows or is too small for a normal number.
        """
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            factor = np.exp2(exponent)
            eigenvalues, rest = self.eigenvalues * factor, float(self.rest * factor)
        smallest = np.finfo(np.float64).tiny
        in_range = np.isfinite(rest) and np.all((eigenvalues >= smallest) & np.isfinite(eigenvalues))
        if not in_range or (self.rest > 0.0 and rest < smallest):
            raise ValueError(
                "the eigenvalues of the prior overflow or vanish, because the embedded examples are very small or very "
                "large: rescale X"
            )
        return Spectrum(eigenvalues, self.vectors, rest)

    def root(self) -> FloatArray:
        """Return the symmetric square root of the matrix.

        Returns
        -------
        array of shape (n, n)
            The matrix R with R R equal to the matrix of this spectrum.
        """
        n, r = self.vectors.shape
        rest = np.sqrt(self.rest) if r < n else 0.0
        root = (self.vectors * (np.sqrt(self.eigenvalues) - rest)) @ self.vectors.T
        root.flat[:: n + 1] += rest
        return np.asarray(0.5 * (root + root.T), dtype=np.float64)
