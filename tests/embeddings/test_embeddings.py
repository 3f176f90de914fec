"""The contract of an embedding Phi, and each one's own mathematics against pyRiemann's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from covmetric.embeddings import EMBEDDINGS, get_embedding
from tests.data import MATRIX_PHIS, hermitian, spd

DEFINITE_PHIS = ["log", "relog", "veclog", "chol"]


@pytest.fixture(params=MATRIX_PHIS)
def phi(request):
    return get_embedding(request.param)


def test_batched_over_leading_axes(phi):
    X = spd(6, 4)
    whole = phi.fit_transform(X)
    assert whole.shape == (6, *((10, 1) if phi.name == "veclog" else (4, 4)))
    np.testing.assert_array_equal(phi.fit_transform(X.reshape(2, 3, 4, 4)), whole.reshape(2, 3, *whole.shape[1:]))
    np.testing.assert_allclose(phi.fit(X).transform(X[0]), whole[0], rtol=1e-13, atol=1e-14)
    if phi.name != "relog":  # which is centred on what it is fitted on
        np.testing.assert_allclose(phi.fit_transform(X[0]), whole[0], rtol=1e-13, atol=1e-14)


def test_injective_on_definite_matrices(phi):
    X = spd(5, 3)
    E = phi.fit_transform(X)
    distances = np.linalg.norm(E[:, None] - E[None], axis=(2, 3))
    assert (distances[~np.eye(5, dtype=bool)] > 1e-3).all()


def test_input_is_not_changed_and_may_be_read_only(phi):
    X = spd(3, 4)
    X.flags.writeable = False
    before = X.copy()
    phi.fit_transform(X)
    np.testing.assert_array_equal(X, before)


def test_lists_and_single_precision_are_computed_in_double(phi):
    X = spd(3, 4)
    np.testing.assert_array_equal(phi.fit_transform(X.tolist()), phi.fit_transform(X))
    single = phi.fit_transform(X.astype(np.float32))
    assert single.dtype == np.float64
    np.testing.assert_allclose(single, phi.fit_transform(X), rtol=1e-4, atol=1e-5)


def test_volts(phi):
    """EEG covariances in volts have entries near 1e-12: nothing may depend on absolute sizes."""
    E = phi.fit_transform(spd(4, 5, scale=1e-12))
    assert np.isfinite(E).all()
    assert np.linalg.norm(E[0] - E[1]) > 0.0


@pytest.mark.parametrize(
    ("mess", "message"),
    [
        (lambda X: X.__setitem__((1, 2, 0), np.nan), r"X\[1, 2, 0\] is nan"),
        (lambda X: X.__setitem__((2, 0, 1), 5.0), r"X\[2\] is not symmetric"),
    ],
)
def test_bad_entries(phi, mess, message):
    X = spd(3, 4)
    mess(X)
    with pytest.raises(ValueError, match=message):
        phi.fit(X)


def test_wrong_shapes(phi):
    with pytest.raises(ValueError, match=r"X must hold square matrices.*got \(3, 4\)"):
        phi.fit(np.ones((3, 4)))
    with pytest.raises(ValueError, match="array of numbers"):
        phi.fit([["a", "b"], ["c", "d"]])
    with pytest.raises(ValueError, match=r"shape \(3, 3\), but the embedding was fitted on \(4, 4\)"):
        phi.fit(spd(2, 4)).transform(spd(2, 3))


def test_transform_before_fit(phi):
    with pytest.raises(NotFittedError, match="call fit first"):
        phi.transform(spd(1, 2))


def test_volts_that_are_not_symmetric_are_noticed(phi):
    X = spd(3, 4, scale=1e-12)
    X[1, 0, 1] *= 1.5
    with pytest.raises(ValueError, match=r"X\[1\] is not symmetric"):
        phi.fit(X)


@pytest.mark.parametrize("name", DEFINITE_PHIS)
def test_singular_input_is_refused_with_the_remedy(name):
    X = spd(4, 3)
    v = np.array([1.0, 2.0, 3.0])
    X[2] = np.outer(v, v)
    message = rf"X\[2\] is not positive definite, as '{name}' requires: its smallest eigenvalue is .*set reg"
    with pytest.raises(ValueError, match=message):
        get_embedding(name).fit(X)
    assert np.isfinite(get_embedding(name, reg=1e-6).fit_transform(X)).all()


@pytest.mark.parametrize("name", ["id", "sqrt"])
def test_singular_input_is_taken(name):
    v = np.array([1.0, 2.0, 3.0])
    X = np.outer(v, v)[None]
    E = get_embedding(name).fit_transform(X)
    expected = X if name == "id" else X / np.sqrt(v @ v)
    np.testing.assert_allclose(E, expected, atol=1e-7)


def test_indefinite_input_has_no_root():
    with pytest.raises(
        ValueError, match=r"is not positive semi-definite, as 'sqrt' requires.*smallest eigenvalue is -1"
    ):
        get_embedding("sqrt").fit(np.diag([1.0, -1.0]))
    with pytest.raises(ValueError, match="is not positive definite, as 'power' requires"):
        get_embedding("power", p=-1.0).fit(np.diag([1.0, 0.0]))


def test_reg_is_a_share_of_the_mean_eigenvalue():
    X = spd(3, 4)
    mean = np.trace(X, axis1=1, axis2=2) / 4
    expected = X + 0.1 * mean[:, None, None] * np.eye(4)
    np.testing.assert_allclose(get_embedding("id", reg=0.1).fit_transform(X), expected, rtol=1e-14)
    with pytest.raises(ValueError, match=r"reg must be a number >= 0, got -1"):
        get_embedding("id", reg=-1).fit(X)


def test_against_pyriemann():
    from pyriemann.geometry.base import logm, powm, sqrtm
    from pyriemann.geometry.distance import distance_logeuclid

    X = spd(20, 6)
    np.testing.assert_allclose(get_embedding("log").fit_transform(X), logm(X), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(get_embedding("sqrt").fit_transform(X), sqrtm(X), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(get_embedding("power", p=0.3).fit_transform(X), powm(X, 0.3), rtol=1e-10, atol=1e-12)
    E = get_embedding("log").fit_transform(X)
    assert np.linalg.norm(E[0] - E[1]) == pytest.approx(distance_logeuclid(X[0], X[1]), rel=1e-10)


@pytest.mark.parametrize("mean", ["riemann", "logeuclid"])
def test_recentred_log_is_pyriemanns_tangent_space(mean):
    from pyriemann.geometry.mean import gmean
    from pyriemann.tangentspace import TangentSpace

    X, other = spd(20, 5), spd(7, 5, seed=1)
    phi = get_embedding("relog", mean=mean).fit(X)
    M = gmean(X, metric=mean)
    np.testing.assert_allclose(phi.whitener_ @ M @ phi.whitener_, np.eye(5), atol=1e-6)
    E = phi.transform(other)
    tangent = TangentSpace(metric={"mean": mean, "map": "riemann"}).fit(X).transform(other)
    expected = np.linalg.norm(tangent[:, None] - tangent[None], axis=2)
    np.testing.assert_allclose(np.linalg.norm(E[:, None] - E[None], axis=(2, 3)), expected, atol=1e-6)
    with pytest.raises(ValueError, match="mean must be one of 'logeuclid', 'riemann', got 'euclid'"):
        get_embedding("relog", mean="euclid").fit(X)


def test_recentred_log_does_not_see_a_congruence():
    """log(M^-1/2 X M^-1/2) of A X A^T differs by a rotation, and D with W = I not at all."""
    X = spd(12, 4)
    A = np.random.default_rng(3).standard_normal((4, 4))
    E, moved = (get_embedding("relog", mean="riemann").fit_transform(Y) for Y in (X, A @ X @ A.T))
    distances = [np.linalg.norm(Y[:, None] - Y[None], axis=(2, 3)) for Y in (E, moved)]
    np.testing.assert_allclose(distances[0], distances[1], rtol=1e-6, atol=1e-7)


def test_vectorised_log_keeps_distances():
    X = spd(5, 4)
    E, v = (get_embedding(name).fit_transform(X) for name in ("log", "veclog"))
    expected = np.linalg.norm(E[:, None] - E[None], axis=(2, 3))
    np.testing.assert_allclose(np.linalg.norm(v[:, None] - v[None], axis=(2, 3)), expected, rtol=1e-12)


def test_roots_and_factors_give_the_matrix_back():
    X = spd(5, 6)
    L = get_embedding("chol").fit_transform(X)
    np.testing.assert_allclose(L @ np.swapaxes(L, 1, 2), X, rtol=1e-12)
    np.testing.assert_array_equal(L, np.tril(L))
    R = get_embedding("sqrt").fit_transform(X)
    np.testing.assert_allclose(R @ R, X, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("reg", [0.0, 0.1])
def test_inverse_transform(phi, reg):
    phi.reg = reg
    X = spd(5, 4, scale=1e-3)
    E = phi.fit_transform(X)
    np.testing.assert_allclose(phi.inverse_transform(E), X, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(phi.inverse_transform(E[1]), X[1], rtol=1e-10, atol=1e-14)
    # The mean of embedded matrices is the embedding of a matrix: class means live among the matrices.
    mean = E.mean(axis=0)
    np.testing.assert_allclose(phi.transform(phi.inverse_transform(mean)), mean, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match=r"embedded must have shape"):
        phi.inverse_transform(np.ones((2, 7, 3)))


def test_inverse_of_what_no_matrix_maps_to():
    with pytest.raises(ValueError, match="is not a power of any matrix: its smallest eigenvalue is -1"):
        get_embedding("sqrt").fit(spd(2, 2)).inverse_transform(np.diag([-1.0, 1.0]))


def test_hermitian_matrices_keep_their_distances(phi):
    """Against pyRiemann's own functions of Hermitian matrices."""
    from pyriemann.geometry.base import logm, sqrtm
    from pyriemann.geometry.mean import mean_logeuclid

    X = hermitian(6, 3)
    E = phi.fit_transform(X)
    assert E.dtype == np.float64 and phi.complex_
    assert E.shape == (6, *((9, 1) if phi.name == "veclog" else (6, 6)))
    roots = np.linalg.inv(sqrtm(mean_logeuclid(X)))
    direct = {
        "id": X,
        "log": logm(X),
        "veclog": logm(X),
        "relog": logm(roots @ X @ roots),
        "sqrt": sqrtm(X),
        "power": sqrtm(X),
        "chol": np.linalg.cholesky(X),
    }[phi.name]
    expected = (np.abs(direct[:, None] - direct[None]) ** 2).sum(axis=(2, 3))
    np.testing.assert_allclose(((E[:, None] - E[None]) ** 2).sum(axis=(2, 3)), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(phi.inverse_transform(E), X, rtol=1e-10, atol=1e-13)


def test_hermitian_matrices_that_are_real(phi):
    """The same distances as without an imaginary part; real matrices are taken where complex ones were fitted."""
    X = spd(4, 3)
    real, both = phi.fit_transform(X), get_embedding(phi.name).fit_transform(X + 0j)
    expected = ((real[:, None] - real[None]) ** 2).sum(axis=(2, 3))
    np.testing.assert_allclose(((both[:, None] - both[None]) ** 2).sum(axis=(2, 3)), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(get_embedding(phi.name).fit(X + 0j).transform(X), both)
    with pytest.raises(ValueError, match=r"X is complex .complex128., but the embedding was fitted on real matrices"):
        phi.transform(X + 0j)


def test_complex_matrices_that_are_not_hermitian(phi):
    X = hermitian(3, 4)
    X[1, 0, 1] = X[1, 1, 0]
    with pytest.raises(ValueError, match=r"X\[1\] is not Hermitian: it differs from its conjugate transpose"):
        phi.fit(X)
    phi.fit(hermitian(3, 4).astype(np.complex64))


def test_power_zero_is_refused():
    with pytest.raises(ValueError, match="p must be a number other than 0, got 0"):
        get_embedding("power", p=0).fit(np.eye(2))


def test_vectors():
    X = np.arange(6.0).reshape(2, 3)
    phi = get_embedding("vector").fit(X)
    assert phi.transform(X).shape == (2, 3, 1)
    with pytest.raises(ValueError, match=r"shape \(4,\), but the embedding was fitted on \(3,\)"):
        phi.transform(np.ones((2, 4)))
    with pytest.raises(ValueError, match=r"X\[0, 1\] is nan"):
        phi.fit([[0.0, np.nan]])
    with pytest.raises(ValueError, match="must hold vectors"):
        phi.fit(np.ones((2, 0)))


def test_in_a_pipeline_of_scikit_learn(phi):
    """fit takes a y that it does not need."""
    X = spd(4, 3)
    np.testing.assert_array_equal(phi.fit(X, [0, 1, 0, 1]).transform(X), phi.fit_transform(X, y=None))


def test_overflow_is_refused():
    with pytest.raises(ValueError, match=r"'power' of X\[0\] overflows: rescale"):
        get_embedding("power", p=2).fit(spd(2, 3, scale=1e200))


def test_ragged_and_none():
    with pytest.raises(ValueError, match="X must be an array of numbers, all of one shape"):
        get_embedding("log").fit([[[1.0]], [[1.0, 2.0]]])
    with pytest.raises(ValueError, match="X must be an array of numbers, got None"):
        get_embedding("log").fit(None)


def test_settings_that_do_not_fit():
    with pytest.raises(ValueError, match="phi 'sqrt' does not take these settings"):
        get_embedding("sqrt", p=0.3)
    with pytest.raises(ValueError, match="settings \\(reg\\) require phi to be a name"):
        get_embedding(get_embedding("log"), reg=1e-3)
    assert get_embedding("power", p=np.int64(2), reg=np.float32(0.5)).fit(spd(1, 2)) is not None


def test_the_remedy_fits_the_precision():
    v = np.array([1.0, 2.0, 3.0], np.float32)
    with pytest.raises(ValueError, match="set reg, for example 4e-06"):
        get_embedding("log").fit(np.outer(v, v))
    with pytest.raises(ValueError, match="set reg, for example 1e-06"):
        get_embedding("log").fit(np.outer(v, v).astype(float))


def test_unknown_name():
    with pytest.raises(ValueError, match=r"phi must be one of 'id', 'log', .*got 'exp'"):
        get_embedding("exp")


@pytest.mark.parametrize("name", sorted(EMBEDDINGS))
def test_repr_names_the_settings(name):
    phi = get_embedding(name)
    unfitted = repr(phi)
    assert unfitted.startswith(type(phi).__name__ + "(")
    phi.fit(spd(2, 3) if name != "vector" else np.ones((2, 3)))
    assert repr(phi) == unfitted


def test_flat_images_are_told_as_such():
    X = spd(3, 4)
    X[1] = 0.0
    with pytest.raises(ValueError, match=r"X\[1\] is all zeros, as for a constant image or series: leave it out"):
        get_embedding("log", reg=0.1).fit(X)
