"""From series, shape (channels, times), to covariance matrices; filter banks and sliding windows on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Bunch

from covmetric._utils.tuning import SERIES_PER_JOB
from covmetric._utils.validation import FloatArray, as_floats, check_counts, first_index, is_number


class SeriesTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What takes series and has nothing to learn from them."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags


class SeriesCovariances(SeriesTransformer):
    """The covariance matrix of the channels of each series, by pyRiemann's estimators.

    As ``pyriemann.estimation.Covariances``, but that the series may have different lengths, are checked, and are shrunk
    by default: with few samples the plain estimate is singular, or nearly so.

    Parameters
    ----------
    estimator : str or callable, default="oas"
        "oas", "lwf", "sch" (shrunk), "scm", "cov" (plain), "hub", "stu", "tyl", "mcd" (robust), "corr", or a function
        of an array (channels, times); see ``pyriemann.geometry.covariance.covariances``.
    n_jobs : int or None, default=None
        Processes that share the series, with the same result.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> SeriesCovariances().fit_transform([rng.standard_normal((3, 50)), rng.standard_normal((3, 80))]).shape
    (2, 3, 3)
    """

    def __init__(self, estimator: str | Callable[..., Any] = "oas", n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Check the series. Returns self."""
        from pyriemann.geometry.covariance import cov_est_functions

        if not (callable(self.estimator) or self.estimator in cov_est_functions):
            known = ", ".join(map(repr, cov_est_functions))
            raise ValueError(f"estimator must be one of {known}, or a function; got {self.estimator!r}")
        self.n_channels_ = check_series(X)[0].shape[0]
        return self

    def transform(self, X: Any) -> FloatArray:
        """The covariance matrices, shape (l, channels, channels).

        Parameters
        ----------
        X : array, shape (l, channels, times), or list of arrays, shape (channels, times of its own)
        """
        series = check_series(X, getattr(self, "n_channels_", None))
        parts = [series[start : start + SERIES_PER_JOB] for start in range(0, len(series), SERIES_PER_JOB)]
        done = Parallel(self.n_jobs)(delayed(_covariances)(part, self.estimator) for part in parts)
        n = series[0].shape[0]
        if any(part.shape[1:] != (n, n) for part in done):
            raise ValueError(f"estimator must return matrices of shape ({n}, {n}); it returned {done[0].shape[1:]}")
        matrices = np.concatenate(done)
        bad = ~np.isfinite(matrices).all(axis=(1, 2))
        if bad.any():
            (where,) = first_index(bad)
            raise ValueError(
                f"{self.estimator!r} of X[{where}] is not finite, with {series[where].shape[1]} samples; "
                "use another estimator, or longer series"
            )
        return matrices


def _covariances(series: list[FloatArray], estimator: Any) -> FloatArray:
    from pyriemann.geometry.covariance import covariances  # takes two seconds to import

    if len({one.shape for one in series}) == 1:
        return np.asarray(covariances(np.stack(series), estimator), dtype=np.float64)
    return np.concatenate([np.asarray(covariances(one[None], estimator), dtype=np.float64) for one in series])


class FilterBank(SeriesTransformer):
    """Each series once per band, stacked as further channels: (l, channels, times) to (l, bands channels, times).

    The covariance of the result has the power in each band, and how the bands go together: the usual description of
    steady-state visually evoked potentials, with bands around the frequencies of the flicker.

    Parameters
    ----------
    bands : sequence of (low, high), in Hz
    sfreq : float
        Samples per second.
    order : int, default=4
        Of the Butterworth filter, which runs forwards and backwards.

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

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Check the series and the bands. Returns self."""
        self.n_channels_ = check_series(X)[0].shape[0]
        self._filters()
        return self

    def transform(self, X: Any) -> FloatArray | list[FloatArray]:
        """The filtered series: an array where X is one, a list of arrays where the lengths differ."""
        from scipy.signal import sosfiltfilt

        filters = self._filters()
        series = check_series(X, getattr(self, "n_channels_", None))
        needed = 3 * (2 * self.order + 1) + 1
        for i, one in enumerate(series):
            if one.shape[1] < needed:
                raise ValueError(f"X[{i}] has {one.shape[1]} samples; a filter of order {self.order} needs {needed}")
        done = [np.concatenate([sosfiltfilt(sos, one, axis=1) for sos in filters]) for one in series]
        return np.stack(done) if len({one.shape for one in done}) == 1 else done

    def _filters(self) -> list[FloatArray]:
        from scipy.signal import butter

        if not (is_number(self.sfreq) and self.sfreq > 0):
            raise ValueError(f"sfreq must be a positive number, got {self.sfreq!r}")
        check_counts(order=self.order)
        bands = list(self.bands) if hasattr(self.bands, "__iter__") else []
        if not bands or any(np.shape(band) != (2,) for band in bands):
            raise ValueError(f"bands must be a list of one or more (low, high), got {self.bands!r}")
        for i, (low, high) in enumerate(bands):
            if not (is_number(low) and is_number(high) and 0 < low < high < self.sfreq / 2):
                raise ValueError(
                    f"bands[{i}] is ({low}, {high}): needs 0 < low < high < sfreq / 2 = {self.sfreq / 2:g}"
                )
        return [butter(self.order, band, "bandpass", fs=self.sfreq, output="sos") for band in self.bands]


def sliding_windows(series: Any, length: int, step: int | None = None) -> Bunch:
    """Windows of `length` samples, every `step` samples (None: side by side), of series of any lengths.

    Parameters
    ----------
    series : array, shape (l, channels, times), or list of arrays, shape (channels, times of its own)
    length : int
    step : int or None, default=None

    Returns
    -------
    Bunch
        ``X`` (windows, channels, length), a copy; ``series`` (windows,), the index of the series that each is from,
        with which labels and groups follow: ``y[windows.series]``; ``start`` (windows,), the first sample.

    Examples
    --------
    >>> import numpy as np
    >>> windows = sliding_windows([np.zeros((2, 10)), np.zeros((2, 7))], length=4, step=3)
    >>> windows.X.shape, windows.series.tolist(), windows.start.tolist()
    ((5, 2, 4), [0, 0, 0, 1, 1], [0, 3, 6, 0, 3])
    """
    check_counts(length=length, step=length if step is None else step)
    checked = check_series(series)
    short = [i for i, one in enumerate(checked) if one.shape[1] < length]
    if short:
        raise ValueError(
            f"series[{short[0]}] has {checked[short[0]].shape[1]} samples, fewer than a window of {length}"
        )
    starts = [np.arange(0, one.shape[1] - length + 1, step or length) for one in checked]
    windows = [one[:, start : start + length] for one, many in zip(checked, starts, strict=True) for start in many]
    index = np.repeat(np.arange(len(checked)), [len(many) for many in starts])
    return Bunch(X=np.stack(windows), series=index, start=np.concatenate(starts))


def check_series(X: Any, channels: int | None = None) -> list[FloatArray]:
    """Series as a list of float64 arrays (channels, times), with the same channels and finite entries."""
    if isinstance(X, np.ndarray) and X.dtype != object:
        array = as_floats("X", X)
        if array.ndim != 3:
            raise ValueError(
                f"X must have shape (l, channels, times), or be a list of (channels, times); got {X.shape}"
            )
        series = list(array)
    elif X is None or isinstance(X, str) or not hasattr(X, "__iter__"):
        raise ValueError(f"X must have shape (l, channels, times), or be a list of such series; got {X!r}")
    else:
        series = [as_floats(f"X[{i}]", one) for i, one in enumerate(X)]
    if not series:
        raise ValueError("X is empty: at least one series is needed")
    wanted = series[0].shape[0] if channels is None and series[0].ndim else channels
    for i, one in enumerate(series):
        if one.ndim != 2 or 0 in one.shape:
            raise ValueError(f"X[{i}] must have shape (channels, times), both >= 1; got {one.shape}")
        if one.shape[0] != wanted:
            raise ValueError(f"X[{i}] has {one.shape[0]} channels, the others {wanted}")
        if one.shape[1] < 2:
            raise ValueError(f"X[{i}] has one sample only: a covariance needs two at least")
    return series
