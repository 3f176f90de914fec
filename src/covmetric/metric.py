"""The learned metric: an embedding and a matrix, and the distance that they make."""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric._validation import FloatArray, as_floats, read_only, symmetric
from covmetric.embeddings import Embedding


class LearnedMetric:
    """The distance sqrt(D), with D(X1, X2) = <W, (Phi(X1) - Phi(X2)) (Phi(X1) - Phi(X2))^T>.

    Parameters
    ----------
    embedding : Embedding
        Phi, fitted.
    W : array, shape (n, n)
        Symmetric, positive semi-definite.

    Attributes
    ----------
    components : array, shape (n, n)
        The symmetric square root L of W: D is the squared Euclidean distance of vec(L Phi(X)).

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric import get_embedding
    >>> phi = get_embedding("id").fit(np.eye(2)[None])
    >>> metric = LearnedMetric(phi, np.diag([4.0, 1.0]))
    >>> print(metric.distance(np.diag([1.0, 0.0]), np.zeros((2, 2))))
    2.0
    """

    def __init__(self, embedding: Embedding, W: Any) -> None:
        self.embedding = embedding
        self.W: FloatArray = read_only(symmetric("W", as_floats("W", W)))
        n = getattr(embedding, "shape_out_", (len(self.W),))[0]
        if len(self.W) != n:
            raise ValueError(f"W must have shape ({n}, {n}), that of the embedding; got {self.W.shape}")
        eigenvalues, vectors = np.linalg.eigh(self.W)
        if eigenvalues[0] < -1e-10 * max(eigenvalues[-1], 0.0) or eigenvalues[-1] < 0.0:
            raise ValueError(f"W must be positive semi-definite; its smallest eigenvalue is {eigenvalues[0]:.3g}")
        root = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T
        self.components: FloatArray = read_only(np.asarray(0.5 * (root + root.T), dtype=np.float64))

    def __repr__(self) -> str:
        return f"LearnedMetric({self.embedding!r}, W of shape {self.W.shape})"

    def transform(self, X: Any, n_jobs: int | None = None) -> FloatArray:
        """The vectors vec(L Phi(X)), shape (l, n m): their Euclidean distances are those of the metric."""
        embedded = self.embedding.transform(X, n_jobs=n_jobs)
        if embedded.ndim > 3:
            shape = self.embedding.shape_in_
            raise ValueError(f"X must hold examples of shape {shape}, as in fit; got an array of shape {np.shape(X)}")
        return self.map(embedded.reshape(-1, *embedded.shape[-2:]))

    def map(self, embedded: FloatArray) -> FloatArray:
        """`transform` of embedded examples, shape (l, n, m)."""
        return np.asarray((self.components @ embedded).reshape(len(embedded), -1))

    def distance(self, X1: Any, X2: Any, squared: bool = False) -> Any:
        """The distance of two examples, or of each pair of examples in two arrays.

        Parameters
        ----------
        X1, X2 : arrays, shape (..., n, n), or (..., d) for vectors
            The leading axes are broadcast against each other.
        squared : bool, default=False
            Whether to return D instead of the distance sqrt(D).

        Returns
        -------
        float or array
        """
        difference = self.embedding.transform(X1) - self.embedding.transform(X2)
        D = ((self.components @ difference) ** 2).sum(axis=(-2, -1))
        result = D if squared else np.sqrt(D)
        return float(result) if np.ndim(result) == 0 else result

    def pairwise(self, X1: Any, X2: Any = None, squared: bool = False, n_jobs: int | None = None) -> FloatArray:
        """The distances of all examples of X1 from all of X2 (None: X1), shape (l1, l2)."""
        from sklearn.metrics.pairwise import euclidean_distances  # scikit-learn takes a second to import

        first = self.transform(X1, n_jobs)
        second = first if X2 is None else self.transform(X2, n_jobs)
        # Distances by a matrix product lose the digits that the vectors have in common.
        centre = second.mean(axis=0)
        D = euclidean_distances(first - centre, None if X2 is None else second - centre, squared=True)
        return np.asarray(D if squared else np.sqrt(D))
