"""Null spaces that all training matrices share: "relog" and "tangent" project them out."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from pyriemann.geometry.mean import mean_logeuclid
from scipy.linalg import orth

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV, LearnedMetric, load_model, save_model
from covmetric.embeddings import Tangent, get_embedding
from tests import naive
from tests.data import spd

N_CHANNELS, N_BAD = 8, 2
RANK = N_CHANNELS - N_BAD - 1
EMBEDDINGS = [
    pytest.param(lambda: get_embedding("relog"), id="relog"),
    pytest.param(lambda: get_embedding("relog", mean="riemann"), id="relog-riemann"),
    pytest.param(lambda: get_embedding("tangent"), id="tangent"),
    pytest.param(lambda: Tangent("logeuclid"), id="tangent-logeuclid"),
    pytest.param(lambda: Tangent(n_components=6), id="tangent-pca"),
]


def referencing():
    """Return the matrix (8, 8) that interpolates channels 2 and 5 from the others, and then subtracts the average."""
    weights = np.random.default_rng(7).uniform(0.1, 1.0, (N_BAD, N_CHANNELS))
    weights[:, [2, 5]] = 0.0
    interpolate = np.eye(N_CHANNELS)
    interpolate[[2, 5]] = weights / weights.sum(axis=1, keepdims=True)
    return interpolate - interpolate.mean(axis=0)


def recordings(count=40, seed=0, field="real"):
    """Return two classes of covariances of an EEG in volts, after the interpolation and the average reference."""
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 2
    signals = rng.standard_normal((count, N_CHANNELS, 100))
    if field == "Hermitian":
        signals = signals + 1j * rng.standard_normal(signals.shape)
    signals[:, 0] *= np.where(y, 2.0, 1.0)[:, None]
    mixed = 1e-6 * rng.standard_normal((N_CHANNELS, N_CHANNELS)) @ signals
    series = referencing() @ mixed
    return series @ np.swapaxes(series.conj(), 1, 2) / 100, y


def in_a_basis(X):
    """Return the same matrices in an orthonormal basis of the range, in which they are definite."""
    Q = orth(referencing())
    return Q.T @ X @ Q


def distances(vectors):
    return np.linalg.norm(vectors[:, None] - vectors[None], axis=(2, 3))


def fit(phi, X):
    """Fit an embedding that has to warn."""
    with pytest.warns(UserWarning, match="projects out 3 of 8 dimensions"):
        return phi.fit(X)


def random_metric(phi, seed=0):
    n = phi.shape_out_[0] // phi.copies_
    A = np.random.default_rng(seed).standard_normal((n, 2 * n))
    return LearnedMetric(phi, np.kron(np.eye(phi.copies_), A @ A.T))


# --- What is found ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", EMBEDDINGS)
@pytest.mark.parametrize("field", ["real", "Hermitian"])
def test_null_space_is_that_of_the_preprocessing(make, field):
    X, _ = recordings(field=field)
    assert np.abs(X).max() < 1e-9
    phi = make()
    with pytest.warns(UserWarning, match="projects out") as record:
        phi.fit(X)
    (warning,) = record
    assert str(warning.message).startswith(f"'{phi.name}' projects out 3 of 8 dimensions")
    assert warning.filename == __file__
    assert phi.null_space_.shape == (8, 3)
    np.testing.assert_allclose(phi.null_space_.conj().T @ phi.null_space_, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(referencing().T @ phi.null_space_, 0.0, atol=1e-9)


@pytest.mark.parametrize("make", EMBEDDINGS)
def test_full_rank_has_an_empty_null_space_and_no_warning(make):
    phi = make().fit(1e-12 * spd(20, 5))
    assert phi.null_space_.shape == (5, 0)
    assert phi.whitener_.shape == (5, 5)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_units_and_differences_in_scale_do_not_matter(scale):
    X, _ = recordings()
    expected = distances(fit(get_embedding("relog"), X).transform(X))
    np.testing.assert_allclose(distances(fit(get_embedding("relog"), scale * X).transform(scale * X)), expected)
    trials = scale * 10.0 ** np.linspace(-9, 9, len(X))[:, None, None]
    assert fit(get_embedding("relog"), trials * X).null_space_.shape == (8, 3)


def test_weak_directions_are_not_null():
    """A variance that is 1e-12 of the largest one is a small signal, and not rounding."""
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    weak = basis * np.array([1.0, 1.0, 1.0, 1e-6, 1e-6, 0.0])
    phi = get_embedding("relog")
    with pytest.warns(UserWarning, match="projects out 1 of 6 dimensions"):
        phi.fit(weak @ spd(20, 6) @ weak.T)
    assert phi.null_space_.shape == (6, 1)
    np.testing.assert_allclose(np.abs(phi.null_space_[:, 0] @ basis[:, 5]), 1.0, atol=1e-6)


def test_single_precision_has_its_own_tolerance():
    X, _ = recordings()
    phi = fit(get_embedding("relog"), (1e12 * X).astype(np.float32))
    expected = distances(fit(get_embedding("relog"), X).transform(X))
    np.testing.assert_allclose(distances(phi.transform((1e12 * X).astype(np.float32))), expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("name", ["relog", "tangent"])
def test_reg_keeps_all_dimensions(name):
    X, _ = recordings()
    phi = get_embedding(name, reg=1e-6).fit(X)
    assert phi.null_space_.shape == (8, 0)


# --- The map ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", EMBEDDINGS)
@pytest.mark.parametrize("field", ["real", "Hermitian"])
def test_distances_equal_those_in_a_basis_of_the_range(make, field):
    X, _ = recordings(field=field)
    other, _ = recordings(seed=1, field=field)
    phi, full = fit(make(), X), make().fit(in_a_basis(X))
    assert phi.shape_out_ == full.shape_out_ == phi.transform(other).shape[1:]
    np.testing.assert_allclose(
        distances(phi.transform(other)), distances(full.transform(in_a_basis(other))), rtol=1e-6, atol=1e-8
    )


def test_riemannian_distances_equal_those_of_the_remaining_channels():
    """Five channels determine the others, and the distance does not depend on how they are mixed."""
    X, _ = recordings()
    good = X[:, [0, 1, 3, 4, 6]][:, :, [0, 1, 3, 4, 6]]
    for name in ("relog", "tangent"):
        phi = get_embedding(name, mean="riemann")
        expected = distances(get_embedding(name, mean="riemann").fit_transform(good))
        np.testing.assert_allclose(distances(fit(phi, X).transform(X)), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("field", ["real", "Hermitian"])
def test_expanded_values_are_logarithms_on_the_range(field):
    """In the named rows, Phi is log(M^-1/2 X M^-1/2) over all channels, with zeros on the null space."""
    X, _ = recordings(field=field)
    Q = orth(referencing())
    M = Q @ mean_logeuclid(in_a_basis(X)) @ Q.T
    expected = np.stack([naive.log_on_range(x, M) for x in X])
    phi = fit(get_embedding("relog"), X)
    logs = phi.transform(X[0])
    if field == "Hermitian":
        logs = np.sqrt(2) * (logs[:RANK, :RANK] + 1j * logs[RANK:, :RANK])
    half = phi.to_named_rows(logs)
    np.testing.assert_allclose(phi.to_named_rows(half.conj().T).conj().T, expected[0], atol=1e-8)
    tangent = fit(Tangent("logeuclid"), X)
    rows, columns = np.tril_indices(8)
    half = np.where(rows == columns, 1.0, np.sqrt(2)) * expected[:, rows, columns].real
    if field == "Hermitian":
        rows, columns = np.tril_indices(8, -1)
        half = np.concatenate([half, np.sqrt(2) * expected[:, rows, columns].imag], axis=1)
    found = tangent.to_named_rows(tangent.transform(X)[..., 0].T)
    np.testing.assert_allclose(found, half.T, atol=1e-8)
    assert len(tangent.row_names()) == len(tangent.row_channels()) == len(found)


@pytest.mark.parametrize("make", EMBEDDINGS)
def test_later_matrices_are_projected(make):
    X, _ = recordings()
    phi = fit(make(), X)
    common = 1e-12 * np.ones((8, 8))
    np.testing.assert_allclose(phi.transform(X + common), phi.transform(X), atol=1e-8)
    np.testing.assert_array_equal(phi.transform(np.concatenate([X] * 5), n_jobs=2)[:40], phi.transform(X))


@pytest.mark.parametrize("make", EMBEDDINGS[:4])
@pytest.mark.parametrize("field", ["real", "Hermitian"])
def test_inverse_and_probe_lie_in_the_range(make, field):
    X, _ = recordings(field=field)
    phi = fit(make(), X)
    np.testing.assert_allclose(phi.inverse_transform(phi.transform(X)), X, rtol=1e-8, atol=1e-8 * np.abs(X).max())
    np.testing.assert_allclose(phi.transform(phi.probe()), 0.0, atol=1e-9)
    assert np.iscomplexobj(phi.probe()) == (field == "Hermitian")
    np.testing.assert_allclose(phi.probe() @ phi.null_space_, 0.0, atol=1e-8 * np.abs(phi.probe()).max())


# --- What is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["relog", "tangent"])
def test_matrix_that_is_singular_within_the_range_is_refused(name):
    X, _ = recordings()
    good = fit(get_embedding(name), X)
    X[3] = np.outer(X[3, 0], X[3, 0]) / X[3, 0, 0]
    message = rf"X\[3\] is not positive definite, as '{name}' requires: .*set reg, for example 1e-06"
    with pytest.raises(ValueError, match=message):
        get_embedding(name).fit(X)
    with pytest.raises(ValueError, match=message):
        good.transform(X)


@pytest.mark.parametrize("name", ["relog", "tangent"])
@pytest.mark.parametrize("scale", [1e-12, 1e-40])
def test_null_space_of_some_matrices_is_refused(name, scale):
    """However small the definite matrices are, their variance in the null space of the others is not rounding."""
    X, _ = recordings()
    X[:10] = spd(10, 8, scale=scale)
    with pytest.raises(ValueError, match=rf"X\[10\] is not positive definite, as '{name}' requires"):
        get_embedding(name).fit(X)


def test_indefinite_and_zero_matrices_are_refused():
    """The mean of diag(1, 1) and diag(1, -1) is singular, but they share no null space."""
    with pytest.raises(ValueError, match=r"X\[1\] is not positive definite.*smallest eigenvalue is -1"):
        get_embedding("relog").fit(np.stack([np.eye(2), np.diag([1.0, -1.0])]))
    X, _ = recordings()
    X[0] = 0.0
    with pytest.raises(ValueError, match=r"X\[0\] is all zeros"):
        get_embedding("relog").fit(X)
    with pytest.raises(ValueError, match=r"X\[0\] is all zeros"):
        get_embedding("relog").fit(np.zeros((3, 2, 2)))


# --- Interpretation ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", EMBEDDINGS)
@pytest.mark.parametrize("field", ["real", "Hermitian"])
def test_filters_and_patterns_are_mapped_back_to_the_channels(make, field):
    X, _ = recordings(field=field)
    phi = fit(make(), X)
    vectors = np.random.default_rng(0).standard_normal((phi.shape_out_[0] // phi.copies_, 3))
    filters, patterns, expanded = phi.filters(vectors), phi.patterns(vectors), phi.to_named_rows(vectors)
    assert filters.shape == patterns.shape == expanded.shape == (len(phi.row_names()), 3)
    np.testing.assert_allclose(filters.conj().T @ patterns, vectors.T @ vectors, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(expanded.conj().T @ expanded, vectors.T @ vectors, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("field", ["real", "Hermitian"])
def test_filters_of_the_recentred_log_whiten_and_patterns_follow_from_them(field):
    X, _ = recordings(field=field)
    phi = fit(get_embedding("relog"), X)
    filters, patterns, M = phi.filters(np.eye(RANK)), phi.patterns(np.eye(RANK)), phi.probe()
    np.testing.assert_allclose(filters.conj().T @ M @ filters, np.eye(RANK), atol=1e-8)
    np.testing.assert_allclose(patterns, M @ filters, atol=1e-8 * np.abs(patterns).max())


@pytest.mark.parametrize("make", EMBEDDINGS)
@pytest.mark.parametrize("field", ["real", "Hermitian"])
def test_distances_are_explained_by_the_channels(make, field):
    X, _ = recordings(field=field)
    phi = fit(make(), X)
    metric = random_metric(phi)
    explanation = metric.explain(X[0], X[1])
    D = metric.distance(X[0], X[1], squared=True)
    assert explanation.by_channel.shape == (8,)
    assert explanation.by_channel.sum() == pytest.approx(D, rel=1e-9)
    assert explanation.by_pattern.sum() == pytest.approx(D, rel=1e-9)
    for importance in (metric.importance(), metric.importance(X)):
        assert importance.shape == (8,) and importance.sum() == pytest.approx(1.0)
    assert str(metric.patterns()).startswith("pattern")


def test_parts_of_the_channels_belong_to_the_expanded_metric():
    """The parts are the diagonal of W F F^T, with W and F expanded to all channels."""
    X, _ = recordings()
    phi = fit(get_embedding("relog"), X)
    metric = random_metric(phi)
    Q = phi.to_named_rows(np.eye(RANK))
    F = Q @ (phi.transform(X[0]) - phi.transform(X[1])) @ Q.T
    W = Q @ metric.W @ Q.T
    np.testing.assert_allclose(metric.explain(X[0], X[1]).by_channel, np.diagonal(W @ F @ F.T), rtol=1e-9)
    np.testing.assert_allclose(metric.importance(), np.diagonal(W) / np.trace(W), rtol=1e-9)


# --- Model files and estimators ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", EMBEDDINGS)
@pytest.mark.parametrize("field", ["real", "Hermitian"])
def test_model_file_restores_the_null_space(make, field, tmp_path):
    X, _ = recordings(field=field)
    metric = random_metric(fit(make(), X))
    save_model(metric, tmp_path / "metric.npz")
    restored = load_model(tmp_path / "metric.npz")
    np.testing.assert_array_equal(restored.transform(X), metric.transform(X))
    np.testing.assert_array_equal(restored.embedding.null_space_, metric.embedding.null_space_)


@pytest.mark.parametrize(
    ("whitener", "message"),
    [
        (np.ones((8, 2)), "whitener_ must have independent columns"),
        (np.eye(8)[:, :0], r"whitener_ must have shape \(8, 8\), or fewer columns, got \(8, 0\)"),
        (np.eye(9)[:, :5], r"whitener_ must have shape \(8, 8\), or fewer columns, got \(9, 5\)"),
        (np.eye(8)[:5], r"whitener_ must have shape \(8, 8\), or fewer columns, got \(5, 8\)"),
        (np.eye(8)[:, :5] * 1j, r"whitener_ must have shape .* complex128"),
        (np.ones(8), "whitener_ must have shape"),
    ],
)
def test_invalid_whitener_is_refused(whitener, message):
    phi = fit(get_embedding("relog"), recordings()[0])
    with pytest.raises(ValueError, match=message):
        type(phi).from_state({**phi.get_state(), "whitener_": whitener})


@pytest.mark.parametrize("phi", ["relog", "tangent", Tangent(n_components=6)], ids=["relog", "tangent", "tangent-pca"])
@pytest.mark.parametrize("lam", [np.inf, 1e-2])
def test_learned_distances_equal_those_in_a_basis_of_the_range(phi, lam):
    X, y = recordings()
    other, _ = recordings(10, seed=1)
    settings = {"phi": phi, "lam": lam, "tol": 1e-9, "random_state": 0}
    with pytest.warns(UserWarning, match="projects out 3 of 8 dimensions"):
        found = CovMetric(**settings).fit(X, y)
    full = CovMetric(**settings).fit(in_a_basis(X), y)
    np.testing.assert_allclose(found.pairwise(other), full.pairwise(in_a_basis(other)), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("learner", [CovMetric, lambda **s: CovMetricCV(["relog", "tangent"], **s)])
def test_classifier_needs_no_reg(learner):
    X, y = recordings(60)
    with pytest.warns(UserWarning, match="projects out 3 of 8 dimensions"):
        model = CovMetricClassifier(learner(random_state=0)).fit(X[:40], y[:40])
    full = CovMetricClassifier(learner(random_state=0)).fit(in_a_basis(X[:40]), y[:40])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        accuracy = model.score(X[40:], y[40:])
    assert accuracy == full.score(in_a_basis(X[40:]), y[40:]) > 0.6
