"""The paper's figure of convergence: a panel for each size and lambda."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from covmetric.plotting.bars import COLOURS

_ORDER_COLOURS = {"cyclic": COLOURS[0], "perm": COLOURS[2], "rand": COLOURS[5]}
_AXES = {"epoch": "epochs", "projections": "projections onto a half-space", "seconds": "seconds"}


def plot_convergence(points: Sequence[Any], x: str = "epoch") -> Any:
    """A figure of panels: P(W_t) - P* of the best iterate so far (solid) and its certified bound (dashed).

    Parameters
    ----------
    points : sequence of `experiments.convergence.Point`
    x : {"epoch", "projections", "seconds"}, default="epoch"

    Returns
    -------
    matplotlib Figure
    """
    if x not in _AXES:
        raise ValueError(f"x must be one of {', '.join(map(repr, _AXES))}, got {x!r}")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    sizes = sorted({p.n for p in points})
    lambdas = sorted({p.lam for p in points}, reverse=True)
    figure = Figure(figsize=(3.6 * len(lambdas), 2.7 * len(sizes)), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(sizes), len(lambdas), squeeze=False)
    for i, n in enumerate(sizes):
        for j, lam in enumerate(lambdas):
            here = [p for p in points if (p.n, p.lam) == (n, lam)]
            _panel(panels[i, j], here, x)
            panels[i, j].set_title(f"n = {n}, lambda = {lam:.0e}", fontsize=9)
            if i == len(sizes) - 1:
                panels[i, j].set_xlabel(_AXES[x], fontsize=8)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), fontsize=8, frameon=False)
    figure.supylabel("above the optimum", fontsize=9)
    return figure


def _panel(axes: Any, points: Sequence[Any], x: str) -> None:
    for order in dict.fromkeys(p.order for p in points):
        colour = _ORDER_COLOURS.get(order, COLOURS[3])
        for seed in sorted({p.seed for p in points}):
            run = [p for p in points if (p.order, p.seed) == (order, seed)]
            at = [getattr(p, x) for p in run]
            true = np.maximum(np.minimum.accumulate([p.true_gap for p in run]), 1e-12)
            names = {"solid": f"{order}, P(W) - P*", "dashed": f"{order}, certified"} if seed == 0 else {}
            axes.plot(at, true, color=colour, linewidth=1.2, label=names.get("solid"))
            axes.plot(
                at, [max(p.gap, 1e-12) for p in run], "--", color=colour, linewidth=0.8, label=names.get("dashed")
            )
    axes.set_yscale("log")
    if x != "epoch":
        axes.set_xscale("log")
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
