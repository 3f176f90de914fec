"""The state of estimators in model files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from covmetric._utils.validation import is_count, is_number
from covmetric.estimators.metadata_requests import get_requests, set_requests
from covmetric.learning.restore import check_claims
from covmetric.metric import LearnedMetric
from covmetric.model_file import Savable, constructor_defaults, for_any_machine
from covmetric.solvers import SolveResult

#: Checks of the fitted attributes that come from a file, which may be damaged or hostile.
_CHECKS: dict[str, Callable[[Any], bool]] = {
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


#: Parameters that version 0.1.0 did not have. A file leaves them out if they have their default, so that the files of
#: old models stay the same.
_NEW_PARAMETERS = frozenset({"C", "executor", "mean_strength", "n_std_errors", "prior_t", "scoring", "shrinkage"})

#: The entry of the metadata requests, which is left out if there are none.
_REQUESTS = "metadata_requests"


class SavedEstimator(Savable):
    """An estimator that can be saved: its parameters, and the fitted attributes that `_parts` names.

    Those that `_optional_parts` names as well may be missing after `fit`.
    """

    _parts: ClassVar[tuple[str, ...]]
    _optional_parts: ClassVar[tuple[str, ...]] = ()
    metric_: LearnedMetric
    n_features_in_: int
    set_output: Callable[..., Any]

    def is_fitted(self) -> bool:
        """Return whether the estimator is fitted.

        Returns
        -------
        bool
            True after `fit`.
        """
        return hasattr(self, self._parts[0])

    def get_state(self) -> dict[str, Any]:
        """Return the parameters and, if fitted, the fitted attributes, for a model file.

        Returns
        -------
        dict
            The values by name.
        """
        defaults = constructor_defaults(type(self))
        parameters = {
            name: getattr(self, name)
            for name, default in defaults.items()
            if name not in _NEW_PARAMETERS or not _is_default(getattr(self, name), default)
        }
        requests = get_requests(self)
        return {
            **for_any_machine(parameters),
            **({_REQUESTS: requests} if requests else {}),
            **(self._fitted_parts() if self.is_fitted() else {}),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Create an estimator from its state, which may come from a hostile file.

        Parameters
        ----------
        state : dict
            A state as `get_state` returns it.

        Returns
        -------
        SavedEstimator
            The estimator, fitted if the state has fitted attributes.

        Raises
        ------
        ValueError
            If the state is incomplete or invalid.
        """
        names = [name for name in constructor_defaults(cls) if name not in _NEW_PARAMETERS or name in state]
        estimator = cls(**for_any_machine({name: state.pop(name) for name in names}))
        set_requests(estimator, state.pop(_REQUESTS, {}))
        if state:  # the `learner` of a classifier is not fitted
            estimator._restore(state)
        return estimator

    def _fitted_parts(self) -> dict[str, Any]:
        names = [*self._parts, "feature_names_in_", "_sklearn_output_config"]
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def _restore(self, state: dict[str, Any]) -> None:
        """Check the fitted attributes, and set them."""
        names, output = state.pop("feature_names_in_", None), state.pop("_sklearn_output_config", None)
        mismatch = sorted((set(state) ^ set(self._parts)) - set(self._optional_parts))
        if mismatch:
            raise ValueError(f"the attributes {mismatch} of {type(self).__name__} are missing or unexpected")
        for name, value in state.items():
            if name in _CHECKS and not _CHECKS[name](value):
                raise ValueError(f"{name} of {type(self).__name__} is invalid")
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
            raise ValueError(f"n_features_in_ is {self.n_features_in_}, but the metric was learned on {shape}")
        result = getattr(self, "result_", None)
        if result is not None:
            check_claims(result)
            if result.core.shape != self.metric_.core.shape or result.multipliers.shape != result.slacks.shape:
                raise ValueError("result_ does not belong to metric_")


def _is_default(value: Any, default: Any) -> bool:
    """Return whether a parameter has its default; arrays and numbers of another type differ from it."""
    return type(value) is type(default) and bool(value == default)
