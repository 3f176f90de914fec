"""Groups of bars with error bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from covmetric.plotting.bars import COLOURS

# The width of a group, as a fraction of the distance between groups, and the font size of the numbers above the bars:
# four numbers stand side by side in each of four groups that are 8 inches wide together.
_GROUP_WIDTH = 0.92
_NUMBER = 10
# The space above the highest bar for its number, relative to the height of the axes.
_HEADROOM = 0.1


def plot_groups(
    axes: Any,
    groups: Sequence[str],
    bars: Sequence[str],
    values: Mapping[tuple[str, str], tuple[float, float]],
    title: str = "",
    labels: Mapping[str, str] | None = None,
) -> None:
    """Draw groups of vertical bars with their standard errors.

    Parameters
    ----------
    axes : matplotlib Axes
        The axes to draw on.
    groups : sequence of str
        The names of the groups, from left to right.
    bars : sequence of str
        The names of the bars in each group.
    values : mapping from (group, bar) to (mean, standard error)
        In percent. A bar without a value is left out.
    title : str, default=""
        The title of the axes.
    labels : mapping from str to str, or None, default=None
        The labels of groups and bars, for example {"eye": "W = I"}. A name without a label is its own label.

    Examples
    --------
    >>> from covmetric.plotting.figures import new_figure
    >>> figure, (axes,) = new_figure(3, 3, 1)
    >>> plot_groups(axes, ["log"], ["eye", "is"], {("log", "eye"): (90.0, 1.0), ("log", "is"): (92.0, 0.5)})
    >>> [float(bar.get_height()) for bar in axes.patches]
    [90.0, 92.0]
    """
    labels = labels or {}
    width = _GROUP_WIDTH / len(bars)
    for b, bar in enumerate(bars):
        heights = [values.get((group, bar), (np.nan, 0.0)) for group in groups]
        places = np.arange(len(groups)) + (b - (len(bars) - 1) / 2) * width
        axes.bar(
            places,
            [v for v, _ in heights],
            width,
            yerr=[e for _, e in heights],
            label=labels.get(bar, bar),
            color=COLOURS[b % len(COLOURS)],
            error_kw={"elinewidth": 1.0, "capsize": 2},
        )
        for place, (value, error) in zip(places, heights, strict=True):
            if np.isnan(value):
                continue
            axes.annotate(
                f"{value:.1f}",
                (place, value + error),
                (0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=_NUMBER,
            )
    low, high = min(v - e for v, e in values.values()), max(v + e for v, e in values.values())
    bottom = max(0.0, 5.0 * np.floor(low / 5.0) - 5.0)
    axes.set_ylim(bottom, high + _HEADROOM * (high - bottom))
    axes.set_yticks([tick for tick in axes.get_yticks() if bottom <= tick <= 100.0])
    axes.set_xlim(-0.55, len(groups) - 0.45)
    axes.set_xticks(range(len(groups)), [labels.get(group, group) for group in groups], fontsize=11)
    axes.set_ylabel("accuracy, percent (axis does not start at 0)", fontsize=10)
    axes.set_title(title, fontsize=12)
    axes.spines[["top", "right"]].set_visible(False)
