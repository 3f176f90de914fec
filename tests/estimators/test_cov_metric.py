"""CovMetric, and properties that all estimators share."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from covmetric import (
    PAPER_SETTINGS,
    CovMetric,
    CovMetricClassifier,
    CovMetricCV,
    LearnedMetric,
    NeighborPairs,
    Status,
)
from tests import naive
from tests.data import classes_of_matrices, fitted_problem


def test_fitted_attributes_agree_with_the_result(data):
    X, y = data
    learner = CovMetric(random_state=0).fit(X, y)
    assert isinstance(learner.metric_, LearnedMetric)
    assert learner.metric_.embedding.name == "relog"
    assert learner.W_.shape == learner.components_.shape == (4, 4)
    np.testing.assert_allclose(learner.components_ @ learner.components_, learner.W_, rtol=1e-10, atol=1e-12)
    assert learner.status_ is Status.SOLVED
    assert learner.n_iter_ == learner.result_.n_iter >= 1
    assert 0.0 <= learner.duality_gap_ == learner.result_.certificate.gap <= learner.gap_bound_
    assert learner.result_.certificate.relative_gap <= 1e-6
    assert learner.scale_ > 0.0
    np.testing.assert_array_equal(learner.classes_, [0, 1])


def test_distances_agree_with_the_transform(learner, data):
    X, y = data
    learner.fit(X, y)
    T = learner.transform(X)
    expected = np.linalg.norm(T[:20] - T[20:], axis=1)
    np.testing.assert_allclose(learner.distance(X[:20], X[20:]), expected, rtol=1e-9)
    np.testing.assert_allclose(learner.distance(X[:20], X[20:], squared=True), expected**2, rtol=1e-9)
    np.testing.assert_allclose(learner.pair_distance(np.stack([X[:20], X[20:]], axis=1)), expected, rtol=1e-9)
    np.testing.assert_allclose(np.diag(learner.pairwise(X[:20], X[20:])), expected, rtol=1e-9)
    np.testing.assert_array_equal(learner.fit_transform(X, y), T)
    F = learner.metric_.embedding.transform(X)
    assert learner.distance(X[0], X[1], squared=True) == pytest.approx(
        naive.squared_distance(learner.W_, F[0], F[1]), rel=1e-9
    )


@pytest.mark.parametrize("phi", ["id", "sqrt", "chol", "relog"])
def test_result_does_not_depend_on_the_unit_of_the_examples(estimator, phi):
    """Volts and microvolts give the same classes, and the same distances in units of the median."""
    X, y = classes_of_matrices()
    key = "learner" if hasattr(estimator, "learner") else "phi"
    estimator.set_params(**{key: CovMetric(phi, random_state=0) if key == "learner" else phi})
    one = clone(estimator).fit(X, y)
    volts = clone(estimator).fit(1e-12 * X, y)
    if hasattr(one, "predict"):
        np.testing.assert_array_equal(volts.predict(1e-12 * X), one.predict(X))
    else:
        np.testing.assert_allclose(volts.pairwise(1e-12 * X), one.pairwise(X), rtol=1e-4, atol=1e-6)


def test_infinite_lambda_returns_the_prior(data):
    X, y = data
    learner = CovMetric("log", lam=np.inf).fit(X, y)
    np.testing.assert_array_equal(learner.W_, np.eye(4))
    assert (learner.result_, learner.n_iter_, learner.duality_gap_) == (None, 0, 0.0)
    prior = CovMetric("log", lam=np.inf, prior=np.diag([1.0, 2.0, 3.0, 4.0])).fit(X, y)
    np.testing.assert_allclose(prior.W_, np.diag([1.0, 2.0, 3.0, 4.0]), rtol=1e-12)


def test_paper_settings_match_the_paper(data):
    X, y = data
    learner = CovMetric("chol", lam=1e-1, random_state=3, **PAPER_SETTINGS)
    fitted, embedded = fitted_problem(learner, X, y)
    assert fitted.constraints.limits == (0.05, 0.95)
    assert fitted.constraints.scale == pytest.approx(np.median(_squared(embedded, fitted.constraints.pairs)))
    assert len(fitted.constraints.pairs) <= 100 * 2
    assert learner.result_.history.projections[-1] > 0  # only Dykstra counts projections


def _squared(embedded, pairs):
    return [((embedded[i] - embedded[j]) ** 2).sum() for i, j in pairs]


def test_learning_improves_accuracy_if_nuisance_channels_hide_the_classes():
    X, y = classes_of_matrices(200, seed=1)
    Z, z = classes_of_matrices(200, seed=2)
    fixed = CovMetricClassifier(CovMetric(lam=np.inf)).fit(X, y).score(Z, z)
    learned = CovMetricClassifier(CovMetric(random_state=0)).fit(X, y).score(Z, z)
    means = CovMetricClassifier(CovMetric(random_state=0), rule="mean").fit(X, y).score(Z, z)
    assert learned > fixed + 0.05
    assert means > 0.75


def test_several_rounds_choose_other_neighbours(data):
    X, y = data
    once = CovMetric(pairs=NeighborPairs(3), random_state=0).fit(X, y)
    again = CovMetric(pairs=NeighborPairs(3, rounds=3), random_state=0).fit(X, y)
    assert again.status_ is Status.SOLVED
    assert not np.allclose(once.W_, again.W_, rtol=1e-3)


def test_result_does_not_depend_on_n_jobs():
    X, y = classes_of_matrices(300)
    for make in (
        lambda jobs: CovMetric(random_state=0, n_jobs=jobs),
        lambda jobs: CovMetricCV(random_state=0, n_jobs=jobs),
    ):
        one, two = make(1).fit(X, y), make(2).fit(X, y)
        np.testing.assert_array_equal(one.W_, two.W_)
        np.testing.assert_array_equal(one.transform(X), two.transform(X))


def test_random_state_determines_the_result():
    X, y = classes_of_matrices(300)
    fits = [CovMetric(pairs="random", random_state=seed).fit(X, y).W_ for seed in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])


def test_learned_matrices_are_read_only(data):
    learner = CovMetric(random_state=0).fit(*data)
    for array in (learner.W_, learner.components_):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1.0


def test_verbose_shows_progress(data, capsys):
    CovMetric(verbose=1, random_state=0).fit(*data)
    assert "relative gap" in capsys.readouterr().err
    CovMetricCV(verbose=1, random_state=0, phi="log").fit(*data)
    assert "search" in capsys.readouterr().err
