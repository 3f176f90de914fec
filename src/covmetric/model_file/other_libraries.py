"""The classes of scikit-learn and pyRiemann that a pipeline in a model file may contain.

A file holds the parameters of such a step, the fitted attributes that are listed here, and the version of the library.
The parameters must be numbers, text or None, and the attributes must have the listed types and shapes. A class that is
not listed is refused: its state may change from one version to the next, or contain objects that cannot be checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric.model_file.deferred import DeferredClass, defer
from covmetric.model_file.fitted_classes import (
    EITHER,
    INTEGER,
    NONE,
    NUMBER,
    TEXT,
    FittedClass,
    check_attribute,
    check_names,
    fitted_class,
    has_features,
    parameters_of,
    version_of,
    with_parameters,
)
from covmetric.model_file.kinds import Kind, constructor_defaults
from covmetric.model_file.support_vectors import SUPPORT_VECTOR_CLASSIFIER

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


def _needed_by_discriminant(parameters: dict[str, Any]) -> set[str]:
    """Return the attributes with which `transform` projects, which depend on the solver."""
    return {"svd": {"xbar_", "scalings_"}, "eigen": {"scalings_", "covariance_"}}.get(parameters["solver"], set())


def _neighbors_kind(name: str, cls: Any) -> Kind:
    """Return the kind of KNeighborsClassifier, which is fitted again: its search tree is no array."""

    def get_state(estimator: Any) -> dict[str, Any]:
        state = {"version": version_of("sklearn"), **parameters_of(estimator)}
        if hasattr(estimator, "n_features_in_"):
            state |= {"examples": estimator._fit_X, "classes_": estimator.classes_, "codes": estimator._y}
        return state

    def from_state(state: dict[str, Any]) -> Any:
        choices = {"weights": frozenset({"uniform", "distance"}), "metric_params": frozenset({None})}
        estimator = with_parameters(cls, state, choices)
        check_names(cls, state, dict.fromkeys(("examples", "classes_", "codes"), ""), {"examples", "classes_", "codes"})
        sizes: dict[str, int] = {}
        for part, form in {"classes_": "c", "examples": "ld", "codes": "l"}.items():
            check_attribute(f"{cls.__name__}.{part}", form, state[part], sizes)
        classes, codes = state["classes_"], state["codes"]
        if codes.dtype.kind != "i" or not np.array_equal(np.unique(codes), np.arange(len(classes))):
            raise ValueError(f"{cls.__name__}.codes must hold the indices of the classes")
        return estimator.fit(state["examples"], classes[codes])

    decisive = {"n_neighbors", "weights", "algorithm", "leaf_size", "p", "metric", "metric_params"}
    replaceable = {k: v for k, v in constructor_defaults(cls).items() if k not in decisive}
    return Kind(name, cls, get_state, from_state, replaceable, has_features)


def _covariances_kind(name: str, cls: Any) -> Kind:
    """Return the kind of pyRiemann's Covariances, which has no fitted attributes."""

    def from_state(state: dict[str, Any]) -> Any:
        from pyriemann.geometry.covariance import cov_est_functions

        check_names(cls, state, dict.fromkeys(("version", "estimator", "kwds"), ""), {"version", "estimator", "kwds"})
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
        return {"version": version_of("pyriemann"), "estimator": step.estimator, "kwds": dict(step.kwds)}

    return Kind(name, cls, get_state, from_state)


def _binarizer(estimator: Any) -> dict[str, Any]:
    """Return the encoder of the labels of a RidgeClassifier, which follows from its classes."""
    from sklearn.preprocessing import LabelBinarizer

    return {"_label_binarizer": LabelBinarizer(pos_label=1, neg_label=-1).fit(estimator.classes_)}


def _check_ridge(estimator: Any) -> None:
    if estimator.coef_.ndim == 1 and len(estimator.classes_) > 2:
        raise ValueError(f"RidgeClassifier.coef_ has shape {estimator.coef_.shape}, which is for two classes")


def _check_bayes(estimator: Any) -> None:
    if not ((estimator.var_ > 0.0).all() and (estimator.class_prior_ >= 0.0).all()):
        raise ValueError("GaussianNB.var_ must hold positive variances, and class_prior_ probabilities")


#: The classes that files may hold besides those of covmetric.
OTHER_CLASSES = (
    DeferredClass("pyriemann.estimation", "Covariances", "pyriemann.estimation.Covariances", _covariances_kind),
    DeferredClass(
        "sklearn.neighbors", "KNeighborsClassifier", "sklearn.neighbors.KNeighborsClassifier", _neighbors_kind
    ),
    fitted_class(
        "sklearn.linear_model",
        "LogisticRegression",
        FittedClass({"classes_": "c", "coef_": "kd", "intercept_": "k", "n_iter_": "i"}),
    ),
    fitted_class(
        "sklearn.discriminant_analysis",
        "LinearDiscriminantAnalysis",
        FittedClass(
            {
                "classes_": "c", "priors_": "c", "means_": "cd", "coef_": "kd", "intercept_": "k",
                "_max_components": INTEGER, "_n_features_out": INTEGER,
                "xbar_": "d", "scalings_": "ds", "explained_variance_ratio_": "e", "covariance_": "dd",
            },
            optional=frozenset({"_n_features_out", "xbar_", "scalings_", "explained_variance_ratio_", "covariance_"}),
            choices={"solver": frozenset({"svd", "lsqr", "eigen"})},
            required_by=_needed_by_discriminant,
        ),
    ),
    fitted_class("sklearn.svm", "SVC", SUPPORT_VECTOR_CLASSIFIER),
    fitted_class(
        "sklearn.svm",
        "LinearSVC",
        FittedClass({"classes_": "c", "coef_": "kd", "intercept_": f"k|{NUMBER}", "n_iter_": INTEGER}),
    ),
    fitted_class(
        "sklearn.linear_model",
        "RidgeClassifier",
        FittedClass(
            {"classes_": "c", "coef_": "kd|d", "intercept_": f"k|{NUMBER}", "n_iter_": f"i|{NONE}", "solver_": TEXT},
            optional=frozenset({"solver_"}),
            derived=_binarizer,
            check=_check_ridge,
        ),
    ),
    fitted_class(
        "sklearn.naive_bayes",
        "GaussianNB",
        FittedClass(
            {
                "classes_": "c", "theta_": "cd", "var_": "cd", "class_count_": "c", "class_prior_": "c",
                "epsilon_": NUMBER,
            },
            check=_check_bayes,
        ),
    ),
    fitted_class(
        "sklearn.preprocessing",
        "StandardScaler",
        FittedClass(
            {"mean_": "d", "var_": "d", "scale_": "d", "n_samples_seen_": NUMBER},
            choices={"with_mean": EITHER, "with_std": frozenset({True}), "copy": EITHER},
        ),
    ),
    fitted_class(
        "sklearn.decomposition",
        "PCA",
        FittedClass(
            {
                "components_": "rd", "mean_": "d", "explained_variance_": "r", "explained_variance_ratio_": "r",
                "singular_values_": "r", "n_components_": INTEGER, "n_samples_": INTEGER,
                "noise_variance_": NUMBER, "_fit_svd_solver": TEXT,
            },
            choices={"whiten": EITHER, "copy": EITHER},
        ),
    ),
)  # fmt: skip

defer(*OTHER_CLASSES)
