"""A toy descriptor: the plain covariance of the channels of each series."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.descriptors.base import Descriptor
from covmetric.descriptors.series import check_series


class PlainCovariances(Descriptor):
    """The covariance matrix of the channels, with the number of samples as the divisor.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Not used.

    Examples
    --------
    >>> PlainCovariances().fit_transform([[[1.0, -1.0], [2.0, -2.0]]])
    array([[[1., 2.],
            [2., 4.]]])
    """

    input_kind = "series"

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    @property
    def matrix_size_(self) -> int:
        """The number of channels."""
        return self.n_channels_

    def fit(self, X: Any, y: Any = None) -> Self:
        self.n_channels_ = int(check_series(X)[0].shape[0])
        return self

    def transform(self, X: Any) -> FloatArray:
        series = check_series(X, getattr(self, "n_channels_", None))
        matrices = np.stack([np.cov(one, bias=True).reshape(len(one), len(one)) for one in series])
        return np.asarray(0.5 * (matrices + np.swapaxes(matrices, 1, 2)))
