"""CovMetricCV: the search for Phi, pairs, slack and lambda."""

from __future__ import annotations

import dataclasses
import os
import signal

import numpy as np
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV, NeighborPairs, RandomPairs, Status
from covmetric.embeddings.log import Log
from covmetric.learning import candidates
from covmetric.learning import search as search_module
from tests.data import classes_of_matrices


@pytest.fixture(scope="module")
def data():
    return classes_of_matrices(90)


def test_results_have_the_format_of_grid_search_cv(data):
    X, y = data
    search = CovMetricCV(random_state=0, pairs=["neighbors", "random"], slack=["is", "l2"], lambdas=[1e-1, 1e-2]).fit(
        X, y
    )
    results = search.cv_results_
    assert len(results["params"]) == 5 * (1 + 2 * 2 * 2)
    folds = np.stack([results[f"split{i}_test_score"] for i in range(5)])
    np.testing.assert_allclose(results["mean_test_score"], folds.mean(axis=0))
    np.testing.assert_allclose(results["std_test_score"], folds.std(axis=0))
    assert search.best_score_ == results["mean_test_score"][search.best_index_]
    assert search.best_params_ == results["params"][search.best_index_]
    assert (results["param_lam"] == np.inf).sum() == 5
    again = CovMetric(random_state=search.best_estimator_.random_state, **search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.W_, again.W_)


def test_fixed_metric_is_a_candidate_for_every_phi(data):
    """Without a tolerance, the chosen score is at least that of W = I for every Phi."""
    X, y = data
    search = CovMetricCV(random_state=0, n_std_errors=0).fit(X, y)
    fixed = search.cv_results_["param_lam"] == np.inf
    assert search.best_score_ >= search.cv_results_["mean_test_score"][fixed].max()


def test_the_first_lambda_of_the_list_wins_ties(data):
    X, y = data
    split = [(np.arange(60), np.arange(60, 90))]
    learned = CovMetricCV(random_state=0, phi="id", lambdas=[1e12], cv=split).fit(X, y)
    assert learned.best_params_["lam"] == 1e12  # lambda = 1e12 learns nothing, so the scores are equal
    hopeless = CovMetricCV(random_state=0, phi="id", lambdas=[np.inf, 1e12], cv=split).fit(X, y)
    assert hopeless.best_params_["lam"] == np.inf
    assert hopeless.status_ is Status.SOLVED
    assert hopeless.n_iter_ == 0


def test_scores_are_those_of_separate_fits(data):
    """The shared embedding and the path of warm starts do not change the scores."""
    X, y = data
    train, test = np.arange(60), np.arange(60, 90)
    search = CovMetricCV(
        random_state=0, phi=["log", "chol"], lambdas=[1e-1, 1e-3], cv=[(train, test)], search_tol=1e-8, n_neighbors=5
    ).fit(X, y)
    for params, score in zip(search.cv_results_["params"], search.cv_results_["split0_test_score"], strict=True):
        alone = CovMetricClassifier(CovMetric(**params, tol=1e-8), n_neighbors=5).fit(X[train], y[train])
        assert alone.score(X[test], y[test]) == score


def test_groups_of_any_type_are_accepted(data):
    X, y = data
    groups = np.arange(90) // 6
    splits = list(StratifiedGroupKFold(4).split(X, y, groups))
    settings = {"random_state": 0, "phi": "log", "pairs": NeighborPairs(groups="ignore")}
    by_splitter = CovMetricCV(**settings, cv=StratifiedGroupKFold(4)).fit(X, y, groups=groups)
    by_list = CovMetricCV(**settings, cv=splits).fit(X, y)
    np.testing.assert_array_equal(
        by_splitter.cv_results_["split3_test_score"], by_list.cv_results_["split3_test_score"]
    )
    search = CovMetricCV(random_state=0, phi="log").fit(X, y, groups=[f"object {g}" for g in groups])
    assert search.best_score_ > 0.4
    with pytest.raises(ValueError, match="groups must have one entry per example"):
        CovMetricCV().fit(X, y, groups=groups[:-1])


def test_groups_prevent_optimistic_scores():
    """The views of an object are nearly equal, so its neighbours are its own views unless groups stay together."""
    rng = np.random.default_rng(0)
    objects = rng.standard_normal((30, 4, 20))
    A = np.repeat(objects, 4, axis=0) + 0.01 * rng.standard_normal((120, 4, 20))
    X, y, groups = A @ A.swapaxes(1, 2), np.repeat(np.arange(30) % 2, 4), np.repeat(np.arange(30), 4)
    settings = {"random_state": 0, "phi": "log", "lambdas": [1e-1]}
    settings["n_neighbors"] = 1
    assert CovMetricCV(**settings, cv=5).fit(X, y).best_score_ == 1.0
    assert CovMetricCV(**settings, cv=5).fit(X, y, groups=groups).best_score_ < 0.75
    # By default, consecutive examples of a class stay together, which are the views of an object here.
    assert CovMetricCV(**settings).fit(X, y).best_score_ < 0.75
    loo = CovMetricCV(**settings, cv="loo")
    assert loo.fit(X, y).best_score_ == 1.0
    assert loo.fit(X, y, groups=groups).best_score_ < 0.9


def test_class_means_can_be_scored(data):
    X, y = data
    search = CovMetricCV(random_state=0, phi="log", rule="mean").fit(X, y)
    assert search.best_score_ > 0.5
    with pytest.raises(ValueError, match="cv='loo' needs rule='neighbors', got rule='mean'"):
        CovMetricCV(cv="loo", rule="mean").fit(X, y)


def test_class_with_fewer_examples_than_folds_is_accepted():
    X, y = classes_of_matrices(30)
    y = y.copy()
    y[:2] = 7
    assert CovMetricCV(random_state=0, cv=5).fit(X, y).best_score_ > 0.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cv": 1}, "cv must be None, an integer >= 2"),
        ({"cv": "bootstrap"}, "cv must be None, an integer >= 2, 'loo'"),
        ({"rule": "forest"}, "rule must be one of"),
        ({"n_neighbors": 0}, "n_neighbors must be an integer >= 1"),
        ({"search_tol": -1.0}, "tol must be a number >= 0"),
        ({"phi": []}, "phi is empty: at least one value is needed"),
        ({"solver": "newtn"}, "solver must be one of"),
        ({"scale": "Median"}, "scale must be 'median'"),
        ({"bounds": (-1.0, 2.0)}, "near must be a positive number"),
        ({"pairs": NeighborPairs(0)}, "budget must be None or an integer >= 1"),
        ({"pairs": RandomPairs(5, balance=3)}, "balance must be None or a number"),
        ({"order": "q"}, "order must be one of"),
        ({"tol": -1.0}, "tol must be a number >= 0"),
        ({"prior": np.eye(3)}, "prior must have the shape of W"),
        ({"prior": "wishart"}, "prior must be 'identity'"),
        ({"prior_t": -0.5}, "prior_t must be a number from 0 to 1, got -0.5"),
        ({"shrinkage": 2}, "shrinkage must be 'auto' or a number from 0 to 1, got 2"),
        ({"lambdas": [0.0]}, "lam must be a positive number"),
        ({"phi": ["log", "tan"]}, "phi must be one of"),
    ],
)
def test_invalid_parameters_raise_value_error(data, settings, message):
    with pytest.raises(ValueError, match=message):
        CovMetricCV(**settings).fit(*data)


def test_candidate_that_fails_is_left_out(data):
    X, y = data
    X = X.copy()
    X[3] = np.outer(X[3, 0], X[3, 0])  # without a logarithm and a Cholesky factor
    with pytest.warns(UserWarning, match="some candidates failed and were left out: phi 'tangent-pca'"):
        search = CovMetricCV(random_state=0).fit(X, y)
    assert search.best_params_["phi"] == "sqrt"
    failed = search.cv_results_["param_phi"] == "log"
    assert np.isnan(search.cv_results_["mean_test_score"][failed]).all()
    with pytest.raises(ValueError, match=r"phi 'log': .*not positive definite"):
        CovMetricCV(phi="log").fit(X, y)


@pytest.mark.parametrize("within", [False, True])
def test_ctrl_c_keeps_the_best_candidate_so_far(data, monkeypatch, within):
    """Ctrl-C between solves raises at once; within a solve, the solve returns its best point as INTERRUPTED."""
    X, y = data
    real, calls = candidates.fit_path, []

    def interrupted(start, lambdas, rng):
        calls.append(1)
        if len(calls) == 4:
            if within:
                stop = lambda _: os.kill(os.getpid(), signal.SIGINT)  # noqa: E731
                start = dataclasses.replace(start, settings=dataclasses.replace(start.settings, callback=stop))
            else:
                os.kill(os.getpid(), signal.SIGINT)
        return real(start, lambdas, rng)

    monkeypatch.setattr(candidates, "fit_path", interrupted)
    with pytest.warns(UserWarning, match=r"the search was cut short \(Ctrl-C\)"):
        search = CovMetricCV(random_state=0, phi=["log", "chol"]).fit(X, y)
    # The paths of both Phi begin with W = I: the second path of the second Phi was not scored.
    scores = search.cv_results_["split0_test_score"]
    assert np.isfinite(scores[:5]).all()
    assert np.isnan(scores[5:]).all()
    assert np.isfinite(search.transform(X)).all()


@pytest.mark.parametrize("after", [1, 3, 5])
def test_killed_worker_keeps_the_best_candidate_so_far(data, monkeypatch, after):
    """All candidates are compared on the same folds."""
    X, y = data
    real, calls = search_module.score_candidates, []

    def dying(*arguments):
        calls.append(1)
        if len(calls) > after:
            raise TerminatedWorkerError("a worker process was killed")
        return real(*arguments)

    settings = {"random_state": 0, "phi": ["id", "log"], "n_std_errors": 0}
    whole = CovMetricCV(**settings).fit(X, y).cv_results_
    monkeypatch.setattr(search_module, "score_candidates", dying)
    with pytest.warns(UserWarning, match=r"cut short \(TerminatedWorkerError: a worker process was killed"):
        search = CovMetricCV(**settings).fit(X, y)
    folds = max(after // 2, 1)
    expected = np.mean([whole[f"split{f}_test_score"] for f in range(folds)], axis=0)
    if after == 1:
        expected[5:] = -1.0  # the second Phi was not scored
    assert search.best_score_ == expected.max()


def test_programming_errors_of_an_embedding_are_raised(data):
    class Broken(Log):
        def _transform(self, X, eps):
            raise RuntimeError("my bug")

    with pytest.raises(RuntimeError, match="my bug"):
        CovMetricCV(phi=["log", Broken()]).fit(*data)


def test_messages_have_indices_into_the_whole_array(data):
    X, y = data
    X = X.copy()
    X[77, 1, 1] = np.nan
    with pytest.raises(ValueError, match=r"^X\[77, 1, 1\] is nan"):
        CovMetricCV().fit(X, y)


def test_folds_that_cannot_be_learned_from_raise_value_error(data):
    X, y = data
    with pytest.raises(ValueError, match="training part of split 0 has only one class"):
        CovMetricCV().fit(X, y, groups=y)
    three = np.where(np.arange(90) < 6, 2, y)
    groups = np.where(three == 2, 99, np.arange(90) // 6)
    with pytest.warns(UserWarning, match="1 of 3 classes are tested in a fold that did not train on them"):
        CovMetricCV(phi="log", random_state=0).fit(X, three, groups=groups)
    with pytest.raises(ValueError, match="cv has no splits"):
        CovMetricCV(cv=[]).fit(X, y)
    with pytest.raises(ValueError, match="groups has only one group"):
        CovMetricCV().fit(X, y, groups=np.zeros(90))
    with pytest.raises(ValueError, match=r"test part of split 0 has the index 99: it must be in 0\.\.89"):
        CovMetricCV(cv=[(np.arange(60), [99])]).fit(X, y)


def test_objects_are_accepted_as_candidates(data):
    X, y = data
    pairs = [NeighborPairs(3), RandomPairs(20)]
    search = CovMetricCV(random_state=0, phi="log", pairs=pairs, lambdas=1e-2, cv=KFold(2)).fit(X, y)
    assert len(search.cv_results_["params"]) == 3
    assert search.cv_results_["param_pairs"][0] is pairs[0]  # lambda = inf: no pairs, but the key is there


@pytest.mark.parametrize("cv", [3, "loo"])
@pytest.mark.parametrize("vectors", [False, True])
def test_overflowing_distances_raise_value_error(cv, vectors):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 3, 5))
    X = 1e155 * (A[:, :, 0] if vectors else A @ np.swapaxes(A, 1, 2))
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"overflow.*rescale|rescale"):
        CovMetricCV("vector" if vectors else "id", cv=cv, random_state=0).fit(X, np.arange(60) % 2)


def test_vectors_that_tie_are_scored_as_the_classifier_does():
    """Whole numbers give many neighbours at the same distance, of which the first counts."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (300, 5)).astype(float)
    y = (X.sum(axis=1) + rng.integers(0, 4, 300) > 9).astype(int)
    folds = list(StratifiedKFold(3).split(X, y))
    search = CovMetricCV(lambdas=[np.inf], cv=folds).fit(X, y)
    scores = [CovMetricClassifier(CovMetric(lam=np.inf)).fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds]
    np.testing.assert_allclose([search.cv_results_[f"split{i}_test_score"][0] for i in range(3)], scores)


@pytest.mark.parametrize("scale", [1e-170, 1e170])
def test_scores_of_fixed_metrics_do_not_depend_on_the_unit(scale):
    X, y = classes_of_matrices()
    plain, scaled = (CovMetricCV("id", lambdas=[np.inf], random_state=0).fit(s * X, y) for s in (1.0, scale))
    assert scaled.best_score_ == plain.best_score_


def test_the_first_of_candidates_about_as_good_as_the_best_is_chosen(data):
    """First by the rule and its parameter, then by Phi, the prior and lambda, in the order of the lists."""
    X, y = data
    phis, priors, rules, lambdas, C = ["log", "chol"], ["within", "identity"], ["svm", "mean"], [1e-2, 1e-1], [3.0, 1.0]
    settings = {"pairs": "neighbors", "n_std_errors": 1e6, "random_state": 0}
    search = CovMetricCV(phis, prior=priors, rule=rules, lambdas=lambdas, C=C, **settings).fit(X, y)
    first = {"phi": "log", "prior": "within", "pairs": "neighbors", "slack": "is", "lam": 1e-2, "rule": "svm", "C": 3.0}
    assert search.best_params_ == first
    assert search.best_estimator_.prior == "within"
    reverse = CovMetricCV(phis[::-1], prior=priors[::-1], rule=rules[::-1], lambdas=[np.inf, *lambdas], **settings).fit(
        X, y
    )
    assert reverse.best_params_ == {
        "phi": "chol", "prior": "identity", "pairs": "neighbors", "slack": "is", "lam": np.inf, "rule": "mean",
        "C": None,
    }  # fmt: skip


def test_scores_of_several_priors_are_those_of_separate_searches(data):
    X, y = data
    settings = {"phi": ["log", "chol"], "lambdas": [1e-1], "random_state": 0}
    together = CovMetricCV(prior=["identity", "within", "gmml"], **settings).fit(X, y).cv_results_
    for prior in ("identity", "within", "gmml"):
        alone = CovMetricCV(prior=prior, **settings).fit(X, y).cv_results_
        np.testing.assert_array_equal(
            together["mean_test_score"][together["param_prior"] == prior], alone["mean_test_score"]
        )
        assert "param_prior" not in alone


def test_a_list_with_one_prior_is_that_prior(data):
    X, y = data
    one, listed = (CovMetricCV("log", prior=prior, random_state=0).fit(X, y) for prior in ("within", ["within"]))
    np.testing.assert_array_equal(one.W_, listed.W_)
    nested = np.eye(X.shape[1]).tolist()
    np.testing.assert_array_equal(
        CovMetricCV("log", prior=nested, random_state=0).fit(X, y).W_, CovMetricCV("log", random_state=0).fit(X, y).W_
    )


def test_choice_depends_less_on_the_folds_with_a_tolerance(data):
    X, y = data
    chosen = {
        n: {
            str(CovMetricCV(["log", "relog"], cv=5, n_std_errors=n, random_state=seed).fit(X, y).best_params_)
            for seed in range(6)
        }
        for n in (0.0, 1.5)
    }
    assert len(chosen[1.5]) < len(chosen[0.0])


def test_the_default_search_does_not_depend_on_the_seed(data):
    X, y = data
    first, second = (CovMetricCV(["log", "chol"], random_state=seed).fit(X, y) for seed in (0, 1))
    np.testing.assert_array_equal(first.cv_results_["mean_test_score"], second.cv_results_["mean_test_score"])
    assert str(first.best_params_) == str(second.best_params_)
    np.testing.assert_array_equal(first.W_, second.W_)


def test_a_search_for_a_rule_takes_ten_neighbours_and_a_search_for_new_classes_five(data):
    X, y = data
    found = CovMetricCV("log").fit(X, y).best_params_["pairs"]
    assert isinstance(found, NeighborPairs)
    assert found.budget == 10
    assert CovMetricCV("log", scoring="recall_at_1").fit(X, y).best_params_["pairs"] == "neighbors"
    assert CovMetricClassifier(rule="auto").fit(X, y).learner_.best_params_["pairs"] == "neighbors"
