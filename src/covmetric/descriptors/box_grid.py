"""Sums of a plane over many boxes, from its integral image on the grid of their edges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class BoxGrid:
    """The grid of the edges of all boxes of an image, which cut the image into cells.

    The integral image is needed only on this grid, where it is the cumulative sum of the sums over the cells.

    Attributes
    ----------
    rows, columns : array of int
        The distinct edges of the boxes, in ascending order.
    corners : tuple of four arrays of int of shape (P,)
        Flat indices into the integral of the lower right, lower left, upper right and upper left corner of each box.
    box_steps : array of int of shape (P,)
        The number of cells across each box, down plus to the right.
    cell_counts : array of shape (len(rows) - 1, len(columns) - 1)
        The number of pixels that count in each cell.
    box_counts : array of shape (P,)
        The number of pixels that count in each box.
    """

    rows: IntArray
    columns: IntArray
    corners: tuple[IntArray, IntArray, IntArray, IntArray]
    box_steps: IntArray
    cell_counts: FloatArray
    box_counts: FloatArray

    @classmethod
    def from_boxes(cls, boxes: IntArray, shape: tuple[int, ...], mask: BoolArray | None = None) -> BoxGrid:
        """Return the grid of boxes.

        Parameters
        ----------
        boxes : array of int of shape (P, 4)
            The boxes, as rows [top, left, height, width].
        shape : (rows, columns)
            The shape of the image.
        mask : array of bool of shape (rows, columns) or None, default=None
            The pixels that count. None means all pixels.

        Returns
        -------
        BoxGrid
            The grid.
        """
        top, left, height, width = boxes.T
        rows, (first_row, last_row) = _edges(shape[0], top, top + height)
        columns, (first_column, last_column) = _edges(shape[1], left, left + width)
        upper, lower = first_row * len(columns), last_row * len(columns)
        corners = (lower + last_column, lower + first_column, upper + last_column, upper + first_column)
        steps = last_row - first_row + last_column - first_column
        cell_counts = np.multiply.outer(np.diff(rows), np.diff(columns)).astype(np.float64)
        grid = cls(rows, columns, corners, steps, cell_counts, (height * width).astype(np.float64))
        if mask is None:
            return grid
        cell_counts = grid._cell_sums(mask.astype(np.float64))
        return replace(grid, cell_counts=cell_counts, box_counts=grid._box_sums(_integral(cell_counts)))

    def box_means(self, plane: FloatArray) -> tuple[FloatArray, float]:
        """Return the means of a plane over the boxes, and the largest entry of the integral that they come from.

        The mean over the image is subtracted before the integration, which keeps the integral and its rounding error
        small, and is added again at the end.

        Parameters
        ----------
        plane : array of shape (rows, columns)
            The values of the pixels, zero outside of the mask.

        Returns
        -------
        means : array of shape (P,)
            The means.
        peak : float
            The largest absolute entry of the integral.
        """
        sums = self._cell_sums(plane)
        level = sums.sum() / self.cell_counts.sum()
        integral = _integral(sums - level * self.cell_counts)
        return self._box_sums(integral) / self.box_counts + level, float(np.abs(integral).max())

    def _cell_sums(self, plane: FloatArray) -> FloatArray:
        inside = plane[self.rows[0] : self.rows[-1], self.columns[0] : self.columns[-1]]
        return _sums_between(self.columns, _sums_between(self.rows, inside, axis=0), axis=1)

    def _box_sums(self, integral: FloatArray) -> FloatArray:
        a, b, c, d = (integral.ravel().take(corner) for corner in self.corners)
        return np.asarray((a - b) - (c - d))


def _edges(size: int, starts: IntArray, stops: IntArray) -> tuple[IntArray, tuple[IntArray, IntArray]]:
    """Return the distinct edges in ascending order, and the positions of the starts and of the stops among them."""
    is_edge = np.zeros(size + 1, dtype=bool)
    is_edge[starts] = is_edge[stops] = True
    position = np.cumsum(is_edge) - 1
    return np.flatnonzero(is_edge), (position[starts], position[stops])


def are_evenly_spaced(edges: IntArray) -> bool:
    """Return whether all differences of consecutive edges are equal.

    Parameters
    ----------
    edges : array of int
        At least two edges, in ascending order.

    Returns
    -------
    bool
        Whether the edges are evenly spaced.
    """
    widths = np.diff(edges)
    return bool((widths == widths[0]).all())


def _sums_between(edges: IntArray, plane: FloatArray, axis: int) -> FloatArray:
    """Return the sums between consecutive edges along an axis of a plane that the outermost edges bound."""
    widths = np.diff(edges)
    if (widths == 1).all():
        return plane
    if axis == 0 and are_evenly_spaced(edges):  # three times as fast as reduceat along the first axis
        return np.asarray(plane.reshape(len(widths), int(widths[0]), -1).sum(axis=1))
    return np.asarray(np.add.reduceat(plane, edges[:-1] - edges[0], axis=axis))


def _integral(cells: FloatArray) -> FloatArray:
    """Return the sums of all cells above and to the left, preceded by a row and a column of zeros."""
    integral = np.zeros((cells.shape[0] + 1, cells.shape[1] + 1))
    np.cumsum(cells, axis=1, out=integral[1:, 1:])
    for above, row in pairwise(integral):  # for long rows nine times as fast as np.cumsum along the first axis
        row += above
    return integral
