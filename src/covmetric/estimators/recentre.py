"""Recentre: every group of examples (a session, a person) at its own mean."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from covmetric._utils.validation import (
    FloatArray,
    IntArray,
    Matrices,
    as_numbers,
    is_number,
    precision_of,
    symmetric,
    symmetry_tolerance,
)
from covmetric._utils.warning import warn
from covmetric.embeddings.matrices import definite
from covmetric.embeddings.null_space import range_of_mean, restrict
from covmetric.estimators.restoring import restored_on_failure
from covmetric.estimators.saving import SavedEstimator
from covmetric.learning.centring import METRICS, Centring, MatrixCentring, VectorCentring
from covmetric.learning.examples import check_examples
from covmetric.learning.group_labels import group_labels, positions_by_label
from covmetric.learning.group_means import GroupMeans, group_mean, require_definite

_NEW_GROUPS = ("raise", "transductive", "running")
_NO_GROUPS = (
    "neither fit nor transform of Recentre got groups: all examples are moved by the mean of the training examples, "
    "which keeps sessions as far apart as before. Pass groups (in a pipeline, with set_fit_request(groups=True), "
    "set_transform_request(groups=True) and enable_metadata_routing; in cross_val_score, as params={'groups': groups})"
)


class Recentre(SavedEstimator, TransformerMixin, BaseEstimator):
    """Transformer that moves every group of examples (a session, a person) to the same place.

    Matrices of a group g with the mean M_g become M_g^(-1/2) X M_g^(-1/2), so that the mean of every group becomes the
    identity. Vectors of a group become x - m_g. Sessions and people differ most in their means, so that what is learned
    on some groups then transfers to others. No labels are used.

    Parameters
    ----------
    new_groups : {'raise', 'transductive', 'running'}, default='raise'
        What `transform` does with a group that it has not seen. 'raise' is an error. 'transductive' uses the mean of
        the matrices of that group in the batch that is transformed, without their labels. 'running' treats the batch
        as a stream: each matrix is moved by the running mean of its group up to and including that matrix; see Notes.
    metric : {'riemann', 'logeuclid', 'euclid'}, default='riemann'
        The kind of mean of matrices, as in ``pyriemann.geometry.mean.gmean``. It is not used for vectors.
    prior_strength : 'auto' or float, default='auto'
        The weight kappa of the mean of the training groups in the running mean of a new group, as a number of matrices.
        'auto' is the variance of the matrices within the training groups, divided by the variance of the means of the
        groups; it is 10 if there is only one training group.
    reg : float, default=0.0
        The regularisation for singular matrices: the fraction of its mean eigenvalue that is added to the diagonal of
        each matrix.

    Attributes
    ----------
    groups_ : list
        The groups: those of `fit`, sorted, then those that `partial_fit` added. An entry None is the group of examples
        that were passed without groups.
    means_ : array of shape (n_groups, r, r) or (n_groups, d)
        The mean of each group.
    weights_ : array of shape (n_groups,)
        The number of matrices in each mean, kappa included if `partial_fit` added the group.
    mean_ : array of shape (r, r) or (d,)
        The mean of the means of the training groups, with equal weights.
    prior_strength_ : float
        The weight kappa.
    basis_ : array of shape (n, r) or None
        An orthonormal basis of the range of the training matrices, if they share a null space, as after an average
        reference. The matrices are then replaced by Q^T X Q. Otherwise None, and r = n.
    n_features_in_ : int
        The number of rows n of a matrix, or of entries d of a vector.

    See Also
    --------
    CovMetric : Learns a metric on the recentred matrices.

    Notes
    -----
    The running mean of a new group starts at `mean_`, with the weight kappa. Its t-th matrix moves it by the share
    1 / (kappa + t) of the geodesic towards that matrix. For 'logeuclid' and 'euclid', and for vectors, the result is
    the weighted mean, in which `mean_` has the weight kappa and each matrix the weight 1; for 'riemann' it approximates
    that mean. `transform` does not change the state; `partial_fit` does. A loop over a stream calls ``transform(x)``
    and ``partial_fit(x)`` for each matrix, which gives the same as one ``transform`` of the whole stream.

    In a pipeline, groups are routed as scikit-learn's metadata: ``set_fit_request(groups=True)`` and
    ``set_transform_request(groups=True)``, with ``sklearn.set_config(enable_metadata_routing=True)``. Without routing,
    ``pipeline.fit(X, y, recentre__groups=groups)`` works, and examples that are then predicted without groups form one
    new group. If no groups reach either method, all examples form one group, and 'transductive' warns.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric import Recentre
    >>> rng = np.random.default_rng(0)
    >>> A = rng.standard_normal((60, 3, 12))
    >>> X = A @ A.swapaxes(1, 2) / 12
    >>> session = np.repeat(["Monday", "Tuesday", "Friday"], 20)
    >>> X[session == "Friday", 0] *= 5.0  # an electrode has moved
    >>> X[session == "Friday", :, 0] *= 5.0
    >>> first = session != "Friday"
    >>> recentre = Recentre(new_groups="transductive").fit(X[first], groups=session[first])
    >>> recentre.groups_
    ['Monday', 'Tuesday']
    >>> moved = recentre.transform(X[~first], groups=session[~first])
    >>> bool(X[~first, 0, 0].mean() > 20.0), bool(moved[:, 0, 0].mean() < 2.0)
    (True, True)
    """

    _parts = ("_groups", "basis_", "n_features_in_")

    def __init__(
        self,
        new_groups: str = "raise",
        *,
        metric: str = "riemann",
        prior_strength: Any = "auto",
        reg: float = 0.0,
    ) -> None:
        self.new_groups = new_groups
        self.metric = metric
        self.prior_strength = prior_strength
        self.reg = reg

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    @property
    def groups_(self) -> list[Any]:
        """The groups: those of `fit`, sorted, then those that `partial_fit` added."""
        return list(self._groups.labels)

    @property
    def means_(self) -> Matrices:
        """The mean of each group, shape (n_groups, r, r) or (n_groups, d)."""
        return self._groups.means

    @property
    def weights_(self) -> FloatArray:
        """The number of examples in each mean, kappa included if `partial_fit` added the group."""
        return self._groups.weights

    @property
    def mean_(self) -> Matrices:
        """The mean of the means of the training groups, with equal weights."""
        return self._groups.centre

    @property
    def prior_strength_(self) -> float:
        """The weight kappa of `mean_` in the running mean of a new group, as a number of examples."""
        return self._groups.strength

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Compute the mean of each group.

        Parameters
        ----------
        X : array of shape (l, n, n) or (l, d)
            Symmetric or Hermitian matrices, or vectors.
        y : object, default=None
            Ignored; part of scikit-learn's interface.
        groups : array of shape (l,), str, int or None, default=None
            The group of each example, or one group for all of them. None puts all examples into one group.

        Returns
        -------
        Recentre
            The fitted transformer.

        Raises
        ------
        ValueError
            If X, groups or a parameter is invalid, if a group has only one example, or if its mean is singular.
        """
        self._check_parameters()
        with restored_on_failure(self):
            array = check_examples(self, X, reset=True)
            examples, eps = self._checked(array)
            labels = group_labels(groups, len(array))
            self.n_features_in_ = int(array.shape[1])
            self.basis_ = _shared_range(examples, eps)
            examples = self._restricted(examples)
            strength = None if isinstance(self.prior_strength, str) else self.prior_strength
            self._groups = GroupMeans.fit(self._centring(examples), examples, labels, eps, strength)
        return self

    def partial_fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Move the running means of the groups by more examples, one after the other.

        The first call is a fit. Later calls may add groups; see Notes on the class for the weights.

        Parameters
        ----------
        X : array of shape (l, n, n) or (l, d)
            Matrices or vectors, in the order in which they were recorded.
        y : object, default=None
            Ignored; part of scikit-learn's interface.
        groups : array of shape (l,), str, int or None, default=None
            The group of each example, or one group for all of them. None is the group of examples without groups.

        Returns
        -------
        Recentre
            The fitted transformer.

        Raises
        ------
        ValueError
            If X or groups is invalid.
        """
        if not self.is_fitted():
            return self.fit(X, y, groups)
        examples, labels, eps = self._new_examples(X, groups)
        centring = self._centring(examples)
        require_definite(centring, examples, labels, eps, np.arange(len(labels)))
        self._groups = self._groups.extended(centring, examples, labels)
        return self

    def transform(self, X: Any, groups: Any = None) -> Matrices:
        """Move each example by the mean of its group.

        Parameters
        ----------
        X : array of shape (l, n, n) or (l, d)
            Matrices or vectors, as in `fit`.
        groups : array of shape (l,), str, int or None, default=None
            The group of each example, or one group for all of them. None is the group of examples without groups.

        Returns
        -------
        array of shape (l, r, r) or (l, d)
            The recentred examples.

        Raises
        ------
        ValueError
            If X or groups is invalid, if a group is new and `new_groups` is 'raise', or if a new group has only one
            example or a singular mean and `new_groups` is 'transductive'.
        """
        check_is_fitted(self, "_groups")
        self._check_parameters()
        # Only for matrices: the checks of scikit-learn, which use vectors, allow no warning.
        if groups is None and self.new_groups == "transductive" and self.groups_ == [None] and self.means_.ndim == 3:
            warn(_NO_GROUPS)
        return self._transformed(X, groups)

    def _transformed(self, X: Any, groups: Any) -> Matrices:
        examples, labels, eps = self._new_examples(X, groups)
        centring = self._centring(examples)
        means = np.empty(examples.shape, dtype=self.means_.dtype)
        for label, index in positions_by_label(labels).items():
            means[index] = self._means_for(centring, examples, label, index, eps, groups is None)
        return centring.recentre(examples, means)

    def fit_transform(self, X: Any, y: Any = None, groups: Any = None) -> Matrices:
        """Compute the mean of each group, and move the same examples by it.

        Parameters
        ----------
        X : array of shape (l, n, n) or (l, d)
            Matrices or vectors.
        y : object, default=None
            Ignored; part of scikit-learn's interface.
        groups : array of shape (l,), str, int or None, default=None
            The group of each example, or one group for all of them. None puts all examples into one group.

        Returns
        -------
        array of shape (l, r, r) or (l, d)
            The recentred examples.

        Raises
        ------
        ValueError
            As in `fit`.
        """
        return self.fit(X, y, groups)._transformed(X, groups)

    def _means_for(
        self, centring: Centring, examples: Matrices, label: Any, index: IntArray, eps: float, unnamed: bool
    ) -> Matrices:
        """Return the mean that moves each of the examples of a group, or one mean for all of them."""
        if self.new_groups == "running" and not self._groups.is_training_group(label):
            require_definite(centring, examples[index], [label] * len(index), eps, index)
            return self._groups.running(centring, examples[index], label)[0]
        if label in self._groups.labels:
            return self._groups.mean_of(label)
        if self.new_groups == "raise":
            raise ValueError(_unknown_group(label, int(index[0]), unnamed, self.groups_))
        return group_mean(centring, examples, index, label, eps)

    def _new_examples(self, X: Any, groups: Any) -> tuple[Matrices, list[Any], float]:
        """Return checked examples in the coordinates of the means, their groups, and their precision."""
        array = check_examples(self, X)
        examples, eps = self._checked(array)
        if examples.ndim != self.means_.ndim:
            raise ValueError(f"X has shape {array.shape}, but Recentre was fitted on arrays of {self.means_.ndim} axes")
        if np.iscomplexobj(examples) and not np.iscomplexobj(self.means_):
            raise ValueError(f"X is complex ({examples.dtype}), but Recentre was fitted on real matrices")
        examples = self._restricted(examples.astype(self.means_.dtype, copy=False))
        return examples, group_labels(groups, len(array)), eps

    def _checked(self, array: npt.NDArray[Any]) -> tuple[Matrices, float]:
        """Return finite, symmetric and regularised examples, and the machine epsilon that they were computed with."""
        eps = precision_of(array.dtype)
        examples = as_numbers("X", array)
        if examples.ndim == 3:
            examples = symmetric("X", examples, rtol=symmetry_tolerance(eps))
            n = examples.shape[-1]
            means = np.trace(examples, axis1=1, axis2=2) / n
            examples = examples + self.reg * means[:, None, None] * np.eye(n)
        elif self.reg:
            raise ValueError(f"reg applies to matrices, but X holds vectors, shape {array.shape}; set reg=0")
        return examples, eps

    def _restricted(self, examples: Matrices) -> Matrices:
        return examples if self.basis_ is None else restrict(examples, self.basis_)

    def _centring(self, examples: Matrices) -> Centring:
        return VectorCentring() if examples.ndim == 2 else MatrixCentring(self.metric)

    def _check_parameters(self) -> None:
        for name, allowed in (("new_groups", _NEW_GROUPS), ("metric", METRICS)):
            value = getattr(self, name)
            if not (isinstance(value, str) and value in allowed):
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
        strength = self.prior_strength
        if not (isinstance(strength, str) and strength == "auto") and not (is_number(strength) and strength >= 0):
            raise ValueError(f"prior_strength must be 'auto' or a number >= 0, got {strength!r}")
        if not (is_number(self.reg) and self.reg >= 0):
            raise ValueError(f"reg must be a number >= 0, got {self.reg!r}")

    def _check_restored(self) -> None:
        self._check_parameters()
        if not isinstance(self._groups, GroupMeans):
            raise ValueError("the means of the groups are missing")
        r, basis = self.n_features_in_, self.basis_
        if basis is not None:
            self.basis_ = basis = as_numbers("basis_", basis)
            r = basis.shape[-1]
            shape = (self.n_features_in_, r)
            if basis.shape != shape or not np.allclose(basis.conj().T @ basis, np.eye(r), atol=1e-8):
                raise ValueError("basis_ must have orthonormal columns, with one row per channel")
            if basis.dtype != self._groups.means.dtype or self._groups.means.ndim != 3:
                raise ValueError("basis_ does not belong to the means of the groups")
        self._groups.check((r, r) if self._groups.means.ndim == 3 else (r,))


def _shared_range(examples: Matrices, eps: float) -> Matrices | None:
    """Return a basis of the range of matrices that share a null space, with a warning, or None."""
    if examples.ndim == 2:
        return None
    eigenvalues: FloatArray = np.asarray(np.linalg.eigvalsh(examples), dtype=np.float64)
    basis = None if definite(eigenvalues, eps).all() else range_of_mean(examples, eigenvalues, eps)
    if basis is not None:
        n, r = basis.shape
        warn(
            f"Recentre projects out {n - r} of {n} dimensions, in which all training matrices are singular, as after "
            f"an average reference or the interpolation of channels: it returns {r} x {r} matrices; see basis_"
        )
    return basis


def _unknown_group(label: Any, position: int, unnamed: bool, known: list[Any]) -> str:
    """Return the message about a group that was not in `fit`."""
    seen = f"fit has seen {', '.join(map(repr, known[:5]))}{', ...' if len(known) > 5 else ''}"
    remedy = (
        "call partial_fit with matrices of this group first, or set new_groups='transductive' (the mean of the batch) "
        "or new_groups='running' (the running mean)"
    )
    if unnamed:
        return (
            f"groups is None, but {seen}: pass groups (in a pipeline, with set_transform_request(groups=True) and "
            f"enable_metadata_routing); to treat the batch as a new group, {remedy}"
        )
    return f"groups[{position}] is {label!r}, a new group: {seen}; {remedy}"
