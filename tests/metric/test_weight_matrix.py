"""Metrics in the coordinates of a span: they equal the dense metric, without building it."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest

from covmetric import LearnedMetric, get_embedding, load_model
from tests.data import hermitian, spd
from tests.model_file.forging import set_at, with_array, with_manifest

SCALE = 0.3


def random_basis(n, r, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n, r)))[0]


def random_spd(n, seed=0):
    return spd(1, n, seed=seed)[0] + 0.05 * np.eye(n)


@pytest.fixture(params=[False, True], ids=["identity", "prior"])
def root(request):
    return random_spd(10, seed=4) if request.param else None


@pytest.fixture
def form(root):
    """A metric on the vectorised logarithms of 4 x 4 matrices, with n = 10 and r = 3."""
    phi = get_embedding("veclog").fit(spd(12, 4))
    return LearnedMetric.from_span(phi, random_basis(10, 3), random_spd(3, seed=2), SCALE, root)


@pytest.fixture
def dense(form, root):
    """The same metric, from the formula."""
    Q, R = form.basis, np.eye(10) if root is None else root
    W = R @ (np.eye(10) + Q @ (form.core - np.eye(3)) @ Q.T) @ R / SCALE
    return LearnedMetric(form.embedding, 0.5 * (W + W.T))


def test_dense_matrices_are_built_on_demand(form, dense, root):
    np.testing.assert_allclose(form.W, dense.W, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(form.W, form.W.T)
    L = form.components
    np.testing.assert_allclose(L.T @ L, dense.W, rtol=1e-12, atol=1e-12)
    if root is None:
        np.testing.assert_allclose(L, dense.components, rtol=1e-10, atol=1e-12)
    assert not (form.W.flags.writeable or L.flags.writeable or form.core.flags.writeable or form.basis.flags.writeable)
    assert repr(form).endswith("W of shape (10, 10), learned in 3 dimensions)")


def test_distances_are_those_of_the_dense_metric(form, dense):
    X, Y = spd(6, 4, seed=5), spd(6, 4, seed=6)
    np.testing.assert_allclose(form.pairwise(X, Y), dense.pairwise(X, Y), rtol=1e-10)
    np.testing.assert_allclose(form.distance(X, Y), dense.distance(X, Y), rtol=1e-10)
    assert form.distance(X[0], Y[0], squared=True) == pytest.approx(dense.distance(X[0], Y[0], squared=True), rel=1e-10)
    np.testing.assert_allclose(form.as_kernel()(X, Y), dense.as_kernel()(X, Y), rtol=1e-9)


def test_transform_is_the_product_with_the_components(form, dense, root):
    X = spd(6, 4, seed=5)
    embedded = form.embedding.transform(X)
    np.testing.assert_allclose(form.transform(X), (form.components @ embedded)[..., 0], rtol=1e-10, atol=1e-12)
    if root is None:
        np.testing.assert_allclose(form.transform(X), dense.transform(X), rtol=1e-10, atol=1e-10)


def test_examples_with_several_columns_are_transformed_column_by_column():
    phi = get_embedding("log").fit(spd(12, 4))
    form = LearnedMetric.from_span(phi, random_basis(4, 2), random_spd(2), SCALE)
    dense = LearnedMetric(phi, form.W)
    X, Y = spd(5, 4, seed=5), spd(5, 4, seed=6)
    np.testing.assert_allclose(form.transform(X), dense.transform(X), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(form.distance(X[:, None], Y), dense.pairwise(X, Y), rtol=1e-9)


def test_interpretation_is_that_of_the_dense_metric(form, dense):
    X = spd(6, 4, seed=5)
    np.testing.assert_allclose(form.patterns().values, dense.patterns().values, rtol=1e-9)
    np.testing.assert_allclose(form.importance(), dense.importance(), rtol=1e-9)
    np.testing.assert_allclose(form.importance(X), dense.importance(X), rtol=1e-9)
    np.testing.assert_allclose(form.explain(X[0], X[1]).by_channel, dense.explain(X[0], X[1]).by_channel, rtol=1e-8)


def test_hermitian_matrices_are_supported():
    X = hermitian(8, 3)
    phi = get_embedding("log").fit(X)
    form = LearnedMetric.from_span(phi, random_basis(phi.shape_out_[0], 2), random_spd(2))
    np.testing.assert_allclose(form.pairwise(X), LearnedMetric(phi, form.W).pairwise(X), rtol=1e-9, atol=1e-7)


def test_saved_metrics_give_the_same_bits(form, tmp_path):
    X = spd(6, 4, seed=5)
    form.save(tmp_path / "metric.npz")
    for again in (load_model(tmp_path / "metric.npz"), pickle.loads(pickle.dumps(form))):
        np.testing.assert_array_equal(again.transform(X), form.transform(X))
        np.testing.assert_array_equal(again.W, form.W)
        assert again.scale == SCALE
    load_model(tmp_path / "metric.npz").save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "metric.npz").read_bytes()
    with np.load(tmp_path / "metric.npz") as arrays:
        assert sum(array.size for name, array in arrays.items() if name != "manifest.json") < 300


def test_square_root_of_another_machine_is_kept(form, tmp_path):
    path = tmp_path / "metric.npz"
    form.save(path)
    other = form.core_root * (1.0 + 1e-13)
    path.write_bytes(with_array(path.read_bytes(), "core_root", other))
    np.testing.assert_array_equal(load_model(path).core_root, other)


@pytest.mark.parametrize("version", ["0.1", "0.2"])
def test_pickles_of_older_versions_load(version):
    metric = LearnedMetric(get_embedding("id").fit(np.eye(2)[None]), np.diag([4.0, 1.0]))
    matrix = {"W": metric.W, "components": metric.components}
    parts = {name: getattr(metric, name) for name in ("basis", "core", "core_root", "scale", "prior_root")}
    old = LearnedMetric.__new__(LearnedMetric)
    old.__setstate__({"embedding": metric.embedding, **(matrix if version == "0.1" else parts)})
    np.testing.assert_array_equal(old.W, metric.W)
    assert old.distance(np.eye(2), np.zeros((2, 2))) == metric.distance(np.eye(2), np.zeros((2, 2)))
    assert vars(old).keys() == vars(metric).keys()


VALID = {"basis": random_basis(10, 3), "core": random_spd(3), "scale": 1.0, "prior_root": None}
INVALID = [
    ({"basis": VALID["basis"][:9]}, r"basis must have shape \(10, r\) with 0 < r <= 10; got \(9, 3\)"),
    ({"basis": VALID["basis"][:, 0]}, r"basis must have shape \(10, r\)"),
    ({"basis": VALID["basis"][:, :0], "core": np.eye(1)}, "basis must have shape"),
    ({"basis": np.full((10, 3), np.nan)}, r"basis\[0, 0\] is nan"),
    ({"basis": 1.001 * VALID["basis"]}, "basis must have orthonormal columns"),
    ({"basis": VALID["basis"] + 1e-8}, "basis must have orthonormal columns"),
    ({"core": np.eye(2)}, r"core must have shape \(3, 3\), as basis has \(10, 3\); got \(2, 2\)"),
    ({"core": np.diag([1.0, 1.0, -1.0])}, "core must be positive semi-definite; its smallest eigenvalue is -1"),
    ({"core": np.tri(3)}, "core is not symmetric"),
    ({"core": np.full((3, 3), np.inf)}, r"core\[0, 0\] is inf"),
    ({"scale": 0.0}, "scale must be a positive number, got 0.0"),
    ({"scale": "1"}, "scale must be a positive number, got '1'"),
    ({"prior_root": np.eye(9)}, r"prior_root must have shape \(10, 10\), got \(9, 9\)"),
    ({"prior_root": np.tri(10)}, "prior_root is not symmetric"),
]


@pytest.mark.parametrize(("change", "message"), INVALID)
def test_invalid_parts_are_refused(change, message):
    phi = get_embedding("veclog").fit(spd(12, 4))
    assert LearnedMetric.from_span(phi, **VALID).basis is not None
    with pytest.raises(ValueError, match=message):
        LearnedMetric.from_span(phi, **{**VALID, **change})


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (
            lambda c, f: with_array(c, "basis", np.ascontiguousarray(1.5 * f.basis)),
            "basis must have orthonormal columns",
        ),
        (lambda c, f: with_array(c, "basis", np.ascontiguousarray(f.basis[:, :2])), r"core must have shape \(2, 2\)"),
        (lambda c, f: with_array(c, "core", f.core + np.eye(3)), "core_root is not the square root of core"),
        (lambda c, f: with_array(c, "core_root", 1.01 * f.core_root), "core_root is not the square root of core"),
        (lambda c, f: with_array(c, "core_root", np.eye(2)), "core_root must be an array of float64"),
        (lambda c, f: with_array(c, "core", f.core.astype(np.float32)), "core must be an array of float64"),
        (lambda c, f: with_manifest(c, set_at("model/state/scale", -1.0)), "scale must be a positive number"),
        (lambda c, f: with_manifest(c, set_at("model/state/prior_root", 3)), "prior_root"),
        (lambda c, f: with_manifest(c, set_at("model/state/extra", 3)), r"the unknown parts \['extra'\]"),
    ],
)
def test_forged_files_are_refused(forge, message, tmp_path):
    phi = get_embedding("veclog").fit(spd(12, 4))
    form = LearnedMetric.from_span(phi, **VALID)
    path = tmp_path / "metric.npz"
    form.save(path)
    path.write_bytes(forge(path.read_bytes(), form))
    with pytest.raises(ValueError, match=message):
        load_model(path)


def test_no_large_array_is_built():
    """An array of shape (n, n) takes 32 MB."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2000))
    phi = get_embedding("vector").fit(X)
    tracemalloc.start()
    try:
        form = LearnedMetric.from_span(phi, random_basis(2000, 5), random_spd(5), SCALE)
        form.transform(X)
        form.distance(X[:3], X[4:7])
        form.pairwise(X)
        form.class_means(X, np.arange(20) % 2)
        form.as_kernel()(X)
        repr(form)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8e6
