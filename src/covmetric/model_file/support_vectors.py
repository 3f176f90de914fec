"""The fitted attributes of scikit-learn's SVC.

The compiled code of libsvm trusts its arrays: it reads as many rows of the support vectors as the counts of the classes
say. All counts are therefore checked against the sizes of the arrays before an SVC is made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric._utils.validation import is_count
from covmetric.model_file.fitted_classes import EITHER, INTEGER, NUMBER, SHAPE, FittedClass, is_finite

# The largest number that libsvm takes as the degree of a polynomial.
_MAX_DEGREE = 2**31 - 1
_DOUBLES = ("support_vectors_", "_dual_coef_", "_intercept_", "_probA", "_probB")


def _derived(estimator: Any) -> dict[str, Any]:
    """Return the attributes that follow from those in a file; for two classes scikit-learn turns the signs around."""
    sign = -1.0 if len(estimator.classes_) == 2 else 1.0
    return {
        "dual_coef_": sign * estimator._dual_coef_,
        "intercept_": sign * estimator._intercept_,
        "_num_iter": estimator.n_iter_,
        "_sparse": False,
        "_effective_probability": estimator.probability is True,
    }


def _check(estimator: Any) -> None:
    """Raise ValueError unless libsvm can use the arrays."""
    n_classes, n_vectors = len(estimator.classes_), len(estimator.support_vectors_)
    n_pairs = n_classes * (n_classes - 1) // 2
    n_probabilities = n_pairs if estimator.probability is True else 0
    expected = {
        "_dual_coef_": (n_classes - 1, n_vectors),
        "_intercept_": (n_pairs,),
        "_probA": (n_probabilities,),
        "_probB": (n_probabilities,),
        "n_iter_": (n_pairs,),
    }
    for name, shape in expected.items():
        value = getattr(estimator, name)
        if value.shape != shape:
            raise ValueError(f"SVC.{name} has shape {value.shape}, but should have shape {shape}")
    for name in _DOUBLES:
        if getattr(estimator, name).dtype != np.float64:
            raise ValueError(f"SVC.{name} must hold numbers of the type float64")
    counts, support = estimator._n_support, estimator.support_
    if counts.dtype != np.int32 or (counts < 0).any() or counts.sum(dtype=np.int64) != n_vectors:
        raise ValueError(f"SVC._n_support must count the {n_vectors} support vectors by class")
    n_examples, n_features = estimator.shape_fit_
    if support.dtype != np.int32 or (support < 0).any() or (support >= n_examples).any():
        raise ValueError(f"SVC.support_ must hold indices of the {n_examples} training examples")
    if n_features != estimator.n_features_in_:
        raise ValueError(f"SVC.shape_fit_ has {n_features} features, but should have {estimator.n_features_in_}")
    if not (is_count(estimator.degree) and 0 <= estimator.degree <= _MAX_DEGREE and is_finite(estimator.coef0)):
        raise ValueError(f"degree and coef0 of SVC are {estimator.degree!r:.60} and {estimator.coef0!r:.60}")


SUPPORT_VECTOR_CLASSIFIER = FittedClass(
    {
        "classes_": "c", "class_weight_": "c", "support_": "v", "support_vectors_": "vd", "_n_support": "c",
        "_dual_coef_": "ev", "_intercept_": "p", "_probA": "a", "_probB": "a", "n_iter_": "p", "shape_fit_": SHAPE,
        "_gamma": NUMBER, "fit_status_": f"{INTEGER}|{NUMBER}",
    },
    choices={
        "kernel": frozenset({"linear", "poly", "rbf", "sigmoid"}),
        "probability": EITHER,
        "decision_function_shape": frozenset({"ovr", "ovo"}),
        "break_ties": EITHER,
    },
    derived=_derived,
    check=_check,
)  # fmt: skip
