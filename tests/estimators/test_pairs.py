"""CovMetricPairs, on vectors and on matrices.

The first part checks the requirements of metric-learn 0.7 on pair learners, rewritten here (test_pairs_classifiers.py,
test_mahalanobis_mixin.py, test_sklearn_compat.py and test_base_metric.py there).
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score
from sklearn.model_selection import KFold, cross_val_score
from sklearn.utils.fixes import parse_version

from covmetric import CovMetric, CovMetricPairs, MetricProblem, Status, load_model, save_model, solve
from tests import naive
from tests.data import classes_of_matrices, fitted_problem, spd


def labelled_pairs(kind, count=60):
    X, y = classes_of_matrices(80)
    if kind == "vectors":
        X = np.log(np.diagonal(X, axis1=1, axis2=2))
    index = np.random.default_rng(0).integers(80, size=(count, 2))
    index = index[index[:, 0] != index[:, 1]]
    return X, index, np.where(y[index[:, 0]] == y[index[:, 1]], 1, -1)


@pytest.fixture(params=["vectors", "matrices"])
def data(request):
    X, index, y = labelled_pairs(request.param)
    return X[index], y


@pytest.fixture
def fitted(data):
    return CovMetricPairs(random_state=0).fit(*data)


def test_fit_returns_self_and_keeps_the_parameters(data):
    learner = CovMetricPairs(random_state=0)
    before = learner.get_params()
    assert learner.fit(*data) is learner
    assert learner.get_params() == before
    assert learner.status_ is Status.SOLVED


def test_predictions_are_plus_or_minus_one(fitted, data):
    assert set(np.unique(fitted.predict(data[0]))) <= {-1, 1}


def test_predictions_are_monotonic_in_the_distance(fitted, data):
    distances, guesses = fitted.pair_distance(data[0]), fitted.predict(data[0])
    assert distances[guesses == 1].max() <= fitted.threshold_ < distances[guesses == -1].min()
    everything = fitted.set_threshold(distances.max() + 1.0).predict(data[0])
    assert (everything == 1).all()
    assert (fitted.set_threshold(distances.min() / 2).predict(data[0]) == -1).all()


def test_scores_are_negative_distances(fitted, data):
    distances = fitted.pair_distance(data[0])
    assert np.isfinite(distances).all()
    np.testing.assert_array_equal(fitted.pair_score(data[0]), -distances)
    np.testing.assert_array_equal(fitted.decision_function(data[0]), -distances)
    assert fitted.score(*data) == pytest.approx(roc_auc_score(data[1], -distances))


def test_pair_distance_is_the_distance_of_the_metric(fitted, data):
    pairs = data[0]
    metric = fitted.get_metric()
    expected = [metric(a, b) for a, b in pairs]
    np.testing.assert_allclose(fitted.pair_distance(pairs), expected, rtol=1e-9)
    E = fitted.metric_.embedding.transform(pairs.reshape(-1, *pairs.shape[2:]))
    W = fitted.get_mahalanobis_matrix()
    assert metric(*pairs[0], squared=True) == pytest.approx(naive.squared_distance(W, E[0], E[1]), rel=1e-9)
    mapped = fitted.transform(pairs.reshape(-1, *pairs.shape[2:])).reshape(len(pairs), 2, -1)
    np.testing.assert_allclose(np.linalg.norm(mapped[:, 0] - mapped[:, 1], axis=1), expected, rtol=1e-7)


def test_components_are_a_root_of_the_matrix(fitted):
    L, M = fitted.components_, fitted.get_mahalanobis_matrix()
    np.testing.assert_allclose(L.T @ L, M, rtol=1e-9, atol=1e-12)
    assert np.linalg.eigvalsh(M)[0] > 0.0
    M[:] = 0.0
    assert fitted.get_mahalanobis_matrix().any()


def test_methods_raise_not_fitted_error_before_fit(data):
    learner = CovMetricPairs()
    for name in ("predict", "pair_distance", "pair_score", "decision_function", "transform"):
        with pytest.raises(NotFittedError):
            getattr(learner, name)(data[0])
    for call in (learner.get_metric, learner.get_mahalanobis_matrix, lambda: learner.set_threshold(1.0)):
        with pytest.raises(NotFittedError):
            call()
    with pytest.raises(NotFittedError):
        learner.calibrate_threshold(*data)


def test_fit_calibrates_the_threshold(fitted, data):
    threshold = fitted.threshold_
    assert fitted.calibrate_threshold(*data) is fitted
    assert fitted.threshold_ == threshold
    expected = CovMetricPairs(random_state=0).fit(*data, calibration_params={"strategy": "f_beta", "beta": 0.5})
    assert expected.threshold_ == fitted.calibrate_threshold(*data, strategy="f_beta", beta=0.5).threshold_


def test_threshold_can_be_set(fitted, data):
    assert fitted.set_threshold(0.5) is fitted
    assert fitted.threshold_ == 0.5
    for wrong in ("0.5", None, [1.0], np.nan, True):
        with pytest.raises(ValueError, match="threshold must be a number"):
            fitted.set_threshold(wrong)
    with pytest.raises(ValueError, match=r"threshold must be a distance >= 0, got -0\.1"):
        fitted.set_threshold(-0.1)
    assert fitted.threshold_ == 0.5 and fitted.set_threshold(0).threshold_ == 0.0
    del fitted.threshold_
    with pytest.raises(AttributeError, match="no threshold is set: call set_threshold or calibrate_threshold"):
        fitted.predict(data[0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strategy": "weird"}, "strategy must be one of 'accuracy', 'f_beta', 'max_tpr', 'max_tnr', got 'weird'"),
        ({"strategy": "max_tpr"}, "strategy 'max_tpr' needs a min_rate from 0 to 1, got None"),
        ({"strategy": "max_tnr", "min_rate": 1.5}, "needs a min_rate from 0 to 1, got 1.5"),
        ({"strategy": "f_beta", "beta": "a"}, "strategy 'f_beta' needs a beta >= 0, got 'a'"),
    ],
)
def test_invalid_calibration_raises_value_error(fitted, data, settings, message):
    with pytest.raises(ValueError, match=message):
        fitted.calibrate_threshold(*data, **settings)
    with pytest.raises(ValueError, match=message):
        CovMetricPairs().fit(*data, calibration_params=settings)


@pytest.mark.parametrize(("sign", "kind"), [(1, r"similar \(\+1\)"), (-1, r"dissimilar \(-1\)")])
def test_pairs_of_one_kind_give_a_metric_without_a_threshold(fitted, data, sign, kind, tmp_path):
    """The metric is certified, but no threshold separates pairs that are all of the same kind."""
    pairs, y = data
    alone = pairs[y == sign]
    with pytest.warns(UserWarning, match=rf"all {len(alone)} pairs are {kind}, so that no threshold was calibrated"):
        assert fitted.fit(alone, y[y == sign]) is fitted  # which had a threshold before
    assert fitted.status_ is Status.SOLVED and not hasattr(fitted, "threshold_")
    save_model(fitted, tmp_path / "pairs.model")
    for learner in (fitted, load_model(tmp_path / "pairs.model")):
        assert np.isfinite(learner.pair_distance(pairs)).all() and 0.0 <= learner.score(pairs, y) <= 1.0
        with pytest.raises(AttributeError, match="no threshold is set: call set_threshold or calibrate_threshold"):
            learner.predict(pairs)
        with pytest.raises(ValueError, match=rf"y_valid has only pairs that are {kind}, .*: pass pairs of both kinds"):
            learner.calibrate_threshold(alone, y[y == sign])
        learner.calibrate_threshold(pairs, y)
        assert learner.threshold_ > 0.0 and set(learner.predict(pairs)) <= {-1, 1}


def test_calibration_is_optimal_by_scikit_learn_scores(fitted, data):
    pairs, y = data
    distances = fitted.pair_distance(pairs)
    cuts = np.concatenate([[0.0], np.sort(distances)])
    best = max(accuracy_score(y, np.where(distances <= cut, 1, -1)) for cut in cuts)
    assert accuracy_score(y, fitted.calibrate_threshold(pairs, y).predict(pairs)) == pytest.approx(best)
    best = max(f1_score(y, np.where(distances <= cut, 1, -1)) for cut in cuts[1:])
    assert f1_score(y, fitted.calibrate_threshold(pairs, y, "f_beta").predict(pairs)) == pytest.approx(best)


@pytest.mark.parametrize("kind", ["vectors", "matrices"])
def test_preprocessor_gives_the_examples_of_indices(kind):
    X, index, y = labelled_pairs(kind)
    direct = CovMetricPairs("id" if kind == "matrices" else "auto", random_state=0).fit(X[index], y)
    by_array = clone(direct).set_params(preprocessor=X).fit(index, y)
    by_function = clone(direct).set_params(preprocessor=lambda indices: X[indices]).fit(index, y)
    for learner in (by_array, by_function):
        np.testing.assert_allclose(learner.get_mahalanobis_matrix(), direct.get_mahalanobis_matrix(), rtol=1e-5)
        np.testing.assert_allclose(learner.pair_distance(index), direct.pair_distance(X[index]), rtol=1e-5)
        np.testing.assert_array_equal(learner.predict(index), learner.predict(X[index]))
    with pytest.raises(ValueError, match=r"pairs\[0, 0\] is 99: it must be in 0..79"):
        by_array.predict([[99, 0]])
    with pytest.raises(ValueError, match="pairs must be integers"):
        by_array.predict([[0.5, 0.0]])
    with pytest.raises(ValueError, match="are indices, which need a preprocessor"):
        CovMetricPairs().fit(index, y)


def test_invalid_result_of_a_preprocessor_raises_value_error():
    X, index, y = labelled_pairs("vectors")
    for wrong in (lambda _: X, lambda _: None, lambda indices: X[indices[:1]]):
        with pytest.raises(ValueError, match=r"preprocessor must return one example for each of the .* indices"):
            CovMetricPairs(preprocessor=wrong).fit(index, y)
    with pytest.raises(ValueError, match="pairs is empty"):
        CovMetricPairs(preprocessor=X).fit(np.empty((0, 2), dtype=int), [])


def test_input_types_give_the_same_result(data):
    pairs, y = data
    expected = CovMetricPairs(random_state=0).fit(pairs, y)
    for given in (pairs.tolist(), np.asfortranarray(pairs), tuple(pairs)):
        again = CovMetricPairs(random_state=0).fit(given, y.tolist())
        np.testing.assert_array_equal(again.pair_distance(given), expected.pair_distance(pairs))
    frozen = pairs.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(
        CovMetricPairs(random_state=0).fit(frozen, y).predict(frozen), expected.predict(pairs)
    )


def test_clone_pickle_and_cross_validation_work(fitted, data):
    pairs, y = data
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(pairs), fitted.predict(pairs))
    np.testing.assert_array_equal(clone(fitted).fit(pairs, y).predict(pairs), fitted.predict(pairs))
    for scoring in (None, "accuracy", "f1"):
        scores = cross_val_score(CovMetricPairs(random_state=0), pairs, y, cv=KFold(3), scoring=scoring)
        assert np.isfinite(scores).all()


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.9"),
    reason="scikit-learn asks only classifiers for their decision_function before 1.9",
)
def test_cross_validation_asks_for_the_scores_of_pairs(data):
    pairs, y = data
    scores = cross_val_score(CovMetricPairs(random_state=0), pairs, y, cv=KFold(3), scoring="roc_auc")
    assert np.isfinite(scores).all() and scores.mean() > 0.5


def test_informative_coordinate_gets_the_larger_weight():
    """Similar pairs differ in the second coordinate, dissimilar pairs in the first."""
    pairs = np.array([[[0.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, 0.0]], [[0, 1], [1, 1.0]]])
    y = [1, 1, -1, -1]
    learner = CovMetricPairs(lam=1e-3, random_state=0).fit(pairs, y)
    np.testing.assert_array_equal(learner.predict(pairs), y)
    assert learner.score(pairs, y) == 1.0
    W = learner.get_mahalanobis_matrix()
    assert W[0, 0] > 5.0 * W[1, 1]


def test_result_is_the_solution_of_the_stated_problem(data):
    """MetricProblem with the differences, bounds and weights of the pairs gives the same W."""
    pairs, y = data
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    learner = CovMetricPairs(lam=1e-2, tol=1e-9, random_state=0).fit(pairs, y, pair_weights=weights)
    E = learner.metric_.embedding.transform(pairs.reshape(-1, *pairs.shape[2:]))
    F = E[::2] - E[1::2]
    scale = np.median((F**2).sum(axis=(1, 2)))
    problem = MetricProblem.from_differences(
        F / np.sqrt(scale), y, np.where(y > 0, 0.05, 0.95), weights / weights.sum() / 1e-2
    )
    W = solve(problem, tol=1e-9).W / scale
    np.testing.assert_allclose(learner.get_mahalanobis_matrix(), W, rtol=1e-3, atol=1e-4 * np.abs(W).max())
    equal = CovMetricPairs(lam=1e-2, tol=1e-9, random_state=0).fit(pairs, y)
    assert not np.allclose(equal.get_mahalanobis_matrix(), W, rtol=1e-2)


def test_infinite_lambda_returns_the_prior(data):
    learner = CovMetricPairs(lam=np.inf).fit(*data)
    np.testing.assert_array_equal(learner.get_mahalanobis_matrix(), np.eye(4))
    assert (learner.n_iter_, learner.duality_gap_, learner.result_, learner.scale_) == (0, 0.0, None, 1.0)


def test_equal_dissimilar_examples_are_left_out(data):
    pairs, y = data
    pairs = np.concatenate([pairs, pairs[:1]])
    pairs[-1, 1] = pairs[-1, 0]
    with pytest.warns(UserWarning, match=r"1 of .* pairs were left out, because .* the two examples of pairs\[\d+\]"):
        CovMetricPairs(random_state=0).fit(pairs, np.append(y, -1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p, y: (p, y[:-1]), "y must have one entry per pair"),
        (
            lambda p, y: (p, y > 0),
            r"y must be \+1 for similar and -1 for .*, but y\[0\] is (True|False); .*np.where\(is_similar, 1, -1\)",
        ),
        (
            lambda p, y: (p, np.where(y > 0, "same", "different")),
            r"\+1 for similar .*y\[0\] is '(same|different)'; .*np.where",
        ),
        (lambda p, y: (p, np.where(y > 0, "same", "different").astype(object)), r"y must be \+1 for similar"),
        (
            lambda p, y: (p, np.where(y > 0, 1, 0)),
            r"y\[\d+\] is 0.0: every entry must be \+1 .near. or -1 .far.; convert labels 0 and 1 with 2 \* y - 1$",
        ),
        (lambda p, y: (p, np.where(y > 0, 1, 2)), r"y\[\d+\] is 2.0: every entry must be \+1 .near. or -1 .far.$"),
        (lambda p, y: (p[:, :1], y), r"pairs must have shape \(K, 2, n, n\), or \(K, 2, d\)"),
        (lambda p, y: (p[:0], y[:0]), r"pairs must have shape"),
        (lambda p, y: (p * np.nan, y), r"pairs\[0, 0, 0.*\] is nan: NaN and infinity"),
        (lambda p, y: (p, y, -np.ones(len(y))), r"pair_weights\[0\] is -1.0: every entry must be positive"),
        (lambda p, y: (p, y, np.ones(3)), "pair_weights must be a scalar or have one entry per pair"),
    ],
)
def test_invalid_pairs_raise_value_error(data, change, message):
    with pytest.raises(ValueError, match=message):
        CovMetricPairs().fit(*change(*data))


@pytest.mark.parametrize("as_function", [False, True])
def test_errors_about_an_example_name_an_argument_of_the_user(as_function):
    X = spd(12, 3)
    indices, y = np.array([[5, 6], [7, 8], [9, 10], [5, 11]]), [1, -1, 1, -1]
    for wrong, entry in ((np.nan, ", 0, 0"), (-np.eye(3), "")):
        examples = np.where(np.arange(12)[:, None, None] == 7, wrong, X)
        preprocessor = (lambda which, examples=examples: examples[which]) if as_function else examples
        with pytest.raises(ValueError, match=rf"^preprocessor\[7{entry}\] is n"):
            CovMetricPairs("log", preprocessor=preprocessor).fit(indices, y)
        learner = CovMetricPairs("log", preprocessor=X).fit(indices, y).set_params(preprocessor=preprocessor)
        with pytest.raises(ValueError, match=rf"^preprocessor\[7{entry}\] is n"):
            learner.pair_distance(indices)
    with pytest.raises(ValueError, match=r"^pairs\[1, 0\] is not positive definite"):
        CovMetricPairs("log").fit(examples[indices], y)


def test_pairs_of_another_size_raise_value_error(fitted, data):
    wrong = data[0][:, :, :3] if data[0].ndim == 3 else data[0][:, :, :3, :3]
    with pytest.raises(ValueError, match="but the embedding was fitted on"):
        fitted.pair_distance(wrong)


def test_result_is_that_of_cov_metric_on_the_same_pairs():
    X, y = classes_of_matrices(60)
    learner = CovMetric("log", random_state=0, tol=1e-9)
    fitted, _ = fitted_problem(learner, X, y)
    pairs = fitted.constraints
    other = CovMetricPairs("log", tol=1e-9, random_state=0, preprocessor=X).fit(pairs.pairs, pairs.similar)
    np.testing.assert_allclose(other.get_mahalanobis_matrix(), learner.W_, rtol=1e-3, atol=1e-5)
