"""The paper's figure of convergence, with one panel per size and lambda."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.plotting.bars import COLOURS
from covmetric.plotting.excess import FLOOR
from covmetric.plotting.figures import new_figure

#: The colours of the orders, in the order of their appearance: grey, orange and blue, then the others.
_ORDER_COLOURS = (COLOURS[0], COLOURS[2], COLOURS[5], COLOURS[3], COLOURS[1], COLOURS[6], COLOURS[4])
# The widths of the lines of the objective gap and of the certified gap.
_SOLID, _DASHED = 1.6, 1.1
_AXES = {"epoch": "epochs", "projections": "projections onto a half-space", "seconds": "seconds of projections"}


def plot_convergence(points: Sequence[Any], x: str = "epoch") -> Any:
    """Draw the paper's objective gap BD(W_t, xi-bar_t) - P* (solid) and the certified gap (dashed) of each order.

    A line is the median over the seeds, and ends where half of the runs have ended. The band around the objective gap
    reaches from the smallest to the largest value, where a run that has ended counts with its last value.

    Parameters
    ----------
    points : sequence of Point
        The points of a `covmetric.experiments.convergence_table.ConvergenceTable`.
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
    colours = {
        order: _ORDER_COLOURS[number % len(_ORDER_COLOURS)]
        for number, order in enumerate(dict.fromkeys(p.order for p in points))
    }
    figure, grid = new_figure(3.6 * len(lambdas), 2.7 * len(sizes) + 0.4, len(lambdas), len(sizes))
    panels = grid.reshape(len(sizes), len(lambdas))
    for i, n in enumerate(sizes):
        for j, lam in enumerate(lambdas):
            _draw_panel(panels[i, j], [p for p in points if (p.n, p.lam) == (n, lam)], x, colours)
            panels[i, j].set_title(f"n = {n}, lambda = {lam:.0e}", fontsize=10)
            if i == len(sizes) - 1:
                panels[i, j].set_xlabel(_AXES[x], fontsize=9)
            if j == 0:
                panels[i, j].set_ylabel("objective gap", fontsize=9)
    _add_legend(figure, colours)
    return figure


def _draw_panel(axes: Any, points: Sequence[Any], x: str, colours: dict[str, str]) -> None:
    """Draw the lines and bands of all orders for one size and lambda."""
    for order, colour in colours.items():
        seeds = sorted({p.seed for p in points if p.order == order})
        runs = [[p for p in points if (p.order, p.seed) == (order, seed)] for seed in seeds]
        if not runs:
            continue
        at, gaps = _common_positions(runs, x, "objective_gap")
        _, certified = _common_positions(runs, x, "gap")
        shown = at <= np.median([getattr(run[-1], x) for run in runs])
        axes.fill_between(at, gaps.min(axis=0), gaps.max(axis=0), color=colour, alpha=0.2, linewidth=0)
        axes.plot(at[shown], np.median(gaps, axis=0)[shown], "-", color=colour, linewidth=_SOLID)
        axes.plot(at[shown], np.median(certified, axis=0)[shown], "--", color=colour, linewidth=_DASHED)
    axes.set_yscale("log")
    if x != "epoch":
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter("")  # labels between the powers of ten overlap
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _common_positions(runs: Sequence[Sequence[Any]], x: str, name: str) -> tuple[FloatArray, FloatArray]:
    """Return positions on the axis, and the gaps of all runs there, interpolated on the logarithmic scale.

    The start, W = I, is left out: its gap is larger by orders of magnitude, and a logarithmic axis has no zero.
    """
    runs = [[p for p in run if p.epoch > 0] or run for run in runs]
    at = np.unique([float(getattr(p, x)) for run in runs for p in run])
    logs = [
        np.interp(at, [getattr(p, x) for p in run], np.log([max(getattr(p, name), FLOOR) for p in run])) for run in runs
    ]
    return at, np.exp(logs)


def _add_legend(figure: Any, colours: dict[str, str]) -> None:
    """Add one legend above all panels: a colour per order, and the two kinds of lines."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=colour, linewidth=3, label=order) for order, colour in colours.items()]
    handles += [
        Line2D([], [], color="black", linewidth=_SOLID, label="BD(W, xi-bar) - P*, median (band: min to max)"),
        Line2D([], [], color="black", linewidth=_DASHED, linestyle="--", label="certified gap, median"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=9, frameon=False)
