"""A labelled heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray

#: A diverging map that colour-blind readers can read: orange is positive, purple is negative, white is zero.
DIVERGING = "PuOr_r"
# The space that a label needs, in points, and the largest and smallest font size.
_SPACING, _LARGEST, _SMALLEST = 1.15, 9.0, 5.5


def plot_heat_map(
    axes: Any,
    values: FloatArray,
    row_names: Sequence[str],
    column_names: Sequence[str],
    cmap: str = DIVERGING,
    limits: tuple[float, float] | None = None,
) -> Any:
    """Draw a matrix as an image with the names of its rows and columns.

    If there is not enough room, only every second, third, ... name is shown.

    Parameters
    ----------
    axes : matplotlib Axes
        The axes to draw on.
    values : array of shape (r, c)
        The matrix.
    row_names, column_names : sequences of str
        The names.
    cmap : str, default="PuOr_r"
        The colour map.
    limits : (float, float) or None, default=None
        The values at the ends of the colour map. None centres the map at zero.

    Returns
    -------
    matplotlib AxesImage
        The image, for a colour bar.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric.plotting.figures import new_figure
    >>> figure, (axes,) = new_figure(3, 3, 1)
    >>> plot_heat_map(axes, np.diag([1.0, -2.0]), ["a", "b"], ["c", "d"]).get_clim()
    (-2.0, 2.0)
    """
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    low, high = (-largest, largest) if limits is None else limits
    image = axes.imshow(values, cmap=cmap, vmin=low, vmax=high, interpolation="nearest", aspect="auto")
    width, height = 72 * axes.get_window_extent().size / axes.figure.dpi
    _label(axes.set_yticks, row_names, height, {})
    turned = max((len(str(name)) for name in column_names), default=0) * 0.6 * _LARGEST > width / max(
        len(column_names), 1
    )
    _label(axes.set_xticks, column_names, width, {"rotation": 90} if turned else {})
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return image


def _label(set_ticks: Any, names: Sequence[str], room: float, settings: dict[str, Any]) -> None:
    """Label the ticks in the largest font in which neighbours do not touch, or leave some out."""
    step = 1
    while room / max(len(names), 1) * step / _SPACING < _SMALLEST and step < len(names):
        step += 1
    size = min(_LARGEST, max(_SMALLEST, room / max(len(names), 1) * step / _SPACING))
    places = range(0, len(names), step)
    set_ticks(list(places), [shortened(names[i]) for i in places], fontsize=size, **settings)


def shortened(name: object, limit: int = 24) -> str:
    """Return a name that is not longer than a limit; the middle of a longer one is left out.

    Parameters
    ----------
    name : object
        The name, or a number; 1.0 becomes "1".
    limit : int, default=24
        The largest number of characters.

    Returns
    -------
    str
        The name, in which dollar signs do not start formulas.

    Examples
    --------
    >>> shortened("a_very_long_name_of_a_feature", 12)
    'a_very…ature'
    """
    text = f"{name:g}" if isinstance(name, float) else str(name)
    if len(text) > limit:
        text = text[: limit // 2] + "…" + text[len(text) - (limit - limit // 2 - 1) :]
    return text.replace("$", r"\$")
