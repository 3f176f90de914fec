"""The learned metric: an embedding and a matrix, and the distance that they make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._utils.distances import cross_distances
from covmetric._utils.validation import FloatArray, Matrices, as_floats, as_numbers, first_index, read_only, symmetric
from covmetric.embeddings import Embedding
from covmetric.metric.interpretation import Explanation, Patterns, explain, importance_of, patterns_of
from covmetric.metric.svm_kernel import MetricKernel
from covmetric.model_file import Savable, register_stateful


class LearnedMetric(Savable):
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
        if not isinstance(embedding, Embedding):
            raise ValueError(f"embedding must be a fitted Embedding, see get_embedding; got {embedding!r}")
        embedding.check_fitted()
        n = embedding.shape_out_[0]
        if len(self.W) != n:
            raise ValueError(f"W must have shape ({n}, {n}), that of the embedding; got {self.W.shape}")
        try:
            eigenvalues, vectors = np.linalg.eigh(self.W)
        except np.linalg.LinAlgError:
            largest = float(np.abs(self.W).max())
            raise ValueError(f"W has no eigenvalues in double precision; its largest entry is {largest:.3g}") from None
        if eigenvalues[0] < -1e-10 * max(eigenvalues[-1], 0.0) or eigenvalues[-1] < 0.0:
            raise ValueError(f"W must be positive semi-definite; its smallest eigenvalue is {eigenvalues[0]:.3g}")
        root = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T
        self.components: FloatArray = read_only(np.asarray(0.5 * (root + root.T), dtype=np.float64))

    def get_state(self) -> dict[str, Any]:
        """Return the parts of the metric, for a model file.

        Returns
        -------
        dict
        """
        return {name: getattr(self, name) for name in ("embedding", "W", "components")}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> LearnedMetric:
        """Make a metric of its parts, which may come from a hostile file.

        Parameters
        ----------
        state : dict
            As of `get_state`.

        Returns
        -------
        LearnedMetric

        Raises
        ------
        ValueError
            If the parts do not belong together.
        """
        embedding, W, components = (state.pop(name) for name in ("embedding", "W", "components"))
        if state or not isinstance(embedding, Embedding):
            raise ValueError(f"its embedding is missing, or it has the unknown parts {sorted(state)}")
        for name, part in (("W", W), ("components", components)):
            if not (isinstance(part, np.ndarray) and part.dtype == np.float64 and part.shape == np.shape(W)):
                raise ValueError(f"{name} must be an array of float64, of the shape of W")
        metric = cls(embedding, W)
        root = symmetric("components", as_floats("components", components))
        if not np.abs(root @ root - metric.W).max() <= 1e-8 * np.abs(metric.W).max():
            raise ValueError("components is not the square root of W")
        # The root of the same W may differ in its last bits on another machine.
        metric.components = read_only(root)
        metric.transform(embedding.probe()[None])  # raises if the settings make no sense
        return metric

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
        size = embedded.shape[1] * embedded.shape[2]
        return np.asarray((self.components @ embedded).reshape(len(embedded), size))

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
        with np.errstate(over="ignore"):
            D = _finite(((self.components @ difference) ** 2).sum(axis=(-2, -1)))
        result = D if squared else np.sqrt(D)
        return float(result) if np.ndim(result) == 0 else result

    def pairwise(self, X1: Any, X2: Any = None, squared: bool = False, n_jobs: int | None = None) -> FloatArray:
        """The distances of all examples of X1 from all of X2 (None: X1), shape (l1, l2), as SciPy's cdist.

        Computed by blocks, which `n_jobs` threads share with the same result; the memory beside the result is that of
        the transformed examples and a few blocks of 32 MB.
        """
        first = self.transform(X1, n_jobs)
        second = first if X2 is None else self.transform(X2, n_jobs)
        D: FloatArray = _finite(cross_distances(first, second, n_jobs))
        return D if squared else np.sqrt(D, out=D)

    def mean(self, X: Any, sample_weight: Any = None) -> Matrices:
        """The example whose squared distances from those of X have the smallest (weighted) sum.

        For W = I and "log" the log-Euclidean mean. Any W has the same mean: it is that of Phi.

        Parameters
        ----------
        X : array, shape (l, n, n), or (l, d) for vectors
        sample_weight : array, shape (l,), or None
            Not negative; as in ``pyriemann.geometry.mean``.
        """
        embedded = self.embedding.transform(X)
        if embedded.ndim != 3 or len(embedded) == 0:
            raise ValueError(f"X must hold one or more examples, shape (l, ...); got {np.shape(X)}")
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
        """The classes that occur in y, and the `mean` of the examples of each, shape (n_c, n, n)."""
        labels, array = np.asarray(y), as_numbers("X", X)
        if labels.shape != array.shape[:1] or len(labels) == 0:
            raise ValueError(f"y must have one entry per example, shape {array.shape[:1]}; got {labels.shape}")
        try:
            classes = np.unique(labels)
        except TypeError as error:
            raise ValueError(f"y mixes classes that cannot be sorted: {error}") from None
        if (classes != classes).any():
            raise ValueError("y has NaN, which is not a class")
        return classes, np.stack([self.mean(array[labels == c]) for c in classes])

    def as_kernel(self, kind: str = "gaussian", gamma: float = 1.0) -> MetricKernel:
        """A kernel for ``sklearn.svm.SVC(kernel=...)`` or pyRiemann's ``SVC(kernel_fct=...)``, on matrices as they are.

        Parameters
        ----------
        kind : {"gaussian", "linear"}, default="gaussian"
            exp(-gamma D), or gamma times the inner product of the transformed examples.
        gamma : float, default=1.0
            The bounds of the learner put far pairs at about D = 1, so 1 is a good start for a learned metric.

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
        """The directions that the metric looks at: the eigenvectors of W, the weightiest first.

        Parameters
        ----------
        names : sequence of str or None
            Of the channels or features; None: x0, x1, ...

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
        return patterns_of(self.embedding, self.W, names)

    def importance(self, X: Any = None) -> FloatArray:
        """The share of each channel or feature in the metric, shape (n,), which sum up to 1.

        Parameters
        ----------
        X : array, shape (l, n, n), or (l, d) for vectors, or None
            None: W_ii / tr W, how much a change in the row of that channel counts. With examples: the part of their
            mean squared distance that goes through the channel, which also knows how much the channels differ; it may
            be negative where channels cancel each other.

        Notes
        -----
        With "relog", W acts on whitened channels; channel i stands for the whitened one that is nearest to it.
        """
        return importance_of(self.embedding, self.W, X)

    def explain(self, X1: Any, X2: Any, names: Sequence[str] | None = None) -> Explanation:
        """What the distance of two examples is made of: shares of D by pattern and by channel.

        Examples
        --------
        >>> import numpy as np
        >>> from covmetric import get_embedding
        >>> metric = LearnedMetric(get_embedding("id").fit(np.eye(2)[None]), np.diag([1.0, 3.0]))
        >>> metric.explain(np.eye(2), np.diag([3.0, 0.0])).by_channel
        array([4., 3.])
        """
        return explain(self.embedding, self.W, X1, X2, names)

    def as_pyriemann(self) -> dict[str, Any]:
        """What pyRiemann's MDM and KNearestNeighbor take as their `metric`: dict(mean=, distance=).

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


def _finite(D: Any) -> Any:
    """Squared distances; ValueError where they overflow."""
    if not np.isfinite(D).all():
        raise ValueError("squared distances overflow: rescale the examples")
    return D
