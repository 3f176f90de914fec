"""Examples in the plane of their largest variance under a metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.metric import LearnedMetric
from covmetric.plotting.bars import COLOURS
from covmetric.plotting.heat_map import shortened

# The colours of the classes, without the faint yellow but with a brown, and the markers of each turn through them.
_CLASS_COLOURS = (COLOURS[5], COLOURS[2], COLOURS[3], COLOURS[6], COLOURS[1], "#000000", "#8C510A", COLOURS[0])
_MARKERS = "os^Dv*XP"


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
    plane, percent, dimension = principal_plane(metric.transform(X))
    plot_plane(axes, plane, y, title)
    axes.set_xlabel(f"two of {dimension} principal components, {percent:.0f} % of the variance", fontsize=8)


def principal_plane(vectors: FloatArray) -> tuple[FloatArray, float, int]:
    """Project vectors onto the plane of their largest variance.

    Parameters
    ----------
    vectors : array of shape (l, q)
        The vectors.

    Returns
    -------
    plane : array of shape (l, 2)
        Their first two principal components; the second one is 0 if there is only one.
    percent : float
        The percentage of the variance in this plane.
    dimension : int
        The number of principal components.

    Examples
    --------
    >>> plane, percent, dimension = principal_plane(np.array([[0.0, 0.0], [3.0, 4.0]]))
    >>> plane.round(3).tolist(), round(percent), dimension
    ([[-2.5, 0.0], [2.5, 0.0]], 100, 2)
    """
    centred = vectors - vectors.mean(axis=0)
    _, values, directions = np.linalg.svd(centred, full_matrices=False)
    signs = np.sign(np.take_along_axis(directions[:2], np.abs(directions[:2]).argmax(axis=1)[:, None], axis=1))
    plane = centred @ (signs * directions[:2]).T  # the sign of a direction is arbitrary: its largest entry is positive
    plane = plane if plane.shape[1] == 2 else np.column_stack([plane, np.zeros(len(plane))])
    return plane + 0.0, 100 * float((values[:2] ** 2).sum() / max((values**2).sum(), 1e-300)), len(values)


def plot_plane(axes: Any, plane: FloatArray, y: Any, title: str = "") -> None:
    """Draw points in the plane, with a colour and a marker for each class.

    Parameters
    ----------
    axes : matplotlib Axes
        The axes to draw on.
    plane : array of shape (l, 2)
        The points.
    y : array of shape (l,)
        Their classes.
    title : str, default=""
        The title of the axes.

    Examples
    --------
    >>> from covmetric.plotting.figures import new_figure
    >>> figure, (axes,) = new_figure(3, 3, 1)
    >>> plot_plane(axes, np.zeros((3, 2)), ["a", "b", "a"])
    >>> axes.get_legend_handles_labels()[1]
    ['a', 'b']
    """
    labels = np.asarray(y)
    # Small points where there are many, so that classes that overlap remain visible.
    size = float(np.clip(2500 / max(len(plane), 1), 6, 24))
    for c, name in enumerate(np.unique(labels)):
        colour = _CLASS_COLOURS[c % len(_CLASS_COLOURS)]
        marker = _MARKERS[c // len(_CLASS_COLOURS) % len(_MARKERS)]
        chosen = labels == name
        axes.scatter(
            *plane[chosen].T, s=size, color=colour, marker=marker, label=shortened(name), alpha=0.8, linewidths=0
        )
    axes.set_title(title, fontsize=9)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal", "datalim")
