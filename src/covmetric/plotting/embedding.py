"""Examples in two dimensions, before and after learning."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.plotting.axes import panels_for
from covmetric.plotting.fitted import describe_examples, find_metric
from covmetric.plotting.scatter import plot_plane, principal_plane

# The largest number of classes that the legend names.
_MAX_LEGEND = 24


class EmbeddingDisplay:
    """Examples in the plane of their largest variance, before and after learning.

    Before learning, the distance is the Euclidean distance of Phi(X), W = I. Each panel has its own plane, in which the
    Euclidean distance is the best approximation of the distance by two principal components.

    Use `from_estimator` to create it.

    Parameters
    ----------
    before, after : arrays of shape (l, q)
        The vectors of the examples, whose Euclidean distances are the distances before and after learning.
    y : array of shape (l,)
        The classes.

    Attributes
    ----------
    ax_ : array of two matplotlib Axes
        The axes, after `plot`.
    figure_ : matplotlib Figure
        The figure, after `plot`.

    Examples
    --------
    >>> from covmetric import CovMetric
    >>> from covmetric.datasets import make_spd_classes
    >>> from covmetric.plotting import EmbeddingDisplay
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> display = EmbeddingDisplay.from_estimator(CovMetric(random_state=0).fit(data.X, data.y), data.X, data.y)
    >>> [ax.get_title() for ax in display.ax_]
    ['before learning', 'after learning']
    """

    def __init__(self, before: FloatArray, after: FloatArray, y: Any) -> None:
        self.before = before
        self.after = after
        self.y = y

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw examples under the metric of a fitted estimator, and under W = I.

        Parameters
        ----------
        estimator : LearnedMetric, fitted estimator of covmetric, or Pipeline with one
            The estimator.
        X : array or list
            The examples, as the estimator takes them.
        y : array of shape (l,)
            Their classes.
        ax : matplotlib Axes, two matplotlib Axes, or None, default=None
            The axes. None means a new figure.

        Returns
        -------
        EmbeddingDisplay
            The display.

        Raises
        ------
        ValueError
            If X and y have different lengths.
        """
        metric, examples = find_metric(estimator), describe_examples(estimator, X)
        if np.shape(y) != (len(examples),):
            raise ValueError(f"y must have one class per example, shape ({len(examples)},); got shape {np.shape(y)}")
        embedded = metric.embedding.transform(examples)
        return cls(embedded.reshape(len(embedded), -1), metric.map(embedded), y).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the two panels.

        Parameters
        ----------
        ax : matplotlib Axes, two matplotlib Axes, or None, default=None
            The axes. None means a new figure. Single axes are divided.

        Returns
        -------
        EmbeddingDisplay
            The display itself.
        """
        self.ax_ = panels_for(ax, "EmbeddingDisplay.plot", 2, width=9.0, height=4.2)
        self.figure_ = self.ax_[0].figure
        first, second = principal_plane(self.before), principal_plane(self.after)
        # The sign of a principal component is arbitrary: keep the points on the sides where they were.
        second[0][:] *= np.where((first[0] * second[0]).sum(axis=0) < 0.0, -1.0, 1.0)
        titles = ("before learning", "after learning")
        for panel, (plane, percent, dimension), title in zip(self.ax_, (first, second), titles, strict=True):
            plot_plane(panel, plane, self.y, title)
            panel.set_xlabel(f"two of {dimension} components,\n{percent:.0f} % of the variance", fontsize=9)
        handles, names = self.ax_[1].get_legend_handles_labels()
        if len(names) <= _MAX_LEGEND:
            columns = 1 + (len(names) - 1) // 12
            self.ax_[1].legend(
                handles, names, loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=columns, fontsize=8, frameon=False,
                markerscale=1.6,
            )  # fmt: skip
        return self
