"""The patterns of a learned metric, as a heat map or as maps of the head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from covmetric._utils.validation import check_counts
from covmetric.metric import Patterns
from covmetric.plotting.axes import panels_for
from covmetric.plotting.fitted import find_metric, find_names
from covmetric.plotting.heat_map import DIVERGING, plot_heat_map

# The largest number of entries of a pattern that the heat map shows.
_MAX_ENTRIES = 24


class PatternsDisplay:
    """The first patterns of a learned metric: the directions that count most in the distance.

    Use `from_estimator` to create it.

    Parameters
    ----------
    patterns : Patterns
        The patterns of the metric.
    n_patterns : int, default=4
        The number of patterns to draw.
    info : mne.Info or None, default=None
        The positions of the channels. If given, each pattern is a map of the head, which needs MNE 1.11 or newer.

    Attributes
    ----------
    ax_ : matplotlib Axes, or array of matplotlib Axes
        The axes, after `plot`. There is one per pattern if they are maps of the head.
    figure_ : matplotlib Figure
        The figure, after `plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from covmetric import CovMetric
    >>> from covmetric.plotting import PatternsDisplay
    >>> learner = CovMetric(random_state=0).fit(*load_iris(return_X_y=True))
    >>> display = PatternsDisplay.from_estimator(learner, n_patterns=2, names=["sl", "sw", "pl", "pw"])
    >>> len(display.ax_.get_xticks()), len(display.ax_.get_yticks())
    (2, 4)
    """

    def __init__(self, patterns: Patterns, *, n_patterns: int = 4, info: Any = None) -> None:
        self.patterns = patterns
        self.n_patterns = n_patterns
        self.info = info

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        n_patterns: int = 4,
        names: Sequence[str] | None = None,
        info: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw the patterns of a fitted estimator.

        Parameters
        ----------
        estimator : LearnedMetric, fitted estimator of covmetric, or Pipeline with one
            The estimator.
        n_patterns : int, default=4
            The number of patterns to draw.
        names : sequence of str or None, default=None
            The names of the channels or features. None means those of `info`, or those of the estimator.
        info : mne.Info or None, default=None
            The positions of the channels, for maps of the head.
        ax : matplotlib Axes, sequence of matplotlib Axes, or None, default=None
            The axes. None means a new figure.

        Returns
        -------
        PatternsDisplay
            The display.

        Raises
        ------
        ValueError
            If the number of names or of the channels of `info` differs from the number of channels.
        """
        if names is None and info is not None:
            names = info["ch_names"]
        patterns = find_metric(estimator).patterns(find_names(estimator, names))
        return cls(patterns, n_patterns=n_patterns, info=info).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the patterns.

        Parameters
        ----------
        ax : matplotlib Axes, sequence of matplotlib Axes, or None, default=None
            The axes. None means a new figure. Single axes are divided if there are several maps of the head.

        Returns
        -------
        PatternsDisplay
            The display itself.

        Raises
        ------
        ValueError
            If `n_patterns` is not a positive integer, or `info` does not fit the patterns.
        """
        check_counts(n_patterns=self.n_patterns)
        count = min(self.n_patterns, len(self.patterns))
        titles = [f"pattern {i}\n{100 * self.patterns.shares[i]:.0f} % of tr W" for i in range(count)]
        if self.info is None:
            self._plot_entries(ax, count, titles)
        else:
            self._plot_heads(ax, count, titles)
        return self

    def _plot_entries(self, ax: Any, count: int, titles: list[str]) -> None:
        """Draw the largest entries of the patterns, each scaled to a largest magnitude of 1, as a heat map."""
        scaled = self.patterns.patterns[:count]
        scaled = np.abs(scaled) if np.iscomplexobj(scaled) else scaled
        scaled = scaled / np.maximum(np.abs(scaled).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        largest = np.argsort(-np.abs(scaled).max(axis=0), kind="stable")[:_MAX_ENTRIES]
        shown = np.sort(largest)
        height = 1.6 + 0.24 * len(shown)
        self.ax_ = panels_for(ax, "PatternsDisplay.plot", 1, width=2.2 + 1.1 * count, height=height)[0]
        self.figure_ = self.ax_.figure
        image = plot_heat_map(self.ax_, scaled[:, shown].T, [self.patterns.names[i] for i in shown], titles)
        self.ax_.tick_params(axis="x", rotation=0)
        if len(shown) < scaled.shape[1]:
            self.ax_.set_xlabel(f"the {len(shown)} largest of {scaled.shape[1]} entries", fontsize=9)
        self.figure_.colorbar(image, ax=self.ax_, label="entry, relative to the largest", shrink=0.85)

    def _plot_heads(self, ax: Any, count: int, titles: list[str]) -> None:
        """Draw the patterns as maps of the head by MNE, all in the colours of their own range."""
        spatial_filter = self.patterns.to_mne(self.info)
        self.ax_ = panels_for(ax, "PatternsDisplay.plot", count, width=2.2 * count, height=2.6)
        self.figure_ = self.ax_[0].figure
        for i, (panel, title) in enumerate(zip(self.ax_, titles, strict=True)):
            limit = float(np.abs(self.patterns.patterns[i]).max())
            spatial_filter.plot_patterns(
                [i],
                axes=panel,
                cmap=DIVERGING,
                vlim=(-limit, limit),
                scalings=1.0,
                colorbar=False,
                name_format="",
                show=False,
            )
            panel.set_title(title, fontsize=11)
