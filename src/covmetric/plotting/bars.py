"""Accuracies as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

#: Colours that are told apart with colour-blind eyes, too (Okabe and Ito).
COLOURS = ("#999999", "#56B4E9", "#D55E00", "#009E73", "#F0E442", "#0072B2", "#CC79A7")


def plot_accuracies(
    axes: Any, names: Sequence[str], values: Sequence[Sequence[float]], kinds: Sequence[str], unit: str = ""
) -> None:
    """Horizontal bars of mean accuracies in percent, a dot for each single one, coloured by kind.

    Parameters
    ----------
    axes : matplotlib Axes
    names : sequence of str
        Of the methods, the first at the top.
    values : sequence of sequences of floats
        The accuracies of each method, from 0 to 1.
    kinds : sequence of str
        The kind of each method; one colour each.
    unit : str
        What a dot stands for.
    """
    known = list(dict.fromkeys(kinds))
    for row, (several, kind) in enumerate(zip(values, kinds, strict=True)):
        mean = 100 * float(np.mean(several))
        label = kind if kinds.index(kind) == row else None
        axes.barh(row, mean, color=COLOURS[known.index(kind)], label=label, height=0.7)
        axes.plot([100 * v for v in several], [row] * len(several), "o", color="black", markersize=3)
        axes.text(101, row, f"{mean:.1f}", va="center", fontsize=8)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, 112)
    axes.set_xlabel("accuracy, percent" + (f"; dots: {unit}" if unit else ""))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=len(known), fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
