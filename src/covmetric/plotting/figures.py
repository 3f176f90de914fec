"""New figures, and figures as files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from covmetric.plotting.axes import import_matplotlib


def new_figure(width: float, height: float, columns: int, rows: int = 1, **settings: Any) -> tuple[Any, Any]:
    """Make a figure with a grid of axes, without pyplot, so that there is no window and no global state.

    Parameters
    ----------
    width, height : float
        The size in inches.
    columns : int
        The number of axes in a row.
    rows : int, default=1
        The number of rows.
    **settings : Any
        Further arguments of matplotlib's ``Figure.subplots``.

    Returns
    -------
    figure : matplotlib Figure
        The figure.
    axes : array of matplotlib Axes
        The axes, of shape (columns,) if there is one row, otherwise (rows, columns).

    Examples
    --------
    >>> figure, axes = new_figure(6, 3, 2)
    >>> axes.shape
    (2,)
    """
    figure = import_matplotlib("matplotlib.figure", "drawing").Figure(figsize=(width, height), layout="constrained")
    import_matplotlib("matplotlib.backends.backend_agg", "drawing").FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False, **settings)
    return figure, axes[0] if rows == 1 else axes


#: The name under which each format stores a description.
_DESCRIPTION_NAMES = {".png": "Description", ".svg": "Description", ".pdf": "Subject"}


def save_figure(figure: Any, path: str | os.PathLike[str], description: str | None = None) -> Path:
    """Write a figure to a file.

    Parameters
    ----------
    figure : matplotlib Figure
        The figure.
    path : str or path
        The file. Its extension selects the format.
    description : str or None, default=None
        A text for the metadata of the file. Formats other than PNG, SVG and PDF do not store it.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ValueError
        If the folder of the file does not exist.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from covmetric.plotting.figures import new_figure
    >>> with TemporaryDirectory() as folder:
    ...     save_figure(new_figure(2, 2, 1)[0], f"{folder}/empty.svg").name
    'empty.svg'
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise ValueError(f"there is no folder {target.parent}")
    name = _DESCRIPTION_NAMES.get(target.suffix.lower())
    metadata = None if description is None or name is None else {name: description}
    figure.savefig(target, dpi=150, metadata=metadata)
    return target
