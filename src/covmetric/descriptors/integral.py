"""Covariances of many boxes of an image of features: by integral images, or box by box."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

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
from covmetric.descriptors.regions import check_boxes

BoolArray = npt.NDArray[np.bool_]

# What the integral may be wrong by, in units of the image's own variances, and by how much of any eigenvalue: boxes
# that might be worse are computed one by one. So are those with an eigenvalue below the third number.
_ERROR, _SHARE_OF_EIGENVALUE, _SMALL_EIGENVALUE = 5e-11, 1e-6, 1e-6
_EPS = float(np.finfo(np.float64).eps)


def box_covariances(features: Any, boxes: Any, mask: Any = None) -> FloatArray:
    """The covariance matrices of the features over boxes of an image, as of ``np.cov`` (divisor: pixels less one).

    Many boxes are summed from integral images, which cost the same for any size of box; few boxes one by one. Either
    way the matrices are those of ``np.cov``: to 1e-10 of the variances of the whole image, each eigenvalue (of features
    in units of their deviations) to 1e-6 of itself or to the rounding of ``np.cov``, and zero where a feature is
    constant.

    Parameters
    ----------
    features : array, shape (d, rows, columns)
        As of `pixel_features`.
    boxes : array of int, shape (P, 4)
        Rows [top, left, height, width].
    mask : array of bool, shape (rows, columns), or None, default=None
        Which pixels count.

    Returns
    -------
    array, shape (P, d, d)

    Raises
    ------
    ValueError
        For a box that is not inside the image or has fewer than two pixels (that count), and for NaN or infinity.

    Examples
    --------
    >>> import numpy as np
    >>> features = np.arange(24.0).reshape(2, 3, 4) ** 2
    >>> box_covariances(features, [[0, 1, 2, 2]])
    array([[[ 283., 1235.],
            [1235., 5451.]]])
    """
    planes, table, pixels = _checked(features, boxes, mask)
    with np.errstate(over="ignore", invalid="ignore"):  # found below
        by_integral, one_by_one = predicted_costs(planes.shape, table)
        if by_integral < one_by_one:
            covariances, trusted = integral_covariances(planes, table, pixels)
            rest = np.flatnonzero(~trusted)
            covariances[rest] = direct_covariances(planes, table[rest], pixels)
        else:
            covariances = direct_covariances(planes, table, pixels)
    if not np.isfinite(covariances).all():
        where = first_index(~np.isfinite(covariances))[0]
        raise ValueError(
            f"the covariance over boxes[{where}] = {table[where].tolist()} overflows: rescale the features"
        )
    return covariances


def direct_covariances(features: FloatArray, boxes: IntArray, mask: BoolArray | None = None) -> FloatArray:
    """The covariances box by box."""
    d = len(features)
    covariances = np.empty((len(boxes), d, d))
    for k, (top, left, height, width) in enumerate(boxes.tolist()):
        part = (slice(top, top + height), slice(left, left + width))
        values = features[:, *part] if mask is None else features[:, *part][:, None, mask[part]]
        # By the first pixel before the mean, so that a constant feature is zero exactly, and offsets do no harm.
        values = (values - values[:, :1, :1]).reshape(d, -1)
        values -= values.mean(axis=1, keepdims=True)
        covariances[k] = values @ values.T
        covariances[k] /= values.shape[1] - 1
    return covariances


def integral_covariances(
    features: FloatArray, boxes: IntArray, mask: BoolArray | None = None
) -> tuple[FloatArray, BoolArray]:
    """The covariances by integral images, and which of them can be trusted.

    Features are centred and scaled over the image, so that nothing is lost to offsets.
    """
    scaled, scales, varying = _scaled(features, mask)
    d, grid = len(scaled), _Grid.from_boxes(boxes, features.shape[1:], mask)
    n = grid.counts
    means, peak = np.empty((d, len(boxes))), 0.0
    for i in range(d):
        means[i], height = grid.means(scaled[i])
        peak = max(peak, height)
    # Boxes are the last axis, for loops over many of them; squares are what the rounding errors are relative to.
    entries, squares, peak_of_products = np.empty((d, d, len(boxes))), np.zeros(len(boxes)), 0.0
    product = np.empty(features.shape[1:])
    for i in range(d):
        for j in range(i + 1):
            mean, height = grid.means(np.multiply(scaled[i], scaled[j], out=product))
            entries[i, j] = entries[j, i] = (mean - means[i] * means[j]) * (n / (n - 1.0))
            peak_of_products = max(peak_of_products, height)
            if i == j:
                np.maximum(squares, mean, out=squares)
    # Each step of the integral across the box is rounded, and each addition inside a cell.
    across = grid.steps * (peak_of_products + 2.0 * np.sqrt(squares) * peak) / (n - 1.0)
    error = _EPS * (across + (boxes[:, 2] + boxes[:, 3]) * squares)
    smallest = np.maximum(_SMALL_EIGENVALUE, d * error / _SHARE_OF_EIGENVALUE)
    trusted = (error <= _ERROR) & _eigenvalues_exceed(smallest, entries)
    entries *= (scales[:, None] * scales)[:, :, None]
    covariances = np.zeros((len(boxes), len(features), len(features)))
    covariances[:, varying[:, None], varying] = np.moveaxis(entries, 2, 0)
    return covariances, trusted


def predicted_costs(shape: tuple[int, ...], boxes: IntArray) -> tuple[float, float]:
    """Nanoseconds by integral images and one by one, for features of this shape (d, rows, columns).

    The constants are a least squares fit to times of one core (NumPy 2.4; 3 to 16 features, 64 to 1200 pixels a side,
    4 to 10^5 boxes), of which it predicts most within a factor of 1.5; only the ratio matters.
    ``python -m benchmarks.descriptors`` prints predicted and measured times side by side.
    """
    d, count = shape[0], len(boxes)
    if count == 0:
        return 0.0, 0.0
    grid = _Grid.from_boxes(boxes, shape[1:])
    (top, bottom), (left, right) = grid.rows[[0, -1]], grid.columns[[0, -1]]
    area = float((bottom - top) * (right - left))
    pixel = INTEGRAL_EVEN_PIXEL if _are_even(grid.rows) else INTEGRAL_PIXEL
    plane = INTEGRAL_PLANE + area * pixel + len(grid.rows) * len(grid.columns) * INTEGRAL_CELL + count * INTEGRAL_BOX
    pixels = float((boxes[:, 2] * boxes[:, 3]).sum())
    return (
        (d * (d + 3) / 2) * plane + count * d**3 * INTEGRAL_TEST,
        count * DIRECT_BOX + pixels * (d * DIRECT_VALUE + d * d * DIRECT_PRODUCT),
    )


@dataclass(frozen=True)
class _Grid:
    """The edges of all boxes, which cut the image into cells: the integral is needed at the edges only."""

    rows: IntArray
    columns: IntArray
    corners: tuple[IntArray, IntArray, IntArray, IntArray]
    steps: IntArray  # cells across each box, down and to the right
    cells: FloatArray  # pixels of each cell
    counts: FloatArray  # pixels of each box

    @classmethod
    def from_boxes(cls, boxes: IntArray, shape: tuple[int, ...], mask: BoolArray | None = None) -> _Grid:
        top, left, height, width = boxes.T
        rows, (first_row, last_row) = _edges(shape[0], top, top + height)
        columns, (first_column, last_column) = _edges(shape[1], left, left + width)
        upper, lower = first_row * len(columns), last_row * len(columns)
        corners = (lower + last_column, lower + first_column, upper + last_column, upper + first_column)
        steps = last_row - first_row + last_column - first_column
        cells = np.multiply.outer(np.diff(rows), np.diff(columns)).astype(np.float64)
        grid = cls(rows, columns, corners, steps, cells, (height * width).astype(np.float64))
        if mask is None:
            return grid
        cells = grid._cells_of(mask.astype(np.float64))
        return replace(grid, cells=cells, counts=grid._boxes_of(_integral(cells)))

    def means(self, plane: FloatArray) -> tuple[FloatArray, float]:
        """The means of a plane over the boxes, and the largest entry of the integral that they come from.

        The mean over the image is left out of the integral: it stays small, and so does its rounding error.
        """
        cells = self._cells_of(plane)
        level = cells.sum() / self.cells.sum()
        integral = _integral(cells - level * self.cells)
        return self._boxes_of(integral) / self.counts + level, float(np.abs(integral).max())

    def _cells_of(self, plane: FloatArray) -> FloatArray:
        inside = plane[self.rows[0] : self.rows[-1], self.columns[0] : self.columns[-1]]
        return _between(self.columns, _between(self.rows, inside, axis=0), axis=1)

    def _boxes_of(self, integral: FloatArray) -> FloatArray:
        a, b, c, d = (integral.ravel().take(corner) for corner in self.corners)
        return np.asarray((a - b) - (c - d))


def _edges(size: int, starts: IntArray, stops: IntArray) -> tuple[IntArray, tuple[IntArray, IntArray]]:
    """The distinct edges, ascending, and the places among them of the starts and of the stops."""
    used = np.zeros(size + 1, dtype=bool)
    used[starts] = used[stops] = True
    place = np.cumsum(used) - 1
    return np.flatnonzero(used), (place[starts], place[stops])


def _are_even(edges: IntArray) -> bool:
    widths = np.diff(edges)
    return bool((widths == widths[0]).all())


def _between(edges: IntArray, plane: FloatArray, axis: int) -> FloatArray:
    """Sums between the edges along an axis of a plane that starts at the first and stops at the last."""
    widths = np.diff(edges)
    if (widths == 1).all():
        return plane
    if axis == 0 and _are_even(edges):  # three times as fast as reduceat, down the rows
        return np.asarray(plane.reshape(len(widths), int(widths[0]), -1).sum(axis=1))
    return np.asarray(np.add.reduceat(plane, edges[:-1] - edges[0], axis=axis))


def _integral(cells: FloatArray) -> FloatArray:
    """Sums of all cells above and to the left, with a row and a column of zeros before them."""
    integral = np.zeros((cells.shape[0] + 1, cells.shape[1] + 1))
    np.cumsum(cells, axis=1, out=integral[1:, 1:])
    for above, row in pairwise(integral):  # where rows are long, nine times as fast as np.cumsum down them
        row += above
    return integral


def _scaled(features: FloatArray, mask: BoolArray | None) -> tuple[FloatArray, FloatArray, IntArray]:
    """The features that vary, less their means and in units of about their standard deviations; the units; which.

    The units are powers of two, so that dividing by them is exact. Pixels outside the mask are zero.
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
    """Whether all eigenvalues of each of the matrices (d, d, P) exceed its bound (P,).

    They do exactly if the pivots of the matrix less bound times I are positive (Sylvester).
    """
    rest = matrices.copy()
    rest[np.diag_indices(len(rest))] -= bounds
    positive = np.ones(len(bounds), dtype=bool)
    for _ in range(len(matrices)):
        pivot, row = rest[0, 0], rest[0, 1:]
        positive &= pivot > 0.0
        rest = rest[1:, 1:] - row[:, None] * (row / np.where(pivot > 0.0, pivot, 1.0))
    return positive


def _checked(features: Any, boxes: Any, mask: Any) -> tuple[FloatArray, IntArray, BoolArray | None]:
    planes = np.asarray(features, dtype=np.float64)
    if planes.ndim != 3 or planes.size == 0:
        raise ValueError(f"features must have shape (d, rows, columns), got {planes.shape}")
    if not np.isfinite(planes).all():
        where = first_index(~np.isfinite(planes))
        raise ValueError(f"features{where} is {planes[tuple(where)]}: NaN and infinity are not allowed")
    rows, columns = planes.shape[1:]
    table = check_boxes(boxes, (rows, columns))
    pixels = None if mask is None else check_mask(mask, (rows, columns))
    counts = _Grid.from_boxes(table, (rows, columns), pixels).counts if len(table) else np.empty(0)
    if (counts < 2).any():
        k = first_index(counts < 2)[0]
        which = "" if mask is None else " of the mask"
        raise ValueError(
            f"boxes[{k}] = {table[k].tolist()} has {int(counts[k])} pixel(s){which}: a covariance needs at least two"
        )
    return planes, table, pixels


def check_mask(mask: Any, shape: tuple[int, int]) -> BoolArray:
    """A mask of that shape."""
    array = np.asarray(mask)
    if array.dtype != np.bool_:
        raise ValueError(f"the mask must hold truth values, got {array.dtype}: compare it, for example mask > 0")
    if array.shape != shape:
        raise ValueError(f"the mask has shape {array.shape}, but the image has {shape[0]} x {shape[1]} pixels")
    return array
