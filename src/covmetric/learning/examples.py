"""What users hand to the estimators: matrices (l, n, n) or vectors (l, d), and labels."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from covmetric._utils.validation import IntArray, as_numbers, precision_of, symmetric, symmetry_tolerance
from covmetric.embeddings import Embedding, get_embedding

# By measurement on NATOPS, ERing and Epilepsy (docs/estimators.md).
DEFAULT_PHI = "relog"
_SETTINGS: dict[str, Any] = {"reset": True, "allow_nd": True, "dtype": "numeric", "ensure_all_finite": False}


def check_examples(estimator: BaseEstimator, X: Any, *, reset: bool = False) -> npt.NDArray[Any]:
    """X as an array of matrices or vectors; NaN and asymmetry are found, with their index, by the embedding."""
    X, hermitian = _split_complex(X)
    array = validate_data(estimator, X, **{**_SETTINGS, "reset": reset})
    return _check_shape(array if hermitian is None else hermitian)


def check_labelled(
    estimator: BaseEstimator, X: Any, y: Any, *, reset: bool = True
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], IntArray]:
    """X as above, with the classes that occur in y and the class of each example as 0..n_c-1."""
    settings = {**_SETTINGS, "reset": reset, "ensure_min_samples": 2 if reset else 1}
    X, hermitian = _split_complex(X)
    array, labels = validate_data(estimator, X, y, **settings)
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    return _check_shape(array if hermitian is None else hermitian), classes, codes.astype(np.int64)


def _split_complex(X: Any) -> tuple[Any, npt.NDArray[Any] | None]:
    """What scikit-learn is to check, and the complex matrices themselves: it refuses all complex numbers."""
    if isinstance(X, np.ndarray | list | tuple):
        try:
            array = np.asarray(X)
        except ValueError:  # ragged, which scikit-learn says better
            return X, None
        if np.iscomplexobj(array) and array.ndim == 3:
            return array.real, array
    return X, None


def require_classes(classes: npt.NDArray[Any]) -> None:
    """A metric is learned from what tells classes apart."""
    if len(classes) < 2:
        raise ValueError(f"y has only one class, {classes.tolist()[0]!r}: at least two classes are needed")


def embedding_for(phi: Any, X: npt.NDArray[Any], reg: float) -> Embedding:
    """An unfitted embedding for X: a name, "auto", or a copy of the object."""
    vectors = X.ndim == 2
    if isinstance(phi, Embedding) and reg:
        raise ValueError(f"reg goes with the name of a phi; set that of the object, {phi!r}")
    if isinstance(phi, str) and phi == "auto":
        phi = "vector" if vectors else DEFAULT_PHI
    named = not isinstance(phi, Embedding)
    embedding = get_embedding(phi) if named else copy.deepcopy(phi)
    if embedding.takes_vectors != vectors:
        kind = "vectors, shape (l, d)" if vectors else "matrices, shape (l, n, n)"
        raise ValueError(f"phi {embedding.name!r} does not take {kind}, but X has shape {X.shape}; use phi 'auto'")
    if vectors and reg:
        raise ValueError(f"reg is for matrices, and X holds vectors, shape {X.shape}; leave it at 0")
    if named and not vectors:
        embedding.reg = reg
    return embedding


def check_entries(array: npt.NDArray[Any]) -> None:
    """Raise ValueError, with the index, for entries that are not finite, and matrices that are not symmetric."""
    numbers = as_numbers("X", array)
    if array.ndim == 3:
        symmetric("X", numbers, rtol=symmetry_tolerance(precision_of(array.dtype)))


def _check_shape(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if array.ndim == 3:
        if array.shape[1] != array.shape[2] or array.shape[1] == 0:
            raise ValueError(f"X must hold square matrices, shape (l, n, n) with n >= 1; got {array.shape}")
    elif array.ndim != 2:
        raise ValueError(f"X must have shape (l, n, n), matrices, or (l, d), vectors; got {array.shape}")
    return array
