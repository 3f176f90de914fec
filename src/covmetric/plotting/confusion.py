"""Confusion matrices that stay readable with many classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.metrics import confusion_matrix

from covmetric._utils.validation import IntArray
from covmetric.plotting.axes import axes_for
from covmetric.plotting.heat_map import plot_heat_map, shortened

# The largest number of classes for which the cells show their counts.
_MAX_NUMBERS = 20


class ConfusionDisplay:
    """How often examples of each class were assigned to each class.

    The colour is the percentage of the true class, and the number is the count. scikit-learn's `ConfusionMatrixDisplay`
    draws the same matrix; this display leaves out numbers and names that do not fit.

    Use `from_estimator` or `from_predictions` to create it.

    Parameters
    ----------
    confusion_matrix : array of int of shape (n_classes, n_classes)
        The counts. Rows are true classes, columns are predicted classes.
    display_labels : sequence
        The classes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, after `plot`.
    figure_ : matplotlib Figure
        The figure, after `plot`.

    Examples
    --------
    >>> from covmetric.plotting import ConfusionDisplay
    >>> display = ConfusionDisplay.from_predictions(["a", "a", "b"], ["a", "b", "b"])
    >>> display.confusion_matrix
    array([[1, 1],
           [0, 1]])
    """

    def __init__(self, confusion_matrix: IntArray, display_labels: Sequence[Any]) -> None:
        self.confusion_matrix = confusion_matrix
        self.display_labels = display_labels

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw the confusion of the predictions of a classifier.

        Parameters
        ----------
        estimator : classifier
            A fitted classifier, or a pipeline with one.
        X : array or list
            The examples.
        y : array of shape (l,)
            Their classes.
        ax : matplotlib Axes or None, default=None
            The axes. None means a new figure.

        Returns
        -------
        ConfusionDisplay
            The display.
        """
        return cls.from_predictions(y, estimator.predict(X), ax=ax)

    @classmethod
    def from_predictions(cls, y_true: Any, y_pred: Any, *, ax: Any = None) -> Self:
        """Draw the confusion of predictions.

        Parameters
        ----------
        y_true : array of shape (l,)
            The true classes.
        y_pred : array of shape (l,)
            The predicted classes.
        ax : matplotlib Axes or None, default=None
            The axes. None means a new figure.

        Returns
        -------
        ConfusionDisplay
            The display.
        """
        labels = np.unique(np.concatenate([np.asarray(y_true), np.asarray(y_pred)]))
        return cls(confusion_matrix(y_true, y_pred, labels=labels), labels.tolist()).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            The axes. None means a new figure.

        Returns
        -------
        ConfusionDisplay
            The display itself.
        """
        counts = np.asarray(self.confusion_matrix)
        side = float(np.clip(2.6 + 0.3 * len(counts), 3.6, 9.0))
        self.ax_ = axes_for(ax, "ConfusionDisplay.plot", side + 0.8, side - 0.2)
        self.figure_ = self.ax_.figure
        percent = 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        names = [shortened(label) for label in self.display_labels]
        image = plot_heat_map(self.ax_, percent, names, names, "Blues", (0.0, 100.0))
        if len(counts) <= _MAX_NUMBERS:
            for (i, j), count in np.ndenumerate(counts):
                if count:
                    colour = "white" if percent[i, j] > 55.0 else "black"
                    self.ax_.text(j, i, f"{count}", ha="center", va="center", fontsize=8, color=colour)
        self.ax_.set(xlabel="predicted class", ylabel="true class")
        self.figure_.colorbar(image, ax=self.ax_, label="percent of the true class", shrink=0.85)
        return self
