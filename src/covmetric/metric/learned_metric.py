"""The learned metric: an embedding Phi and a matrix W, and the distance that they define."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._utils.distances import cross_distances
from covmetric._utils.validation import (
    FloatArray,
    Matrices,
    as_floats,
    as_numbers,
    first_index,
    is_number,
    read_only,
    symmetric,
)
from covmetric.embeddings import Embedding
from covmetric.metric.interpretation import Explanation, Patterns, compute_importance, explain_distance, find_patterns
from covmetric.metric.svm_kernel import MetricKernel
from covmetric.model_file import Savable, register_stateful
from covmetric.problem import expand

# The parts of a metric that was learned within a span.
_SPAN_PARTS = ("basis", "core", "core_root", "scale", "prior_root")
# The largest entry of Q^T Q - I. Bases are orthonormal to 1e-12; the rest allows for a different BLAS.
_ORTHONORMAL = 1e-10


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
    basis: FloatArray | None
    core: FloatArray
    core_root: FloatArray
    scale: float
    prior_root: FloatArray | None

    def __init__(self, embedding: Embedding, W: Any) -> None:
        matrix = symmetric("W", as_floats("W", W))
        n = _check_embedding(embedding)
        if len(matrix) != n:
            raise ValueError(f"W must have shape ({n}, {n}), as the embedding has {n} rows; got {matrix.shape}")
        self._set(embedding, "W", matrix, None, 1.0, None)

    def _set(
        self,
        embedding: Embedding,
        name: str,
        core: FloatArray,
        basis: FloatArray | None,
        scale: float,
        prior_root: FloatArray | None,
    ) -> None:
        self.embedding = embedding
        self.core = read_only(core)
        self.core_root = read_only(_square_root(name, core))
        self.basis, self.scale, self.prior_root = basis, scale, prior_root

    @classmethod
    def from_span(
        cls, embedding: Embedding, basis: Any, core: Any, scale: float = 1.0, prior_root: Any = None
    ) -> LearnedMetric:
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
        V = symmetric("core", as_floats("core", core))
        Q = as_floats("basis", basis)
        if Q.ndim != 2 or len(Q) != n or not 0 < Q.shape[1] <= n:
            raise ValueError(f"basis must have shape ({n}, r) with 0 < r <= {n}; got {Q.shape}")
        if V.shape != (Q.shape[1], Q.shape[1]):
            raise ValueError(f"core must have shape {(Q.shape[1], Q.shape[1])}, as basis has {Q.shape}; got {V.shape}")
        if not np.abs(Q.T @ Q - np.eye(len(V))).max() <= _ORTHONORMAL:
            raise ValueError("basis must have orthonormal columns")
        if not (is_number(scale) and scale > 0):
            raise ValueError(f"scale must be a positive number, got {scale!r}")
        R = None
        if prior_root is not None:
            R = read_only(symmetric("prior_root", as_floats("prior_root", prior_root)))
            if len(R) != n:
                raise ValueError(f"prior_root must have shape ({n}, {n}), got {R.shape}")
        metric = cls.__new__(cls)
        metric._set(embedding, "core", V, read_only(Q), float(scale), R)
        return metric

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "W" in state:  # a pickle of an older version
            state = {"basis": None, "scale": 1.0, "prior_root": None, **state}
            state["core"], state["core_root"] = state.pop("W"), state.pop("components")
        vars(self).update(state)

    @property
    def W(self) -> FloatArray:
        """The matrix W, shape (n, n), read-only. It is built at each access if there is a basis."""
        if self.basis is None:
            return self.core
        W: FloatArray = expand(self.basis, self.core) / self.scale
        if self.prior_root is not None:
            W = self.prior_root @ W @ self.prior_root
            W = 0.5 * (W + W.T)
        dense: FloatArray = read_only(W)
        return dense

    @property
    def components(self) -> FloatArray:
        """A matrix L with W = L^T L, shape (n, n), read-only; D is the squared distance between the vectors L Phi(X).

        It is the symmetric square root of W, unless there are a basis and a prior. It is built at each access if there
        is a basis.
        """
        if self.basis is None:
            return self.core_root
        root = expand(self.basis, self.core_root) / np.sqrt(self.scale)
        dense: FloatArray = read_only(root if self.prior_root is None else root @ self.prior_root)
        return dense

    def get_state(self) -> dict[str, Any]:
        """Return the parts of the metric, for a model file.

        Returns
        -------
        dict
            The attributes by name. Without a basis, these are `embedding`, `W` and `components`.
        """
        names = ("W", "components") if self.basis is None else _SPAN_PARTS
        return {name: getattr(self, name) for name in ("embedding", *names)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> LearnedMetric:
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
        embedding, in_span = state.pop("embedding"), "basis" in state
        parts = {name: state.pop(name) for name in (_SPAN_PARTS if in_span else ("W", "components"))}
        if state or not isinstance(embedding, Embedding):
            raise ValueError(f"its metric has no embedding, or has the unknown parts {sorted(state)}")
        matrix, root = ("core", "core_root") if in_span else ("W", "components")
        for name in (matrix, root):
            part = parts[name]
            if not (
                isinstance(part, np.ndarray) and part.dtype == np.float64 and part.shape == np.shape(parts[matrix])
            ):
                raise ValueError(f"{name} must be an array of float64 with the shape of {matrix}")
        square_root = parts.pop(root)
        metric = cls.from_span(embedding, **parts) if in_span else cls(embedding, parts["W"])
        square_root = symmetric(root, as_floats(root, square_root))
        if not np.abs(square_root @ square_root - metric.core).max() <= 1e-8 * np.abs(metric.core).max():
            raise ValueError(f"{root} is not the square root of {matrix}")
        # Another machine may compute a square root that differs in the last bits: keep the one from the file.
        metric.core_root = read_only(square_root)
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
        return np.asarray(self._times_components(embedded).reshape(len(embedded), size))

    def _times_components(self, embedded: FloatArray) -> FloatArray:
        """Return L Phi for embedded examples or differences, shape (..., n, m), without building L from a basis."""
        if self.basis is None:
            return np.asarray(self.core_root @ embedded)
        if self.prior_root is not None:
            embedded = self.prior_root @ embedded
        columns = np.swapaxes(embedded, -1, -2)
        rows = columns.reshape(-1, len(self.basis))
        change = self.core_root - np.eye(len(self.core_root))
        mapped = (rows + ((rows @ self.basis) @ change) @ self.basis.T) / np.sqrt(self.scale)
        return np.swapaxes(mapped.reshape(columns.shape), -1, -2)

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
            D = _finite((self._times_components(difference) ** 2).sum(axis=(-2, -1)))
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
        embedded = self.embedding.transform(X)
        if embedded.ndim != 3 or len(embedded) == 0:
            raise ValueError(f"X must hold at least one example, shape (l, ...); got {np.shape(X)}")
        weights = np.ones(len(embedded)) if sample_weight is None else as_floats("sample_weight", sample_weight)
        if weights.shape != (len(embedded),) or not weights.max(initial=0.0) > 0.0:
            raise ValueError(
                f"sample_weight must have {len(embedded)} entries >= 0, not all of them 0; got shape {weights.shape}"
            )
        if (weights < 0.0).any():
            where = first_index(weights < 0.0)
            raise ValueError(f"sample_weight{where} is {weights[tuple(where)]}: every entry must be >= 0")
        weights = weights / weights.max()
        return self.embedding.inverse_transform(np.tensordot(weights / weights.sum(), embedded, axes=1))

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
        labels, array = np.asarray(y), as_numbers("X", X)
        if labels.shape != array.shape[:1] or len(labels) == 0:
            raise ValueError(f"y must have one entry per example, shape {array.shape[:1]}; got {labels.shape}")
        try:
            classes = np.unique(labels)
        except TypeError as error:
            raise ValueError(f"y mixes classes that cannot be sorted: {error}") from None
        if (classes != classes).any():
            raise ValueError("y has NaN entries, which are not classes")
        return classes, np.stack([self.mean(array[labels == c]) for c in classes])

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
        return compute_importance(self.embedding, self.W, X)

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


def _square_root(name: str, matrix: FloatArray) -> FloatArray:
    """Return the symmetric square root of a positive semi-definite matrix."""
    try:
        eigenvalues, vectors = np.linalg.eigh(matrix)
    except np.linalg.LinAlgError:
        largest = float(np.abs(matrix).max())
        raise ValueError(f"{name} has no eigenvalues in double precision; its largest entry is {largest:.3g}") from None
    if eigenvalues[0] < -1e-10 * max(eigenvalues[-1], 0.0) or eigenvalues[-1] < 0.0:
        raise ValueError(f"{name} must be positive semi-definite; its smallest eigenvalue is {eigenvalues[0]:.3g}")
    root = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T
    return np.asarray(0.5 * (root + root.T), dtype=np.float64)


def _finite(D: Any) -> Any:
    """Return squared distances; raise ValueError if they overflow."""
    if not np.isfinite(D).all():
        raise ValueError("squared distances overflow: rescale the examples")
    return D
