"""Messages for invalid examples and parameters, and unusual input that is valid."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import (
    CovMetric,
    CovMetricCV,
)
from covmetric.embeddings import EMBEDDINGS, get_embedding
from covmetric.learning.prior import PRIORS
from tests.data import classes_of_matrices, quoted
from tests.estimators.cases import output


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X[0], y), r"X is a single symmetric matrix"),
        (lambda X, y: (X[:, :, :3], y), r"X must hold square matrices.*\(40, 4, 3\)"),
        (lambda X, y: (X[None], y[:1]), r"minimum of 2 is required|X must have shape"),
        (lambda X, y: (X[:, :0, :0], y), r"X must hold square matrices|0 feature"),
        (lambda X, y: (X + np.nan, y), r"X\[0, 0, 0\] is nan: NaN and infinity"),
        (lambda X, y: (X + np.triu(np.ones((4, 4)), 1), y), r"X\[0\] is not symmetric"),
        (lambda X, y: (X[:, :1] * X[:, :1].swapaxes(1, 2), y), r"X\[0\] is not positive definite.*set reg"),
        (lambda X, y: ([x[: 2 + i % 2] for i, x in enumerate(X)], y), r"examples that all have one shape"),
        (lambda X, y: (X, 0 * y), r"y has only one class, (np.int64\()?0"),
        (lambda X, y: (X, y[:-1]), r"inconsistent numbers of samples"),
        (lambda X, y: (X, y + 0.5), r"Unknown label type"),
        (lambda X, y: (X + 1j, y), r"X\[0\] is not Hermitian"),
        (lambda X, y: (X[:1], y[:1]), r"minimum of 2 is required"),
        (lambda X, _: (X, None), r"requires y to be passed"),
    ],
)
def test_invalid_examples_raise_value_error(estimator, data, change, message):
    if "set reg" in message and isinstance(estimator, CovMetricCV):
        estimator.set_params(phi=["log", "chol"])  # the other embeddings take singular matrices
    with pytest.raises(ValueError, match=message):
        estimator.fit(*change(*data))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"phi": "cosine"}, f"phi must be one of {quoted(EMBEDDINGS)}"),
        ({"phi": "vector"}, "phi 'vector' does not take matrices"),
        ({"pairs": "triplets"}, "pairs must be one of"),
        ({"budget": 0}, "budget must be None or an integer >= 1"),
        ({"slack": "hinge"}, "slack must be one of"),
        ({"lam": 0}, "lam must be a positive number or infinity, got 0"),
        ({"lam": "small"}, "lam must be a positive number or infinity, got 'small'"),
        ({"bounds": (1.0, -1.0)}, "far must be a positive number, got -1.0"),
        ({"scale": 0.0}, "scale must be 'median', None or a positive number, got 0.0"),
        ({"prior": "wishart"}, f"prior must be {quoted(PRIORS)} or a matrix, got 'wishart'"),
        ({"prior": np.eye(3)}, r"prior must have the shape of W, \(4, 4\); got \(3, 3\)"),
        ({"prior": -np.eye(4)}, "prior must be positive definite, but its smallest eigenvalue is -1"),
        ({"prior_t": 1.5}, "prior_t must be a number from 0 to 1, got 1.5"),
        ({"shrinkage": "oas"}, "shrinkage must be 'auto' or a number from 0 to 1, got 'oas'"),
        ({"solver": "simplex"}, "solver must be one of"),
        ({"solver": "dykstra", "order": "sorted"}, "order must be one of"),
        ({"order": "sorted"}, "order must be one of"),
        ({"bounds": (5.0, 0.1)}, "near must not be larger than far, got 5 and 0.1"),
        (
            {"phi": get_embedding("log"), "reg": 0.1},
            "reg can only be set together with the name of a phi; set the reg of the object Log",
        ),
        ({"phi": get_embedding("vector")}, "phi 'vector' does not take matrices"),
        ({"reg": -1.0}, "reg must be a number >= 0"),
        ({"tol": -1.0}, "tol must be a number >= 0"),
        ({"max_iter": -1}, "max_iter must be None or an integer >= 0"),
        ({"random_state": "seed"}, "random_state must be"),
    ],
)
def test_invalid_parameters_raise_value_error_in_fit(data, settings, message):
    learner = CovMetric(**settings)
    with pytest.raises(ValueError, match=message):
        learner.fit(*data)


def test_mixing_vectors_and_matrices_raises_value_error(data):
    X, y = data
    with pytest.raises(ValueError, match=r"phi 'log' does not take vectors, shape \(l, d\), but X has shape \(40, 4\)"):
        CovMetric("log").fit(X[:, 0], y)
    with pytest.raises(ValueError, match=r"reg applies to matrices, but X holds vectors, shape \(40, 4\); set reg=0"):
        CovMetric(reg=1e-3).fit(X[:, 0], y)
    fitted = CovMetric(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"shape \(..., n, n\)|square matrices|fitted on"):
        fitted.transform(X[:, 0])
    vectors = CovMetric(random_state=0).fit(X[:, 0], y)
    with pytest.raises(ValueError, match=r"X must hold examples of shape \(4,\), as in fit; got .* \(40, 4, 4\)"):
        vectors.transform(X)
    with pytest.raises(ValueError, match="3 features, but CovMetric is expecting 4"):
        fitted.transform(X[:, :3, :3])
    with pytest.raises(ValueError, match=r"pairs must have shape \(K, 2, n, n\)"):
        fitted.pair_distance(X)


@pytest.mark.parametrize("scale", [1e160, 1e-170])
def test_overflowing_squared_distances_raise_value_error(scale):
    X, y = classes_of_matrices()
    with pytest.raises(ValueError, match="overflow or vanish: rescale X"):
        CovMetric(random_state=0, pairs="random").fit(scale * X[:, 0], y)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("scale", [1e160, 1e-170])
@pytest.mark.parametrize("phi", ["id", "vector"])
def test_priors_of_examples_whose_squares_overflow_raise_value_error(prior, scale, phi):
    X, y = classes_of_matrices()
    with pytest.raises(ValueError, match=r"overflow or vanish.*: rescale X"):
        CovMetric(phi, random_state=0, prior=prior).fit(scale * (X if phi == "id" else X[:, 0]), y)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("scale", [1e100, 1e-100, 1e145])
def test_what_is_learned_does_not_depend_on_the_scale(prior, scale):
    X, y = classes_of_matrices()
    learner = CovMetric("id", random_state=0, prior=prior, tol=1e-10)
    expected, scaled = (output(learner.fit(factor * X, y), factor * X) for factor in (1.0, scale))
    np.testing.assert_allclose(scaled / np.abs(scaled).max(), expected / np.abs(expected).max(), rtol=0, atol=1e-5)


def test_repeated_names_of_columns_raise_value_error(estimator):
    pandas = pytest.importorskip("pandas")
    X, y = classes_of_matrices()
    frame = pandas.DataFrame(X[:, 0], columns=["a", "b", "a", "c"])
    with pytest.raises(ValueError, match="columns 0 and 2 are both called 'a': rename one"):
        estimator.fit(frame, y)


def test_equal_examples_of_two_classes_are_left_out_with_a_warning(estimator, data):
    X, y = data
    X = np.concatenate([X, X[:6], X[:2]])
    y = np.concatenate([y, y[:6], 1 - y[:2]])
    with pytest.warns(UserWarning, match="were left out, because they are dissimilar but their examples are equal"):
        assert np.isfinite(output(estimator.fit(X, y), X)).all()


def test_huge_and_tiny_matrices_give_finite_vectors(learner):
    for scale in (1e-100, 1e100):
        X, y = classes_of_matrices(scale=scale)
        assert np.isfinite(learner.fit(X, y).transform(X)).all()


def test_reg_makes_singular_matrices_valid(learner):
    X, y = classes_of_matrices()
    X[3] = np.outer(X[3, 0], X[3, 0])
    assert np.isfinite(learner.set_params(reg=1e-6).fit(X, y).transform(X)).all()
