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
            axes.annotate(
                f"{value:.1f}", (place, value + error), (0, 4), textcoords="offset points", ha="center", fontsize=6,
                rotation=90,
            )  # fmt: skip
    low, high = min(v - e for v, e in values.values()), max(v + e for v, e in values.values())
    bottom = max(0.0, 5.0 * np.floor(low / 5.0) - 5.0)
    axes.set_ylim(bottom, high + 0.15 * (high - bottom))
    axes.set_yticks([tick for tick in axes.get_yticks() if bottom <= tick <= 100.0])
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylabel("accuracy, percent (not from 0)", fontsize=8)
    axes.set_title(title, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
