"""A nearest-neighbour classifier with a fixed distance."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from covmetric._utils.registry import resolve
from covmetric._utils.validation import FloatArray, IntArray
from covmetric.learning.examples import check_examples
from covmetric.neighbors.votes import available_neighbors, check_n_neighbors, count_votes
from covmetric.peers.base import MatrixClassifier
from covmetric.peers.distances import FIXED_DISTANCES, FixedDistance


class FixedDistanceClassifier(MatrixClassifier):
    """Nearest-neighbour classifier with a fixed distance between matrices.

    The distances equal pyRiemann's. The search finds the exact nearest neighbours, without computing all distances.
    Ties are broken as in `CovMetricClassifier`: the first training example and the first class win.

    Parameters
    ----------
    distance : str, default='riemann'
        "riemann" is the affine-invariant distance [1]_; "stein" is the log-det distance [2]_; "jdiv" is the symmetrised
        Kullback-Leibler divergence [3]_; "euclid" is the Frobenius distance; "logeuclid" is the Frobenius distance of
        the logarithms [4]_; "power" is twice the Frobenius distance of the square roots [5]_; "cholesky" is the
        Frobenius distance of the Cholesky factors [6]_.
    n_neighbors : int, default=3
        The number of neighbours that vote.
    reg : float, default=0.0
        The fraction of its mean eigenvalue that is added to the diagonal of each matrix, which makes singular matrices
        positive definite.
    n_jobs : int or None, default=None
        The number of threads. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The distinct classes.
    n_features_in_ : int
        The number of rows of the training matrices.

    References
    ----------
    .. [1] X. Pennec, P. Fillard and N. Ayache. A Riemannian framework for tensor computing. IJCV 66, 2006.
    .. [2] S. Sra. A new metric on the manifold of kernel matrices with application to matrix geometric means.
       NIPS 2012.
    .. [3] Z. Wang and B. C. Vemuri. An affine invariant tensor dissimilarity measure and its applications to
       tensor-valued image segmentation. CVPR 2004.
    .. [4] V. Arsigny, P. Fillard, X. Pennec and N. Ayache. Log-Euclidean metrics for fast and simple calculus on
       diffusion tensors. Magnetic Resonance in Medicine 56, 2006.
    .. [5] S. Jayasumana, R. Hartley, M. Salzmann, H. Li and M. Harandi. Kernel methods on the Riemannian manifold of
       symmetric positive definite matrices. CVPR 2013. It leaves the power open; 1/2 is "Sqrt" in the paper on which
       this library is based.
    .. [6] I. L. Dryden, A. Koloydenko and D. Zhou. Non-Euclidean statistics for covariance matrices, with applications
       to diffusion tensor imaging. Annals of Applied Statistics 3, 2009.

    Examples
    --------
    >>> from covmetric.datasets import make_spd_classes
    >>> data = make_spd_classes(n=4)
    >>> FixedDistanceClassifier("stein").fit(data.X[::2], data.y[::2]).score(data.X[1::2], data.y[1::2]) > 0.6
    True
    """

    def __init__(
        self, distance: str = "riemann", n_neighbors: int = 3, *, reg: float = 0.0, n_jobs: int | None = None
    ) -> None:
        self.distance = distance
        self.n_neighbors = n_neighbors
        self.reg = reg
        self.n_jobs = n_jobs

    def _fit(self, X: FloatArray, codes: IntArray) -> None:
        check_n_neighbors(self.n_neighbors)
        settings = {"reg": self.reg, "n_jobs": self.n_jobs}
        distance = resolve("distance", self.distance, FIXED_DISTANCES, FixedDistance, settings=settings)
        self._distance, self._codes = distance.fit(X), codes

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the fraction of the neighbours that belong to each class.

        Parameters
        ----------
        X : array of shape (l, n, n)
            The matrices.

        Returns
        -------
        array of shape (l, n_classes)
            The fractions; each row sums to 1.
        """
        check_is_fitted(self)
        check_n_neighbors(self.n_neighbors)
        k = min(self.n_neighbors, len(self._codes))
        nearest = self._distance.nearest(check_examples(self, X), k)[1]
        return count_votes(self._codes[nearest], len(self.classes_))

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> tuple[FloatArray, IntArray] | IntArray:
        """Return the nearest training matrices, as in scikit-learn.

        Parameters
        ----------
        X : array of shape (l, n, n) or None, default=None
            The matrices. None means the training matrices, which are then not their own neighbours.
        n_neighbors : int or None, default=None
            The number of neighbours. None means the parameter of the classifier.
        return_distance : bool, default=True
            Whether to return the distances.

        Returns
        -------
        distances : array of shape (l, n_neighbors)
            The distances in ascending order, if `return_distance` is True.
        indices : array of int of shape (l, n_neighbors)
            The indices of the training matrices.

        Raises
        ------
        ValueError
            If there are not enough training matrices.
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        k = available_neighbors(k, len(self._codes) - (X is None))
        distances, indices = self._distance.nearest(None if X is None else check_examples(self, X), k)
        return (distances, indices) if return_distance else indices
