"""The learned metric: an embedding Phi and a matrix W, and the distance that they define."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from covmetric._utils.distances import cross_distances
from covmetric._utils.validation import (
    FloatArray,
    Matrices,
)
from covmetric.embeddings import Embedding
from covmetric.metric.interpretation import Explanation, Patterns, compute_importance, explain_distance, find_patterns
from covmetric.metric.means import compute_class_means, compute_mean
from covmetric.metric.svm_kernel import MetricKernel
from covmetric.metric.weight_matrix import WeightMatrix
from covmetric.model_file import Savable, register_stateful


class LearnedMetric(Savable):
    """The distance sqrt(D), with D(X1, X2) = <W, (Phi(X1) - Phi(X2)) (Phi(X1) - Phi(X2))^T>.

    The distance is a metric if W is positive definite and Phi is injective, and a pseudometric otherwise. The squared
    distance D does not satisfy the triangle inequality.

    A metric that was learned within the span of its examples is held in the form W = R (I + Q (V - I) Q^T) R / scale;
    see `from_span`. Distances, `transform`, means and kernels then build no array of shape (n, n), unless there is a
    prior. `W`, `components`, `patterns`, `importance` and `explain` do.

    Parameters
    ----------
    embedding : Embedding
        The fitted embedding Phi.
    W : array of shape (n, n)
        A symmetric positive semi-definite matrix, where n is the number of rows of Phi(X).

    Attributes
    ----------
    embedding : Embedding
        The fitted embedding Phi.
    basis : array of shape (n, r) or None
        The matrix Q with orthonormal columns. None if the metric is held as the dense matrix W.
    core : array of shape (r, r)
        The matrix V, or W itself if `basis` is None. It is read-only.
    core_root : array of shape (r, r)
        The symmetric square root of `core`. It is read-only.
    scale : float
        The number by which the matrix is divided, 1 if `basis` is None.
    prior_root : array of shape (n, n) or None
        The symmetric square root R of the prior. None means the identity.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric import get_embedding
    >>> phi = get_embedding("id").fit(np.eye(2)[None])
    >>> metric = LearnedMetric(phi, np.diag([4.0, 1.0]))
    >>> print(metric.distance(np.diag([1.0, 0.0]), np.zeros((2, 2))))
    2.0
    """

    embedding: Embedding
    _matrix: WeightMatrix

    def __init__(self, embedding: Embedding, W: Any) -> None:
        self.embedding, self._matrix = embedding, WeightMatrix.from_dense(W, _check_embedding(embedding))

    @classmethod
    def _of(cls, embedding: Embedding, matrix: WeightMatrix) -> Self:
        metric = cls.__new__(cls)
        metric.embedding, metric._matrix = embedding, matrix
        return metric

    @classmethod
    def from_span(cls, embedding: Embedding, basis: Any, core: Any, scale: float = 1.0, prior_root: Any = None) -> Self:
        """Return the metric with W = R (I + Q (V - I) Q^T) R / scale, without building W.

        Parameters
        ----------
        embedding : Embedding
            The fitted embedding Phi.
        basis : array of shape (n, r)
            The matrix Q, with orthonormal columns.
        core : array of shape (r, r)
            The symmetric positive semi-definite matrix V.
        scale : float, default=1.0
            A positive number.
        prior_root : array of shape (n, n) or None, default=None
            The symmetric matrix R. None means the identity.

        Returns
        -------
        LearnedMetric
            The metric.

        Raises
        ------
        ValueError
            If a part is invalid, or if the parts do not fit together.

        Examples
        --------
        >>> import numpy as np
        >>> from covmetric import get_embedding
        >>> phi = get_embedding("vector").fit(np.zeros((1, 3)))
        >>> metric = LearnedMetric.from_span(phi, [[0.0], [0.6], [0.8]], [[4.0]], scale=0.25)
        >>> metric.distance([0.0, 0.6, 0.8], [0.0, 0.0, 0.0]), metric.distance([1.0, 0.0, 0.0], [0.0, 0.0, 0.0])
        (4.0, 2.0)
        """
        n = _check_embedding(embedding)
        return cls._of(embedding, WeightMatrix.from_span(basis, core, scale, prior_root, n))

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_matrix" not in state:  # a pickle of an older version
            parts = dict(state)
            embedding = parts.pop("embedding")
            if "W" in parts:
                parts = {"basis": None, "core": parts["W"], "core_root": parts["components"]}
            state = {"embedding": embedding, "_matrix": WeightMatrix(**parts)}
        vars(self).update(state)

    @property
    def basis(self) -> FloatArray | None:
        """The matrix Q with orthonormal columns, shape (n, r), or None if the metric is held as the dense matrix W."""
        return self._matrix.basis

    @property
    def core(self) -> FloatArray:
        """The matrix V, shape (r, r), or W itself if `basis` is None, read-only."""
        return self._matrix.core

    @property
    def core_root(self) -> FloatArray:
        """The symmetric square root of `core`, read-only."""
        return self._matrix.core_root

    @property
    def scale(self) -> float:
        """The number by which the matrix is divided, 1 if `basis` is None."""
        return self._matrix.scale

    @property
    def prior_root(self) -> FloatArray | None:
        """The symmetric square root R of the prior, shape (n, n), or None for the identity."""
        return self._matrix.prior_root

    @property
    def W(self) -> FloatArray:
        """The matrix W, shape (n, n), read-only. It is built at each access if there is a basis."""
        return self._matrix.dense

    @property
    def components(self) -> FloatArray:
        """A matrix L with W = L^T L, shape (n, n), read-only; D is the squared distance between the vectors L Phi(X).

        It is the symmetric square root of W, unless there are a basis and a prior. It is built at each access if there
        is a basis.
        """
        return self._matrix.components

    def get_state(self) -> dict[str, Any]:
        """Return the parts of the metric, for a model file.

        Returns
        -------
        dict
            The attributes by name. Without a basis, these are `embedding`, `W` and `components`.
        """
        return {"embedding": self.embedding, **self._matrix.get_state()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Create a metric from its parts.

        Parameters
        ----------
        state : dict
            The parts as returned by `get_state`. They may come from a hostile file.

        Returns
        -------
        LearnedMetric
            The metric, with the same bits.

        Raises
        ------
        ValueError
            If the parts are invalid or inconsistent.
        """
        embedding = state.pop("embedding")
        if not isinstance(embedding, Embedding):
            raise ValueError("its metric has no embedding")
        matrix = WeightMatrix.from_state(state, _check_embedding(embedding))
        if state:
            raise ValueError(f"its metric has the unknown parts {sorted(state)}")
        metric = cls._of(embedding, matrix)
        metric.transform(embedding.probe()[None])  # raises an error if the settings of the embedding are invalid
        return metric

    def __repr__(self) -> str:
        n = self.embedding.shape_out_[0]
        span = "" if self.basis is None else f", learned in {len(self.core)} dimensions"
        return f"LearnedMetric({self.embedding!r}, W of shape {(n, n)}{span})"

    def transform(self, X: Any, n_jobs: int | None = None) -> FloatArray:
        """Return the vectors vec(L Phi(X)), whose Euclidean distances are the distances of the metric.

        Parameters
        ----------
        X : array of shape (l, n, n), or (l, d) for vectors
            The examples. A single example counts as l = 1.
        n_jobs : int or None, default=None
            The number of threads that embed the examples, as in joblib. The result does not depend on it.

        Returns
        -------
        array of shape (l, n m)
            One vector per example, for an embedding of shape (n, m).

        Raises
        ------
        ValueError
            If the examples do not have the shape of the training examples.

        Examples
        --------
        >>> import numpy as np
        >>> from covmetric import get_embedding
        >>> metric = LearnedMetric(get_embedding("id").fit(np.eye(2)[None]), np.diag([4.0, 1.0]))
        >>> metric.transform(np.ones((1, 2, 2)))
        array([[2., 2., 1., 1.]])
        """
        embedded = self.embedding.transform(X, n_jobs=n_jobs)
        if embedded.ndim > 3:
            shape = self.embedding.shape_in_
            raise ValueError(f"X must hold examples of shape {shape}, as in fit; got an array of shape {np.shape(X)}")
        return self.map(embedded.reshape(-1, *embedded.shape[-2:]))

    def map(self, embedded: FloatArray) -> FloatArray:
        """Return the vectors of examples that are already embedded; see `transform`.

        Parameters
        ----------
        embedded : array of shape (l, n, m)
            The embedded examples Phi(X).

        Returns
        -------
        array of shape (l, n m)
            One vector per example.
        """
        size = embedded.shape[1] * embedded.shape[2]
        return np.asarray(self._matrix.times_components(embedded).reshape(len(embedded), size))

    def distance(self, X1: Any, X2: Any, squared: bool = False) -> Any:
        """Return the distance between two examples, or between corresponding examples of two arrays.

        Parameters
        ----------
        X1, X2 : arrays of shape (..., n, n), or (..., d) for vectors
            The examples. The leading axes are broadcast against each other.
        squared : bool, default=False
            Whether to return the squared distance D instead of the distance sqrt(D).

        Returns
        -------
        float or array
            A float for two single examples, otherwise an array of the broadcast shape.

        Raises
        ------
        ValueError
            If the leading axes do not match, or if squared distances overflow.

        Examples
        --------
        >>> import numpy as np
        >>> from covmetric import get_embedding
        >>> metric = LearnedMetric(get_embedding("id").fit(np.eye(2)[None]), np.diag([4.0, 1.0]))
        >>> metric.distance(np.stack([np.eye(2), np.diag([2.0, 1.0])]), np.eye(2))
        array([0., 2.])
        """
        first, second = self.embedding.transform(X1), self.embedding.transform(X2)
        try:
            difference = first - second
        except ValueError:
            raise ValueError(
                "X1 and X2 must hold as many examples, because corresponding ones are compared, but their axes "
                f"are {first.shape[:-2]} and {second.shape[:-2]}; for all distances between X1 and X2 use pairwise"
            ) from None
        with np.errstate(over="ignore"):
            D = _finite((self._matrix.times_components(difference) ** 2).sum(axis=(-2, -1)))
        result = D if squared else np.sqrt(D)
        return float(result) if np.ndim(result) == 0 else result

    def pairwise(self, X1: Any, X2: Any = None, squared: bool = False, n_jobs: int | None = None) -> FloatArray:
        """Return the distances between all examples of X1 and all examples of X2, like SciPy's ``cdist``.

        Parameters
        ----------
        X1 : array of shape (l1, n, n), or (l1, d) for vectors
            The first examples.
        X2 : array of shape (l2, n, n), or (l2, d) for vectors, or None, default=None
            The second examples. None means the examples of X1.
        squared : bool, default=False
            Whether to return the squared distances D instead of the distances sqrt(D).
        n_jobs : int or None, default=None
            The number of threads, as in joblib. The result does not depend on it.

        Returns
        -------
        array of shape (l1, l2)
            The distance between each example of X1 and each example of X2.

        Raises
        ------
        ValueError
            If squared distances overflow.

        Notes
        -----
        The distances are computed block by block. Besides the result, memory holds the transformed examples and a few
        blocks of 32 MB.

        Examples
        --------
        >>> import numpy as np
        >>> from covmetric import get_embedding
        >>> metric = LearnedMetric(get_embedding("vector").fit([[0.0, 0.0]]), np.eye(2))
        >>> metric.pairwise([[0.0, 0.0], [3.0, 4.0]])
        array([[0., 5.],
               [5., 0.]])
        """
        first = self.transform(X1, n_jobs)
        second = first if X2 is None else self.transform(X2, n_jobs)
        D: FloatArray = _finite(cross_distances(first, second, n_jobs))
        return D if squared else np.sqrt(D, out=D)

    def mean(self, X: Any, sample_weight: Any = None) -> Matrices:
        """Return the mean of examples, which minimises the weighted sum of squared distances to them.

        The mean does not depend on W. With "log" it is the log-Euclidean mean.

        Parameters
        ----------
        X : array of shape (l, n, n), or (l, d) for vectors
            The examples.
        sample_weight : array of shape (l,) or None, default=None
            Non-negative weights, as in ``pyriemann.geometry.mean``. None means equal weights.

        Returns
        -------
        array of shape (n, n), or (d,) for vectors
            The mean, in the same form as the examples.

        Raises
        ------
        ValueError
            If X has no examples, or if the weights are invalid.

        Examples
        --------
        >>> import numpy as np
        >>> from covmetric import get_embedding
        >>> metric = LearnedMetric(get_embedding("id").fit(np.eye(2)[None]), np.eye(2))
        >>> metric.mean(np.stack([np.eye(2), 3.0 * np.eye(2)]))
        array([[2., 0.],
               [0., 2.]])
        """
        return compute_mean(self.embedding, X, sample_weight)

    def class_means(self, X: Any, y: Any) -> tuple[npt.NDArray[Any], Matrices]:
        """Return the mean of the examples of each class.

        Parameters
        ----------
        X : array of shape (l, n, n), or (l, d) for vectors
            The examples.
        y : array of shape (l,)
            Their classes.

        Returns
        -------
        classes : array of shape (n_classes,)
            The classes that occur in y, sorted.
        means : array of shape (n_classes, n, n), or (n_classes, d) for vectors
            The `mean` of the examples of each class.

        Raises
        ------
        ValueError
            If y and X have different lengths, or if y has entries that are not classes.

        Examples
        --------
        >>> import numpy as np
        >>> from covmetric import get_embedding
        >>> metric = LearnedMetric(get_embedding("vector").fit([[0.0]]), np.eye(1))
        >>> classes, means = metric.class_means([[0.0], [2.0], [5.0]], ["rest", "rest", "move"])
        >>> classes.tolist(), means.tolist()
        (['move', 'rest'], [[5.0], [1.0]])
        """
        return compute_class_means(self.embedding, X, y)

    def as_kernel(self, kind: str = "gaussian", gamma: float = 1.0) -> MetricKernel:
        """Return a kernel for ``sklearn.svm.SVC(kernel=...)`` or pyRiemann's ``SVC(kernel_fct=...)``.

        The support vector machine then takes the matrices themselves as examples.

        Parameters
        ----------
        kind : {'gaussian', 'linear'}, default='gaussian'
            The Gaussian kernel exp(-gamma D) of the squared distance D, or gamma times the inner product of the
            transformed examples.
        gamma : float, default=1.0
            A positive factor. The learners aim at D of about 1 for dissimilar pairs, so 1 is a good start.

        Returns
        -------
        MetricKernel
            The kernel, a callable.

        Raises
        ------
        ValueError
            If `kind` is not the name of a kernel, or `gamma` is not a positive number.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.svm import SVC
        >>> from covmetric import CovMetric
        >>> X = np.stack([np.diag([1.0, 1.0 + i / 40]) for i in range(40)])
        >>> y = np.arange(40) // 20
        >>> metric = CovMetric(random_state=0).fit(X, y).metric_
        >>> SVC(kernel=metric.as_kernel()).fit(X, y).score(X, y)
        1.0
        """
        return MetricKernel(self, kind, gamma).check()

    def patterns(self, names: Sequence[str] | None = None) -> Patterns:
        """Return the eigenvectors of W as patterns over the channels, in descending order of their eigenvalues.

        Parameters
        ----------
        names : sequence of str or None, default=None
            The names of the channels or features. None means x0, x1, ...

        Returns
        -------
        Patterns
            The eigenvalues, eigenvectors, filters and patterns. They print as a table.

        Raises
        ------
        ValueError
            If the number of names differs from the number of channels.

        Examples
        --------
        >>> import numpy as np
        >>> from covmetric import get_embedding
        >>> metric = LearnedMetric(get_embedding("id").fit(np.eye(2)[None]), np.diag([1.0, 3.0]))
        >>> print(metric.patterns(["C3", "C4"]))
        pattern  share of tr W  largest channels
              0          75.0%  +1.00 C4 +0.00 C3
              1          25.0%  +1.00 C3 +0.00 C4
        """
        return find_patterns(self.embedding, self.W, names)

    def importance(self, X: Any = None) -> FloatArray:
        """Return the importance of each channel or feature for the metric.

        Parameters
        ----------
        X : array of shape (l, n, n), or (l, d) for vectors, or None, default=None
            At least two examples. If given, the importance of a channel is its part of the mean squared distance
            between them, which also depends on how much the channels vary. It may be negative if channels cancel each
            other. If None, the importance is W_ii / tr W: the weight of a change in the row of the channel.

        Returns
        -------
        array of shape (n_channels,)
            The importance of each channel. The entries sum to 1, or are all 0 if all distances are 0.

        Raises
        ------
        ValueError
            If X has fewer than two examples, or if squared distances overflow.

        Notes
        -----
        With "relog", W acts on whitened channels, and channel i stands for the whitened channel that is closest to it.
        With "veclog" and "tangent", an entry of the half vector belongs to two channels, and each of them gets half of
        its part.

        Examples
        --------
        >>> import numpy as np
        >>> from covmetric import get_embedding
        >>> metric = LearnedMetric(get_embedding("id").fit(np.eye(2)[None]), np.diag([1.0, 3.0]))
        >>> metric.importance()
        array([0.25, 0.75])
        """
        return compute_importance(self.embedding, self.W, None if X is None else self.embedding.transform(X))

    def explain(self, X1: Any, X2: Any, names: Sequence[str] | None = None) -> Explanation:
        """Return the squared distance between two examples as a sum over patterns and as a sum over channels.

        Parameters
        ----------
        X1, X2 : arrays of shape (n, n), or (d,) for vectors
            The two examples.
        names : sequence of str or None, default=None
            The names of the channels or features. None means x0, x1, ...

        Returns
        -------
        Explanation
            The parts of the squared distance. They print as a table.

        Raises
        ------
        ValueError
            If X1 or X2 is not a single example, or if the squared distance overflows.

        Examples
        --------
        >>> import numpy as np
        >>> from covmetric import get_embedding
        >>> metric = LearnedMetric(get_embedding("id").fit(np.eye(2)[None]), np.diag([1.0, 3.0]))
        >>> metric.explain(np.eye(2), np.diag([3.0, 0.0])).by_channel
        array([4., 3.])
        """
        return explain_distance(self.embedding, self.W, X1, X2, names)

    def as_pyriemann(self) -> dict[str, Any]:
        """Return the metric in the form of the parameter `metric` of pyRiemann's MDM and KNearestNeighbor.

        Returns
        -------
        dict
            The methods `mean` and `distance`, by these names.

        Examples
        --------
        >>> import numpy as np
        >>> from covmetric import get_embedding
        >>> metric = LearnedMetric(get_embedding("log").fit(np.eye(2)[None]), np.eye(2))
        >>> sorted(metric.as_pyriemann())
        ['distance', 'mean']
        """
        return {"mean": self.mean, "distance": self.distance}


register_stateful(LearnedMetric)


def _check_embedding(embedding: Any) -> int:
    """Return the number of rows of a fitted embedding."""
    if not isinstance(embedding, Embedding):
        raise ValueError(f"embedding must be a fitted Embedding, see get_embedding; got {embedding!r}")
    embedding.check_fitted()
    return int(embedding.shape_out_[0])


def _finite(D: Any) -> Any:
    """Return squared distances; raise ValueError if they overflow."""
    if not np.isfinite(D).all():
        raise ValueError("squared distances overflow: rescale the examples")
    return D
