"""Examples in the plane of their largest variance under a metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric.metric import LearnedMetric


def plot_embedding(axes: Any, metric: LearnedMetric, X: Any, y: Any, title: str = "") -> None:
    """Draw examples in their first two principal components under a metric, coloured by class.

    Parameters
    ----------
    axes : matplotlib Axes
        The axes to draw on.
    metric : LearnedMetric
        The metric.
    X : array of shape (l, n, n)
        The matrices.
    y : array of shape (l,)
        Their classes.
    title : str, default=""
        The title of the axes.

    Examples
    --------
    >>> from covmetric import CovMetric
    >>> from covmetric.datasets import make_spd_classes
    >>> from covmetric.plotting.figures import new_figure
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> figure, (axes,) = new_figure(3, 3, 1)
    >>> plot_embedding(axes, CovMetric("log", lam=np.inf).fit(data.X, data.y).metric_, data.X, data.y)
    >>> [len(points.get_offsets()) for points in axes.collections]
    [10, 10]
    """
    vectors = metric.transform(X)
    centred = vectors - vectors.mean(axis=0)
    _, values, directions = np.linalg.svd(centred, full_matrices=False)
    plane = centred @ directions[:2].T
    plane = plane if plane.shape[1] == 2 else np.column_stack([plane, np.zeros(len(plane))])
    for c, name in enumerate(np.unique(y)):
        chosen = np.asarray(y) == name
        axes.scatter(*plane[chosen].T, s=6, color=f"C{c % 10}", label=str(name), alpha=0.8, linewidths=0)
    percent = 100 * (values[:2] ** 2).sum() / max((values**2).sum(), 1e-300)
    axes.set_title(title, fontsize=9)
    axes.set_xlabel(f"two of {len(values)} principal components, {percent:.0f} % of the variance", fontsize=8)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal", "datalim")
