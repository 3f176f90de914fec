"""A figure of several panels, in a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def new_figure(width: float, height: float, panels: int, **settings: Any) -> tuple[Any, Any]:
    """A figure and its axes side by side, without pyplot: no window, no state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(1, panels, squeeze=False, **settings)[0]


def save_figure(figure: Any, path: str | os.PathLike[str]) -> Path:
    """Write the figure and return its path; the ending says which format."""
    target = Path(path)
    if not target.parent.is_dir():
        raise ValueError(f"there is no folder {target.parent}")
    figure.savefig(target, dpi=150)
    return target
