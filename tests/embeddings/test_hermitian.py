"""Learning from Hermitian matrices: cross-spectra whose classes differ only in phase."""

from __future__ import annotations

import numpy as np
import pytest
from pyriemann.classification import MDM
from pyriemann.estimation import CrossSpectra
from sklearn.model_selection import cross_val_score

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV, CovMetricPairs, solve
from tests.data import MATRIX_PHIS, fitted_problem


def phase_classes(count=80, n=3, seed=0):
    """Return covariances of complex signals whose second channel leads or lags the first; the real parts are alike."""
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 2
    Z = rng.standard_normal((count, n, 40)) + 1j * rng.standard_normal((count, n, 40))
    Z[:, 1] += np.where(y, 1j, -1j)[:, None] * 0.4 * Z[:, 0]
    return Z @ np.swapaxes(Z.conj(), 1, 2) / 40, y


@pytest.mark.parametrize("phi", MATRIX_PHIS)
def test_phase_separates_the_classes(phi):
    X, y = phase_classes()
    model = CovMetricClassifier(CovMetric(phi, random_state=0)).fit(X[:60], y[:60])
    assert model.score(X[60:], y[60:]) >= 0.8
    blind = CovMetricClassifier(CovMetric(phi, random_state=0)).fit(X[:60].real, y[:60])
    assert blind.score(X[60:].real, y[60:]) < model.score(X[60:], y[60:])


@pytest.mark.parametrize("slack", ["is", "l2", "re"])
def test_learned_matrix_is_hermitian(slack):
    """The real form of a Hermitian W commutes with multiplication by i, and gives the complex distance."""
    X, y = phase_classes()
    learner = CovMetric("log", slack=slack, random_state=0, tol=1e-10).fit(X, y)
    W, n = learner.W_, 3
    i = np.block([[np.zeros((n, n)), -np.eye(n)], [np.eye(n), np.zeros((n, n))]])
    np.testing.assert_allclose(W @ i, i @ W, atol=1e-8 * np.abs(W).max())
    H = W[:n, :n] + 1j * W[n:, :n]
    values, vectors = np.linalg.eigh(X[:2])
    logs = (vectors * np.log(values)[:, None, :]) @ np.swapaxes(vectors.conj(), 1, 2)
    F = logs[0] - logs[1]
    assert learner.distance(X[0], X[1], squared=True) == pytest.approx(np.trace(H @ F @ F.conj().T).real, rel=1e-7)
    # The phase of a channel is a convention, so that rotating it does not change distances.
    turn = np.diag(np.exp(1j * np.array([0.0, 1.0, 2.5])))
    rotated = CovMetric("log", slack=slack, random_state=0, tol=1e-10).fit(turn @ X @ turn.conj().T, y)
    assert rotated.distance(*(turn @ X[:2] @ turn.conj().T)) == pytest.approx(learner.distance(X[0], X[1]), rel=1e-4)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate:UserWarning")  # from Clarabel
def test_solution_equals_that_of_the_complex_problem_in_cvxpy():
    """Clarabel finds the same W for twice the Burg divergence of a Hermitian matrix, plus the same losses."""
    cp = pytest.importorskip("cvxpy")
    X, y = phase_classes(12, 2)
    fitted, _ = fitted_problem(CovMetric("log", lam=0.1, slack="l2", random_state=0), X, y)
    problem = fitted.problem(fitted.constraints, 0.1)
    real = solve(problem, tol=1e-10).W
    n = 2
    P, Q = cp.Variable((n, n), symmetric=True), cp.Variable((n, n))
    W = cp.bmat([[P, -Q], [Q, P]])  # complex linear by construction
    losses = 0
    for k, (i, j) in enumerate(problem.pairs):
        F = problem.embedded[i] - problem.embedded[j]
        s = cp.trace(W @ (F @ F.T)) / problem.bounds[k]
        side = s - 1 if problem.similar[k] > 0 else 1 - s
        losses += problem.weights[k] * cp.square(cp.pos(side)) / 2
    objective = -cp.log_det(W) + cp.trace(W) - 2 * n + losses
    cp.Problem(cp.Minimize(objective), [Q == -Q.T]).solve(solver="CLARABEL")
    np.testing.assert_allclose(W.value, real, atol=1e-4 * np.abs(real).max())


def test_all_estimators_accept_hermitian_matrices():
    X, y = phase_classes()
    assert CovMetricCV(["log", "relog"], random_state=0).fit(X, y).best_score_ > 0.8
    assert cross_val_score(CovMetricClassifier(random_state=0), X, y, cv=3).mean() > 0.8
    pairs, near = np.stack([X[:40], X[40:][::-1]], axis=1), np.where(y[:40] == y[40:][::-1], 1, -1)
    near[:10] *= -1  # so that both labels occur
    assert CovMetricPairs(random_state=0).fit(pairs, near).pair_distance(pairs).shape == (40,)
    model = CovMetricClassifier(random_state=0).fit(X[:60], y[:60]).partial_fit(X[60:70], y[60:70])
    assert model.score(X[70:], y[70:]) >= 0.8
    expected = CovMetric("log", lam=np.inf).fit(X, y).transform(X)
    for same in (list(X), X.tolist(), X.astype(np.complex64)):
        found = CovMetric("log", lam=np.inf).fit(same, y).transform(X)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_cross_spectra_of_pyriemann_in_its_mdm():
    """MDM classifies cross-spectra at one frequency with the learned metric."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    times = np.arange(256) / 128
    waves = np.sin(2 * np.pi * 10 * times + rng.uniform(0, 2 * np.pi, (40, 1)))
    lagged = np.stack([np.roll(wave, 3 if label else -3) for wave, label in zip(waves, y, strict=True)])
    epochs = np.stack([waves, lagged], axis=1) + 0.7 * rng.standard_normal((40, 2, 256))
    spectra = CrossSpectra(window=64, fs=128, fmin=9, fmax=11).transform(epochs)[..., 0]
    X = spectra + 1e-3 * np.trace(spectra, axis1=1, axis2=2).real[:, None, None] * np.eye(2)
    learner = CovMetric("log", random_state=0).fit(X[:30], y[:30])
    mdm = MDM(metric=learner.metric_.as_pyriemann()).fit(X[:30], y[:30])
    assert mdm.covmeans_.dtype == np.complex128
    assert mdm.score(X[30:], y[30:]) >= 0.8


def test_complex_vectors_and_non_hermitian_matrices_are_refused():
    with pytest.raises(ValueError, match="Complex data not supported"):
        CovMetric().fit(np.ones((4, 3)) * 1j, [0, 1, 0, 1])
    X, y = phase_classes(8)
    X[3, 0, 1] += 1.0
    with pytest.raises(ValueError, match=r"X\[3\] is not Hermitian: it differs from its conjugate transpose"):
        CovMetric().fit(X, y)
    real = CovMetric(random_state=0).fit(X[4:].real, y[4:])
    with pytest.raises(ValueError, match=r"X is complex .complex128., but the embedding was fitted on real matrices"):
        real.transform(X[4:])


@pytest.mark.parametrize("phi", MATRIX_PHIS)
def test_lambda_means_the_same_for_matrices_without_an_imaginary_part(phi):
    X, y = phase_classes()
    settings = {"phi": phi, "tol": 1e-11, "random_state": 0}
    real, both = CovMetric(**settings).fit(X.real, y), CovMetric(**settings).fit(X.real + 0j, y)
    np.testing.assert_allclose(both.pairwise(X.real), real.pairwise(X.real), rtol=1e-5, atol=1e-8)


def test_prior_may_be_hermitian():
    X, y = phase_classes()
    prior = X.mean(axis=0)
    learner = CovMetric("log", prior=prior, lam=np.inf).fit(X, y)
    np.testing.assert_allclose(learner.W_[:3, :3] + 1j * learner.W_[3:, :3], prior, rtol=1e-10)
    assert CovMetric("log", prior=np.eye(3), random_state=0).fit(X, y).status_.name == "SOLVED"


def test_lists_with_real_first_entries_are_complex():
    X = [[[1.0, 0.5j], [-0.5j, 2.0]], [[2.0, 0.1], [0.1, 1.0]], [[1.5, 0.4j], [-0.4j, 2.0]], [[2.0, 0.2], [0.2, 1.0]]]
    assert CovMetric("log", random_state=0).fit(X, [0, 1, 0, 1]).metric_.embedding.complex_
