"""Pictures. Functions draw on axes that they are given; nothing here needs a display."""

from __future__ import annotations

from covmetric.plotting.bars import plot_accuracies
from covmetric.plotting.figures import save_figure
from covmetric.plotting.groups import plot_groups
from covmetric.plotting.panels import plot_convergence
from covmetric.plotting.scatter import plot_embedding

__all__ = ["plot_accuracies", "plot_convergence", "plot_embedding", "plot_groups", "save_figure"]
