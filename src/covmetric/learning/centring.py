"""Means of examples, and examples relative to a mean: the geometry of `Recentre`."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, Matrices
from covmetric.embeddings.matrices import from_spectrum

#: The prior strength if one group does not show how groups vary. It is a convention: enough for a few trials per class.
STRENGTH_OF_ONE_GROUP = 10.0
#: The means of matrices, by the name that pyRiemann gives to the metric.
METRICS = ("riemann", "logeuclid", "euclid")


class Centring(ABC):
    """How examples are averaged, and how they are moved so that their mean becomes the origin."""

    @property
    def requires_definite(self) -> bool:
        """Whether every example must be a positive definite matrix."""
        return False

    @abstractmethod
    def mean(self, X: Matrices) -> Matrices:
        """Return the mean of examples.

        Parameters
        ----------
        X : array of shape (l, ...)
            The examples.

        Returns
        -------
        array of shape (...)
            The mean.
        """

    @abstractmethod
    def step(self, mean: Matrices, example: Matrices, share: float) -> Matrices:
        """Return the point on the geodesic from a mean to an example.

        Parameters
        ----------
        mean : array of shape (...)
            The point at share 0.
        example : array of shape (...)
            The point at share 1.
        share : float
            The position, from 0 to 1.

        Returns
        -------
        array of shape (...)
            The point.
        """

    @abstractmethod
    def recentre(self, X: Matrices, means: Matrices) -> Matrices:
        """Return examples relative to means.

        Parameters
        ----------
        X : array of shape (l, ...)
            The examples.
        means : array of shape (...) or (l, ...)
            One mean, or a mean for each example.

        Returns
        -------
        array of shape (l, ...)
            The examples, moved so that the mean becomes the origin.
        """

    @abstractmethod
    def squared_norms(self, recentred: Matrices) -> FloatArray:
        """Return the squared distances of recentred examples from the origin.

        Parameters
        ----------
        recentred : array of shape (l, ...)
            The result of `recentre`.

        Returns
        -------
        array of shape (l,)
            The squared distances.
        """


class VectorCentring(Centring):
    """The arithmetic mean of vectors, which is subtracted."""

    def mean(self, X: Matrices) -> Matrices:
        return np.asarray(X.mean(axis=0))

    def step(self, mean: Matrices, example: Matrices, share: float) -> Matrices:
        return np.asarray((1.0 - share) * mean + share * example)

    def recentre(self, X: Matrices, means: Matrices) -> Matrices:
        return X - means

    def squared_norms(self, recentred: Matrices) -> FloatArray:
        return np.asarray((recentred**2).sum(axis=1))


class MatrixCentring(Centring):
    """The mean M of definite matrices in a metric of pyRiemann, and the congruence M^(-1/2) X M^(-1/2).

    Parameters
    ----------
    metric : {'riemann', 'logeuclid', 'euclid'}
        The metric of the mean.
    """

    def __init__(self, metric: str) -> None:
        self.metric = metric

    @property
    def requires_definite(self) -> bool:
        return self.metric != "euclid"

    def mean(self, X: Matrices) -> Matrices:
        from pyriemann.geometry.mean import gmean  # imported late, because it takes two seconds

        with warnings.catch_warnings():
            # Any point near the mean can serve as the origin.
            warnings.filterwarnings("ignore", message="Convergence not reached")
            return _symmetrised(np.asarray(gmean(X, metric=self.metric)))

    def step(self, mean: Matrices, example: Matrices, share: float) -> Matrices:
        from pyriemann.geometry.geodesic import geodesic

        return _symmetrised(np.asarray(geodesic(mean, example, share, metric=self.metric)))

    def recentre(self, X: Matrices, means: Matrices) -> Matrices:
        eigenvalues, vectors = np.linalg.eigh(means)
        whitener = from_spectrum(1.0 / np.sqrt(eigenvalues), vectors)
        return _symmetrised(whitener @ X @ whitener)

    def squared_norms(self, recentred: Matrices) -> FloatArray:
        eigenvalues = np.linalg.eigvalsh(recentred)
        # In the Euclidean metric, examples may be singular.
        deviations = eigenvalues - 1.0 if self.metric == "euclid" else np.log(eigenvalues)
        return np.asarray((deviations**2).sum(axis=1))


def prior_strength_of_groups(centring: Centring, groups: list[Matrices], means: Matrices, centre: Matrices) -> float:
    """Estimate how many examples of a new group the mean of the known groups is worth.

    It is the ratio of two variances: that of the examples around the mean of their group, and that of the means of the
    groups around their own mean, from which the sampling error of the means is subtracted.

    Parameters
    ----------
    centring : Centring
        The geometry.
    groups : list of arrays of shape (l_g, ...)
        The examples of each group.
    means : array of shape (n_groups, ...)
        The mean of each group.
    centre : array of shape (...)
        The mean of the means.

    Returns
    -------
    float
        The number of examples, at most the number of all examples. It is 10 if there is only one group, because the
        variance between groups is then unknown.
    """
    if len(groups) < 2:
        return STRENGTH_OF_ONE_GROUP
    sizes = np.array([len(X) for X in groups])
    spreads = [
        float(centring.squared_norms(centring.recentre(X, mean)).sum()) for X, mean in zip(groups, means, strict=True)
    ]
    within = sum(spreads) / float((sizes - 1).sum())
    between = float(centring.squared_norms(centring.recentre(means, centre)).sum()) / (len(groups) - 1)
    return prior_strength(within, between, sizes)


def prior_strength(within: float, between: float, sizes: IntArray) -> float:
    """Return the weight of the mean of known groups in the estimate of the mean of a new one.

    For Gaussian vectors, this weight minimises the expected squared error of the estimate.

    Parameters
    ----------
    within : float
        The variance of examples around the mean of their group.
    between : float
        The variance of the means of the groups, with the sampling error of the means.
    sizes : array of int of shape (n_groups,)
        The numbers of examples of the groups.

    Returns
    -------
    float
        The ratio of `within` and of `between` without the sampling error, at most the number of all examples.
    """
    between -= within * float(np.mean(1.0 / sizes))
    most = float(sizes.sum())
    return min(within / between, most) if between > 0.0 else most


def _symmetrised(matrices: Matrices) -> Matrices:
    return np.asarray(0.5 * (matrices + np.swapaxes(matrices.conj(), -1, -2)))
