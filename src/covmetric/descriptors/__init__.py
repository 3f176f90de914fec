"""From images, series and image sets to covariance matrices."""

from __future__ import annotations

from covmetric.descriptors.series import FilterBank, SeriesCovariances, sliding_windows

__all__ = ["FilterBank", "SeriesCovariances", "sliding_windows"]
