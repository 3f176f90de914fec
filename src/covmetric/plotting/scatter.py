"""Examples in the plane of a metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric.metric import LearnedMetric


def plot_embedding(axes: Any, metric: LearnedMetric, X: Any, y: Any, title: str = "") -> None:
    """The examples in the two directions in which the metric sees most of their variance, coloured by class.

    Parameters
    ----------
    axes : matplotlib Axes
    metric : LearnedMetric
    X : array, shape (l, n, n)
    y : array, shape (l,)
    title : str
    """
    vectors = metric.transform(X)
    centred = vectors - vectors.mean(axis=0)
    _, values, directions = np.linalg.svd(centred, full_matrices=False)
    plane = centred @ directions[:2].T
    plane = plane if plane.shape[1] == 2 else np.column_stack([plane, np.zeros(len(plane))])
    for c, name in enumerate(np.unique(y)):
        chosen = np.asarray(y) == name
        axes.scatter(*plane[chosen].T, s=6, color=f"C{c % 10}", label=str(name), alpha=0.8, linewidths=0)
    share = 100 * (values[:2] ** 2).sum() / max((values**2).sum(), 1e-300)
    axes.set_title(title, fontsize=9)
    axes.set_xlabel(f"two of {len(values)} directions, {share:.0f} % of the variance", fontsize=8)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal", "datalim")
