"""Labelled examples in .npz files."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_PARTS = ("X_train", "y_train", "X_test", "y_test")


@dataclass(frozen=True)
class LabelledArrays:
    """The examples of a file, with their labels.

    Attributes
    ----------
    X : array of shape (l, rows, columns) or (l, d)
        Matrices, series or vectors.
    y : array of shape (l,)
        The label of each example.
    train : array of bool of shape (l,) or None
        True for the examples of the training part, or None if the file does not define a split.
    groups : array of shape (l,) or None
        The group of each example, or None if the file has no groups.
    names : array or None
        The array ``names`` as it is in the file, or None if the file has none.
    """

    X: npt.NDArray[Any]
    y: npt.NDArray[Any]
    train: npt.NDArray[np.bool_] | None
    groups: npt.NDArray[Any] | None
    names: npt.NDArray[Any] | None = None


def read_labelled_npz(path: Path, vectors: bool = False) -> LabelledArrays:
    """Read the examples, the labels and the groups of an .npz file.

    The file holds either the arrays ``X`` and ``y``, or ``X_train``, ``y_train``, ``X_test`` and ``y_test``, which are
    concatenated. It may also hold ``groups``. Pickled objects are never read.

    Parameters
    ----------
    path : Path
        The file.
    vectors : bool, default=False
        Whether X may hold vectors of shape (l, d), besides matrices and series.

    Returns
    -------
    LabelledArrays

    Raises
    ------
    ValueError
        If the file is not a readable .npz file, if an array is missing, or if the shapes are inconsistent.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "trials.npz"
    ...     np.savez(path, X=np.ones((4, 3, 3)), y=[0, 1, 0, 1])
    ...     arrays = read_labelled_npz(path)
    >>> arrays.X.shape, arrays.y.tolist(), arrays.train, arrays.groups
    ((4, 3, 3), [0, 1, 0, 1], None, None)
    """
    arrays = read_npz(path)
    split = set(_PARTS) <= set(arrays) or ("X" not in arrays and "X_train" in arrays)
    names = _PARTS if split else ("X", "y")
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ValueError(
            f"{path} has no array {missing[0]!r}; it holds {sorted(arrays)}, but must hold X and y, or X_train, "
            "y_train, X_test and y_test"
        )
    parts = [arrays[name] for name in names if name.startswith("X")]
    allowed = (2, 3) if vectors else (3,)
    if any(part.ndim not in allowed or part.shape[1:] != parts[0].shape[1:] for part in parts):
        shapes = " and ".join(str(part.shape) for part in parts)
        more = ", or (l, d) for vectors" if vectors else ""
        raise ValueError(
            f"{path}: X has shape {shapes}, but must have shape (l, n, n) for matrices or (l, channels, times) for "
            f"series{more}"
        )
    X, y = np.concatenate(parts), np.concatenate([np.atleast_1d(arrays[name]) for name in names if name[0] == "y"])
    groups = arrays.get("groups")
    for name, values in (("y", y), ("groups", groups)):
        if values is not None and values.shape != (len(X),):
            raise ValueError(
                f"{path}: {name} must have one entry per example, shape ({len(X)},); got shape {values.shape}"
            )
    train = np.arange(len(X)) < len(parts[0]) if split else None
    return LabelledArrays(X, y, train, groups, arrays.get("names"))


def hold_matrices(X: npt.NDArray[Any]) -> bool:
    """Return whether most examples are square and symmetric, so that they are matrices and not series.

    Parameters
    ----------
    X : array of shape (l, rows, columns)
        The examples.

    Returns
    -------
    bool
        True for matrices.

    Examples
    --------
    >>> hold_matrices(np.ones((2, 3, 3))), hold_matrices(np.ones((2, 3, 50)))
    (True, False)
    """
    if X.shape[1] != X.shape[2]:
        return False
    difference = np.abs(X - np.swapaxes(X.conj(), 1, 2)).max(axis=(1, 2))
    return bool(np.mean(difference <= 1e-4 * np.abs(X).max(axis=(1, 2))) > 0.5)


def read_npz(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return all arrays of an .npz file by name. Pickled objects are never read.

    An array ``group``, as the column of a file of labels is called, is returned as ``groups``.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    dict
        The arrays by name.

    Raises
    ------
    ValueError
        If the file is not a readable .npz file.
    """
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is not an .npz file")
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file}
    except (ValueError, zipfile.BadZipFile) as error:  # pickled objects, or a damaged file
        raise ValueError(f"cannot read {path}: {error}") from None
    if "group" in arrays and "groups" not in arrays:
        arrays["groups"] = arrays.pop("group")
    return arrays
