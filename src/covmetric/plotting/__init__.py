"""Pictures. The functions draw on given axes or return a figure, and do not need a display."""

from __future__ import annotations

from covmetric.plotting.bars import plot_accuracies
from covmetric.plotting.excess import plot_excess
from covmetric.plotting.figures import save_figure
from covmetric.plotting.groups import plot_groups
from covmetric.plotting.panels import plot_convergence
from covmetric.plotting.scatter import plot_embedding

__all__ = ["plot_accuracies", "plot_convergence", "plot_embedding", "plot_excess", "plot_groups", "save_figure"]
