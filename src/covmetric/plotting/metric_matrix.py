"""The matrix W of a learned metric as a labelled heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.plotting.axes import axes_for
from covmetric.plotting.fitted import find_metric, find_names
from covmetric.plotting.heat_map import plot_heat_map


class MetricMatrixDisplay:
    """The learned matrix W as a heat map. Its rows are channels or features, or whatever the rows of Phi are.

    Use `from_estimator` to create it.

    Parameters
    ----------
    W : array of shape (n, n)
        The matrix.
    names : sequence of str
        The names of its rows.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, after `plot`.
    figure_ : matplotlib Figure
        The figure, after `plot`.
    image_ : matplotlib AxesImage
        The image, after `plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from covmetric import CovMetric
    >>> from covmetric.plotting import MetricMatrixDisplay
    >>> learner = CovMetric(random_state=0).fit(*load_iris(return_X_y=True))
    >>> display = MetricMatrixDisplay.from_estimator(learner, names=["sl", "sw", "pl", "pw"])
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['sl', 'sw', 'pl', 'pw']
    """

    def __init__(self, W: FloatArray, names: Sequence[str]) -> None:
        self.W = W
        self.names = names

    @classmethod
    def from_estimator(cls, estimator: Any, *, names: Sequence[str] | None = None, ax: Any = None) -> Self:
        """Draw the matrix of a fitted estimator.

        Parameters
        ----------
        estimator : LearnedMetric, fitted estimator of covmetric, or Pipeline with one
            The estimator.
        names : sequence of str or None, default=None
            The names of the channels or features. None means those of the estimator, or x0, x1, ...
        ax : matplotlib Axes or None, default=None
            The axes. None means a new figure.

        Returns
        -------
        MetricMatrixDisplay
            The display.

        Raises
        ------
        ValueError
            If the number of names differs from the number of channels.
        """
        metric = find_metric(estimator)
        W, embedding = metric.W, metric.embedding
        rows = embedding.row_names(find_names(estimator, names))
        unit = np.eye(len(W) // embedding.copies_)
        if embedding.to_named_rows(unit) is not unit:  # the rows of Phi are coordinates in a basis
            rows = [f"component {i}" for i in range(len(unit))]
        if embedding.copies_ == 2:  # the real form of a Hermitian matrix
            rows = [f"{part} {name}" for part in ("Re", "Im") for name in rows]
        return cls(W, rows).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            The axes. None means a new figure.

        Returns
        -------
        MetricMatrixDisplay
            The display itself.
        """
        self.ax_ = axes_for(ax, "MetricMatrixDisplay.plot", 6.4, 5.4)
        self.figure_ = self.ax_.figure
        self.image_ = plot_heat_map(self.ax_, np.asarray(self.W), self.names, self.names)
        self.figure_.colorbar(self.image_, ax=self.ax_, label="entry of W", shrink=0.85)
        return self
