"""Errors name examples as users know them."""

import re

import numpy as np
import pytest

from covmetric.datasets.inputs import Inputs
from covmetric.tasks import FitSettings, example_names, fit_model


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("X[1] is singular; X[0] is not", "b is singular; X[0] is not"),
        ("X[1][0, 2] is nan", "b[0, 2] is nan"),
        ("X[1, 0, 2] is nan", "b[0, 2] is nan"),
        ("X[1, 4] is inf", "b[4] is inf"),
        ("group 'a' has only one example, X[1], which", "group 'a' has only one example, b, which"),
        ("X[2] is singular", "X[2] is singular"),  # there is no such example
        ("X must have two classes, see X[1]", "X must have two classes, see X[1]"),
    ],
)
def test_names_take_the_place_of_indices(message, expected):
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"), example_names(["a", "b"]):
        raise ValueError(message)


def test_other_errors_are_left_alone():
    with pytest.raises(KeyError), example_names(["a"]):
        raise KeyError("X[0]")


@pytest.mark.parametrize(
    ("kind", "shape", "entry"), [("series", (4, 50), "1, 2"), ("matrices", (4, 4), "1, 2"), ("vectors", (5,), "2")]
)
def test_fits_name_bad_examples(kind, shape, entry):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, *shape))
    if kind == "matrices":
        X = X @ np.swapaxes(X, 1, 2)
    if kind == "vectors":
        X[3, 2] = np.inf
    else:
        X[3, 1, 2] = np.nan
    if kind == "matrices":
        X[3, 2, 1] = np.nan
    examples = list(X) if kind == "series" else X
    inputs = Inputs(kind, examples, np.array([f"trial {i}" for i in range(12)]), np.arange(12) % 2)
    with pytest.raises(ValueError, match=rf"^trial 3\[{entry}\] is (nan|inf)"):
        fit_model(inputs, FitSettings(rule="mean", lam=np.inf))
