"""The certificate of a fitted estimator: the gap, its bound, and the metric that it belongs to."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from covmetric import CovMetric, CovMetricCV, CovMetricPairs, Status
from covmetric.embeddings import EMBEDDINGS, get_embedding
from tests import naive
from tests.data import classes_of_matrices, fitted_problem


@pytest.mark.parametrize("phi", EMBEDDINGS)
@pytest.mark.parametrize("prior", ["identity", "covariance", "within", "gmml", "matrix"])
def test_certificate_belongs_to_the_returned_metric(phi, prior):
    """The objective is written out from the data and W_; no matrix near W_ has a smaller one."""
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
    elif prior != "matrix":
        M = CovMetric(phi, prior=M, pairs="random", random_state=0, lam=np.inf).fit(X, y).W_
    W0, c = M, fitted.constraints
    pairs, bounds = c.pairs, c.bounds

    def objective(W):
        """Return the divergence BD(W scale, prior) plus the losses, from their definitions."""
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


def test_unfinished_solve_warns_and_keeps_the_best_metric(data):
    learner = CovMetric(max_iter=1, tol=1e-12, random_state=0)
    with pytest.warns(ConvergenceWarning, match="MAX_ITER"):
        learner.fit(*data)
    assert learner.status_ is Status.MAX_ITER
    assert np.isfinite(learner.transform(data[0])).all()


@pytest.fixture(params=["CovMetric", "CovMetricCV", "CovMetricPairs"])
def solved(request, data):
    """Each fitted estimator with a certificate."""
    X, y = data
    if request.param == "CovMetric":
        return CovMetric("log", random_state=0).fit(X, y)
    if request.param == "CovMetricCV":
        return CovMetricCV("log", random_state=0, lambdas=[1e-2], cv=2).fit(X, y)
    pairs = np.stack([np.arange(20), np.arange(20) + 7 + np.arange(20) % 2], axis=1)
    labels = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    return CovMetricPairs("log", random_state=0).fit(X[pairs], labels)


def test_duality_gap_is_the_certified_gap_and_gap_bound_adds_the_rounding(solved):
    certificate = solved.result_.certificate
    assert solved.duality_gap_ == certificate.gap == certificate.primal - certificate.dual
    assert solved.gap_bound_ == certificate.bound
    assert solved.gap_bound_ - max(solved.duality_gap_, 0.0) == pytest.approx(certificate.rounding, rel=1e-6)
    assert certificate.rounding > 0.0
    assert solved.gap_bound_ > solved.duality_gap_
    assert solved.status_ is Status.SOLVED
    assert solved.n_iter_ == solved.result_.n_iter >= 1
    assert solved.scale_ > 0.0


def test_certificate_attributes_are_trivial_without_a_solve(data):
    for learner in (CovMetric(lam=np.inf), CovMetricCV("log", lambdas=[np.inf])):
        learner.fit(*data)
        assert learner.result_ is None
        assert learner.status_ is Status.SOLVED
        assert (learner.duality_gap_, learner.gap_bound_, learner.n_iter_, learner.scale_) == (0.0, 0.0, 0, 1.0)
