"""Shrunk linear discriminant analysis in the tangent space."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils.validation import check_is_fitted

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.learning.examples import check_examples
from covmetric.peers.base import MatrixClassifier
from covmetric.peers.tangent_vectors import TANGENT_METRICS, TangentVectors


class TangentLDA(MatrixClassifier):
    """Linear discriminant analysis with shrinkage on the vectors of pyRiemann's tangent space.

    The vectors are those of pyRiemann's `TangentSpace` [1]_; the classifier is scikit-learn's
    `LinearDiscriminantAnalysis` with the solver 'lsqr'. Shrinkage is needed because there often are more entries
    n(n+1)/2 than training matrices.

    Parameters
    ----------
    metric : {'riemann', 'logeuclid'}, default='riemann'
        The metric of the tangent space.
    shrinkage : 'auto', float or None, default='auto'
        The shrinkage of the within-class covariance, as in scikit-learn. 'auto' is the shrinkage of Ledoit and Wolf.
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
    .. [1] A. Barachant, S. Bonnet, M. Congedo and C. Jutten. Multiclass brain-computer interface classification by
       Riemannian geometry. IEEE Transactions on Biomedical Engineering 59, 2012.

    Examples
    --------
    >>> from covmetric.datasets import make_spd_classes
    >>> data = make_spd_classes(n=4)
    >>> TangentLDA().fit(data.X[::2], data.y[::2]).score(data.X[1::2], data.y[1::2]) > 0.6
    True
    """

    #: The settings that `compare` tunes, with their values.
    grid: ClassVar[dict[str, list[Any]]] = {"metric": list(TANGENT_METRICS)}

    def __init__(
        self, metric: str = "riemann", *, shrinkage: Any = "auto", reg: float = 0.0, n_jobs: int | None = None
    ) -> None:
        self.metric = metric
        self.shrinkage = shrinkage
        self.reg = reg
        self.n_jobs = n_jobs

    def _fit(self, X: FloatArray, codes: IntArray) -> None:
        self._embedding = TangentVectors(self.metric, reg=self.reg)
        vectors = self._embedding.fit_transform(X, n_jobs=self.n_jobs)[:, :, 0]
        self._lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=self.shrinkage).fit(vectors, codes)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the posterior probability of each class.

        Parameters
        ----------
        X : array of shape (l, n, n)
            The matrices.

        Returns
        -------
        array of shape (l, n_classes)
            The probabilities; each row sums to 1.
        """
        check_is_fitted(self)
        vectors = self._embedding.transform(check_examples(self, X), n_jobs=self.n_jobs)
        return np.asarray(self._lda.predict_proba(vectors[:, :, 0]))
