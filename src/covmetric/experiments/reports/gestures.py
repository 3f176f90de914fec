"""The picture of the hand gestures."""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric.estimators import CovMetric
from covmetric.experiments.gestures import GestureTable
from covmetric.plotting import plot_accuracies, plot_embedding
from covmetric.plotting.figures import new_figure


def gesture_figure(table: GestureTable) -> Any:
    """Draw the accuracies, and the test windows of one person in the log-Euclidean and in the learned metric.

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
    >>> from covmetric.experiments.gestures import Row
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> classifier = CovMetricClassifier().fit(data.X, data.y)
    >>> rows = [Row("learned, 3-NN", "CovMetricCV", "mg", 0.9, 1.0, 0.1)]
    >>> len(gesture_figure(GestureTable(rows, {"mg": classifier}, {"mg": (data.X, data.y)}, 20, 3)).axes)
    3
    """
    person = table.people[0]
    X, y = table.test[person]
    figure, axes = new_figure(13, 4.2, 3, width_ratios=[1.5, 1, 1])
    summary = table.summary()
    plot_accuracies(
        axes[0],
        [row.method for row in summary],
        [row.accuracies for row in summary],
        [row.kind for row in summary],
        "one person each",
    )
    fixed = CovMetric("log", lam=np.inf).fit(X, y).metric_
    plot_embedding(axes[1], fixed, X, y, f"W = I, log: the test windows of {person}")
    plot_embedding(axes[2], table.learned[person].metric_, X, y, "the learned metric: the same windows")
    axes[2].legend(loc="best", fontsize=8, markerscale=2)
    figure.suptitle("Hand gestures, learned on one session and tested on the next", fontsize=11)
    return figure
