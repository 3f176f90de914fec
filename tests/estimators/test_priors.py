"""Priors of the estimators: every name in PRIORS, what lam = inf returns, units, pairs, files and `partial_fit`."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf_shrinkage

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV, CovMetricPairs, RandomPairs, Status, load_model
from covmetric.constraints import LabelledPairs, NeighborPairs, squared_distances
from covmetric.learning.prior import PRIORS
from covmetric.learning.spectrum import PriorData
from covmetric.learning.supervised_prior import gmml_spectrum
from tests.data import classes_of_matrices, fitted_problem

SUPERVISED = ["within", "gmml"]


def class_centred_rows(embedded, y):
    centred = embedded.copy()
    for label in np.unique(y):
        centred[y == label] -= embedded[y == label].mean(axis=0)
    return np.moveaxis(centred, 1, 2).reshape(-1, embedded.shape[1])


def gmml_matrix(embedded, codes, pairs, **settings):
    root = gmml_spectrum(PriorData(embedded, codes, pairs, **settings)).root()
    return root @ root


def wide_classes(count=24, n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 3
    return rng.standard_normal((count, n)) + 3.0 * np.eye(3, n)[y], y


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("lam", [1e-2, np.inf])
def test_every_prior_is_learned_from(prior, lam, data):
    X, y = data
    learner = CovMetric(prior=prior, lam=lam, random_state=0)
    classifier = CovMetricClassifier(learner).fit(X, y)
    learner.fit(X, y)
    assert learner.status_ is Status.SOLVED
    assert np.isfinite(learner.transform(X)).all()
    assert np.linalg.eigvalsh(learner.W_)[0] > 0.0
    np.testing.assert_array_equal(classifier.metric_.W, learner.W_)


@pytest.mark.parametrize("prior", PRIORS)
def test_every_prior_can_be_searched(prior, data):
    search = CovMetricCV("log", lambdas=[1e-2], prior=prior, random_state=0).fit(*data)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.prior == prior


@pytest.mark.parametrize("phi", ["log", "veclog"])
@pytest.mark.parametrize("shrinkage", ["auto", 0.3])
def test_within_prior_is_the_inverse_of_the_shrunk_scatter(phi, shrinkage, data):
    X, y = data
    learner = CovMetric(phi, prior="within", shrinkage=shrinkage, lam=np.inf).fit(X, y)
    rows = class_centred_rows(learner.metric_.embedding.transform(X), y)
    g = ledoit_wolf_shrinkage(rows, assume_centered=True) if shrinkage == "auto" else shrinkage
    S = rows.T @ rows / len(rows)
    expected = np.linalg.inv((1.0 - g) * S + g * np.trace(S) / len(S) * np.eye(len(S)))
    np.testing.assert_allclose(learner.W_, expected, rtol=1e-8, atol=1e-10)
    assert (learner.result_, learner.scale_) == (None, 1.0)


@pytest.mark.parametrize("pairs", [NeighborPairs(3), RandomPairs(20)], ids=str)
def test_gmml_prior_is_that_of_the_chosen_pairs(pairs, data):
    X, y = data
    settings = {"pairs": pairs, "prior": "gmml", "prior_t": 0.3, "shrinkage": 0.1, "random_state": 5}
    learner = CovMetric("log", lam=np.inf, **settings).fit(X, y)
    embedded = learner.metric_.embedding.transform(X)
    chosen = pairs.select(embedded.reshape(len(X), -1), y, np.random.default_rng(5))
    expected = gmml_matrix(embedded, y, chosen, t=0.3, shrinkage=0.1)
    np.testing.assert_allclose(learner.W_, expected, rtol=1e-9, atol=1e-12)


def test_random_pairs_of_the_prior_are_those_of_the_problem(data):
    X, y = data
    fitted, embedded = fitted_problem(CovMetric("log", pairs="random", prior="gmml", random_state=5), X, y)
    chosen = LabelledPairs(fitted.constraints.pairs, fitted.constraints.similar)
    expected = gmml_matrix(embedded, y, chosen)
    np.testing.assert_allclose(fitted.root @ fitted.root, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("prior", SUPERVISED)
def test_scale_is_the_median_after_the_prior(prior, data):
    fitted, embedded = fitted_problem(CovMetric("log", prior=prior, random_state=0), *data)
    expected = np.median(squared_distances(fitted.root @ embedded, fitted.constraints.pairs))
    assert fitted.scale == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("prior", SUPERVISED)
def test_large_lambda_approaches_the_prior(prior, data):
    at_prior = CovMetric("log", prior=prior, lam=np.inf, random_state=0).fit(*data)
    learned = CovMetric("log", prior=prior, lam=1e9, random_state=0).fit(*data)
    np.testing.assert_allclose(learned.W_ * learned.scale_, at_prior.W_, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("prior", SUPERVISED)
def test_prior_of_hermitian_matrices_is_hermitian(prior):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 3, 9)) + 1j * rng.standard_normal((40, 3, 9))
    A *= np.exp(rng.standard_normal((40, 3, 1)) * [[0.2], [1.0], [0.5]])
    y = np.arange(40) % 2
    A[y == 1, 0] *= 2.0
    A = np.array([[1.0, 0.5j, 0.0], [0.0, 1.0, 0.5j], [0.3, 0.0, 1.0]]) @ A
    W = CovMetric("log", prior=prior, lam=np.inf, shrinkage=0.1).fit(A @ A.conj().swapaxes(1, 2), y).W_
    np.testing.assert_allclose(W[:3, :3], W[3:, 3:], rtol=1e-9)
    np.testing.assert_allclose(W[3:, :3], -W[:3, 3:], rtol=1e-9, atol=1e-12 * np.abs(W).max())
    assert np.abs(W[3:, :3]).max() > 1e-3


@pytest.mark.parametrize("prior", SUPERVISED)
def test_prior_of_wide_examples_is_kept_in_their_span(prior, monkeypatch):
    X, y = wide_classes()
    sizes, eigh = [], np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda A: sizes.append(A.shape[-1]) or eigh(A))
    learner = CovMetric(prior=prior, lam=np.inf, random_state=0).fit(X, y)
    monkeypatch.undo()
    assert sizes and max(sizes) <= len(X)
    assert learner.metric_.basis.shape == (200, 24)
    dense = CovMetric(prior=learner.W_, lam=np.inf).fit(X, y)
    np.testing.assert_allclose(learner.pairwise(X), dense.pairwise(X), rtol=1e-8)
    fitted, _ = fitted_problem(CovMetric(prior=prior, random_state=0), X, y)
    np.testing.assert_allclose(fitted.root @ fitted.root, learner.W_, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("prior", SUPERVISED)
def test_unshrunk_singular_scatter_raises_value_error(prior):
    with pytest.raises(ValueError, match=rf"prior '{prior}' needs a nonsingular .* of 200 with shrinkage=0; use"):
        CovMetric(prior=prior, shrinkage=0).fit(*wide_classes())


def test_prior_is_a_candidate_of_the_search_for_each_selection_of_pairs(data):
    search = CovMetricCV("log", pairs=["neighbors", "random"], lambdas=[1e-2], prior="gmml", random_state=0).fit(*data)
    fixed = [params for params in search.cv_results_["params"] if params["lam"] == np.inf]
    assert fixed == [{"phi": "log", "pairs": pairs, "slack": "is", "lam": np.inf} for pairs in ("neighbors", "random")]
    once = CovMetricCV("log", pairs=["neighbors", "random"], lambdas=[1e-2], prior="within", random_state=0).fit(*data)
    assert [params["lam"] for params in once.cv_results_["params"]] == [np.inf, 1e-2, 1e-2]


def test_search_with_random_pairs_in_the_prior_is_reproducible():
    X, y = classes_of_matrices(90)
    search = CovMetricCV("log", pairs=[RandomPairs(2), RandomPairs(3)], lambdas=[], prior="gmml", random_state=0)
    one, two = (search.fit(X, y).cv_results_ for _ in range(2))
    for fold in range(3):
        np.testing.assert_array_equal(one[f"split{fold}_test_score"], two[f"split{fold}_test_score"])


def test_search_passes_the_settings_of_the_prior_on(data):
    search = CovMetricCV("log", lambdas=[], prior="gmml", prior_t=0.2, shrinkage=0.4, random_state=0).fit(*data)
    best = search.best_estimator_
    assert (best.prior, best.prior_t, best.shrinkage) == ("gmml", 0.2, 0.4)


def labelled_pairs(count=50):
    X, y = classes_of_matrices(60)
    index = np.random.default_rng(0).integers(60, size=(count, 2))
    index = index[index[:, 0] != index[:, 1]]
    return X[index], np.where(y[index[:, 0]] == y[index[:, 1]], 1, -1)


@pytest.mark.parametrize("weights", [None, np.linspace(1.0, 3.0, 50)])
def test_pair_learner_takes_S_and_D_from_its_pairs(weights):
    pairs, y = labelled_pairs()
    weights = None if weights is None else weights[: len(y)]
    settings = {"phi": "log", "lam": np.inf, "shrinkage": 0.1}
    within = CovMetricPairs(prior="within", **settings).fit(pairs, y, weights)
    start, end = (CovMetricPairs(prior="gmml", prior_t=t, **settings).fit(pairs, y, weights) for t in (0, 1))
    E = within.metric_.embedding.transform(pairs.reshape(-1, 4, 4))
    F = E[::2] - E[1::2]
    weights = np.ones(len(y)) if weights is None else weights
    for sign, found in ((1, np.linalg.inv(start.get_mahalanobis_matrix())), (-1, end.get_mahalanobis_matrix())):
        scatter = np.einsum("k,kim,kjm->ij", weights[y == sign] / weights[y == sign].sum(), F[y == sign], F[y == sign])
        expected = 0.9 * scatter + 0.1 * np.trace(scatter) / 4 * np.eye(4)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(within.get_mahalanobis_matrix(), start.get_mahalanobis_matrix(), rtol=1e-9)


@pytest.mark.parametrize("prior", PRIORS)
def test_pair_learner_learns_from_every_prior(prior):
    pairs, y = labelled_pairs()
    learner = CovMetricPairs(prior=prior, random_state=0).fit(pairs, y)
    assert learner.status_ is Status.SOLVED
    assert np.isfinite(learner.pair_distance(pairs)).all()


@pytest.mark.parametrize("lam", [1e-2, np.inf])
@pytest.mark.parametrize("prior", SUPERVISED)
def test_partial_fit_keeps_the_prior(prior, lam):
    X, y = classes_of_matrices(60)
    classifier = CovMetricClassifier(CovMetric("log", prior=prior, lam=lam, random_state=0)).fit(X[:40], y[:40])
    root = classifier._fitted.root.copy()
    classifier.partial_fit(X[40:], y[40:])
    np.testing.assert_array_equal(classifier._fitted.root, root)
    expected = root @ classifier.metric_.embedding.transform(X)
    np.testing.assert_allclose(classifier._fitted.examples, expected, rtol=1e-12)


@pytest.mark.parametrize("lam", [1e-2, np.inf])
@pytest.mark.parametrize("prior", SUPERVISED)
def test_saved_classifier_in_a_span_is_restored(prior, lam, tmp_path):
    X, y = wide_classes()
    classifier = CovMetricClassifier(CovMetric(prior=prior, prior_t=0.3, shrinkage=0.2, lam=lam, random_state=0))
    classifier.fit(X, y).save(tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert (again.learner.prior_t, again.learner.shrinkage) == (0.3, 0.2)
    again.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()
    more = wide_classes(9, seed=1)
    np.testing.assert_allclose(
        again.partial_fit(*more).metric_.W, classifier.partial_fit(*more).metric_.W, rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize(
    ("parameters", "written"),
    [
        ({}, set()),
        ({"prior_t": 0.5, "shrinkage": "auto"}, set()),
        ({"prior_t": 0.2}, {"prior_t"}),
        ({"shrinkage": 0.5}, {"shrinkage"}),
        ({"shrinkage": np.float64(0.5), "prior_t": np.float64(0.5)}, {"prior_t", "shrinkage"}),
    ],
)
@pytest.mark.parametrize("cls", [CovMetric, CovMetricCV, CovMetricPairs])
def test_new_parameters_are_saved_only_if_they_differ_from_their_default(cls, parameters, written):
    state = cls(**parameters).get_state()
    assert {"prior_t", "shrinkage"} & set(state) == written
    again = cls.from_state(dict(state))
    assert again.get_params() == cls(**parameters).get_params()
