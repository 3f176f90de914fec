"""Pictures. Functions draw on axes that they are given; nothing here needs a display."""

from __future__ import annotations

from covmetric.plotting.bars import plot_accuracies
from covmetric.plotting.figures import save_figure
from covmetric.plotting.scatter import plot_embedding

__all__ = ["plot_accuracies", "plot_embedding", "save_figure"]
