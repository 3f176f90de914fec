"""The classes of scikit-learn and pyRiemann that a pipeline in a model file may contain.

A file holds the parameters of such a step, the fitted attributes that are listed here, and the version of the library.
The parameters must be numbers, text or None, and the attributes must have the listed types and shapes. A class that is
not listed is refused: its state may change from one version to the next, or contain objects that cannot be checked.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from covmetric._utils.validation import is_count
from covmetric.model_file.deferred import DeferredClass, defer
from covmetric.model_file.kinds import Kind, constructor_defaults, for_any_machine

_INTEGER = "integer"
_NUMBER = "number"
_TEXT = "text"
_EITHER = frozenset({True, False})
#: Attributes that any scikit-learn estimator may have.
_COMMON = {"n_features_in_": _INTEGER, "feature_names_in_": "d", "_sklearn_output_config": "output"}
#: The arguments that pyRiemann's estimators of covariance matrices take, as numbers, text or None.
_COVARIANCE_ARGUMENTS = frozenset(
    {
        "assume_centered",
        "bias",
        "block_size",
        "ddof",
        "n_iter_max",
        "norm",
        "nu",
        "q",
        "random_state",
        "store_precision",
    }
    | {"support_fraction", "tol"}
)


@dataclass(frozen=True)
class _FittedClass:
    """The fitted attributes of a class of scikit-learn.

    A value of `attributes` is the kind of a scalar, or the shape of an array: one letter for each axis, where equal
    letters stand for equal sizes, d for the number of features, c for the number of classes, and k for 1 if there are
    two classes, and c otherwise.
    """

    attributes: dict[str, str]
    optional: frozenset[str] = frozenset()
    choices: dict[str, frozenset[Any]] = field(default_factory=dict)
    required_by: Callable[[dict[str, Any]], set[str]] = lambda state: set()

    def get_state(self, estimator: Any) -> dict[str, Any]:
        attributes = {
            name: value for name, value in sorted(vars(estimator).items()) if name not in estimator.get_params()
        }
        unknown = sorted(set(attributes) - set(self.attributes) - set(_COMMON))
        if unknown:
            raise ValueError(f"a {type(estimator).__name__} has the attributes {unknown}, which files cannot hold")
        by_columns = [name for name, value in attributes.items() if _is_by_columns(value)]
        return {"version": _version("sklearn"), "by_columns": by_columns, **_parameters(estimator), **attributes}

    def from_state(self, cls: type, state: dict[str, Any]) -> Any:
        by_columns = state.pop("by_columns")
        arrays = [name for name, value in state.items() if isinstance(value, np.ndarray)]
        if not (isinstance(by_columns, list) and all(name in arrays for name in by_columns)):
            raise ValueError(f"{cls.__name__} does not have the arrays {by_columns!r:.60}")
        estimator = _with_parameters(cls, state, self.choices)
        known = {**self.attributes, **_COMMON}
        needed = set(self.attributes) - self.optional | self.required_by(vars(estimator)) | {"n_features_in_"}
        _check_names(cls, state, known, needed)
        sizes: dict[str, int] = {}
        for name in sorted(state, key=lambda name: name not in ("n_features_in_", "classes_")):
            _check_attribute(f"{cls.__name__}.{name}", known[name], state[name], sizes)
        output = state.pop("_sklearn_output_config", None)
        for name in by_columns:
            state[name] = np.asfortranarray(state[name])
        vars(estimator).update(state)
        if output is not None:
            estimator.set_output(transform=output["transform"])
        return estimator


def _is_by_columns(value: Any) -> bool:
    """Return whether a matrix lies in memory column by column, on which the last bits of its products depend."""
    return (
        isinstance(value, np.ndarray)
        and value.ndim == 2
        and min(value.shape) > 1
        and value.strides[0] < value.strides[1]
    )


def _check_names(cls: type, state: dict[str, Any], known: dict[str, str], needed: set[str]) -> None:
    unexpected, missing = sorted(set(state) - set(known)), sorted(needed - set(state))
    if unexpected or missing:
        what = f"the unknown entries {unexpected[:5]}" if unexpected else f"no {missing[0]}"
        raise ValueError(f"the {cls.__name__} in it, which {_current(cls)} would restore, has {what}")


def _check_attribute(name: str, form: str, value: Any, sizes: dict[str, int]) -> None:
    """Raise ValueError unless an attribute has its kind or shape; note the sizes of axes."""
    if form in _SCALARS:
        if not _SCALARS[form](value):
            raise ValueError(f"{name} must be of the kind {form!r}, got {value!r:.60}")
    else:
        _check_array(name, form, value, sizes)
    if name.endswith(".n_features_in_"):
        sizes["d"] = value
    if name.endswith(".classes_"):
        if len(value) < 2 or not np.array_equal(value, np.unique(value)):
            raise ValueError(f"{name} must hold at least two classes, sorted")
        sizes["k"] = 1 if len(value) == 2 else len(value)


def _check_array(name: str, form: str, value: Any, sizes: dict[str, int]) -> None:
    if not isinstance(value, np.ndarray) or value.ndim != len(form):
        raise ValueError(f"{name} must be an array with {len(form)} axes, got {value!r:.60}")
    for letter, size in zip(form, value.shape, strict=True):
        if sizes.setdefault(letter, size) != size:
            raise ValueError(
                f"{name} has shape {value.shape}, but its axis {letter} should have {sizes[letter]} entries"
            )
    is_label = name.endswith((".classes_", ".feature_names_in_"))
    if not is_label and (value.dtype.kind not in "iuf" or not np.isfinite(value).all()):
        raise ValueError(f"{name} must hold finite numbers")


def _is_output(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"transform"}
        and value["transform"] in ("default", "pandas", "polars")
    )


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


_SCALARS: dict[str, Callable[[Any], bool]] = {
    _INTEGER: lambda value: is_count(value) and value > 0,
    _NUMBER: _is_finite,
    _TEXT: lambda value: isinstance(value, str),
    "output": _is_output,
}


def _parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters; scikit-learn marks some as deprecated by a text that is no value of them."""
    parameters = estimator.get_params(deep=False)
    return for_any_machine({name: value for name, value in parameters.items() if value != "deprecated"})


def _with_parameters(cls: type, state: dict[str, Any], choices: dict[str, frozenset[Any]]) -> Any:
    """Return an estimator with the parameters in a file, which are removed from the state."""
    if not isinstance(state.pop("version"), str):
        raise ValueError(f"the version of the library of {cls.__name__} must be text")
    names = [name for name in constructor_defaults(cls) if name in state]
    parameters = {name: state.pop(name) for name in names}
    for name, value in parameters.items():
        is_plain = value is None or isinstance(value, bool | int | float | str)
        if not is_plain or (name in choices and value not in choices[name]):
            raise ValueError(f"{name} of {cls.__name__} is {value!r:.60}, which files may not hold")
    return cls(**for_any_machine(parameters))


def _version(library: str) -> str:
    return str(importlib.import_module(library).__version__)


def _current(cls: type) -> str:
    library = cls.__module__.split(".")[0]
    return f"{'scikit-learn' if library == 'sklearn' else library} {_version(library)}"


def _fitted_class(module: str, class_name: str, fitted: _FittedClass) -> DeferredClass:
    def make_kind(name: str, cls: type) -> Kind:
        # A parameter that a file cannot hold, such as a Generator, only matters in fit.
        replaceable = {k: v for k, v in constructor_defaults(cls).items() if k not in fitted.choices}
        return Kind(
            name, cls, fitted.get_state, lambda state: fitted.from_state(cls, state), replaceable, _has_features
        )

    return DeferredClass(module, class_name, f"{module}.{class_name}", make_kind)


def _has_features(estimator: Any) -> bool:
    return hasattr(estimator, "n_features_in_")


def _needed_by_discriminant(parameters: dict[str, Any]) -> set[str]:
    """Return the attributes with which `transform` projects, which depend on the solver."""
    return {"svd": {"xbar_", "scalings_"}, "eigen": {"scalings_", "covariance_"}}.get(parameters["solver"], set())


def _neighbors_kind(name: str, cls: Any) -> Kind:
    """Return the kind of KNeighborsClassifier, which is fitted again: its search tree is no array."""

    def get_state(estimator: Any) -> dict[str, Any]:
        state = {"version": _version("sklearn"), **_parameters(estimator)}
        if hasattr(estimator, "n_features_in_"):
            state |= {"examples": estimator._fit_X, "classes_": estimator.classes_, "codes": estimator._y}
        return state

    def from_state(state: dict[str, Any]) -> Any:
        choices = {"weights": frozenset({"uniform", "distance"}), "metric_params": frozenset({None})}
        estimator = _with_parameters(cls, state, choices)
        _check_names(
            cls, state, dict.fromkeys(("examples", "classes_", "codes"), ""), {"examples", "classes_", "codes"}
        )
        sizes: dict[str, int] = {}
        for part, form in {"classes_": "c", "examples": "ld", "codes": "l"}.items():
            _check_attribute(f"{cls.__name__}.{part}", form, state[part], sizes)
        classes, codes = state["classes_"], state["codes"]
        if codes.dtype.kind != "i" or not np.array_equal(np.unique(codes), np.arange(len(classes))):
            raise ValueError(f"{cls.__name__}.codes must hold the indices of the classes")
        return estimator.fit(state["examples"], classes[codes])

    decisive = {"n_neighbors", "weights", "algorithm", "leaf_size", "p", "metric", "metric_params"}
    replaceable = {k: v for k, v in constructor_defaults(cls).items() if k not in decisive}
    return Kind(name, cls, get_state, from_state, replaceable, _has_features)


def _covariances_kind(name: str, cls: Any) -> Kind:
    """Return the kind of pyRiemann's Covariances, which has no fitted attributes."""

    def from_state(state: dict[str, Any]) -> Any:
        from pyriemann.geometry.covariance import cov_est_functions

        _check_names(cls, state, dict.fromkeys(("version", "estimator", "kwds"), ""), {"version", "estimator", "kwds"})
        estimator, arguments = state["estimator"], state["kwds"]
        if not isinstance(estimator, str) or estimator not in cov_est_functions:
            raise ValueError(f"estimator of {cls.__name__} is {estimator!r:.60}, which pyRiemann does not have")
        if not isinstance(arguments, dict):
            raise ValueError(f"kwds of {cls.__name__} must be a dict, got {arguments!r:.60}")
        for key, value in arguments.items():
            if key not in _COVARIANCE_ARGUMENTS or not (value is None or isinstance(value, bool | int | float | str)):
                raise ValueError(f"{key[:60]} of {cls.__name__} is {value!r:.60}, which files may not hold")
        return cls(estimator, **arguments)

    def get_state(step: Any) -> dict[str, Any]:
        return {"version": _version("pyriemann"), "estimator": step.estimator, "kwds": dict(step.kwds)}

    return Kind(name, cls, get_state, from_state)


#: The classes that files may hold besides those of covmetric.
OTHER_CLASSES = (
    DeferredClass("pyriemann.estimation", "Covariances", "pyriemann.estimation.Covariances", _covariances_kind),
    DeferredClass(
        "sklearn.neighbors", "KNeighborsClassifier", "sklearn.neighbors.KNeighborsClassifier", _neighbors_kind
    ),
    _fitted_class(
        "sklearn.linear_model",
        "LogisticRegression",
        _FittedClass({"classes_": "c", "coef_": "kd", "intercept_": "k", "n_iter_": "i"}),
    ),
    _fitted_class(
        "sklearn.discriminant_analysis",
        "LinearDiscriminantAnalysis",
        _FittedClass(
            {
                "classes_": "c", "priors_": "c", "means_": "cd", "coef_": "kd", "intercept_": "k",
                "_max_components": _INTEGER, "_n_features_out": _INTEGER,
                "xbar_": "d", "scalings_": "ds", "explained_variance_ratio_": "e", "covariance_": "dd",
            },
            optional=frozenset({"_n_features_out", "xbar_", "scalings_", "explained_variance_ratio_", "covariance_"}),
            choices={"solver": frozenset({"svd", "lsqr", "eigen"})},
            required_by=_needed_by_discriminant,
        ),
    ),
    _fitted_class(
        "sklearn.preprocessing",
        "StandardScaler",
        _FittedClass(
            {"mean_": "d", "var_": "d", "scale_": "d", "n_samples_seen_": _NUMBER},
            choices={"with_mean": _EITHER, "with_std": frozenset({True}), "copy": _EITHER},
        ),
    ),
    _fitted_class(
        "sklearn.decomposition",
        "PCA",
        _FittedClass(
            {
                "components_": "rd", "mean_": "d", "explained_variance_": "r", "explained_variance_ratio_": "r",
                "singular_values_": "r", "n_components_": _INTEGER, "n_samples_": _INTEGER,
                "noise_variance_": _NUMBER, "_fit_svd_solver": _TEXT,
            },
            choices={"whiten": _EITHER, "copy": _EITHER},
        ),
    ),
)  # fmt: skip

defer(*OTHER_CLASSES)
