"""The shrinkage of scatter matrices."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import FloatArray


def ledoit_wolf(rows: FloatArray, n: int) -> float:
    """Return the shrinkage of Ledoit and Wolf [1]_ for the mean of x x^T over rows x.

    The shrunk matrix is (1 - g) S + g tr(S)/n I, where g is the shrinkage. Rows may be given as coordinates in a
    subspace that contains them: only inner products of rows count, and the n x n matrix is not formed.

    Parameters
    ----------
    rows : array of shape (l, r)
        The centred rows, in r orthonormal directions.
    n : int
        The dimension of the whole space, at least r.

    Returns
    -------
    float
        The shrinkage, from 0 to 1. It is 1 if all rows are 0.

    References
    ----------
    .. [1] O. Ledoit and M. Wolf. A well-conditioned estimator for large-dimensional covariance matrices. Journal of
       Multivariate Analysis 88, 2004.

    Examples
    --------
    >>> round(ledoit_wolf(np.array([[1.0, 0.0], [-1.0, 0.5], [0.0, -0.5]]), 2), 3)
    0.641
    """
    size = float(np.abs(rows).max(initial=0.0))
    if size == 0.0:
        return 1.0
    rows = rows / size  # the fourth powers below neither overflow nor underflow
    count = len(rows)
    gram = rows @ rows.T if count < rows.shape[1] else rows.T @ rows
    squared_norm = float((gram**2).sum()) / count**2  # of S
    trace = float((rows**2).sum()) / count
    distance = squared_norm - trace**2 / n  # squared, from S to the multiple of the identity
    noise = (float(((rows**2).sum(axis=1) ** 2).sum()) / count - squared_norm) / count
    return min(max(noise, 0.0) / distance, 1.0) if distance > 0.0 else 1.0
