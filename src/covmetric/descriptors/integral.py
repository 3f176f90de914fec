"""Covariance matrices of many boxes of an image, from integral images or box by box."""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric._utils.tuning import (
    DIRECT_BOX,
    DIRECT_PRODUCT,
    DIRECT_VALUE,
    INTEGRAL_BOX,
    INTEGRAL_CELL,
    INTEGRAL_EVEN_PIXEL,
    INTEGRAL_PIXEL,
    INTEGRAL_PLANE,
    INTEGRAL_TEST,
)
from covmetric._utils.validation import FloatArray, IntArray, first_index
from covmetric.descriptors.box_grid import BoolArray, BoxGrid, are_evenly_spaced
from covmetric.descriptors.regions import check_boxes

# Covariances from integral images are used if their error bound is small enough. Other boxes are computed directly.
# Entries: half of the documented 1e-10, in units of the variances of the image.
_ENTRY_ATOL = 5e-11
# Eigenvalues: the documented relative error. An eigenvalue below the second number may be zero, in which case no
# relative error is small enough.
_EIGENVALUE_RTOL, _SMALL_EIGENVALUE = 1e-6, 1e-6
_EPS = float(np.finfo(np.float64).eps)


def box_covariances(features: Any, boxes: Any, mask: Any = None) -> FloatArray:
    """Compute the covariance matrices of features over boxes of an image, with the divisor of ``np.cov``.

    Many boxes are computed from integral images, at a cost that does not depend on the size of a box; few boxes are
    computed one by one. Both agree with ``np.cov``: entries to 1e-10 of the variances of the whole image, and
    eigenvalues (of features in units of their standard deviations) to a relative error of 1e-6 or to the rounding error
    of ``np.cov``. The variance of a feature that is constant over a box is exactly zero.

    Parameters
    ----------
    features : array of shape (d, rows, columns)
        The features of each pixel, as returned by `pixel_features`.
    boxes : array of int of shape (P, 4)
        The boxes, as rows [top, left, height, width].
    mask : array of bool of shape (rows, columns) or None, default=None
        The pixels that count. None means all pixels.

    Returns
    -------
    array of shape (P, d, d)
        The covariance matrices, in the order of the boxes.

    Raises
    ------
    ValueError
        If a box is not inside the image or has fewer than two pixels that count, or if a feature is NaN or infinite.

    Examples
    --------
    >>> import numpy as np
    >>> features = np.arange(24.0).reshape(2, 3, 4) ** 2
    >>> box_covariances(features, [[0, 1, 2, 2]])
    array([[[ 283., 1235.],
            [1235., 5451.]]])
    """
    planes, table, pixels = _check_inputs(features, boxes, mask)
    check_counts(box_counts(table, planes.shape[1:], pixels), table, mask is not None)
    covariances = covariances_of_boxes(planes, table, pixels)
    check_overflow(covariances, table)
    return covariances


def covariances_of_boxes(planes: FloatArray, table: IntArray, pixels: BoolArray | None) -> FloatArray:
    """Compute the covariance matrices as `box_covariances` does, without its checks.

    Parameters
    ----------
    planes : array of shape (d, rows, columns)
        The features of each pixel.
    table : array of int of shape (P, 4)
        The boxes, as rows [top, left, height, width].
    pixels : array of bool of shape (rows, columns) or None
        The pixels that count.

    Returns
    -------
    array of shape (P, d, d)
        The covariance matrices, which may have overflowed.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # `check_overflow` follows
        integral_cost, direct_cost = predicted_costs(planes.shape, table)
        if integral_cost < direct_cost:
            covariances, accurate = integral_covariances(planes, table, pixels)
            inaccurate = np.flatnonzero(~accurate)
            covariances[inaccurate] = direct_covariances(planes, table[inaccurate], pixels)
        else:
            covariances = direct_covariances(planes, table, pixels)
    return covariances


def direct_covariances(features: FloatArray, boxes: IntArray, mask: BoolArray | None = None) -> FloatArray:
    """Compute the covariance matrices box by box.

    Parameters
    ----------
    features : array of shape (d, rows, columns)
        The features of each pixel.
    boxes : array of int of shape (P, 4)
        The boxes, as rows [top, left, height, width].
    mask : array of bool of shape (rows, columns) or None, default=None
        The pixels that count.

    Returns
    -------
    array of shape (P, d, d)
        The covariance matrices.
    """
    d = len(features)
    covariances = np.empty((len(boxes), d, d))
    for k, (top, left, height, width) in enumerate(boxes.tolist()):
        part = (slice(top, top + height), slice(left, left + width))
        values = features[:, *part] if mask is None else features[:, *part][:, None, mask[part]]
        # Subtracting the first pixel before the mean makes a constant feature exactly zero and removes large offsets.
        values = (values - values[:, :1, :1]).reshape(d, -1)
        values -= values.mean(axis=1, keepdims=True)
        covariances[k] = values @ values.T
        covariances[k] /= values.shape[1] - 1
    return covariances


def integral_covariances(
    features: FloatArray, boxes: IntArray, mask: BoolArray | None = None
) -> tuple[FloatArray, BoolArray]:
    """Compute the covariance matrices from integral images, and bound their errors.

    The features are centred and scaled over the image first, so that large offsets do not cost digits.

    Parameters
    ----------
    features : array of shape (d, rows, columns)
        The features of each pixel.
    boxes : array of int of shape (P, 4)
        The boxes, as rows [top, left, height, width].
    mask : array of bool of shape (rows, columns) or None, default=None
        The pixels that count.

    Returns
    -------
    covariances : array of shape (P, d, d)
        The covariance matrices.
    accurate : array of bool of shape (P,)
        Whether the error bound of a matrix meets the tolerances of `box_covariances`.
    """
    scaled, scales, varying = _scaled(features, mask)
    d, grid = len(scaled), BoxGrid.from_boxes(boxes, features.shape[1:], mask)
    n = grid.box_counts
    means, sum_peak = np.empty((d, len(boxes))), 0.0
    for i in range(d):
        means[i], peak = grid.box_means(scaled[i])
        sum_peak = max(sum_peak, peak)
    # The last axis runs over the boxes, of which there are many. The rounding errors are relative to mean_squares.
    entries, mean_squares, product_peak = np.empty((d, d, len(boxes))), np.zeros(len(boxes)), 0.0
    product = np.empty(features.shape[1:])
    for i in range(d):
        for j in range(i + 1):
            mean, peak = grid.box_means(np.multiply(scaled[i], scaled[j], out=product))
            entries[i, j] = entries[j, i] = (mean - means[i] * means[j]) * (n / (n - 1.0))
            product_peak = max(product_peak, peak)
            if i == j:
                np.maximum(mean_squares, mean, out=mean_squares)
    # Rounding errors arise in each step of the integral across a box, and in each addition inside a cell.
    integration = grid.box_steps * (product_peak + 2.0 * np.sqrt(mean_squares) * sum_peak) / (n - 1.0)
    error = _EPS * (integration + (boxes[:, 2] + boxes[:, 3]) * mean_squares)
    smallest = np.maximum(_SMALL_EIGENVALUE, d * error / _EIGENVALUE_RTOL)
    accurate = (error <= _ENTRY_ATOL) & _eigenvalues_exceed(smallest, entries)
    entries *= (scales[:, None] * scales)[:, :, None]
    covariances = np.zeros((len(boxes), len(features), len(features)))
    covariances[:, varying[:, None], varying] = np.moveaxis(entries, 2, 0)
    return covariances, accurate


def predicted_costs(shape: tuple[int, ...], boxes: IntArray) -> tuple[float, float]:
    """Predict the times of `integral_covariances` and `direct_covariances`.

    The constants are a least squares fit to times of one core (NumPy 2.4; 3 to 16 features, 64 to 1200 pixels a side,
    4 to 10^5 boxes). Most predictions are within a factor of 1.5 of the measured times; only their ratio matters.
    ``python -m benchmarks.descriptors`` prints predicted and measured times side by side.

    Parameters
    ----------
    shape : (d, rows, columns)
        The shape of the features.
    boxes : array of int of shape (P, 4)
        The boxes, as rows [top, left, height, width].

    Returns
    -------
    integral : float
        Nanoseconds with integral images.
    direct : float
        Nanoseconds box by box.
    """
    d, count = shape[0], len(boxes)
    if count == 0:
        return 0.0, 0.0
    grid = BoxGrid.from_boxes(boxes, shape[1:])
    (top, bottom), (left, right) = grid.rows[[0, -1]], grid.columns[[0, -1]]
    area = float((bottom - top) * (right - left))
    pixel = INTEGRAL_EVEN_PIXEL if are_evenly_spaced(grid.rows) else INTEGRAL_PIXEL
    plane = INTEGRAL_PLANE + area * pixel + len(grid.rows) * len(grid.columns) * INTEGRAL_CELL + count * INTEGRAL_BOX
    pixels = float((boxes[:, 2] * boxes[:, 3]).sum())
    return (
        (d * (d + 3) / 2) * plane + count * d**3 * INTEGRAL_TEST,
        count * DIRECT_BOX + pixels * (d * DIRECT_VALUE + d * d * DIRECT_PRODUCT),
    )


def _scaled(features: FloatArray, mask: BoolArray | None) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the features that vary, centred and scaled, the scales, and the indices of these features.

    The scales are powers of two near the standard deviations, so that division is exact. Pixels outside of the mask
    become zero.
    """
    pixels = features.reshape(len(features), -1) if mask is None else features[:, mask]
    varying = np.flatnonzero(pixels.max(axis=1) > pixels.min(axis=1))
    means = pixels[varying].mean(axis=1)
    scaled = features[varying] - means[:, None, None]
    if mask is not None:
        scaled *= mask
    deviations = np.sqrt(np.square(scaled).sum(axis=(1, 2)) / pixels.shape[1])
    scales = np.ldexp(1.0, np.frexp(deviations)[1])
    scaled /= scales[:, None, None]
    return scaled, scales, varying


def _eigenvalues_exceed(bounds: FloatArray, matrices: FloatArray) -> BoolArray:
    """Return whether all eigenvalues of each matrix, shape (d, d, P), exceed its bound, shape (P,).

    This holds if and only if all pivots of matrix - bound * I are positive (Sylvester's law of inertia).
    """
    complement = matrices.copy()
    complement[np.diag_indices(len(complement))] -= bounds
    positive = np.ones(len(bounds), dtype=bool)
    for _ in range(len(matrices)):
        pivot, row = complement[0, 0], complement[0, 1:]
        positive &= pivot > 0.0
        complement = complement[1:, 1:] - row[:, None] * (row / np.where(pivot > 0.0, pivot, 1.0))
    return positive


def _check_inputs(features: Any, boxes: Any, mask: Any) -> tuple[FloatArray, IntArray, BoolArray | None]:
    planes = np.asarray(features, dtype=np.float64)
    if planes.ndim != 3 or planes.size == 0:
        raise ValueError(f"features must have shape (d, rows, columns), got {planes.shape}")
    if not np.isfinite(planes).all():
        where = first_index(~np.isfinite(planes))
        raise ValueError(f"features{where} is {planes[tuple(where)]}: NaN and infinity are not allowed")
    rows, columns = planes.shape[1:]
    table = check_boxes(boxes, (rows, columns))
    return planes, table, None if mask is None else check_mask(mask, (rows, columns))


def box_counts(table: IntArray, shape: tuple[int, ...], pixels: BoolArray | None) -> FloatArray:
    """Return the numbers of pixels that count in each box.

    Parameters
    ----------
    table : array of int of shape (P, 4)
        The boxes, as rows [top, left, height, width].
    shape : (rows, columns)
        The shape of the image.
    pixels : array of bool of shape (rows, columns) or None
        The pixels that count.

    Returns
    -------
    array of shape (P,)
        The numbers, as floats.
    """
    return BoxGrid.from_boxes(table, shape, pixels).box_counts if len(table) else np.empty(0)


def check_counts(counts: FloatArray, table: IntArray, masked: bool) -> None:
    """Raise ValueError if a box has fewer than two pixels that count.

    Parameters
    ----------
    counts : array of shape (P,)
        The numbers of pixels that count.
    table : array of int of shape (P, 4)
        The boxes, as rows [top, left, height, width].
    masked : bool
        Whether there is a mask.
    """
    if (counts < 2).any():
        k = first_index(counts < 2)[0]
        within = " in the mask" if masked else ""
        raise ValueError(
            f"boxes[{k}] = {table[k].tolist()} has {int(counts[k])} pixel(s){within}: a covariance needs at least two"
        )


def check_overflow(covariances: FloatArray, table: IntArray) -> None:
    """Raise ValueError if a covariance matrix has overflowed.

    Parameters
    ----------
    covariances : array of shape (P, d, d)
        The covariance matrices.
    table : array of int of shape (P, 4)
        The boxes, as rows [top, left, height, width].
    """
    if not np.isfinite(covariances).all():
        where = first_index(~np.isfinite(covariances))[0]
        raise ValueError(
            f"the covariance over boxes[{where}] = {table[where].tolist()} overflows: rescale the features"
        )


def check_mask(mask: Any, shape: tuple[int, int]) -> BoolArray:
    """Return a mask as an array.

    Parameters
    ----------
    mask : array of bool of shape (rows, columns)
        The mask.
    shape : (rows, columns)
        The shape of the image.

    Returns
    -------
    array of bool of shape (rows, columns)
        The mask.

    Raises
    ------
    ValueError
        If the mask is not Boolean, or if its shape differs from the shape of the image.
    """
    array = np.asarray(mask)
    if array.dtype != np.bool_:
        raise ValueError(f"the mask must be Boolean, got {array.dtype}: compare it, for example mask > 0")
    if array.shape != shape:
        raise ValueError(f"the mask has shape {array.shape}, but the image has {shape[0]} x {shape[1]} pixels")
    return array
