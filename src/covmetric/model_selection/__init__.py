"""Classes that were not in the training data: splits that hold out classes, and scores of distances between examples.

`SCORERS` lists the scorers by name.
"""

from __future__ import annotations

from covmetric.model_selection.few_shot import few_shot_accuracy
from covmetric.model_selection.retrieval import mean_average_precision, recall_at_1
from covmetric.model_selection.scorers import SCORERS, DistanceScorer, get_scorer, vectors_or_distances
from covmetric.model_selection.splitters import ClassKFold, ClassShuffleSplit
from covmetric.model_selection.verification import verification_auc, verification_eer

__all__ = [
    "SCORERS",
    "ClassKFold",
    "ClassShuffleSplit",
    "DistanceScorer",
    "few_shot_accuracy",
    "get_scorer",
    "mean_average_precision",
    "recall_at_1",
    "vectors_or_distances",
    "verification_auc",
    "verification_eer",
]
