"""The paper's figure of convergence, with one panel per size and lambda."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from covmetric.plotting.bars import COLOURS
from covmetric.plotting.excess import FLOOR
from covmetric.plotting.figures import new_figure

#: The colours of the orders, in the order of their appearance: grey, orange and blue, then the others.
_ORDER_COLOURS = (COLOURS[0], COLOURS[2], COLOURS[5], COLOURS[3], COLOURS[1], COLOURS[6], COLOURS[4])
_AXES = {"epoch": "epochs", "projections": "projections onto a half-space", "seconds": "seconds"}


def plot_convergence(points: Sequence[Any], x: str = "epoch") -> Any:
    """Draw P(W_t) - P* of the best iterate so far (solid) and its certified bound (dashed).

    Parameters
    ----------
    points : sequence of Point
        The points of a `covmetric.experiments.convergence.ConvergenceTable`.
    x : {'epoch', 'projections', 'seconds'}, default='epoch'
        The horizontal axis.

    Returns
    -------
    matplotlib Figure
        One panel per size and lambda.

    Raises
    ------
    ValueError
        If `x` is unknown.

    Examples
    --------
    >>> from covmetric.experiments.convergence import convergence
    >>> table = convergence(sizes=[4], lambdas=[1e-1, 1e-2], orders=["perm"], seeds=1)
    >>> [axes.get_title() for axes in plot_convergence(table.points).axes]
    ['n = 4, lambda = 1e-01', 'n = 4, lambda = 1e-02']
    """
    if x not in _AXES:
        raise ValueError(f"x must be one of {', '.join(map(repr, _AXES))}, got {x!r}")
    sizes = sorted({p.n for p in points})
    lambdas = sorted({p.lam for p in points}, reverse=True)
    figure, grid = new_figure(3.6 * len(lambdas), 2.7 * len(sizes), len(lambdas), len(sizes))
    panels = grid.reshape(len(sizes), len(lambdas))
    for i, n in enumerate(sizes):
        for j, lam in enumerate(lambdas):
            _panel(panels[i, j], [p for p in points if (p.n, p.lam) == (n, lam)], x)
            panels[i, j].set_title(f"n = {n}, lambda = {lam:.0e}", fontsize=9)
            if i == len(sizes) - 1:
                panels[i, j].set_xlabel(_AXES[x], fontsize=8)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), fontsize=8, frameon=False)
    figure.supylabel("above the optimum", fontsize=9)
    return figure


def _panel(axes: Any, points: Sequence[Any], x: str) -> None:
    for number, order in enumerate(dict.fromkeys(p.order for p in points)):
        colour = _ORDER_COLOURS[number % len(_ORDER_COLOURS)]
        for seed in sorted({p.seed for p in points}):
            run = [p for p in points if (p.order, p.seed) == (order, seed)]
            at = [getattr(p, x) for p in run]
            true = np.maximum(np.minimum.accumulate([p.true_gap for p in run]), FLOOR)
            names = {"solid": f"{order}, P(W) - P*", "dashed": f"{order}, certified"} if seed == 0 else {}
            axes.plot(at, true, color=colour, linewidth=1.2, label=names.get("solid"))
            axes.plot(
                at, [max(p.gap, FLOOR) for p in run], "--", color=colour, linewidth=0.8, label=names.get("dashed")
            )
    axes.set_yscale("log")
    if x != "epoch":
        axes.set_xscale("log")
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
