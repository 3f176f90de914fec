"""The picture of the hand gestures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from covmetric.estimators import CovMetric
from covmetric.experiments.gesture_results import GestureSummary, GestureTable
from covmetric.plotting import plot_embedding
from covmetric.plotting.bars import COLOURS
from covmetric.plotting.figures import new_figure


def gesture_figure(table: GestureTable) -> Any:
    """Draw the accuracies, and the test windows of one person in the log-Euclidean and in a learned metric.

    The learned metric is the one whose accuracy is nearest to the mean, so that the picture shows neither the best nor
    the worst case.

    Parameters
    ----------
    table : GestureTable
        The result of `gestures`.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> from covmetric import CovMetricClassifier
    >>> from covmetric.datasets import make_spd_classes
    >>> from covmetric.experiments.gesture_results import LearnedRun, Row
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> row = Row("covmetric", "CovMetricCV, 3-NN", "mg", 0, 0.9, 1.0, 0.1)
    >>> run = LearnedRun(row, CovMetricClassifier().fit(data.X, data.y))
    >>> len(gesture_figure(GestureTable([row], [run], {"mg": (data.X, data.y)}, 20, 3)).axes)
    3
    """
    method = table.learned_methods[0]
    typical = table.typical(method)
    person, accuracy = typical.row.person, 100 * typical.row.accuracy
    mean = 100 * float(table.accuracies(method).mean())
    X, y = table.test[person]
    figure, axes = new_figure(14, 4.8, 3, width_ratios=[1.5, 1, 1])
    _plot_ranges(axes[0], table.summary(), len(table.seeds), method)
    fixed = CovMetric("log", lam=np.inf).fit(X, y).metric_
    plot_embedding(axes[1], fixed, X, y, f"fixed metric (log)\ntest windows of person {person}")
    plot_embedding(
        axes[2],
        typical.classifier.metric_,
        X,
        y,
        f"learned metric ({method})\nseed {typical.row.seed}: {accuracy:.1f} %, nearest to the mean of {mean:.1f} %",
    )
    axes[2].legend(loc="best", fontsize=8, markerscale=2)
    figure.suptitle("Hand gestures, learned on one session and tested on the next", fontsize=12)
    return figure


def _plot_ranges(axes: Any, summary: Sequence[GestureSummary], n_seeds: int, recommended: str) -> None:
    """Draw mean accuracies as dots, coloured by kind, with their ranges over the seeds as whiskers."""
    kinds = list(dict.fromkeys(row.kind for row in summary))
    for place, row in enumerate(summary):
        mean, low, high = 100 * row.accuracy, 100 * row.lowest, 100 * row.highest
        label = row.kind if summary[place - 1].kind != row.kind or place == 0 else None
        colour = COLOURS[kinds.index(row.kind)]
        whiskers = [[mean - low], [high - mean]] if row.seeds > 1 else None
        axes.errorbar(mean, place, xerr=whiskers, fmt="o", color=colour, capsize=4, markersize=7, label=label)
        axes.text(1.02, place, f"{mean:.1f}", va="center", fontsize=9, transform=axes.get_yaxis_transform())
    methods = [row.method for row in summary]
    axes.set_yticks(range(len(methods)), methods)
    axes.get_yticklabels()[methods.index(recommended)].set_fontweight("bold")
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
    seeds = f"; whiskers: range over {n_seeds} seeds" if n_seeds > 1 else ""
    axes.set_xlabel(f"mean accuracy, percent (axis does not start at 0){seeds}", fontsize=9)
    # Above the axes, because the whiskers may reach anywhere.
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
