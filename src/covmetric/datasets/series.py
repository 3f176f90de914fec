"""Series and trials from .npz files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch

from covmetric._utils.validation import FloatArray
from covmetric.datasets.folders import find_folder
from covmetric.descriptors import SeriesCovariances


def load_series(file: Any, folder: Any = None, descriptor: Any = None) -> Bunch:
    """Covariances of the series of an .npz file.

    Parameters
    ----------
    file : str or path
        A file with arrays X (l, channels, times) and y (l,), or X_train, y_train, X_test and y_test, and perhaps groups
        (l,). Series that are shorter are padded with zeros or NaN at the end. A name such as "NATOPS" is
        that of a file in `folder`.
    folder : path or None, default=None
        None: "series" under the folder that the environment variable COVMETRIC_DATA names.
    descriptor : transformer of a list of series or None, default=None
        None: ``SeriesCovariances()``.

    Returns
    -------
    Bunch
        ``X`` (l, n, n); ``y``; ``train``, whether an example is of the training part, or None; ``groups`` or None;
        ``series``, a list of arrays (channels, times) without their padding.
    """
    with np.load(_path(file, folder), allow_pickle=False) as data:
        if {"X_train", "y_train", "X_test", "y_test"} <= set(data):
            parts = [data[name] for name in ("X_train", "X_test")]
            X, y = np.concatenate(parts), np.concatenate([data["y_train"], data["y_test"]])
            train: npt.NDArray[np.bool_] | None = np.arange(len(X)) < len(parts[0])
        elif "X" in data and "y" in data:
            X, y, train = data["X"], data["y"], None
        else:
            raise ValueError(f"{file} has the arrays {sorted(data)}: X and y, or X_train, y_train, X_test and y_test")
        groups = data.get("groups")
    if groups is not None and len(groups) != len(X):
        raise ValueError(f"{file} has {len(X)} series and {len(groups)} groups: there must be one for each series")
    if X.ndim != 3 or len(X) != len(y):
        raise ValueError(f"{file} must hold X of shape (l, channels, times), and y (l,); got {X.shape} and {y.shape}")
    series = [_without_padding(one) for one in X.astype(np.float64)]
    described = (SeriesCovariances() if descriptor is None else descriptor).fit_transform(series)
    return Bunch(X=described, y=y, train=train, groups=groups, series=series)


def load_ssvep(folder: Any = None, excluded: bool = False) -> Bunch:
    """Covariances of EEG trials with flickering lights: 8 channels in 3 bands.

    Parameters
    ----------
    folder : path or None, default=None
        With ssvep_exo_cov24.npz; None: "series" under the folder that the environment variable COVMETRIC_DATA names.
    excluded : bool, default=False
        Whether to keep the recordings that the authors excluded.

    Returns
    -------
    Bunch
        ``X`` (l, 24, 24); ``y``, the class; ``subject``; ``groups``, the recording: split by it within a subject.
    """
    with np.load(_path("ssvep_exo_cov24", folder), allow_pickle=False) as data:
        kept = np.ones(len(data["y"]), dtype=bool) if excluded else ~data["author_excluded"]
        return Bunch(X=data["C"][kept], y=data["y"][kept], subject=data["subject"][kept], groups=data["record"][kept])


def _path(file: Any, folder: Any) -> Path:
    """The file, in the folder where one is given; a bare name is looked for under COVMETRIC_DATA."""
    path = Path(file)
    named = path if path.suffix == ".npz" else path.with_name(f"{path.name}.npz")
    if folder is not None or (path.suffix != ".npz" and path.parent == Path()):
        named = find_folder(folder, "series", named.name) / named
    if not named.is_file():
        raise FileNotFoundError(f"there is no file {named}")
    return named


def _without_padding(one: FloatArray) -> FloatArray:
    """A series up to its last sample that is not zero, or NaN, in all channels."""
    used = np.flatnonzero(~((one == 0.0) | np.isnan(one)).all(axis=0))
    return one[:, : used[-1] + 1] if len(used) else one
