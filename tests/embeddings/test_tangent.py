"""The tangent space: its values, its principal components, and the interpretation of its directions."""

from __future__ import annotations

import numpy as np
import pytest
from pyriemann.geometry.mean import gmean
from pyriemann.tangentspace import TangentSpace
from sklearn.base import clone
from sklearn.decomposition import PCA

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV, LearnedMetric, load_model, save_model
from covmetric.embeddings import Tangent, get_embedding
from covmetric.embeddings.half_vector import unpack
from tests import naive
from tests.data import hermitian, spd, two_classes

MAKERS = [spd, hermitian]
# Our Riemannian mean stops earlier than that of pyRiemann.
ATOL = {"riemann": 1e-6, "logeuclid": 1e-10}


def distances(vectors):
    return np.linalg.norm(vectors[:, None] - vectors[None], axis=(2, 3))


def random_metric(phi, seed=0):
    A = np.random.default_rng(seed).standard_normal((phi.shape_out_[0], 2 * phi.shape_out_[0]))
    return LearnedMetric(phi, A @ A.T)


# --- Values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mean", ["riemann", "logeuclid"])
@pytest.mark.parametrize("make", MAKERS)
def test_values_equal_those_of_pyriemann(make, mean):
    X, other = make(20, 5), make(7, 5, seed=1)
    expected = TangentSpace(metric={"mean": mean, "map": "riemann"}).fit(X).transform(other)
    # pyRiemann keeps the upper triangle row by row, and complex numbers.
    position = {entry: k for k, entry in enumerate(zip(*np.triu_indices(5), strict=True))}
    lower = list(zip(*np.tril_indices(5), strict=True))
    below = [(i, j) for i, j in lower if i > j]
    columns = [expected[:, position[j, i]].real for i, j in lower]
    if make is hermitian:
        columns += [-expected[:, position[j, i]].imag for i, j in below]
    found = Tangent(mean=mean).fit(X).transform(other)
    assert found.shape == (7, 25 if make is hermitian else 15, 1)
    np.testing.assert_allclose(found[..., 0], np.stack(columns, axis=1), atol=ATOL[mean])


def test_default_is_the_default_of_pyriemann():
    X = spd(20, 4)
    expected = TangentSpace().fit_transform(X)
    np.testing.assert_allclose(
        np.sort(get_embedding("tangent").fit_transform(X)[..., 0], axis=1), np.sort(expected, axis=1), atol=1e-6
    )


@pytest.mark.parametrize("make", MAKERS)
def test_values_equal_the_definition(make):
    X = make(6, 4)
    M = gmean(X, metric="logeuclid")
    expected = [naive.tangent_vector(x, M) for x in X]
    np.testing.assert_allclose(Tangent(mean="logeuclid").fit_transform(X)[..., 0], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("mean", ["riemann", "logeuclid"])
def test_distances_equal_those_of_the_recentred_log(make, mean):
    X = make(8, 4)
    expected = distances(get_embedding("relog", mean=mean).fit_transform(X))
    np.testing.assert_allclose(distances(Tangent(mean=mean).fit_transform(X)), expected, rtol=1e-10, atol=1e-13)


def test_unknown_mean_is_refused():
    with pytest.raises(ValueError, match="mean must be one of 'logeuclid', 'riemann', got 'euclid'"):
        Tangent(mean="euclid").fit(spd(3, 2))


# --- Principal components ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_components", [1, 4, np.int64(9), 0.3, 0.9])
@pytest.mark.parametrize("make", MAKERS)
def test_components_equal_those_of_scikit_learn(make, n_components):
    X, other = make(40, 4), make(9, 4, seed=1)
    vectors = Tangent().fit(X)
    pca = PCA(n_components, svd_solver="full").fit(vectors.transform(X)[..., 0])
    phi = Tangent(n_components=n_components).fit(X)
    expected = pca.transform(vectors.transform(other)[..., 0])
    found = phi.transform(other)[..., 0]
    assert found.shape == expected.shape and phi.shape_out_ == (expected.shape[1], 1)
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found, signs * expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(phi.components_, signs[:, None] * pca.components_, rtol=1e-8, atol=1e-10)
    # The nearest value of the half vector that the components can express is mapped to a matrix.
    reconstructed = vectors.transform(phi.inverse_transform(phi.transform(other)))[..., 0]
    np.testing.assert_allclose(reconstructed, pca.inverse_transform(expected), rtol=1e-8, atol=1e-10)


def test_signs_of_the_components_are_fixed():
    phi = Tangent(n_components=5).fit(spd(30, 4))
    largest = np.abs(phi.components_).argmax(axis=1)
    assert (phi.components_[np.arange(5), largest] > 0.0).all()


def test_all_components_preserve_distances_and_the_inverse():
    X, other = spd(40, 4), spd(9, 4, seed=1)
    phi, plain = Tangent(n_components=10).fit(X), Tangent().fit(X)
    np.testing.assert_allclose(distances(phi.transform(other)), distances(plain.transform(other)), rtol=1e-9)
    np.testing.assert_allclose(phi.inverse_transform(phi.transform(other)), other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        pytest.param(spd(40, 4), 10, id="all entries"),
        pytest.param(spd(6, 4), 5, id="one less than the examples"),
        pytest.param(np.concatenate([spd(4, 4)] * 3), 3, id="duplicates"),
        pytest.param(spd(1, 4), 1, id="one example"),
        pytest.param(np.stack([np.eye(4)] * 3), 1, id="no variance"),
    ],
)
def test_more_components_than_available_are_reduced(X, expected):
    phi = Tangent(n_components=1000).fit(X)
    assert phi.components_.shape == (expected, 10)
    np.testing.assert_allclose(phi.components_ @ phi.components_.T, np.eye(expected), atol=1e-12)
    assert phi.transform(X).shape == (len(X), expected, 1)
    assert phi.n_components == 1000


@pytest.mark.parametrize("n_components", [0, -1, 1.0, 1.5, 0.0, -0.5, np.nan, True, "all", [2]])
def test_invalid_number_of_components_is_refused(n_components):
    with pytest.raises(ValueError, match=r"n_components must be None, an integer >= 1 .*got ") as error:
        Tangent(n_components=n_components).fit(spd(5, 3))
    assert repr(n_components) in str(error.value)


def test_components_of_an_example_do_not_depend_on_the_others():
    X = spd(200, 4)
    phi = Tangent(n_components=6).fit(X)
    embedded = phi.transform(X)
    np.testing.assert_array_equal(phi.transform(X, n_jobs=2), embedded)
    np.testing.assert_array_equal(Tangent(n_components=6).fit_transform(X, n_jobs=2), embedded)
    np.testing.assert_array_equal(phi.transform(X.reshape(20, 10, 4, 4)), embedded.reshape(20, 10, 6, 1))
    np.testing.assert_array_equal(phi.transform(X[17:18]), embedded[17:18])


def test_another_fit_discards_the_components():
    phi = Tangent(n_components=2).fit(spd(20, 4))
    phi.n_components = None
    np.testing.assert_array_equal(phi.fit_transform(spd(9, 3)), Tangent().fit_transform(spd(9, 3)))
    assert phi.components_ is None and phi.centre_ is None


# --- Model files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", MAKERS)
def test_model_file_holds_the_components(make, tmp_path):
    X = make(20, 4)
    metric = random_metric(Tangent("logeuclid", n_components=5).fit(X))
    save_model(metric, tmp_path / "metric.npz")
    restored = load_model(tmp_path / "metric.npz")
    assert repr(restored.embedding) == "Tangent(reg=0.0, mean='logeuclid', n_components=5)"
    np.testing.assert_array_equal(restored.transform(X), metric.transform(X))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_components": None}, "centre_ must be None, because n_components is None"),
        ({"n_components": 1.5}, "n_components must be None, an integer"),
        ({"components_": None}, "components_ must be an array of numbers"),
        ({"components_": np.eye(6)[:2] * 1.1}, "components_ must have orthonormal rows"),
        ({"components_": np.eye(7)[:2]}, r"components_ must have shape \(k, 6\) with 1 <= k <= 6, got \(2, 7\)"),
        ({"components_": np.zeros((0, 6))}, r"components_ must have shape .*got \(0, 6\)"),
        ({"centre_": np.zeros(6)}, r"centre_ must have shape \(6, 1\), got \(6,\)"),
        ({"centre_": np.full((6, 1), np.inf)}, r"centre_\[0, 0\] is inf"),
        ({"whitener_": -np.eye(3)}, "whitener_ must be positive definite"),
    ],
)
def test_invalid_state_is_refused(changes, message):
    state = Tangent(n_components=2).fit(spd(10, 3)).get_state()
    with pytest.raises(ValueError, match=message):
        Tangent.from_state({**state, **changes})


# --- Interpretation ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_components", [None, 6])
@pytest.mark.parametrize("make", MAKERS)
def test_patterns_and_filters_are_derivatives_at_the_mean(make, n_components):
    """A small step from M along a pattern moves Phi by its direction, and a filter measures the move of Phi."""
    n, step = 3, 1e-5
    phi = Tangent(n_components=n_components).fit(make(30, n))
    directions = np.linalg.qr(np.random.default_rng(0).standard_normal((phi.shape_out_[0], 4)))[0]
    M = phi.probe()
    patterns = unpack(phi.patterns(directions).T[..., None], n)
    moved = (phi.transform(M + step * patterns) - phi.transform(M - step * patterns))[..., 0] / (2 * step)
    np.testing.assert_allclose(moved, directions.T, atol=1e-8)
    X = M + step * make(1, n, seed=2)[0]
    linear = phi.filters(directions).T @ naive_half_vector(X - M)
    change = (phi.transform(X) - phi.transform(M))[:, 0]
    np.testing.assert_allclose(linear, directions.T @ change, rtol=1e-3)


def naive_half_vector(matrix):
    """Return the half vector of a Hermitian matrix, the imaginary parts last."""
    below = np.tril_indices(len(matrix), -1)
    imaginary = np.sqrt(2) * matrix[below].imag if np.iscomplexobj(matrix) else []
    return np.concatenate([naive.half_vector(matrix.real), imaginary])


@pytest.mark.parametrize("make", MAKERS)
def test_components_are_explained_by_the_channels_of_the_half_vector(make):
    """A metric on all the principal components is the same metric in other coordinates."""
    X, names = make(40, 3), ["C3", "Cz", "C4"]
    plain, phi = Tangent().fit(X), Tangent(n_components=100).fit(X)
    metric = random_metric(plain)
    rotated = LearnedMetric(phi, phi.components_ @ metric.W @ phi.components_.T)
    expected, found = metric.explain(X[0], X[1], names), rotated.explain(X[0], X[1], names)
    np.testing.assert_allclose(found.by_channel, expected.by_channel, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(rotated.importance(), metric.importance(), rtol=1e-9)
    np.testing.assert_allclose(rotated.importance(X), metric.importance(X), rtol=1e-9)
    assert found.patterns.names == expected.patterns.names == plain.row_names(names)
    np.testing.assert_allclose(found.patterns.patterns, expected.patterns.patterns, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.patterns.filters, expected.patterns.filters, rtol=1e-6, atol=1e-8)
    assert str(found).splitlines()[0] == str(expected).splitlines()[0]


def test_few_components_are_explained_completely():
    X = spd(40, 4)
    phi = Tangent(n_components=3).fit(X)
    metric = random_metric(phi)
    explanation = metric.explain(X[0], X[1])
    assert explanation.by_channel.shape == (4,)
    assert explanation.by_channel.sum() == pytest.approx(metric.distance(X[0], X[1], squared=True))
    assert explanation.patterns.patterns.shape == explanation.patterns.filters.shape == (3, 10)
    columns = np.random.default_rng(0).standard_normal((3, 5))
    expanded = phi.to_named_rows(columns)
    assert expanded.shape == (len(phi.row_names()), 5)
    np.testing.assert_allclose(expanded.T @ expanded, columns.T @ columns, rtol=1e-10)


# --- Estimators -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phi", ["tangent", Tangent("logeuclid", n_components=4)])
@pytest.mark.parametrize("make", MAKERS)
def test_learners_accept_it(make, phi, tmp_path):
    X, y = two_classes(make)
    learner = CovMetric(phi, random_state=0)
    assert repr(clone(learner).get_params()["phi"]) == repr(phi)
    model = CovMetricClassifier(learner).fit(X[:30], y[:30])
    save_model(model, tmp_path / "model.npz")
    np.testing.assert_array_equal(load_model(tmp_path / "model.npz").predict_proba(X), model.predict_proba(X))
    assert model.learner_.status_.name == "SOLVED"
    fitted = clone(learner).fit(X, y)
    np.testing.assert_allclose(fitted.pairwise(X), distances(fitted.transform(X)[..., None]), atol=1e-10)


def test_search_chooses_it_for_classes_that_differ_in_correlation():
    """The variances vary much more than the correlation, which is what "id" cannot see."""
    X, y = spd(60, 3), np.arange(60) % 2
    X[:, 0, 1] = X[:, 1, 0] = np.where(y, 0.6, -0.6) * np.sqrt(X[:, 0, 0] * X[:, 1, 1])
    X[:, 2, :2] = X[:, :2, 2] = 0.0
    scales = np.random.default_rng(0).lognormal(0.0, 2.0, (60, 3))
    X = scales[:, :, None] * X * scales[:, None, :]
    search = CovMetricCV(["id", "tangent", Tangent(n_components=4)], random_state=0).fit(X, y)
    assert search.metric_.embedding.name == "tangent"
    assert search.best_score_ > 0.7
