"""Keys that determine what blocks compute, down to the last bit."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray


def fingerprint(*values: Any) -> bytes:
    """Return a short key of arrays, numbers and names, which differs if any bit of them differs.

    Parameters
    ----------
    *values : array, float, str or None
        The values.

    Returns
    -------
    bytes
    """
    digest = hashlib.blake2b(digest_size=16)
    for value in values:
        if value is None or isinstance(value, str):
            digest.update(f"{value};".encode())
        else:
            array = np.asarray(value)
            digest.update(f"{array.dtype.str}{array.shape};".encode())
            digest.update(array.tobytes())
    return digest.digest()


@dataclass(frozen=True, eq=False)
class KeyedMatrix:
    """A matrix with a key that determines what blocks compute from it, down to the last bit.

    Attributes
    ----------
    array : array of shape (n, n)
        The matrix, exactly symmetric.
    key : bytes
        The fingerprint of the matrix, or of the step that led to it.
    step : tuple of (KeyedMatrix, float, KeyedMatrix) or None, default=None
        W, t and dW if the matrix is W + t dW. Sums over pairs, which are linear in it, are then those of W plus t times
        those of dW.
    """

    array: FloatArray
    key: bytes
    step: tuple[KeyedMatrix, float, KeyedMatrix] | None = None

    @classmethod
    def of(cls, array: FloatArray) -> KeyedMatrix:
        """Compute the fingerprint of a matrix.

        Parameters
        ----------
        array : array of shape (n, n)
            The matrix.

        Returns
        -------
        KeyedMatrix
        """
        return cls(array, fingerprint(array))

    def moved(self, t: float, change: KeyedMatrix, array: FloatArray) -> KeyedMatrix:
        """Return the matrix after a step.

        Parameters
        ----------
        t : float
            The length of the step.
        change : KeyedMatrix
            Its direction.
        array : array of shape (n, n)
            The matrix plus t times the direction, up to rounding.

        Returns
        -------
        KeyedMatrix
        """
        return KeyedMatrix(array, fingerprint(self.key.hex(), t, change.key.hex()), (self, t, change))

    def steps(self) -> list[tuple[KeyedMatrix, float, KeyedMatrix]]:
        """Return the steps that led to the matrix, the last one first.

        Returns
        -------
        list of (KeyedMatrix, float, KeyedMatrix)
        """
        found, current = [], self
        while current.step is not None:
            found.append(current.step)
            current = current.step[0]
        return found
