"""Distances between sets of vectors, such as the regions of two images."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray


def set_distances(query: FloatArray, vectors: FloatArray, starts: IntArray) -> FloatArray:
    """Return the modified Hausdorff distance [1]_ between a set of vectors and each of several sets.

    The distance of two sets is the larger of two means: over the vectors of either set, of the distance to the nearest
    vector of the other set. A mean ignores single outliers, such as a region that shows the background.

    Parameters
    ----------
    query : array of shape (k, q)
        The vectors of one set.
    vectors : array of shape (l, q)
        The vectors of all other sets, one set after the other.
    starts : array of int of shape (s,)
        The index of the first vector of each set, in ascending order, from 0.

    Returns
    -------
    array of shape (s,)
        The distances.

    References
    ----------
    .. [1] M.-P. Dubuisson, A. K. Jain, "A modified Hausdorff distance for object matching", ICPR 1994.

    Examples
    --------
    >>> sets = np.array([[0.0], [1.0], [5.0]])
    >>> set_distances(np.array([[0.0], [2.0]]), sets, np.array([0, 2]))
    array([0.5, 4. ])
    """
    squares = (query**2).sum(axis=1)[:, None] - 2.0 * query @ vectors.T + (vectors**2).sum(axis=1)
    distances = np.sqrt(np.maximum(squares, 0.0))
    counts = np.diff([*starts.tolist(), len(vectors)])
    from_query = np.minimum.reduceat(distances, starts, axis=1).mean(axis=0)
    to_query = np.add.reduceat(distances.min(axis=0), starts) / counts
    return np.asarray(np.maximum(from_query, to_query))
