"""How far an iteration stays above the optimum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: The smallest value that the logarithmic axis shows.
FLOOR = 1e-12


def plot_excess(
    axes: Any, runs: Sequence[tuple[Sequence[int], Sequence[float]]], certified: float, title: str = ""
) -> None:
    """Draw P(W) - P* against the cycles over the pairs, with one line per run.

    Parameters
    ----------
    axes : matplotlib Axes
        The axes to draw on.
    runs : sequence of (cycles, excesses)
        The cycles of each run and P(W) - P* after each of them.
    certified : float
        The gap to which P* is certified, drawn as a dashed line.
    title : str, default=""
        The title of the axes.

    Examples
    --------
    >>> from covmetric.plotting.figures import new_figure
    >>> figure, (axes,) = new_figure(4, 3, 1)
    >>> plot_excess(axes, [([0, 1, 2], [1.0, 0.3, 0.2])], certified=1e-9)
    >>> len(axes.lines)
    2
    """
    for cycles, excesses in runs:
        axes.plot(cycles, [max(excess, FLOOR) for excess in excesses], color="C3", linewidth=1)
    axes.axhline(certified, color="C0", linestyle="--")
    axes.set(xscale="symlog", yscale="log", xlabel="cycles over the pairs", title=title)
    axes.set_xlim(left=0)
