"""The importance of the channels, as bars or as a map of the head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.plotting.axes import axes_for
from covmetric.plotting.bars import COLOURS
from covmetric.plotting.fitted import describe_examples, find_metric, find_names
from covmetric.plotting.heat_map import shortened

# The largest number of bars.
_MAX_BARS = 24


class ImportanceDisplay:
    """The importance of each channel or feature for a learned metric.

    Use `from_estimator` to create it.

    Parameters
    ----------
    importance : array of shape (n,)
        The importance of each channel. The entries sum to 1.
    names : sequence of str
        The names of the channels.
    info : mne.Info or None, default=None
        The positions of the channels. If given, the importance is a map of the head, which needs MNE.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, after `plot`.
    figure_ : matplotlib Figure
        The figure, after `plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from covmetric import CovMetric
    >>> from covmetric.plotting import ImportanceDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = ImportanceDisplay.from_estimator(CovMetric(random_state=0).fit(X, y), X)
    >>> len(display.ax_.patches)
    4
    """

    def __init__(self, importance: FloatArray, names: Sequence[str], *, info: Any = None) -> None:
        self.importance = importance
        self.names = names
        self.info = info

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, names: Sequence[str] | None = None, info: Any = None, ax: Any = None
    ) -> Self:
        """Draw the importance of the channels for the metric of a fitted estimator.

        Parameters
        ----------
        estimator : LearnedMetric, fitted estimator of covmetric, or Pipeline with one
            The estimator.
        X : array or list, or None, default=None
            Examples. If given, the importance of a channel is its part of the mean squared distance between them,
            otherwise its weight in W; see `LearnedMetric.importance`.
        names : sequence of str or None, default=None
            The names of the channels or features. None means those of `info`, or those of the estimator.
        info : mne.Info or None, default=None
            The positions of the channels, for a map of the head.
        ax : matplotlib Axes or None, default=None
            The axes. None means a new figure.

        Returns
        -------
        ImportanceDisplay
            The display.

        Raises
        ------
        ValueError
            If the number of names or of the channels of `info` differs from the number of channels.
        """
        if names is None and info is not None:
            names = info["ch_names"]
        examples = None if X is None else describe_examples(estimator, X)
        importance = find_metric(estimator).importance(examples)
        return cls(importance, find_names(estimator, names), info=info).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the importance.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            The axes. None means a new figure.

        Returns
        -------
        ImportanceDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed, or MNE for a map of the head.
        """
        if self.info is None:
            self._plot_bars(ax)
        else:
            self._plot_head(ax)
        return self

    def _plot_bars(self, ax: Any) -> None:
        percent = 100 * np.asarray(self.importance, dtype=np.float64)
        order = np.argsort(-np.abs(percent), kind="stable")[:_MAX_BARS]
        self.ax_ = axes_for(ax, "ImportanceDisplay.plot", 5.0, 1.0 + 0.24 * len(order))
        self.figure_ = self.ax_.figure
        self.ax_.barh(range(len(order)), percent[order], color=COLOURS[5], height=0.7)
        self.ax_.set_yticks(range(len(order)), [shortened(self.names[i]) for i in order], fontsize=9)
        self.ax_.invert_yaxis()
        left_out = "" if len(order) == len(percent) else f"; the first {len(order)} of {len(percent)} channels"
        self.ax_.set_xlabel(f"importance, percent{left_out}")
        self.ax_.spines[["top", "right"]].set_visible(False)

    def _plot_head(self, ax: Any) -> None:
        self.ax_ = axes_for(ax, "ImportanceDisplay.plot", 3.6, 3.2)
        self.figure_ = self.ax_.figure
        try:
            from mne.viz import plot_topomap
        except ImportError as error:
            raise ImportError(f"ImportanceDisplay.plot needs the package mne for a map of the head: {error}") from error
        percent = 100 * np.asarray(self.importance, dtype=np.float64)
        limits = (min(float(percent.min()), 0.0), float(percent.max()))
        image, _ = plot_topomap(percent, self.info, axes=self.ax_, show=False, cmap="viridis", vlim=limits)
        self.figure_.colorbar(image, ax=self.ax_, label="importance, percent", shrink=0.7)
