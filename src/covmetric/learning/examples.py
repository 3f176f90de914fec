"""Checks of the examples and labels that users pass to the estimators: matrices (l, n, n) or vectors (l, d)."""

from __future__ import annotations

import copy
import os
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from covmetric._utils.validation import IntArray, as_numbers, precision_of, symmetric, symmetry_tolerance
from covmetric._utils.warning import warn
from covmetric.embeddings import Embedding, get_embedding

# The most accurate Phi on NATOPS, ERing and Epilepsy (docs/measurements/accuracy.md).
DEFAULT_PHI = "relog"
_FROM_SERIES = (
    ": compute their covariance matrices first, SeriesCovariances().fit_transform(X) or make_pipeline("
    "SeriesCovariances(), ...), from covmetric.descriptors"
)
_FROM_IMAGES = (
    ": compute covariance matrices of images first, ImageCovariances().fit_transform(X) or make_pipeline("
    "ImageCovariances(), ...), from covmetric.descriptors"
)
# The embedding checks for NaN and infinity, because its messages name the index of the entry.
_VALIDATION: dict[str, Any] = {"allow_nd": True, "dtype": "numeric", "ensure_all_finite": False}


def check_examples(estimator: BaseEstimator, X: Any, *, reset: bool = False) -> npt.NDArray[Any]:
    """Return X as an array of matrices or vectors.

    The entries are not checked: the embedding checks for NaN and asymmetry, and its messages name the index.

    Parameters
    ----------
    estimator : BaseEstimator
        The estimator that X is passed to. Its `n_features_in_` and `feature_names_in_` are compared with X.
    X : array-like of shape (l, n, n) or (l, d)
        Matrices or vectors.
    reset : bool, default=False
        Whether to set `n_features_in_` and `feature_names_in_` instead.

    Returns
    -------
    array of shape (l, n, n) or (l, d)
        The examples.

    Raises
    ------
    ValueError
        If X has the wrong shape, or does not match the examples that the estimator was fitted on.
    """
    _refuse_raw_data(X)
    _refuse_repeated_columns(X)
    X, hermitian = _split_complex(X)
    array = _validated(estimator, X, reset=reset)
    return _check_shape(array if hermitian is None else hermitian)


def check_labelled(
    estimator: BaseEstimator, X: Any, y: Any, *, reset: bool = True
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], IntArray]:
    """Return labelled examples, with the labels as class indices.

    Parameters
    ----------
    estimator : BaseEstimator
        The estimator that X is passed to.
    X : array-like of shape (l, n, n) or (l, d)
        Matrices or vectors.
    y : array-like of shape (l,)
        The label of each example.
    reset : bool, default=True
        Whether to set `n_features_in_` and `feature_names_in_` of the estimator. If True, X must hold at least two
        examples.

    Returns
    -------
    X : array of shape (l, n, n) or (l, d)
        The examples.
    classes : array of shape (n_classes,)
        The distinct labels, sorted.
    codes : array of int of shape (l,)
        The index into `classes` of each label.

    Raises
    ------
    ValueError
        If X or y has the wrong shape, or y does not hold class labels.

    Warns
    -----
    UserWarning
        If every label has exactly one "/", as pyRiemann's `encode_domains` makes labels.
    """
    _refuse_raw_data(X)
    _refuse_repeated_columns(X)
    _refuse_single_matrix(X, y)
    X, hermitian = _split_complex(X)
    array, labels = _validated(estimator, X, y, reset=reset, ensure_min_samples=2 if reset else 1)
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    _warn_of_domains(classes)
    return _check_shape(array if hermitian is None else hermitian), classes, codes.astype(np.int64)


def _validated(estimator: BaseEstimator, *data: Any, **settings: Any) -> Any:
    """Return the result of scikit-learn's `validate_data`, with a clear message for examples of different shapes."""
    try:
        return validate_data(estimator, *data, **settings, **_VALIDATION)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError(f"X and y must be arrays, with examples that all have one shape: {error}") from None


def _warn_of_domains(classes: npt.NDArray[Any]) -> None:
    """Warn if the labels look as if pyRiemann's transfer module had made them."""
    names = classes.tolist()
    if all(isinstance(name, str) and name.count("/") == 1 for name in names):
        warn(
            f"every label has the form 'domain/class', such as {names[0]!r}, as pyRiemann's encode_domains makes it: "
            "the same class in two domains counts as two classes; wrap the estimator in "
            "pyriemann.transfer.TLClassifier, which decodes the labels, or pass the y of decode_domains, with the "
            "domains as groups"
        )


def _refuse_repeated_columns(X: Any) -> None:
    """Raise ValueError if two columns of a data frame have the same name."""
    columns = getattr(X, "columns", None)
    names = [] if columns is None or not np.iterable(columns) else list(columns)
    first: dict[Any, int] = {}
    for j, name in enumerate(names):
        if first.setdefault(name, j) != j:
            raise ValueError(
                f"the columns of X must have different names, but columns {first[name]} and {j} are both called "
                f"{name!r}: rename one of them, or pass X.to_numpy()"
            )


def _refuse_raw_data(X: Any) -> None:
    """Raise ValueError, with the descriptor that is needed, if X holds paths or MNE epochs instead of matrices."""
    if hasattr(X, "get_data") and hasattr(X, "ch_names"):
        raise ValueError(f"X is an object of the class {type(X).__name__}, which holds series{_FROM_SERIES}")
    first = X[0] if isinstance(X, list | tuple) and X else X.flat[0] if isinstance(X, np.ndarray) and X.size else X
    if isinstance(first, str | os.PathLike) and np.ndim(X) < 2:
        raise ValueError(
            f"X must hold matrices or vectors, but it holds the path {str(os.fspath(first))!r:.80}{_FROM_IMAGES}"
        )


def _refuse_single_matrix(X: Any, y: Any) -> None:
    """Raise ValueError if X is one matrix and y has the labels of many."""
    if not (isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[0] == X.shape[1] > 1 and np.ndim(y) == 1):
        return
    if len(y) != len(X) and np.array_equal(X, X.T.conj()):
        raise ValueError(
            f"X is a single symmetric matrix of shape {X.shape}, but y has {len(y)} labels: was a stack of matrices of "
            f"shape ({len(y)}, {len(X)}, {len(X)}) meant, X instead of X[0]?"
        )


def _split_complex(X: Any) -> tuple[Any, npt.NDArray[Any] | None]:
    """Return a real array for scikit-learn, which refuses complex numbers, and the complex matrices, if any."""
    if isinstance(X, np.ndarray | list | tuple):
        try:
            array = np.asarray(X)
        except ValueError:  # a ragged list, for which scikit-learn has a better message
            return X, None
        if np.iscomplexobj(array) and array.ndim == 3:
            return array.real, array
    return X, None


def require_classes(classes: npt.NDArray[Any]) -> None:
    """Raise ValueError unless there are at least two classes.

    Parameters
    ----------
    classes : array of shape (n_classes,)
        The distinct labels.
    """
    if len(classes) < 2:
        raise ValueError(f"y has only one class, {classes.tolist()[0]!r}: at least two classes are needed")


def warn_lone_examples(codes: IntArray) -> None:
    """Warn if every class has a single example, because there are then no similar pairs to learn from.

    Parameters
    ----------
    codes : array of int of shape (l,)
        The class of each example.
    """
    if np.bincount(codes).max() < 2:
        warn(
            "every class has only one example: the metric is learned from dissimilar pairs alone, so it cannot know "
            "what varies within a class; pass more examples, or set lam=inf for a fixed metric"
        )


def embedding_for(phi: Any, X: npt.NDArray[Any], reg: float) -> Embedding:
    """Return an unfitted embedding for the examples.

    Parameters
    ----------
    phi : str or Embedding
        The name of an embedding, "auto", or an object, which is copied.
    X : array of shape (l, n, n) or (l, d)
        The examples.
    reg : float
        The regularisation of the embedding. It must be 0 if `phi` is an object or X holds vectors.

    Returns
    -------
    Embedding
        The embedding, which is not fitted yet.

    Raises
    ------
    ValueError
        If the name is unknown, if the embedding does not accept examples of this shape, or if `reg` cannot be set.
    """
    vectors = X.ndim == 2
    if isinstance(phi, Embedding) and reg:
        raise ValueError(
            f"reg can only be set together with the name of a phi; set the reg of the object {phi!r} instead"
        )
    if isinstance(phi, str) and phi == "auto":
        phi = "vector" if vectors else DEFAULT_PHI
    named = not isinstance(phi, Embedding)
    embedding = get_embedding(phi) if named else copy.deepcopy(phi)
    if embedding.takes_vectors != vectors:
        kind = "vectors, shape (l, d)" if vectors else "matrices, shape (l, n, n)"
        raise ValueError(f"phi {embedding.name!r} does not take {kind}, but X has shape {X.shape}; use phi='auto'")
    if vectors and reg:
        raise ValueError(f"reg applies to matrices, but X holds vectors, shape {X.shape}; set reg=0")
    if named and not vectors:
        embedding.reg = reg
    return embedding


def check_entries(array: npt.NDArray[Any]) -> None:
    """Raise ValueError, with the index, if an entry is not finite or a matrix is not symmetric (Hermitian).

    Parameters
    ----------
    array : array of shape (l, n, n) or (l, d)
        Matrices or vectors.
    """
    numbers = as_numbers("X", array)
    if array.ndim == 3:
        symmetric("X", numbers, rtol=symmetry_tolerance(precision_of(array.dtype)))


def _check_shape(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if array.ndim == 3:
        if array.shape[1] != array.shape[2] or array.shape[1] == 0:
            remedy = f". If these are series of shape (l, channels, times){_FROM_SERIES}" if array.size else ""
            raise ValueError(f"X must hold square matrices, shape (l, n, n) with n >= 1; got {array.shape}{remedy}")
    elif array.ndim != 2:
        remedy = f". If these are colour images{_FROM_IMAGES}" if array.ndim == 4 and array.shape[3] == 3 else ""
        raise ValueError(f"X must have shape (l, n, n) for matrices, or (l, d) for vectors; got {array.shape}{remedy}")
    return array
