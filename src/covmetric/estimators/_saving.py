"""What estimators put into a model file, and how they take it back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from covmetric._savable import Savable
from covmetric._validation import is_count, is_number
from covmetric.certificate import Certificate
from covmetric.metric import LearnedMetric
from covmetric.solvers import SolveResult, Status

#: What each part must be; a file may say anything.
_SENSIBLE: dict[str, Callable[[Any], bool]] = {
    "metric_": lambda v: isinstance(v, LearnedMetric),
    "result_": lambda v: v is None or isinstance(v, SolveResult),
    "scale_": lambda v: is_number(v) and v > 0,
    "classes_": lambda v: isinstance(v, np.ndarray) and len(v) >= 2 and np.array_equal(v, np.unique(v)),
    "n_features_in_": lambda v: is_count(v) and v > 0,
    "threshold_": is_number,
    "best_params_": lambda v: isinstance(v, dict),
    "best_score_": is_number,
    "best_index_": is_count,
    "cv_results_": lambda v: isinstance(v, dict),
}


class SavedEstimator(Savable):
    """An estimator whose fitted attributes `_parts`, and the names of its features, go into a file."""

    _parts: ClassVar[tuple[str, ...]]
    metric_: LearnedMetric
    n_features_in_: int
    set_output: Callable[..., Any]

    def _fitted_parts(self) -> dict[str, Any]:
        names = [*self._parts, "feature_names_in_", "_sklearn_output_config"]
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def _restore(self, state: dict[str, Any]) -> None:
        """Take over the parts that a file has, after looking at each."""
        names, output = state.pop("feature_names_in_", None), state.pop("_sklearn_output_config", None)
        if set(state) != set(self._parts):
            raise ValueError(f"{type(self).__name__} lacks, or does not have, {sorted(set(state) ^ set(self._parts))}")
        for name, value in state.items():
            if name in _SENSIBLE and not _SENSIBLE[name](value):
                raise ValueError(f"{name} of {type(self).__name__} does not make sense")
            setattr(self, name, value)
        if names is not None:
            if not (isinstance(names, np.ndarray) and names.shape == (self.n_features_in_,)):
                raise ValueError(f"feature_names_in_ must have {self.n_features_in_} entries")
            self.feature_names_in_ = names
        if output is not None:
            self.set_output(transform=output["transform"])
        self._check_restored()

    def _check_restored(self) -> None:
        shape = self.metric_.embedding.shape_in_
        if shape[0] != self.n_features_in_:
            raise ValueError(f"n_features_in_ is {self.n_features_in_}, and the metric was learned on {shape}")
        result = getattr(self, "result_", None)
        if result is not None:
            check_claims(result)
            if result.W.shape != self.metric_.W.shape or result.multipliers.shape != result.slacks.shape:
                raise ValueError("result_ does not belong to metric_")


def check_claims(result: SolveResult) -> None:
    """Raise where a certificate contradicts itself, or the status the certificate."""
    stated = result.certificate
    again = Certificate.from_values(
        stated.primal, stated.dual, max_violation=stated.max_violation, tol=stated.tol, rounding=stated.rounding
    )
    if again != stated or stated.rounding < 0.0 or (result.status is Status.SOLVED and not stated.solved):
        raise ValueError("its certificate contradicts itself, or its status")
