"""The means of groups of examples, and the running means of groups that come later."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, Matrices, as_floats, as_numbers, is_number, symmetric
from covmetric.embeddings.matrices import definite
from covmetric.embeddings.null_space import range_of_mean
from covmetric.learning.centring import Centring, prior_strength_of_groups
from covmetric.learning.group_labels import group_name, positions_by_label
from covmetric.model_file import register_record


@dataclass(frozen=True)
class GroupMeans:
    """The means of groups.

    Attributes
    ----------
    labels : list
        The groups: the training groups, sorted, then those that were added later.
    means : array of shape (n_groups, ...)
        The mean of each group.
    weights : array of shape (n_groups,)
        The number of examples in each mean; for groups that were added later, the prior strength included.
    n_training : int
        The number of training groups.
    centre : array of shape (...)
        The mean of the means of the training groups, where the running mean of a new group starts.
    strength : float
        The weight of `centre` in the running mean of a new group, as a number of examples.
    """

    labels: list  # type: ignore[type-arg]  # model files check the type of a field, but not of its items
    means: Matrices
    weights: FloatArray
    n_training: int
    centre: Matrices
    strength: float

    @classmethod
    def fit(
        cls, centring: Centring, examples: Matrices, labels: list[Any], eps: float, strength: float | None = None
    ) -> Self:
        """Return the means of training groups.

        Parameters
        ----------
        centring : Centring
            The geometry.
        examples : array of shape (l, ...)
            Checked examples.
        labels : list of length l
            The group of each example.
        eps : float
            The machine epsilon that the examples were computed with.
        strength : float or None, default=None
            The prior strength. None means the estimate of `prior_strength_of_groups`.

        Returns
        -------
        GroupMeans
            The means.

        Raises
        ------
        ValueError
            If a group has only one example, or no mean.
        """
        positions = positions_by_label(labels)
        ordered = sorted(positions, key=lambda label: (str(type(label)), label) if label is not None else ("", 0))
        means = np.stack([group_mean(centring, examples, positions[label], label, eps) for label in ordered])
        centre = centring.mean(means) if len(means) > 1 else means[0]
        parts = [examples[positions[label]] for label in ordered]
        if strength is None:
            strength = prior_strength_of_groups(centring, parts, means, centre)
        weights = np.array([len(part) for part in parts], dtype=np.float64)
        return cls(ordered, means, weights, len(ordered), centre, float(strength))

    def is_training_group(self, label: Any) -> bool:
        """Return whether a group is one of the training groups.

        Parameters
        ----------
        label : object
            The group.

        Returns
        -------
        bool
            Whether `fit` has seen it.
        """
        return label in self.labels[: self.n_training]

    def mean_of(self, label: Any) -> Matrices:
        """Return the mean of a known group.

        Parameters
        ----------
        label : object
            The group.

        Returns
        -------
        array of shape (...)
            The mean.
        """
        return np.asarray(self.means[self.labels.index(label)])

    def running(self, centring: Centring, examples: Matrices, label: Any) -> tuple[Matrices, float]:
        """Return the running mean of a group after each of some examples.

        The example that brings the weight of the mean to w moves the mean by 1/w of the geodesic towards it.

        Parameters
        ----------
        centring : Centring
            The geometry.
        examples : array of shape (l, ...)
            The examples of the group, in their order.
        label : object
            The group, which may be new.

        Returns
        -------
        means : array of shape (l, ...)
            The running mean up to and including each example.
        weight : float
            The weight of the last one.
        """
        mean, weight = self.centre, self.strength
        if label in self.labels:
            mean, weight = self.mean_of(label), float(self.weights[self.labels.index(label)])
        path = np.empty((len(examples), *mean.shape), dtype=mean.dtype)
        for t, example in enumerate(examples):
            weight += 1.0
            path[t] = mean = centring.step(mean, example, 1.0 / weight)
        return path, weight

    def extended(self, centring: Centring, examples: Matrices, labels: list[Any]) -> Self:
        """Return the means after more examples, one after the other.

        Parameters
        ----------
        centring : Centring
            The geometry.
        examples : array of shape (l, ...)
            Checked examples.
        labels : list of length l
            The group of each example, which may be new.

        Returns
        -------
        GroupMeans
            The new means. Groups that are new come last.
        """
        names, means, weights = list(self.labels), list(self.means), self.weights.tolist()
        for label, index in positions_by_label(labels).items():
            path, weight = self.running(centring, examples[index], label)
            if label not in names:
                names.append(label)
                means.append(path[-1])
                weights.append(weight)
            else:
                at = names.index(label)
                means[at], weights[at] = path[-1], weight
        return replace(self, labels=names, means=np.stack(means), weights=np.array(weights))

    def check(self, shape: tuple[int, ...]) -> None:
        """Raise ValueError unless the means, which come from a file, are valid.

        Parameters
        ----------
        shape : tuple of int
            The shape of an example.
        """
        n_groups, means, centre = (
            len(self.labels),
            as_numbers("the means", self.means),
            as_numbers("mean_", self.centre),
        )
        if means.shape != (n_groups, *shape) or centre.shape != shape or means.dtype != centre.dtype:
            raise ValueError(f"there must be one mean of shape {shape} for each group")
        everything = np.concatenate([means, centre[None]])
        if len(shape) == 2 and not (np.linalg.eigvalsh(symmetric("the means", everything))[:, 0] > 0.0).all():
            raise ValueError("the means must be positive definite")
        plain = all(label is None or isinstance(label, str | int | float) for label in self.labels)
        if not plain or len(set(self.labels)) != n_groups or not 1 <= self.n_training <= n_groups:
            raise ValueError("the groups must be different texts or numbers, the training groups first")
        weights = as_floats("the weights of the groups", self.weights)
        if weights.shape != (n_groups,) or not (weights > 0.0).all():
            raise ValueError("the weights of the groups must be positive numbers, one for each group")
        if not (is_number(self.strength) and self.strength >= 0.0):
            raise ValueError(f"the prior strength must be a number >= 0, got {self.strength!r}")


def group_mean(centring: Centring, examples: Matrices, index: IntArray, label: Any, eps: float) -> Matrices:
    """Return the mean of the examples of a group.

    Parameters
    ----------
    centring : Centring
        The geometry.
    examples : array of shape (l, ...)
        Checked examples of all groups.
    index : array of int
        The positions of the examples of the group.
    label : object
        The group, for error messages.
    eps : float
        The machine epsilon that the examples were computed with.

    Returns
    -------
    array of shape (...)
        The mean.

    Raises
    ------
    ValueError
        If the group has only one example, a singular mean, or a matrix that the metric does not allow.
    """
    if len(index) < 2:
        raise ValueError(
            f"{group_name(label)} has only one example (n_samples = 1), X[{int(index[0])}], which would become the "
            "identity, or zero; leave the group out, join it with another one, or use new_groups='running' for new "
            "groups"
        )
    members = examples[index]
    if members.ndim == 2:
        return centring.mean(members)
    eigenvalues = np.asarray(np.linalg.eigvalsh(members), dtype=np.float64)
    basis = None if definite(eigenvalues, eps).all() else range_of_mean(members, eigenvalues, eps)
    if basis is not None:
        raise ValueError(
            f"the mean of {group_name(label)} is singular: its {len(index)} matrices share a null space of dimension "
            f"{len(basis) - basis.shape[1]} that not all groups have, as if a channel were flat or interpolated in "
            "this group only; leave the channel out of all groups, or set reg, for example 1e-6"
        )
    require_definite(centring, members, [label] * len(index), eps, index)
    return centring.mean(members)


def require_definite(centring: Centring, examples: Matrices, labels: list[Any], eps: float, index: IntArray) -> None:
    """Raise ValueError if a matrix is singular and the geometry does not allow it.

    Parameters
    ----------
    centring : Centring
        The geometry.
    examples : array of shape (l, ...)
        The examples.
    labels : list of length l
        The group of each example.
    eps : float
        The machine epsilon that the examples were computed with.
    index : array of int of shape (l,)
        The positions of the examples in X, for error messages.
    """
    if not centring.requires_definite:
        return
    eigenvalues = np.asarray(np.linalg.eigvalsh(examples), dtype=np.float64)
    bad = np.flatnonzero(~definite(eigenvalues, eps))
    if len(bad):
        i = int(bad[0])
        raise ValueError(
            f"X[{int(index[i])}], of {group_name(labels[i])}, is not positive definite, as the metric of Recentre "
            f"requires: its smallest eigenvalue is {eigenvalues[i, 0]:.3g}, its largest {eigenvalues[i, -1]:.3g}; set "
            "reg, for example 1e-6, shrink the estimate, or use metric='euclid'"
        )


register_record(GroupMeans)
