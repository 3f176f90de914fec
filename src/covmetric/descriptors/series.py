"""Covariance matrices of series of shape (channels, times), filter banks and sliding windows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Bunch

from covmetric._utils.parallel import run_calls
from covmetric._utils.threads import limited_threads
from covmetric._utils.tuning import SERIES_PER_JOB
from covmetric._utils.validation import FloatArray, as_floats, check_counts, check_n_jobs, first_index, is_number
from covmetric._utils.warning import warn
from covmetric.descriptors.base import Descriptor
from covmetric.descriptors.channel_names import NamedChannels
from covmetric.descriptors.epochs import data_channels, data_of_epochs


class SeriesCovariances(NamedChannels, Descriptor):
    """Covariance matrices of the channels of series, computed by pyRiemann's estimators.

    Unlike ``pyriemann.estimation.Covariances``, this class accepts series of different lengths, checks them, and uses
    an estimator with shrinkage by default, because the empirical covariance matrix of few samples is singular or nearly
    singular. Of the epochs of MNE, loaded or not, it takes the data channels that are not marked as bad, as MNE does by
    default; without data channels, those of EMG and the like.

    Parameters
    ----------
    estimator : str or callable, default='oas'
        "oas", "lwf" and "sch" shrink; "scm" and "cov" are empirical; "hub", "stu", "tyl" and "mcd" are robust; "corr"
        is the correlation matrix. See ``pyriemann.geometry.covariance.covariances`` for all names. A function maps an
        array of shape (channels, times) to a matrix of shape (channels, channels).
    n_jobs : int or None, default=None
        The number of processes, as in joblib. The result does not depend on it.

    Attributes
    ----------
    n_channels_ : int
        The number of channels of the series that `fit` has seen.
    feature_names_ : list of str
        The names of the channels, if `fit` has seen epochs of MNE.

    See Also
    --------
    FilterBank : Band-pass filters, to be applied first.
    sliding_windows : Windows of long series.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> SeriesCovariances().fit_transform([rng.standard_normal((3, 50)), rng.standard_normal((3, 80))]).shape
    (2, 3, 3)
    """

    input_kind = "series"

    def __init__(self, estimator: str | Callable[..., Any] = "oas", n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    @property
    def matrix_size_(self) -> int:
        return int(self.n_channels_)

    def check_settings(self) -> None:
        check_n_jobs(self.n_jobs)
        from pyriemann.geometry.covariance import cov_est_functions

        if not (callable(self.estimator) or (isinstance(self.estimator, str) and self.estimator in cov_est_functions)):
            names = ", ".join(map(repr, cov_est_functions))
            raise ValueError(f"estimator must be one of {names}, or a function; got {self.estimator!r}")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the settings and the series.

        Parameters
        ----------
        X : array of shape (l, channels, times), or list of l arrays of shape (channels, times_i)
            The series.
        y : ignored
            Not used; present for scikit-learn's API.

        Returns
        -------
        self
            The descriptor.

        Raises
        ------
        ValueError
            If the estimator is unknown, or if X is empty, has the wrong shape, or contains NaN or infinity.
        """
        self.check_settings()
        series = check_series(X)
        self.n_channels_ = series[0].shape[0]
        _warn_of_times_first(self.n_channels_, max(one.shape[1] for one in series))
        return self.set_names(data_channels(X))

    def transform(self, X: Any) -> FloatArray:
        """Compute the covariance matrix of each series.

        Parameters
        ----------
        X : array of shape (l, channels, times), or list of l arrays of shape (channels, times_i)
            The series.

        Returns
        -------
        array of shape (l, channels, channels)
            The covariance matrices.

        Raises
        ------
        ValueError
            If X is empty, has the wrong shape or number of channels, or contains NaN or infinity, or if the estimator
            does not return finite matrices of shape (channels, channels).
        """
        check_n_jobs(self.n_jobs)
        self.check_names(data_channels(X))
        series = check_series(X, getattr(self, "n_channels_", None))
        starts = range(0, len(series), SERIES_PER_JOB)
        calls = ((series[start : start + SERIES_PER_JOB], self.estimator) for start in starts)
        results = list(run_calls(_covariances, calls, self.n_jobs))
        n = series[0].shape[0]
        if any(result.shape[1:] != (n, n) for result in results):
            raise ValueError(f"estimator must return matrices of shape ({n}, {n}); it returned {results[0].shape[1:]}")
        matrices = np.concatenate(results)
        not_finite = np.asarray(~np.isfinite(matrices).all(axis=(1, 2)))
        if not_finite.any():
            (where,) = first_index(not_finite)
            raise ValueError(
                f"estimator {self.estimator!r} returns NaN or infinity for X[{where}], which has "
                f"{series[where].shape[1]} samples; use another estimator or longer series"
            )
        return matrices


def _refuse_path(value: Any) -> None:
    """Raise ValueError, with what reads it, if a path was passed instead of series."""
    if isinstance(value, str | os.PathLike):
        raise ValueError(
            f"X must hold series, but it holds the path {str(os.fspath(value))!r:.80}: read the file first, with "
            "mne.read_epochs or numpy.load"
        )


def _warn_of_times_first(n_channels: int, n_times: int) -> None:
    """Warn of arrays of shape (l, times, channels): there would be no error, but matrices of the wrong size."""
    if n_channels > 2 * n_times:
        warn(
            f"X has {n_channels} channels and {n_times} times, so that the matrices are {n_channels} x {n_channels}: "
            "if the times come first, pass X.transpose(0, 2, 1), or [one.T for one in X] for a list"
        )


def _covariances(series: list[FloatArray], estimator: Any) -> FloatArray:
    from pyriemann.geometry.covariance import covariances  # takes two seconds to import

    # The last bits of a matrix product depend on the number of BLAS threads, which each worker process has to set.
    with limited_threads(1):
        if len({one.shape for one in series}) == 1:
            return np.asarray(covariances(np.stack(series), estimator), dtype=np.float64)
        return np.concatenate([np.asarray(covariances(one[None], estimator), dtype=np.float64) for one in series])


class FilterBank(NamedChannels, TransformerMixin, BaseEstimator):
    """Band-pass filters whose outputs are stacked as channels.

    Series of shape (channels, times) become series of shape (bands * channels, times). Their covariance matrices
    contain the power in each band and the covariances between bands. This is the usual description of steady-state
    visually evoked potentials, with bands around the frequencies of the flicker.

    Parameters
    ----------
    bands : sequence of (low, high)
        The bands, in Hz.
    sfreq : float
        The sampling frequency, in Hz.
    order : int, default=4
        The order of the Butterworth filters, which run forwards and backwards.

    Attributes
    ----------
    n_channels_ : int
        The number of channels of the series that `fit` has seen.
    n_channels_out_ : int
        The number of channels of the filtered series.
    feature_names_ : list of str
        The names of the channels, if `fit` has seen epochs of MNE.

    See Also
    --------
    SeriesCovariances : Covariance matrices of the filtered series.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((5, 8, 500))
    >>> FilterBank([(12, 14), (16, 18), (20, 22)], sfreq=250).fit_transform(X).shape
    (5, 24, 500)
    """

    def __init__(self, bands: Sequence[tuple[float, float]], sfreq: float, order: int = 4) -> None:
        self.bands = bands
        self.sfreq = sfreq
        self.order = order

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the settings and the series.

        Parameters
        ----------
        X : array of shape (l, channels, times), or list of l arrays of shape (channels, times_i)
            The series.
        y : ignored
            Not used; present for scikit-learn's API.

        Returns
        -------
        self
            The filter bank.

        Raises
        ------
        ValueError
            If a setting is invalid, or if X is empty, has the wrong shape, or contains NaN or infinity.
        """
        self.check_settings()
        self.n_channels_ = check_series(X)[0].shape[0]
        return self.set_names(data_channels(X))

    def transform(self, X: Any) -> FloatArray | list[FloatArray]:
        """Filter each series with all bands.

        Parameters
        ----------
        X : array of shape (l, channels, times), or list of l arrays of shape (channels, times_i)
            The series.

        Returns
        -------
        array of shape (l, bands * channels, times), or list of l arrays of shape (bands * channels, times_i)
            The filtered series: an array if all series have the same length, and a list otherwise.

        Raises
        ------
        ValueError
            If a setting is invalid, or if a series is too short for the filter.
        """
        from scipy.signal import sosfiltfilt

        self.check_settings()
        self.check_names(data_channels(X))
        series = check_series(X, getattr(self, "n_channels_", None))
        needed = 3 * (2 * self.order + 1) + 1
        for i, one in enumerate(series):
            if one.shape[1] < needed:
                raise ValueError(f"X[{i}] has {one.shape[1]} samples; a filter of order {self.order} needs {needed}")
        filters = self._filters()
        filtered = [np.concatenate([sosfiltfilt(sos, one, axis=1) for sos in filters]) for one in series]
        return np.stack(filtered) if len({one.shape for one in filtered}) == 1 else filtered

    @property
    def n_channels_out_(self) -> int:
        """Number of channels of the filtered series; available after `fit`."""
        return int(self.n_channels_ * len(self.bands))

    def check_settings(self) -> None:
        if not (is_number(self.sfreq) and self.sfreq > 0):
            raise ValueError(f"sfreq must be a positive number, got {self.sfreq!r}")
        check_counts(order=self.order)
        bands = list(self.bands) if hasattr(self.bands, "__iter__") else []
        if not bands or any(np.shape(band) != (2,) for band in bands):
            raise ValueError(f"bands must be a list of one or more pairs (low, high), got {self.bands!r}")
        for i, (low, high) in enumerate(bands):
            if not (is_number(low) and is_number(high) and 0 < low < high < self.sfreq / 2):
                raise ValueError(
                    f"bands[{i}] is ({low}, {high}): it must satisfy 0 < low < high < sfreq / 2 = {self.sfreq / 2:g}"
                )

    def _filters(self) -> list[FloatArray]:
        from scipy.signal import butter

        return [butter(self.order, band, "bandpass", fs=self.sfreq, output="sos") for band in self.bands]


def sliding_windows(series: Any, length: int, step: int | None = None) -> Bunch:
    """Cut series into windows of equal length.

    Parameters
    ----------
    series : array of shape (l, channels, times), or list of l arrays of shape (channels, times_i)
        The series.
    length : int
        The number of samples of a window.
    step : int or None, default=None
        The number of samples between the starts of successive windows. None means `length`, so that windows do not
        overlap.

    Returns
    -------
    Bunch
        With the fields

        - ``X``, array of shape (windows, channels, length): a copy of the windows;
        - ``series``, array of int of shape (windows,): the index of the series that each window belongs to, so that
          ``y[windows.series]`` are the labels of the windows;
        - ``start``, array of int of shape (windows,): the first sample of each window.

    Raises
    ------
    ValueError
        If `length` or `step` is not a positive integer, or if a series is shorter than a window.

    Examples
    --------
    >>> import numpy as np
    >>> windows = sliding_windows([np.zeros((2, 10)), np.zeros((2, 7))], length=4, step=3)
    >>> windows.X.shape, windows.series.tolist(), windows.start.tolist()
    ((5, 2, 4), [0, 0, 0, 1, 1], [0, 3, 6, 0, 3])
    """
    check_counts(length=length, step=length if step is None else step)
    checked = check_series(series)
    for i, one in enumerate(checked):
        if one.shape[1] < length:
            raise ValueError(f"series[{i}] has {one.shape[1]} samples, fewer than a window of {length}")
    starts = [np.arange(0, one.shape[1] - length + 1, step or length) for one in checked]
    windows = [
        one[:, start : start + length] for one, its_starts in zip(checked, starts, strict=True) for start in its_starts
    ]
    index = np.repeat(np.arange(len(checked)), [len(its_starts) for its_starts in starts])
    return Bunch(X=np.stack(windows), series=index, start=np.concatenate(starts))


def check_series(X: Any, channels: int | None = None) -> list[FloatArray]:
    """Return series as a list of float64 arrays.

    Parameters
    ----------
    X : array of shape (l, channels, times), or list of l arrays of shape (channels, times_i)
        The series.
    channels : int or None, default=None
        The expected number of channels. None means the number of channels of the first series.

    Returns
    -------
    list of l arrays of shape (channels, times_i)
        Copies of the series.

    Raises
    ------
    ValueError
        If X is empty, if the shapes are wrong, if a series has fewer than two samples, or if an entry is NaN or
        infinite.
    """
    X = data_of_epochs(X)
    if isinstance(X, np.ndarray) and X.dtype != object and X.dtype.kind not in "US":
        array = as_floats("X", X)
        if array.ndim != 3:
            raise ValueError(
                f"X must have shape (l, channels, times), or be a list of (channels, times); got {X.shape}"
            )
        series = list(array)
    elif X is None or isinstance(X, str | os.PathLike) or not hasattr(X, "__iter__"):
        _refuse_path(X)
        raise ValueError(f"X must have shape (l, channels, times), or be a list of such series; got {X!r}")
    else:
        series = []
        for i, one in enumerate(X):
            _refuse_path(one)
            series.append(as_floats(f"X[{i}]", one))
    if not series:
        raise ValueError("X is empty: at least one series is needed")
    expected = series[0].shape[0] if channels is None and series[0].ndim else channels
    for i, one in enumerate(series):
        if one.ndim != 2 or 0 in one.shape:
            raise ValueError(f"X[{i}] must have shape (channels, times), both >= 1; got {one.shape}")
        if one.shape[0] != expected:
            raise ValueError(f"X[{i}] has {one.shape[0]} channels, but {expected} were expected")
        if one.shape[1] < 2:
            raise ValueError(f"X[{i}] has only one sample: a covariance needs at least two")
    return series
