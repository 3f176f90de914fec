"""Accuracies as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

#: Colours that colour-blind readers can tell apart (Okabe and Ito).
COLOURS = ("#999999", "#56B4E9", "#D55E00", "#009E73", "#F0E442", "#0072B2", "#CC79A7")


def plot_accuracies(
    axes: Any, names: Sequence[str], values: Sequence[Sequence[float]], kinds: Sequence[str], unit: str = ""
) -> None:
    """Draw mean accuracies as horizontal bars, coloured by kind, with a dot for each accuracy.

    Parameters
    ----------
    axes : matplotlib Axes
        The axes to draw on.
    names : sequence of str
        The names of the methods, from top to bottom.
    values : sequence of sequences of float
        The accuracies of each method, from 0 to 1.
    kinds : sequence of str
        The kind of each method, which determines its colour.
    unit : str, default=""
        What a dot stands for.

    Examples
    --------
    >>> from covmetric.plotting.figures import new_figure
    >>> figure, (axes,) = new_figure(6, 3, 1)
    >>> plot_accuracies(axes, ["log", "CovMetric"], [[0.8, 0.9], [0.9, 1.0]], ["fixed", "learned"], "one fold each")
    >>> [round(bar.get_width()) for bar in axes.patches]
    [85, 95]
    """
    distinct_kinds = list(dict.fromkeys(kinds))
    for row, (accuracies, kind) in enumerate(zip(values, kinds, strict=True)):
        mean = 100 * float(np.mean(accuracies))
        label = kind if kinds.index(kind) == row else None
        axes.barh(row, mean, color=COLOURS[distinct_kinds.index(kind)], label=label, height=0.7)
        axes.plot([100 * v for v in accuracies], [row] * len(accuracies), "o", color="black", markersize=3)
        axes.text(101, row, f"{mean:.1f}", va="center", fontsize=8)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, 112)
    axes.set_xlabel("accuracy, percent" + (f"; dots: {unit}" if unit else ""))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=len(distinct_kinds), fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
