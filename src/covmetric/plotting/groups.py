"""Bars in groups, with error bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from covmetric.plotting.bars import COLOURS


def plot_groups(
    axes: Any,
    groups: Sequence[str],
    bars: Sequence[str],
    values: Mapping[tuple[str, str], tuple[float, float]],
    title: str = "",
) -> None:
    """For each group a bar of each kind, with its standard error.

    Parameters
    ----------
    axes : matplotlib Axes
    groups, bars : sequences of str
    values : mapping from (group, bar) to (mean, standard error)
    title : str
    """
    width = 0.8 / len(bars)
    for b, bar in enumerate(bars):
        known = [values.get((group, bar), (np.nan, 0.0)) for group in groups]
        places = np.arange(len(groups)) + (b - (len(bars) - 1) / 2) * width
        axes.bar(
            places, [v for v, _ in known], width, yerr=[e for _, e in known], label=bar, color=COLOURS[b], capsize=2
        )
        for place, (value, error) in zip(places, known, strict=True):
            axes.text(place, value + error + 0.3, f"{value:.1f}", ha="center", va="bottom", fontsize=6, rotation=90)
    low = min(v - e for v, e in values.values())
    axes.set_ylim(max(0.0, 5.0 * np.floor(low / 5.0) - 5.0), 104.0)
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylabel("accuracy, percent (not from 0)", fontsize=8)
    axes.set_title(title, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
