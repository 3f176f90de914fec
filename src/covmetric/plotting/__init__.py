"""Pictures: displays, as in scikit-learn, and functions that draw on given axes.

matplotlib is imported when something is drawn. The functions do not need a screen.
"""

from __future__ import annotations

from covmetric.plotting.bars import plot_accuracies
from covmetric.plotting.confusion import ConfusionDisplay
from covmetric.plotting.convergence import ConvergenceDisplay
from covmetric.plotting.embedding import EmbeddingDisplay
from covmetric.plotting.excess import plot_excess
from covmetric.plotting.figures import save_figure
from covmetric.plotting.groups import plot_groups
from covmetric.plotting.importance import ImportanceDisplay
from covmetric.plotting.metric_matrix import MetricMatrixDisplay
from covmetric.plotting.pair_distances import PairDistancesDisplay
from covmetric.plotting.panels import plot_convergence
from covmetric.plotting.patterns import PatternsDisplay
from covmetric.plotting.retrieval import RetrievalDisplay
from covmetric.plotting.scatter import plot_embedding
from covmetric.plotting.search_scores import SearchDisplay

__all__ = [
    "ConfusionDisplay",
    "ConvergenceDisplay",
    "EmbeddingDisplay",
    "ImportanceDisplay",
    "MetricMatrixDisplay",
    "PairDistancesDisplay",
    "PatternsDisplay",
    "RetrievalDisplay",
    "SearchDisplay",
    "plot_accuracies",
    "plot_convergence",
    "plot_embedding",
    "plot_excess",
    "plot_groups",
    "save_figure",
]
