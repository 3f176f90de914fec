"""What all comparisons do with their inputs: checks, regularisation, seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

from covmetric._utils.validation import (
    IntArray,
    Matrices,
    as_numbers,
    generator,
    precision_of,
    symmetric,
    symmetry_tolerance,
)
from covmetric.learning.examples import require_classes


def check_matrices_and_labels(X: Any, y: Any, groups: Any) -> tuple[Matrices, IntArray, npt.NDArray[Any] | None]:
    """Check the data of a comparison.

    Parameters
    ----------
    X : array of shape (l, n, n)
        Symmetric or Hermitian matrices.
    y : array of shape (l,)
        Their classes.
    groups : array of shape (l,) or None
        Their groups.

    Returns
    -------
    X : array of shape (l, n, n)
        The matrices.
    codes : array of int of shape (l,)
        Their classes, 0..n_classes-1.
    groups : array of shape (l,) or None
        Their groups.

    Raises
    ------
    ValueError
        If the data are invalid.
    """
    matrices = as_numbers("X", X)
    if matrices.ndim != 3:
        raise ValueError(f"X must hold matrices, shape (l, n, n); got shape {matrices.shape}")
    matrices = symmetric("X", matrices, symmetry_tolerance(precision_of(np.asarray(X).dtype)))
    labels = np.asarray(y)
    groups = None if groups is None else np.asarray(groups)
    for name, value in (("y", labels), ("groups", groups)):
        if value is not None and value.shape != (len(matrices),):
            raise ValueError(
                f"{name} must have one entry per matrix, shape ({len(matrices)},); got shape {value.shape}"
            )
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    require_classes(classes)
    return matrices, codes.astype(np.int64), groups


def check_methods(methods: Sequence[str] | None, available: Mapping[str, Any]) -> list[str]:
    """Check the names of methods.

    Parameters
    ----------
    methods : list of str or None
        The names. None means all methods.
    available : dict
        The methods by name.

    Returns
    -------
    list of str
        Each name once.

    Raises
    ------
    ValueError
        If a name is unknown, or if there are none.
    """
    names = list(available) if methods is None else list(dict.fromkeys(methods))
    unknown = [name for name in names if name not in available]
    if unknown or not names:
        problem = f"there is no method {unknown[0]!r}" if unknown else "methods is empty"
        raise ValueError(f"{problem}; the methods are {', '.join(available)}")
    return names


def regularised(X: Matrices, reg: float) -> Matrices:
    """Add `reg` times the mean eigenvalue to the diagonal, as an embedding does, for methods that have no `reg`.

    Parameters
    ----------
    X : array of shape (l, n, n)
        The matrices.
    reg : float
        The fraction of the mean eigenvalue.

    Returns
    -------
    array of shape (l, n, n)
        The regularised matrices.
    """
    n = X.shape[-1]
    mean_eigenvalue = np.trace(X, axis1=1, axis2=2).real / n
    return np.asarray(X + reg * mean_eigenvalue[:, None, None] * np.eye(n))


def draw_seed(entropy: int | Sequence[int]) -> int:
    """Return the seed of the splits of a comparison.

    Parameters
    ----------
    entropy : int or sequence of int
        The seed of the comparison, and the number of the repeat if there are several.

    Returns
    -------
    int
        A number from 0 to 2^32 - 1.
    """
    return int(generator(entropy).integers(2**32))
