"""Learn a distance between covariance matrices, with a proof of how close to optimal it is.

Names are loaded on first use, so that ``import covmetric`` loads nothing heavier than NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from covmetric._version import __version__

if TYPE_CHECKING:
    from covmetric.constraints import AbsoluteBounds, NeighborPairs, QuantileBounds, RandomPairRecipe, RandomPairs
    from covmetric.embeddings import get_embedding
    from covmetric.estimators import (
        PAPER_SETTINGS,
        CovMetric,
        CovMetricClassifier,
        CovMetricCV,
        CovMetricPairs,
        ImagePatchClassifier,
        Recentre,
    )
    from covmetric.metric import LearnedMetric
    from covmetric.model_selection import ClassKFold, ClassShuffleSplit
    from covmetric.models import SKOPS_TRUSTED, load_model, save_model
    from covmetric.problem import (
        BlockProblem,
        Certificate,
        MetricProblem,
        PaperBound,
        make_paper_problem,
        paper_bound,
    )
    from covmetric.solvers import (
        Dykstra,
        History,
        Hybrid,
        Interior,
        Newton,
        SolveResult,
        SolverState,
        Status,
        solve,
        solve_path,
    )

_HOMES = {
    "AbsoluteBounds": "constraints",
    "BlockProblem": "problem",
    "Certificate": "problem",
    "ClassKFold": "model_selection",
    "ClassShuffleSplit": "model_selection",
    "CovMetric": "estimators",
    "CovMetricCV": "estimators",
    "CovMetricClassifier": "estimators",
    "CovMetricPairs": "estimators",
    "Dykstra": "solvers",
    "History": "solvers",
    "Hybrid": "solvers",
    "ImagePatchClassifier": "estimators",
    "Interior": "solvers",
    "LearnedMetric": "metric",
    "MetricProblem": "problem",
    "NeighborPairs": "constraints",
    "Newton": "solvers",
    "PAPER_SETTINGS": "estimators",
    "PaperBound": "problem",
    "QuantileBounds": "constraints",
    "RandomPairRecipe": "constraints",
    "RandomPairs": "constraints",
    "Recentre": "estimators",
    "SKOPS_TRUSTED": "models",
    "SolveResult": "solvers",
    "SolverState": "solvers",
    "Status": "solvers",
    "get_embedding": "embeddings",
    "load_model": "models",
    "make_paper_problem": "problem",
    "paper_bound": "problem",
    "save_model": "models",
    "solve": "solvers",
    "solve_path": "solvers",
}

__all__ = [
    "PAPER_SETTINGS",
    "SKOPS_TRUSTED",
    "AbsoluteBounds",
    "BlockProblem",
    "Certificate",
    "ClassKFold",
    "ClassShuffleSplit",
    "CovMetric",
    "CovMetricCV",
    "CovMetricClassifier",
    "CovMetricPairs",
    "Dykstra",
    "History",
    "Hybrid",
    "ImagePatchClassifier",
    "Interior",
    "LearnedMetric",
    "MetricProblem",
    "NeighborPairs",
    "Newton",
    "PaperBound",
    "QuantileBounds",
    "RandomPairRecipe",
    "RandomPairs",
    "Recentre",
    "SolveResult",
    "SolverState",
    "Status",
    "__version__",
    "get_embedding",
    "load_model",
    "make_paper_problem",
    "paper_bound",
    "save_model",
    "solve",
    "solve_path",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'covmetric' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"covmetric.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
