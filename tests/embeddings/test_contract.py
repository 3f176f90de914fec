"""The contract of an embedding Phi, for every entry of EMBEDDINGS and for VectorisedIdentity."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from covmetric import LearnedMetric, load_model, save_model
from covmetric.embeddings import EMBEDDINGS, VectorisedIdentity
from tests.data import examples_for, hermitian, spd

ALL = {**EMBEDDINGS, VectorisedIdentity.name: VectorisedIdentity}
KINDS = [(name, "real") for name in ALL] + [(name, "Hermitian") for name, cls in ALL.items() if not cls.takes_vectors]
NAMES = ["alpha", "beta", "gamma", "delta"]


@pytest.fixture(params=ALL.values(), ids=ALL)
def phi(request):
    """Every embedding, with its default settings."""
    return request.param()


@pytest.fixture(params=[cls for cls in ALL.values() if not cls.takes_vectors], ids=lambda cls: cls.name)
def matrix_phi(request):
    """Every embedding of matrices, with its default settings."""
    return request.param()


@pytest.fixture(params=KINDS, ids=lambda kind: "-".join(kind))
def fitted(request):
    """Every embedding, fitted on real examples and on Hermitian matrices, and its 20 examples."""
    name, field = request.param
    phi = ALL[name]()
    X = hermitian(20, 4) if field == "Hermitian" else examples_for(phi, 20, 4)
    return phi.fit(X), X


def squared_distances(embedded):
    return ((embedded[:, None] - embedded[None]) ** 2).sum(axis=(2, 3))


def metric_of(phi, seed=0):
    """Return a metric on a fitted embedding whose W has distinct eigenvalues."""
    n = phi.shape_out_[0] // phi.copies_
    A = np.random.default_rng(seed).standard_normal((n, 2 * n))
    W = A @ A.T / n
    return LearnedMetric(phi, np.kron(np.eye(phi.copies_), W))


def test_name_is_the_key_of_the_registry():
    assert all(cls.name == name for name, cls in EMBEDDINGS.items())


# --- Shapes, batches and types ----------------------------------------------------------------------------------------


def test_values_are_finite_floats_of_shape_out(fitted):
    phi, X = fitted
    embedded = phi.transform(X)
    assert embedded.shape == (20, *phi.shape_out_)
    assert embedded.dtype == np.float64
    assert np.isfinite(embedded).all()


def test_fit_transform_equals_fit_then_transform(fitted):
    phi, X = fitted
    np.testing.assert_array_equal(phi.transform(X), type(phi)().fit_transform(X))
    np.testing.assert_array_equal(phi.transform(X), type(phi)().fit(X, y=np.arange(20)).transform(X))


def test_leading_axes_are_a_batch(fitted):
    phi, X = fitted
    embedded = phi.transform(X)
    batched = phi.transform(X.reshape(4, 5, *X.shape[1:]))
    np.testing.assert_array_equal(batched, embedded.reshape(4, 5, *phi.shape_out_))
    np.testing.assert_allclose(phi.transform(X[3]), embedded[3], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(phi.fit_transform(X.reshape(4, 5, *X.shape[1:])), batched, rtol=1e-12, atol=1e-13)


def test_an_example_is_mapped_independently_of_the_others(fitted):
    phi, X = fitted
    np.testing.assert_allclose(phi.transform(X[7:9]), phi.transform(X)[7:9], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_n_jobs_does_not_change_the_bits(phi, n_jobs):
    X = examples_for(phi, 200, 3)
    expected = phi.fit_transform(X)
    np.testing.assert_array_equal(phi.fit_transform(X, n_jobs=n_jobs), expected)
    np.testing.assert_array_equal(phi.transform(X, n_jobs=n_jobs), expected)
    for wrong in (0, 1.5):
        with pytest.raises(ValueError, match=rf"n_jobs must be None or an integer other than 0, got {wrong}"):
            phi.transform(X, n_jobs=wrong)


def test_input_is_neither_modified_nor_shared(fitted):
    phi, X = fitted
    X.flags.writeable = False
    before = X.copy()
    first, second = phi.fit_transform(X), phi.transform(X)
    np.testing.assert_array_equal(X, before)
    assert not np.shares_memory(first, X) and not np.shares_memory(second, X)


def test_transform_does_not_modify_the_embedding(fitted):
    phi, X = fitted
    before = {name: np.array(value) for name, value in vars(phi).items()}
    phi.inverse_transform(phi.transform(X[::-1] * 1.5))
    assert vars(phi).keys() == before.keys()
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(phi, name), value)


def test_lists_equal_arrays(fitted):
    phi, X = fitted
    np.testing.assert_array_equal(phi.transform(X.tolist()), phi.transform(X))


def test_single_precision_is_computed_in_double(fitted):
    phi, X = fitted
    single = X.astype(np.complex64 if phi.complex_ else np.float32)
    embedded = phi.fit_transform(single)
    assert embedded.dtype == np.float64
    np.testing.assert_allclose(embedded, phi.fit_transform(X), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_tiny_and_huge_scales(phi, scale):
    """EEG covariances in volts have entries near 1e-12: no tolerance may be absolute."""
    X = examples_for(phi, 6, 4, scale=scale)
    embedded = phi.fit_transform(X)
    assert np.isfinite(embedded).all()
    assert (squared_distances(embedded)[~np.eye(6, dtype=bool)] > 0.0).all()
    np.testing.assert_allclose(phi.inverse_transform(embedded), X, rtol=1e-9, atol=1e-11 * scale)


def test_another_fit_replaces_the_first(phi):
    X = examples_for(phi, 5, 3, seed=1)
    np.testing.assert_array_equal(phi.fit(examples_for(phi, 6, 4)).fit_transform(X), type(phi)().fit_transform(X))
    assert phi.shape_in_ == X.shape[1:]


# --- The map ----------------------------------------------------------------------------------------------------------


def test_inverse_transform_inverts(fitted):
    phi, X = fitted
    embedded = phi.transform(X)
    inverse = phi.inverse_transform(embedded)
    assert np.iscomplexobj(inverse) == phi.complex_
    np.testing.assert_allclose(inverse, X, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(phi.inverse_transform(embedded[3]), X[3], rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match=r"embedded must have shape"):
        phi.inverse_transform(np.ones((2, 7, 3)))


def test_a_mean_of_values_is_the_value_of_an_example(fitted):
    """Class means in the embedding are therefore matrices."""
    phi, X = fitted
    mean = phi.transform(X).mean(axis=0)
    np.testing.assert_allclose(phi.transform(phi.inverse_transform(mean)), mean, rtol=1e-9, atol=1e-12)


def test_distances_of_the_identity_metric(fitted):
    phi, X = fitted
    D = LearnedMetric(phi, np.eye(phi.shape_out_[0])).pairwise(X, squared=True)
    np.testing.assert_allclose(D, squared_distances(phi.transform(X)), rtol=1e-9, atol=1e-13)
    np.testing.assert_array_equal(np.diagonal(D), 0.0)
    np.testing.assert_allclose(D, D.T, rtol=1e-9)
    assert (D[~np.eye(20, dtype=bool)] > 1e-6).all()


def test_hermitian_matrices_without_imaginary_part_keep_their_distances(matrix_phi):
    X = spd(6, 4)
    expected = squared_distances(matrix_phi.fit_transform(X))
    as_complex = type(matrix_phi)()
    found = as_complex.fit_transform(X + 0j)
    assert as_complex.complex_ and found.dtype == np.float64
    np.testing.assert_allclose(squared_distances(found), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(as_complex.transform(X), found)  # real matrices are Hermitian
    with pytest.raises(ValueError, match=r"X is complex .complex128., but the embedding was fitted on real matrices"):
        matrix_phi.transform(X + 0j)


def test_reg_is_relative_to_the_mean_eigenvalue(matrix_phi):
    X = spd(6, 4, scale=1e-3)
    mean = np.linalg.eigvalsh(X).mean(axis=1)
    expected = matrix_phi.fit_transform(X + 0.1 * mean[:, None, None] * np.eye(4))
    matrix_phi.reg = 0.1
    embedded = matrix_phi.fit_transform(X)
    np.testing.assert_allclose(embedded, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(matrix_phi.inverse_transform(embedded), X, rtol=1e-9, atol=1e-15)


def test_requires_definite_is_correct(matrix_phi):
    X = spd(4, 3)
    X[2] = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    if not matrix_phi.requires_definite:
        assert np.isfinite(matrix_phi.fit_transform(X)).all()
        return
    message = (
        rf"X\[2\] is not positive definite, as '{matrix_phi.name}' requires: its smallest eigenvalue is .*set reg, "
        r"for example 1e-06"
    )
    with pytest.raises(ValueError, match=message):
        matrix_phi.fit(X)
    with pytest.raises(ValueError, match=message):
        matrix_phi.fit(X[:2]).transform(X)
    matrix_phi.reg = 1e-6
    assert np.isfinite(matrix_phi.fit_transform(X)).all()


def test_singular_matrix_is_named_by_its_index_for_any_n_jobs(matrix_phi):
    X = spd(200, 3)
    X[150] = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    if matrix_phi.requires_definite:
        with pytest.raises(ValueError, match=r"X\[150\] is not positive definite"):
            matrix_phi.fit(X[:100]).transform(X, n_jobs=2)
    else:
        assert np.isfinite(matrix_phi.fit(X[:100]).transform(X, n_jobs=2)).all()


def test_takes_vectors_is_correct(phi):
    if phi.takes_vectors:
        assert phi.fit(np.ones((3, 4))).shape_in_ == (4,)
        with pytest.raises(ValueError, match="X must be real, got complex128"):
            phi.fit(np.ones((3, 4)) * 1j)
    else:
        with pytest.raises(ValueError, match=r"X must hold square matrices.*got \(3, 4\)"):
            phi.fit(np.ones((3, 4)))
        assert phi.fit(spd(3, 4)).shape_in_ == (4, 4)


# --- Invalid input ----------------------------------------------------------------------------------------------------


def test_nan_is_named_by_its_index(fitted):
    phi, X = fitted
    X[(1, *[0] * (X.ndim - 1))] = np.nan
    for method in (phi.transform, phi.fit, phi.fit_transform):
        with pytest.raises(ValueError, match=r"X\[1, 0.*\] is \(?nan"):
            method(X)


@pytest.mark.parametrize("scale", [1.0, 1e-12])
def test_asymmetric_matrix_is_named_by_its_index(matrix_phi, scale):
    X = spd(3, 4, scale=scale)
    X[1, 0, 1] *= 1.5
    with pytest.raises(ValueError, match=r"X\[1\] is not symmetric"):
        matrix_phi.fit(X)
    Z = scale * hermitian(3, 4)
    Z[1, 0, 1] = Z[1, 1, 0]
    with pytest.raises(ValueError, match=r"X\[1\] is not Hermitian: it differs from its conjugate transpose"):
        matrix_phi.fit(Z)


def test_examples_of_another_size_are_refused(phi):
    phi.fit(examples_for(phi, 3, 4))
    with pytest.raises(ValueError, match=r"X holds examples of shape \(3,.*, but the embedding was fitted on \(4,"):
        phi.transform(examples_for(phi, 3, 3))


def test_values_that_are_not_numbers_are_refused(phi):
    for wrong in (None, [["a", "b"], ["c", "d"]], [[1.0], [1.0, 2.0]]):
        with pytest.raises(ValueError, match="X must be an array of numbers"):
            phi.fit(wrong)


def test_transform_before_fit_is_refused(phi):
    for method in (phi.transform, phi.inverse_transform):
        with pytest.raises(NotFittedError, match=rf"this {type(phi).__name__} is not fitted yet: call fit first"):
            method(examples_for(phi, 2, 3))


@pytest.mark.parametrize("reg", [-1, "auto", np.nan])
def test_invalid_reg_is_refused_in_fit(matrix_phi, reg):
    matrix_phi.reg = reg
    with pytest.raises(ValueError, match=rf"reg must be a number >= 0, got {reg!r}"):
        matrix_phi.fit(spd(2, 3))


# --- What is learned, and model files ---------------------------------------------------------------------------------


def test_fit_adds_the_declared_attributes_only(fitted):
    """Model files hold these, so that anything else would be missing after loading."""
    phi, _ = fitted
    added = vars(phi).keys() - vars(type(phi)()).keys()
    assert added == {"shape_in_", "complex_", *phi.fitted_attributes}


def test_learns_tells_whether_the_map_depends_on_the_training_examples(fitted):
    phi, X = fitted
    if phi.learns:
        assert phi.fitted_attributes
    else:
        assert phi.fitted_attributes == ()
        np.testing.assert_array_equal(type(phi)().fit(X[:2]).transform(X), phi.transform(X))


def test_model_file_restores_the_same_bits(fitted, tmp_path):
    phi, X = fitted
    metric = metric_of(phi)
    save_model(metric, tmp_path / "metric.npz")
    restored = load_model(tmp_path / "metric.npz")
    assert type(restored.embedding) is type(phi)
    assert repr(restored.embedding) == repr(phi)
    assert restored.embedding.get_state().keys() == phi.get_state().keys()
    np.testing.assert_array_equal(restored.embedding.transform(X), phi.transform(X))
    np.testing.assert_array_equal(restored.pairwise(X), metric.pairwise(X))


def test_state_restores_settings_and_refuses_foreign_entries(fitted):
    phi, X = fitted
    np.testing.assert_array_equal(type(phi).from_state(phi.get_state()).transform(X), phi.transform(X))
    unfitted = type(phi).from_state(type(phi)().get_state())
    assert repr(unfitted) == repr(phi)
    with pytest.raises(NotFittedError):
        unfitted.transform(X)
    for wrong in ({"extra_": 1.0}, {"shape_in_": (0, 0)}, {"shape_in_": (4, 5)}, {"complex_": 1.0}):
        with pytest.raises(ValueError, match=r"should have learned|cannot have been fitted"):
            type(phi).from_state({**phi.get_state(), **wrong})


@pytest.mark.parametrize("name", [(cls, name) for cls in ALL.values() for name in cls.fitted_attributes])
def test_fitted_attribute_that_is_not_numbers_is_refused(name):
    cls, attribute = name
    state = cls().fit(examples_for(cls, 5, 3)).get_state()
    for wrong in ("text", np.full_like(state[attribute], np.nan)):
        with pytest.raises(ValueError, match=attribute):
            cls.from_state({**state, attribute: wrong})


def test_probe_is_an_example_that_transform_accepts(fitted):
    phi, _ = fitted
    assert phi.probe().shape == phi.shape_in_
    assert phi.transform(phi.probe()).shape == phi.shape_out_


def test_repr_shows_only_the_settings(fitted):
    phi, _ = fitted
    assert repr(phi) == repr(type(phi)())
    assert repr(phi).startswith(f"{type(phi).__name__}(")


# --- Rows, channels, and the interpretation of a metric ---------------------------------------------------------------


def test_rows_have_one_name_each_made_of_the_names_of_their_channels(fitted):
    phi, _ = fitted
    rows, channels = phi.row_names(NAMES), phi.row_channels()
    assert len(rows) * phi.copies_ == phi.shape_out_[0]
    assert len(set(rows)) == len(rows)
    assert channels.ndim == 2 and len(channels) == len(rows) and channels.shape[1] >= 1
    assert np.issubdtype(channels.dtype, np.integer)
    assert channels.min() >= 0 and channels.max() < len(NAMES)
    assert set(channels.ravel().tolist()) == set(range(len(NAMES)))
    for row, members in zip(rows, channels, strict=True):
        assert {name for name in NAMES if name in row} == {NAMES[c] for c in members}


def test_channels_are_named_or_numbered(fitted):
    phi, _ = fitted
    assert phi.channel_names(NAMES) == NAMES
    assert phi.channel_names() == ["x0", "x1", "x2", "x3"]
    assert phi.row_names() == phi.row_names(["x0", "x1", "x2", "x3"])
    with pytest.raises(ValueError, match="names must have one entry per channel, 4; got 3"):
        phi.row_names(NAMES[:3])


def test_filters_and_patterns_are_biorthogonal(fitted):
    phi, _ = fitted
    vectors = np.linalg.qr(np.random.default_rng(0).standard_normal((len(phi.row_names()), 3)))[0]
    vectors[:, 2] += 0.5 * vectors[:, 1]
    filters, patterns = phi.filters(vectors), phi.patterns(vectors)
    assert filters.shape == patterns.shape == vectors.shape
    np.testing.assert_allclose(filters.conj().T @ patterns, vectors.T @ vectors, rtol=1e-9, atol=1e-12)


def test_patterns_of_a_metric_can_be_printed(fitted):
    phi, _ = fitted
    patterns = metric_of(phi).patterns(NAMES)
    rows = phi.row_names(NAMES)
    assert patterns.names == rows and patterns.vectors.shape == (len(rows), len(rows))
    assert str(patterns).startswith("pattern")
    assert any(name in str(patterns) for name in rows)


def test_importance_has_one_entry_per_channel_and_sums_to_one(fitted):
    phi, X = fitted
    for importance in (metric_of(phi).importance(), metric_of(phi).importance(X)):
        assert importance.shape == (4,)
        assert importance.sum() == pytest.approx(1.0)


def test_explanation_of_a_distance_is_complete(fitted):
    phi, X = fitted
    metric = metric_of(phi)
    explanation = metric.explain(X[0], X[1], NAMES)
    D = metric.distance(X[0], X[1], squared=True)
    assert explanation.by_channel.shape == (4,)
    assert explanation.by_channel.sum() == pytest.approx(D, rel=1e-9)
    assert explanation.by_pattern.sum() == pytest.approx(D, rel=1e-9)
