"""Axes for the displays: given by the user, or of a new figure."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np


def import_matplotlib(module: str, caller: str) -> Any:
    """Import a module of matplotlib.

    Parameters
    ----------
    module : str
        The name of the module, for example "matplotlib.pyplot".
    caller : str
        What needs matplotlib, for the message.

    Returns
    -------
    module
        The imported module.

    Raises
    ------
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> import_matplotlib("matplotlib.figure", "this example").__name__
    'matplotlib.figure'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{caller} needs the package matplotlib: pip install matplotlib ({error})") from error


def axes_for(ax: Any, caller: str, width: float = 6.4, height: float = 4.8) -> Any:
    """Return the given axes or, as scikit-learn does, the axes of a new figure of pyplot.

    Parameters
    ----------
    ax : matplotlib Axes or None
        The axes that the user passed.
    caller : str
        What draws, for messages.
    width, height : float
        The size of a new figure, in inches.

    Returns
    -------
    matplotlib Axes
        The axes to draw on.

    Raises
    ------
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from covmetric.plotting.figures import new_figure
    >>> figure, (axes,) = new_figure(2, 2, 1)
    >>> axes_for(axes, "this example") is axes
    True
    """
    return panels_for(ax, caller, 1, width=width, height=height)[0]


def panels_for(ax: Any, caller: str, columns: int, rows: int = 1, width: float = 6.4, height: float = 4.8) -> Any:
    """Return several axes: those that the user passed, parts of single axes, or those of a new figure.

    Parameters
    ----------
    ax : matplotlib Axes, sequence of matplotlib Axes, or None
        The axes that the user passed. Single axes are divided if there are several panels.
    caller : str
        What draws, for messages.
    columns, rows : int
        The number of panels in a row, and the number of rows.
    width, height : float
        The size of a new figure, in inches.

    Returns
    -------
    array of matplotlib Axes, of shape (rows * columns,)
        The axes to draw on, row by row.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If the user passed another number of axes, or axes that cannot be divided.

    Examples
    --------
    >>> from covmetric.plotting.figures import new_figure
    >>> figure, (axes,) = new_figure(4, 2, 1)
    >>> panels_for(axes, "this example", columns=2).shape
    (2,)
    """
    pyplot = import_matplotlib("matplotlib.pyplot", caller)
    count = rows * columns
    if ax is None:
        return pyplot.subplots(rows, columns, figsize=(width, height), squeeze=False, layout="constrained")[1].ravel()
    given = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if len(given) == count:
        return given
    if len(given) != 1:
        raise ValueError(f"ax must be None, one matplotlib Axes or {count} of them, got {len(given)}")
    spec = given[0].get_subplotspec()
    if spec is None:
        raise ValueError(f"ax cannot be divided into {count} panels: make it with plt.subplots, or pass {count} axes")
    given[0].set_axis_off()
    grid = spec.subgridspec(rows, columns)
    figure = given[0].figure
    return np.array([figure.add_subplot(grid[i, j]) for i in range(rows) for j in range(columns)], dtype=object)
