"""CovMetric, CovMetricCV and CovMetricClassifier: scikit-learn's checks on vectors, our own contract on matrices."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from covmetric import (
    PAPER_SETTINGS,
    CovMetric,
    CovMetricClassifier,
    CovMetricCV,
    LearnedMetric,
    NeighborPairs,
    RandomPairs,
    Status,
)
from covmetric.embeddings import EMBEDDINGS, get_embedding
from tests import naive
from tests.data import classes_of_matrices, fitted_problem

LEARNERS = [CovMetric(random_state=0), CovMetricCV(random_state=0)]
CLASSIFIERS = [CovMetricClassifier(random_state=0), CovMetricClassifier(rule="mean", random_state=0)]


@parametrize_with_checks([*LEARNERS, *CLASSIFIERS, CovMetricClassifier(CovMetricCV(random_state=0))])
def test_scikit_learns_checks_on_vectors(estimator, check):
    """A check raises where it fails; `test_a_check_that_fails_is_noticed` sees to it that it can."""
    check(estimator)


def test_scikit_learns_check_of_array_api_input():
    """It is skipped unless a variable is set before SciPy is imported."""
    code = (
        "from sklearn.utils.estimator_checks import check_estimator\n"
        "from covmetric import CovMetric, CovMetricClassifier, CovMetricCV\n"
        "for estimator in (CovMetric(), CovMetricCV(), CovMetricClassifier()):\n"
        "    seen = check_estimator(estimator, on_skip=None)\n"
        "    assert {row['status'] for row in seen} == {'passed'}, seen\n"
        "    print(type(estimator).__name__, len(seen))\n"
    )
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "CovMetricClassifier" in done.stdout


@pytest.fixture
def data():
    return classes_of_matrices()


@pytest.fixture(params=LEARNERS, ids=lambda e: type(e).__name__)
def learner(request):
    return clone(request.param)


@pytest.fixture(params=[*LEARNERS, *CLASSIFIERS], ids=lambda e: f"{type(e).__name__}-{getattr(e, 'rule', '')}")
def estimator(request):
    return clone(request.param)


def output(estimator, X):
    """Whatever a fitted estimator says of X, as an array."""
    return estimator.predict_proba(X) if hasattr(estimator, "predict_proba") else estimator.transform(X)


def test_fitted_attributes(data):
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


@pytest.mark.parametrize("phi", EMBEDDINGS)
@pytest.mark.parametrize("prior", ["identity", "covariance", "matrix"])
def test_the_certificate_belongs_to_the_metric_that_is_returned(phi, prior):
    """W_ is that of the unscaled Phi; by the definition of the problem, written out, nothing near it is better."""
    X, y = classes_of_matrices()
    X = np.linalg.eigvalsh(X) if phi == "vector" else X
    n = get_embedding(phi).fit(X).shape_out_[0]
    M = np.diag(np.linspace(0.5, 2.0, n)) if prior == "matrix" else prior
    learner = CovMetric(phi, prior=M, pairs="random", random_state=0, tol=1e-9)
    fitted, embedded = fitted_problem(learner, X, y)
    assert learner.status_ is Status.SOLVED
    if prior == "covariance":
        centred = np.moveaxis(embedded - embedded.mean(axis=0), 1, 2).reshape(-1, n)
        M = np.linalg.inv(centred.T @ centred / len(centred))
    elif prior == "identity":
        M = np.eye(n)
    W0, c = M, fitted.constraints
    pairs, bounds = c.pairs, c.bounds

    def objective(W):
        """BD(W scale, prior) + the losses, from the definition."""
        ratio = np.linalg.solve(W0, W * c.scale)
        value = np.trace(ratio) - np.linalg.slogdet(ratio)[1] - n
        for (i, j), b, sign in zip(pairs, bounds, c.similar, strict=True):
            s = naive.squared_distance(W, embedded[i], embedded[j]) / b
            if sign * (s - 1.0) > 0:
                value += (s - np.log(s) - 1.0) / (1e-2 * len(pairs))
        return value

    best = objective(learner.W_)
    assert best == pytest.approx(learner.result_.certificate.primal, rel=1e-7)
    rng = np.random.default_rng(0)
    L = np.linalg.cholesky(learner.W_)
    for _ in range(5):
        E = 1e-3 * rng.standard_normal((n, n))
        assert objective(L @ (np.eye(n) + E + E.T) @ L.T) > best - 1e-9 * abs(best)


@pytest.mark.parametrize("phi", ["id", "sqrt", "chol", "relog"])
def test_units_do_not_matter(estimator, phi):
    """Volts or microvolts: the same neighbours, the same distances in units of the median."""
    X, y = classes_of_matrices()
    key = "learner" if hasattr(estimator, "learner") else "phi"
    estimator.set_params(**{key: CovMetric(phi, random_state=0) if key == "learner" else phi})
    one = clone(estimator).fit(X, y)
    volts = clone(estimator).fit(1e-12 * X, y)
    if hasattr(one, "predict"):
        np.testing.assert_array_equal(volts.predict(1e-12 * X), one.predict(X))
    else:
        np.testing.assert_allclose(volts.pairwise(1e-12 * X), one.pairwise(X), rtol=1e-4, atol=1e-6)


def test_input_of_many_kinds(estimator, data):
    X, y = data
    frozen = X.copy()
    frozen.flags.writeable = False
    before = X.copy()
    expected = output(estimator.fit(frozen, y), frozen)
    np.testing.assert_array_equal(frozen, before)
    for labels in (y.tolist(), pd.Series(y), np.array(["no", "yes"])[y], pd.Series(["b", "c"]).iloc[y], y == 1):
        np.testing.assert_array_equal(output(clone(estimator).fit(X, labels), X), expected)
    np.testing.assert_array_equal(output(clone(estimator).fit(X.tolist(), y), X.tolist()), expected)
    np.testing.assert_array_equal(output(clone(estimator).fit(np.asfortranarray(X), y), X), expected)
    single = output(clone(estimator).fit(X.astype(np.float32), y), X.astype(np.float32))
    assert single.dtype == np.float64
    assert single.shape == expected.shape


@pytest.mark.parametrize(
    ("mess", "message"),
    [
        (lambda X, y: (X[0], y), r"inconsistent numbers of samples"),
        (lambda X, y: (X[:, :, :3], y), r"X must hold square matrices.*\(40, 4, 3\)"),
        (lambda X, y: (X[None], y[:1]), r"minimum of 2 is required|X must have shape"),
        (lambda X, y: (X[:, :0, :0], y), r"X must hold square matrices|0 feature"),
        (lambda X, y: (X + np.nan, y), r"X\[0, 0, 0\] is nan: NaN and infinity"),
        (lambda X, y: (X + np.triu(np.ones((4, 4)), 1), y), r"X\[0\] is not symmetric"),
        (lambda X, y: (X[:, :1] * X[:, :1].swapaxes(1, 2), y), r"X\[0\] is not positive definite.*set reg"),
        (lambda X, y: (X, 0 * y), r"y has only one class, (np.int64\()?0"),
        (lambda X, y: (X, y[:-1]), r"inconsistent numbers of samples"),
        (lambda X, y: (X, y + 0.5), r"Unknown label type"),
        (lambda X, y: (X + 1j, y), r"X\[0\] is not Hermitian"),
        (lambda X, y: (X[:1], y[:1]), r"minimum of 2 is required"),
        (lambda X, _: (X, None), r"requires y to be passed"),
    ],
)
def test_bad_input(estimator, data, mess, message):
    if "set reg" in message and isinstance(estimator, CovMetricCV):
        estimator.set_params(phi=["log", "chol"])  # others take singular matrices
    with pytest.raises(ValueError, match=message):
        estimator.fit(*mess(*data))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"phi": "cosine"}, "phi must be one of 'id', 'log'"),
        ({"phi": "vector"}, "phi 'vector' does not take matrices"),
        ({"pairs": "triplets"}, "pairs must be one of"),
        ({"budget": 0}, "budget must be None or an integer >= 1"),
        ({"slack": "hinge"}, "slack must be one of"),
        ({"lam": 0}, "lam must be a positive number or infinity, got 0"),
        ({"lam": "small"}, "lam must be a positive number or infinity, got 'small'"),
        ({"bounds": (1.0, -1.0)}, "far must be a positive number, got -1.0"),
        ({"scale": 0.0}, "scale must be 'median', None or a positive number, got 0.0"),
        ({"prior": "wishart"}, "prior must be 'identity', 'covariance' or a matrix, got 'wishart'"),
        ({"prior": np.eye(3)}, r"prior must have shape \(4, 4\), that of W; got \(3, 3\)"),
        ({"prior": -np.eye(4)}, "prior must be positive definite; its smallest eigenvalue is -1"),
        ({"solver": "simplex"}, "solver must be one of"),
        ({"solver": "dykstra", "order": "sorted"}, "order must be one of"),
        ({"order": "sorted"}, "order must be one of"),
        ({"bounds": (5.0, 0.1)}, "near must not be larger than far, got 5 and 0.1"),
        ({"phi": get_embedding("log"), "reg": 0.1}, "reg goes with the name of a phi"),
        ({"phi": get_embedding("vector")}, "phi 'vector' does not take matrices"),
        ({"reg": -1.0}, "reg must be a number >= 0"),
        ({"tol": -1.0}, "tol must be a number >= 0"),
        ({"max_iter": -1}, "max_iter must be None or an integer >= 0"),
        ({"random_state": "seed"}, "random_state must be"),
    ],
)
def test_bad_settings_are_refused_in_fit(data, settings, message):
    learner = CovMetric(**settings)
    with pytest.raises(ValueError, match=message):
        learner.fit(*data)


def test_vectors_and_matrices_are_not_mixed(data):
    X, y = data
    with pytest.raises(ValueError, match=r"phi 'log' does not take vectors, shape \(l, d\), but X has shape \(40, 4\)"):
        CovMetric("log").fit(X[:, 0], y)
    with pytest.raises(ValueError, match="reg is for matrices, and X holds vectors"):
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


def test_before_fit(estimator, data):
    for name in ("transform", "predict", "predict_proba", "distance", "pairwise", "pair_distance", "kneighbors"):
        if hasattr(estimator, name):
            with pytest.raises(NotFittedError):
                getattr(estimator, name)(*([data[0]] * (2 if name == "distance" else 1)))


def test_infinite_lambda_is_the_fixed_metric(data):
    X, y = data
    learner = CovMetric("log", lam=np.inf).fit(X, y)
    np.testing.assert_array_equal(learner.W_, np.eye(4))
    assert (learner.result_, learner.n_iter_, learner.duality_gap_) == (None, 0, 0.0)
    prior = CovMetric("log", lam=np.inf, prior=np.diag([1.0, 2.0, 3.0, 4.0])).fit(X, y)
    np.testing.assert_allclose(prior.W_, np.diag([1.0, 2.0, 3.0, 4.0]), rtol=1e-12)


def test_the_papers_settings(data):
    X, y = data
    learner = CovMetric("chol", lam=1e-1, random_state=3, **PAPER_SETTINGS)
    fitted, embedded = fitted_problem(learner, X, y)
    assert fitted.constraints.limits == (0.05, 0.95)
    assert fitted.constraints.scale == pytest.approx(np.median(_squared(embedded, fitted.constraints.pairs)))
    assert len(fitted.constraints.pairs) <= 100 * 2
    assert learner.result_.history.projections[-1] > 0  # Dykstra's


def _squared(embedded, pairs):
    return [((embedded[i] - embedded[j]) ** 2).sum() for i, j in pairs]


def test_learning_helps_where_a_nuisance_hides_the_classes():
    X, y = classes_of_matrices(200, seed=1)
    Z, z = classes_of_matrices(200, seed=2)
    fixed = CovMetricClassifier(CovMetric(lam=np.inf)).fit(X, y).score(Z, z)
    learned = CovMetricClassifier(CovMetric(random_state=0)).fit(X, y).score(Z, z)
    means = CovMetricClassifier(CovMetric(random_state=0), rule="mean").fit(X, y).score(Z, z)
    assert learned > fixed + 0.05
    assert means > 0.75


def test_neighbours_chosen_again(data):
    X, y = data
    once = CovMetric(pairs=NeighborPairs(3), random_state=0).fit(X, y)
    again = CovMetric(pairs=NeighborPairs(3, rounds=3), random_state=0).fit(X, y)
    assert again.status_ is Status.SOLVED
    assert not np.allclose(once.W_, again.W_, rtol=1e-3)


def test_the_same_bits_for_any_number_of_jobs():
    X, y = classes_of_matrices(300)
    for make in (
        lambda jobs: CovMetric(random_state=0, n_jobs=jobs),
        lambda jobs: CovMetricCV(random_state=0, n_jobs=jobs),
    ):
        one, two = make(1).fit(X, y), make(2).fit(X, y)
        np.testing.assert_array_equal(one.W_, two.W_)
        np.testing.assert_array_equal(one.transform(X), two.transform(X))


def test_the_random_state_decides():
    X, y = classes_of_matrices(300)
    fits = [CovMetric(pairs="random", random_state=seed).fit(X, y).W_ for seed in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])


def test_pickle_and_clone(estimator, data):
    X, y = data
    fitted = estimator.fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(output(again, X), output(fitted, X))
    np.testing.assert_array_equal(output(clone(fitted).fit(X, y), X), output(fitted, X))


def test_pickle_after_showing_progress(data):
    fitted = CovMetricClassifier(CovMetric(verbose=1, random_state=0)).fit(*data)
    assert pickle.loads(pickle.dumps(fitted)).partial_fit(*data).score(*data) > 0.5


def test_pipelines_and_searches(data):
    X, y = data
    pipeline = make_pipeline(CovMetric(random_state=0), LogisticRegression())
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.5
    search = GridSearchCV(
        make_pipeline(CovMetric(random_state=0), KNeighborsClassifier(3)),
        {"covmetric__phi": ["log", "sqrt"], "covmetric__pairs": ["random", RandomPairs(20, balance=None)]},
        cv=2,
    )
    assert search.fit(X, y).best_score_ > 0.5


def test_pandas_output(learner, data):
    X, y = data
    frame = learner.set_output(transform="pandas").fit(X, y).transform(X)
    assert frame.shape == (40, 16)
    assert frame.columns[0] == f"{type(learner).__name__.lower()}0"
    assert len(learner.get_feature_names_out()) == 16


def test_groups_are_routed(data):
    X, y = data
    groups = np.repeat(np.arange(10), 4)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = CovMetricCV(random_state=0, phi="log").set_fit_request(groups=True)
        pipeline = make_pipeline(inner, KNeighborsClassifier(3))
        scores = cross_val_score(pipeline, X, y, cv=GroupKFold(2), params={"groups": groups})
        whole = CovMetricClassifier(CovMetricCV(random_state=0, phi="log")).set_fit_request(groups=True)
        assert len(cross_val_score(whole, X, y, cv=GroupKFold(2), params={"groups": groups})) == 2
    assert len(scores) == 2
    with pytest.raises(ValueError, match="groups are for a CovMetricCV as the learner"):
        CovMetricClassifier().fit(X, y, groups=groups)
    direct = make_pipeline(CovMetricCV(random_state=0, phi="log"), KNeighborsClassifier(3))
    direct.fit(X, y, covmetriccv__groups=groups)


def test_duplicates_of_both_kinds(estimator, data):
    X, y = data
    X = np.concatenate([X, X[:6], X[:2]])
    y = np.concatenate([y, y[:6], 1 - y[:2]])
    with pytest.warns(UserWarning, match="were left out: dissimilar, but their examples are equal"):
        assert np.isfinite(output(estimator.fit(X, y), X)).all()


def test_huge_and_tiny(learner):
    for scale in (1e-100, 1e100):
        X, y = classes_of_matrices(scale=scale)
        assert np.isfinite(learner.fit(X, y).transform(X)).all()


def test_singular_matrices_with_reg(learner):
    X, y = classes_of_matrices()
    X[3] = np.outer(X[3, 0], X[3, 0])
    assert np.isfinite(learner.set_params(reg=1e-6).fit(X, y).transform(X)).all()


def test_an_unfinished_solve_warns_and_keeps_the_best(data):
    from sklearn.exceptions import ConvergenceWarning

    learner = CovMetric(max_iter=1, tol=1e-12, random_state=0)
    with pytest.warns(ConvergenceWarning, match="MAX_ITER"):
        learner.fit(*data)
    assert learner.status_ is Status.MAX_ITER
    assert np.isfinite(learner.transform(data[0])).all()


@pytest.mark.parametrize("scale", [1e160, 1e-170])
def test_scales_that_cannot_be_squared(scale):
    X, y = classes_of_matrices()
    with pytest.raises(ValueError, match="overflow or vanish: rescale X"):
        CovMetric(random_state=0, pairs="random").fit(scale * X[:, 0], y)


def test_learned_matrices_are_read_only(data):
    learner = CovMetric(random_state=0).fit(*data)
    for array in (learner.W_, learner.components_):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1.0


def test_progress_on_request(data, capsys):
    CovMetric(verbose=1, random_state=0).fit(*data)
    assert "relative gap" in capsys.readouterr().err
    CovMetricCV(verbose=1, random_state=0, phi="log").fit(*data)
    assert "search" in capsys.readouterr().err


def test_a_check_that_fails_is_noticed():
    """The checks would see a class that breaks the rules."""

    class Careless(CovMetric):
        def fit(self, X, y):
            self.lam = 2.0
            return super().fit(X, y)

    seen = check_estimator(Careless(), on_fail=None, on_skip=None)
    assert any(row["status"] == "failed" for row in seen)
