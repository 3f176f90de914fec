"""Covariance matrices of the regions of an image of any size, whose features are computed strip by strip."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import FloatArray, IntArray, first_index
from covmetric.descriptors.box_grid import BoolArray
from covmetric.descriptors.features import (
    Feature,
    Features,
    check_pixels,
    evaluate_functions,
    feature_list,
    features_of_rows,
)
from covmetric.descriptors.integral import (
    box_counts,
    box_covariances,
    check_counts,
    check_mask,
    check_overflow,
    covariances_of_boxes,
)
from covmetric.descriptors.regions import check_boxes

#: The largest size of the features that are held at once, in bytes. Computing with them takes about three times this.
MAX_FEATURE_BYTES = 2**27


def image_covariances(
    image: Any, features: Features, boxes: Any, mask: Any = None, max_bytes: int = MAX_FEATURE_BYTES
) -> FloatArray:
    """Compute the covariance matrices of pixel features over boxes of an image, in bounded memory.

    This is ``box_covariances(pixel_features(image, features), boxes, mask)``. If the features of the whole image take
    more than `max_bytes`, they are computed for horizontal strips: boxes that fit into a strip together are computed
    together, and the parts of taller boxes are merged. Functions among the features are given the whole image.

    Parameters
    ----------
    image : array of shape (rows, columns) or (rows, columns, 3)
        Grey values, or red, green and blue, of any real dtype.
    features : str or list
        The features; see `pixel_features`.
    boxes : array of int of shape (P, 4)
        The boxes, as rows [top, left, height, width].
    mask : array of bool of shape (rows, columns) or None, default=None
        The pixels that count. None means all pixels.
    max_bytes : int, default=2**27
        The largest size of the features that are held at once. A strip has at least one row.

    Returns
    -------
    array of shape (P, d, d)
        The covariance matrices, in the order of the boxes.

    Raises
    ------
    ValueError
        If the image, a feature, a box or the mask is invalid, or if a covariance overflows.
    """
    selected, pixels = feature_list(features), check_pixels(image)
    shape = (pixels.shape[0], pixels.shape[1])
    table = check_boxes(boxes, shape)
    source = _Source(
        pixels, selected, evaluate_functions(pixels, selected), None if mask is None else check_mask(mask, shape)
    )
    rows_at_once = max(1, int(max_bytes // (8 * len(selected) * shape[1])))
    if rows_at_once >= shape[0]:
        return box_covariances(source.strip(0, shape[0])[0], table, source.mask)
    covariances = np.empty((len(table), len(selected), len(selected)))
    counts = np.empty(len(table))
    tall = table[:, 2] > rows_at_once
    for group in _groups(table, np.flatnonzero(~tall), rows_at_once):
        counts[group], covariances[group] = _covariances_within(source, table[group])
    if tall.any():
        counts[tall], covariances[tall] = _merged_covariances(source, table[tall], rows_at_once)
    check_counts(counts, table, mask is not None)
    check_overflow(covariances, table)
    return covariances


@dataclass(frozen=True)
class _Source:
    """An image, what is asked of it, and the pixels that count."""

    pixels: npt.NDArray[Any]
    features: list[Feature]
    evaluated: dict[int, FloatArray]
    mask: BoolArray | None

    def strip(self, top: int, bottom: int) -> tuple[FloatArray, BoolArray | None]:
        """Return the features of some rows, and their mask."""
        planes = features_of_rows(self.pixels, self.features, self.evaluated, top, bottom)
        if not np.isfinite(planes).all():
            k, row, column = first_index(~np.isfinite(planes))
            value, where = planes[k, row, column], [k, row + top, column]
            raise ValueError(f"features{where} is {value}: NaN and infinity are not allowed")
        return planes, None if self.mask is None else self.mask[top:bottom]


def _groups(table: IntArray, boxes: IntArray, rows_at_once: int) -> Iterator[IntArray]:
    """Yield groups of boxes, each within so many rows, from top to bottom."""
    ordered = boxes[np.argsort(table[boxes, 0], kind="stable")]
    start = 0
    while start < len(ordered):
        first_top = table[ordered[start], 0]
        bottoms = np.maximum.accumulate(table[ordered[start:], 0] + table[ordered[start:], 2])
        stop = start + int(np.searchsorted(bottoms, first_top + rows_at_once, side="right"))
        yield ordered[start:stop]
        start = stop


def _covariances_within(source: _Source, table: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the counts and the covariance matrices of boxes that lie in one strip."""
    top, bottom = int(table[:, 0].min()), int((table[:, 0] + table[:, 2]).max())
    planes, mask = source.strip(top, bottom)
    shifted = table - np.array([top, 0, 0, 0])
    counts = box_counts(shifted, planes.shape[1:], mask)
    covariances = np.zeros((len(table), len(planes), len(planes)))
    enough = counts >= 2
    covariances[enough] = covariances_of_boxes(planes, shifted[enough], mask)
    return counts, covariances


def _merged_covariances(source: _Source, table: IntArray, rows_at_once: int) -> tuple[FloatArray, FloatArray]:
    """Return the counts and the covariance matrices of boxes, merged from their parts in strips."""
    moments = [_Moments(len(source.features)) for _ in table]
    top, bottom = int(table[:, 0].min()), int((table[:, 0] + table[:, 2]).max())
    for start in range(top, bottom, rows_at_once):
        stop = min(start + rows_at_once, bottom)
        planes, mask = source.strip(start, stop)
        for box, moment in zip(table.tolist(), moments, strict=True):
            rows = slice(max(0, box[0] - start), max(0, min(box[0] + box[2], stop) - start))
            part = (rows, slice(box[1], box[1] + box[3]))
            with np.errstate(over="ignore", invalid="ignore"):  # `check_overflow` follows
                moment.add(
                    planes[:, *part].reshape(len(planes), -1) if mask is None else planes[:, *part][:, mask[part]]
                )
    counts = np.array([moment.count for moment in moments], dtype=np.float64)
    return counts, np.stack([moment.products / max(1, moment.count - 1) for moment in moments])


class _Moments:
    """The number, the mean and the centred products of features, merged part by part [1]_.

    Parameters
    ----------
    d : int
        The number of features.

    References
    ----------
    .. [1] T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing sample
       variances", COMPSTAT 1982.
    """

    def __init__(self, d: int) -> None:
        self.count = 0
        self.origin = np.zeros((d, 1))
        self.mean = np.zeros((d, 1))  # minus the origin
        self.products = np.zeros((d, d))

    def add(self, values: FloatArray) -> None:
        """Merge the values of more pixels, shape (d, pixels)."""
        added = values.shape[1]
        if added == 0:
            return
        if self.count == 0:
            # Subtracting the first pixel makes a constant feature exactly zero and removes large offsets.
            self.origin = values[:, :1].copy()
        shifted = values - self.origin
        mean = shifted.mean(axis=1, keepdims=True)
        shifted -= mean
        total = self.count + added
        difference = mean - self.mean
        self.products += shifted @ shifted.T + (self.count * added / total) * (difference @ difference.T)
        self.mean += (added / total) * difference
        self.count = total
