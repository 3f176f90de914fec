"""Series and trials from .npz files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from covmetric._utils.validation import FloatArray
from covmetric.datasets.folders import find_folder
from covmetric.datasets.npz import LabelledArrays, read_labelled_npz
from covmetric.descriptors import SeriesCovariances


def load_series(file: Any, folder: Any = None, descriptor: Any = None) -> Bunch:
    """Load series from an .npz file and compute their covariance matrices.

    Parameters
    ----------
    file : str or path
        A file with the arrays X of shape (l, channels, times) and y of shape (l,), or X_train, y_train, X_test and
        y_test. It may also hold groups, of shape (l,). Shorter series are padded with zeros or NaN at the end. A bare
        name such as "NATOPS" refers to the file NATOPS.npz in `folder`.
    folder : path or None, default=None
        The folder of the file. None means the subfolder "series" of the folder in the environment variable
        COVMETRIC_DATA.
    descriptor : transformer or None, default=None
        Maps a list of series, arrays of shape (channels, times), to matrices. None means ``SeriesCovariances()``.

    Returns
    -------
    Bunch
        ``X``, matrices of shape (l, n, n); ``y``, labels of shape (l,); ``train``, a boolean array that marks the
        examples of the training part, or None; ``groups``, shape (l,), or None; ``series``, the list of series, arrays
        of shape (channels, times) without padding.

    Raises
    ------
    FileNotFoundError
        If there is no such file or folder.
    ValueError
        If the file cannot be read, if an array is missing or has a wrong shape, or if a series is not finite.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> trials = np.random.default_rng(0).standard_normal((4, 3, 50))
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(Path(folder) / "trials.npz", X=trials, y=[0, 1, 0, 1])
    ...     data = load_series("trials", folder)
    >>> data.X.shape, data.y.tolist()
    ((4, 3, 3), [0, 1, 0, 1])
    """
    return describe_series(read_labelled_npz(_path(file, folder)), descriptor)


def describe_series(arrays: LabelledArrays, descriptor: Any = None) -> Bunch:
    """Compute the covariance matrices of series.

    Parameters
    ----------
    arrays : LabelledArrays
        Series of shape (l, channels, times) with their labels. Shorter series are padded with zeros or NaN at the end.
    descriptor : transformer or None, default=None
        As in `load_series`.

    Returns
    -------
    Bunch
        As in `load_series`.

    Examples
    --------
    >>> trials = np.random.default_rng(0).standard_normal((4, 3, 50))
    >>> data = describe_series(LabelledArrays(trials, np.array([0, 1, 0, 1]), train=None, groups=None))
    >>> data.X.shape, len(data.series)
    ((4, 3, 3), 4)
    """
    series = [without_padding(one) for one in arrays.X.astype(np.float64)]
    matrices = (SeriesCovariances() if descriptor is None else descriptor).fit_transform(series)
    return Bunch(X=matrices, y=arrays.y, train=arrays.train, groups=arrays.groups, series=series)


def load_ssvep(folder: Any = None, excluded: bool = False) -> Bunch:
    """Load covariance matrices of EEG trials recorded under flickering lights (SSVEP).

    The 24 x 24 matrices combine 8 channels in 3 frequency bands.

    Parameters
    ----------
    folder : path or None, default=None
        The folder that holds ssvep_exo_cov24.npz. None means the subfolder "series" of the folder in the environment
        variable COVMETRIC_DATA.
    excluded : bool, default=False
        Whether to include the recordings that the authors of the data set excluded.

    Returns
    -------
    Bunch
        ``X``, matrices of shape (l, 24, 24); ``y``, classes of shape (l,); ``subject``, the subject of each trial;
        ``groups``, the recording of each trial. Split the trials of a subject by recording.

    Raises
    ------
    FileNotFoundError
        If there is no such file or folder.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> trials = {"C": np.stack([np.eye(24)] * 2), "y": [0, 1], "subject": [1, 1], "record": [0, 1]}
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(Path(folder) / "ssvep_exo_cov24.npz", author_excluded=[False, True], **trials)
    ...     data = load_ssvep(folder)
    >>> data.X.shape, data.y.tolist()
    ((1, 24, 24), [0])
    """
    with np.load(_path("ssvep_exo_cov24", folder), allow_pickle=False) as data:
        kept = np.ones(len(data["y"]), dtype=bool) if excluded else ~data["author_excluded"]
        return Bunch(X=data["C"][kept], y=data["y"][kept], subject=data["subject"][kept], groups=data["record"][kept])


def _path(file: Any, folder: Any) -> Path:
    """Return the path of the file, in `folder` if it is given; a bare name is searched under COVMETRIC_DATA."""
    path = Path(file)
    named = path if path.suffix == ".npz" else path.with_name(f"{path.name}.npz")
    if folder is not None or (path.suffix != ".npz" and path.parent == Path()):
        named = find_folder(folder, "series", named.name) / named
    if not named.is_file():
        raise FileNotFoundError(f"there is no file {named}")
    return named


def without_padding(series: FloatArray) -> FloatArray:
    """Return a series up to its last sample that is neither zero nor NaN in all channels.

    Parameters
    ----------
    series : array of shape (channels, times)
        The series, which may be padded at the end.

    Returns
    -------
    array of shape (channels, times_i)
        A view without the padding.
    """
    used = np.flatnonzero(~((series == 0.0) | np.isnan(series)).all(axis=0))
    return series[:, : used[-1] + 1] if len(used) else series
