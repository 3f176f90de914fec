"""The values of each embedding, compared with pyRiemann and with its definition."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.embeddings import EMBEDDINGS, VectorisedIdentity, get_embedding
from tests.data import hermitian, quoted, spd

# Rank one, with the eigenvalues 0, 0 and 14.
RANK_ONE = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])


def distances(embedded):
    return np.linalg.norm(embedded[:, None] - embedded[None], axis=(2, 3))


def test_log_sqrt_and_power_equal_pyriemann():
    from pyriemann.geometry.base import logm, powm, sqrtm
    from pyriemann.geometry.distance import distance_logeuclid

    X = spd(20, 6)
    np.testing.assert_allclose(get_embedding("log").fit_transform(X), logm(X), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(get_embedding("sqrt").fit_transform(X), sqrtm(X), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(get_embedding("power", p=0.3).fit_transform(X), powm(X, 0.3), rtol=1e-10, atol=1e-12)
    E = get_embedding("log").fit_transform(X)
    assert np.linalg.norm(E[0] - E[1]) == pytest.approx(distance_logeuclid(X[0], X[1]), rel=1e-10)


@pytest.mark.parametrize("name", ["id", "log", "veclog", "relog", "sqrt", "power", "chol", "vecid"])
def test_hermitian_distances_equal_pyriemann(name):
    from pyriemann.geometry.base import logm, sqrtm
    from pyriemann.geometry.mean import mean_logeuclid

    X = hermitian(6, 3)
    E = (VectorisedIdentity() if name == "vecid" else get_embedding(name)).fit_transform(X)
    whitener = np.linalg.inv(sqrtm(mean_logeuclid(X)))
    complex_values = {
        "id": X,
        "vecid": X,
        "log": logm(X),
        "veclog": logm(X),
        "relog": logm(whitener @ X @ whitener),
        "sqrt": sqrtm(X),
        "power": sqrtm(X),
        "chol": np.linalg.cholesky(X),
    }[name]
    np.testing.assert_allclose(distances(E), distances(complex_values), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("mean", ["riemann", "logeuclid"])
def test_recentred_log_equals_the_tangent_space_of_pyriemann(mean):
    from pyriemann.geometry.mean import gmean
    from pyriemann.tangentspace import TangentSpace

    X, other = spd(20, 5), spd(7, 5, seed=1)
    phi = get_embedding("relog", mean=mean).fit(X)
    M = gmean(X, metric=mean)
    np.testing.assert_allclose(phi.whitener_ @ M @ phi.whitener_, np.eye(5), atol=1e-6)
    tangent = TangentSpace(metric={"mean": mean, "map": "riemann"}).fit(X).transform(other)
    expected = np.linalg.norm(tangent[:, None] - tangent[None], axis=2)
    np.testing.assert_allclose(distances(phi.transform(other)), expected, atol=1e-6)


def test_recentred_log_is_invariant_under_congruence():
    """Replacing X by A X A^T rotates log(M^-1/2 X M^-1/2), which leaves D with W = I unchanged."""
    X = spd(12, 4)
    A = np.random.default_rng(3).standard_normal((4, 4))
    E, moved = (get_embedding("relog", mean="riemann").fit_transform(Y) for Y in (X, A @ X @ A.T))
    np.testing.assert_allclose(distances(E), distances(moved), rtol=1e-6, atol=1e-7)


def test_recentred_log_maps_its_mean_to_zero():
    phi = get_embedding("relog").fit(spd(12, 4))
    np.testing.assert_allclose(phi.transform(phi.probe()), 0.0, atol=1e-12)
    # Filters whiten: the mean in the coordinates of the filters is the identity.
    filters = phi.filters(np.eye(4))
    np.testing.assert_allclose(filters.T @ phi.probe() @ filters, np.eye(4), atol=1e-12)


def test_recentred_log_refuses_matrices_that_only_whitening_makes_definite():
    """Whitening by a badly conditioned mean must not hide that a matrix is numerically singular."""
    scales = np.array([1.0, 1e-7])
    phi = get_embedding("relog").fit(scales[:, None] * spd(20, 2) * scales)
    singular = np.outer(scales, scales) * (np.ones((2, 2)) + 1e-15 * np.eye(2))
    with pytest.raises(ValueError, match=r"X is not positive definite, as 'relog' requires"):
        phi.transform(singular)


@pytest.mark.parametrize(("vectorised", "plain"), [("veclog", "log"), ("vecid", "id")])
@pytest.mark.parametrize("make", [spd, hermitian])
def test_half_vectors_keep_distances(vectorised, plain, make):
    X = make(5, 4)
    phi = VectorisedIdentity() if vectorised == "vecid" else get_embedding(vectorised)
    v, E = phi.fit_transform(X), get_embedding(plain).fit_transform(X)
    assert v.shape == (5, 16 if make is hermitian else 10, 1)
    np.testing.assert_allclose(distances(v), distances(E), rtol=1e-12)


def test_rows_of_half_vectors_are_named_by_two_channels():
    phi = get_embedding("veclog").fit(hermitian(3, 2))
    assert phi.row_names(["C3", "C4"]) == ["C3:C3", "C3:C4", "C4:C4", "C3:C4 imag"]
    np.testing.assert_array_equal(phi.row_channels(), [[0, 0], [1, 0], [1, 1], [1, 0]])


def test_cholesky_factor_is_lower_triangular():
    X = spd(5, 6)
    L = get_embedding("chol").fit_transform(X)
    np.testing.assert_allclose(L @ np.swapaxes(L, 1, 2), X, rtol=1e-12)
    np.testing.assert_array_equal(L, np.tril(L))


def test_identity_and_square_root_of_a_singular_matrix():
    np.testing.assert_array_equal(get_embedding("id").fit_transform(RANK_ONE), RANK_ONE)
    np.testing.assert_allclose(get_embedding("sqrt").fit_transform(RANK_ONE), RANK_ONE / np.sqrt(14), atol=1e-7)


def test_power_refuses_indefinite_matrices():
    with pytest.raises(
        ValueError, match=r"is not positive semi-definite, as 'sqrt' requires.*smallest eigenvalue is -1"
    ):
        get_embedding("sqrt").fit(np.diag([1.0, -1.0]))


def test_negative_power_requires_definite_matrices():
    assert get_embedding("power", p=-1.0).requires_definite
    assert not get_embedding("power", p=1.0).requires_definite
    with pytest.raises(ValueError, match="is not positive definite, as 'power' requires"):
        get_embedding("power", p=-1.0).fit(np.diag([1.0, 0.0]))
    np.testing.assert_allclose(get_embedding("power", p=-1.0).fit_transform(np.diag([1.0, 4.0])), np.diag([1.0, 0.25]))


def test_power_zero_is_refused():
    with pytest.raises(ValueError, match="p must be a number other than 0, got 0"):
        get_embedding("power", p=0).fit(np.eye(2))


@pytest.mark.parametrize("p", [-1.0, 0.25, 3])
def test_inverse_of_a_power(p):
    X, phi = spd(3, 4), get_embedding("power", p=p)
    np.testing.assert_allclose(phi.inverse_transform(phi.fit_transform(X)), X, rtol=1e-9, atol=1e-12)


def test_power_inverts_values_of_matrices_only():
    with pytest.raises(ValueError, match="is not a power of any matrix: its smallest eigenvalue is -1"):
        get_embedding("sqrt").fit(spd(2, 2)).inverse_transform(np.diag([-1.0, 1.0]))


def test_unknown_mean_of_the_recentred_log_is_refused():
    with pytest.raises(ValueError, match="mean must be one of 'logeuclid', 'riemann', got 'euclid'"):
        get_embedding("relog", mean="euclid").fit(spd(3, 2))


def test_restored_whitener_must_be_definite_and_fit_the_examples():
    phi = get_embedding("relog").fit(spd(3, 2))
    for wrong, message in ((-phi.whitener_, "positive definite"), (np.eye(3), r"must have shape \(2, 2\)")):
        with pytest.raises(ValueError, match=message):
            type(phi).from_state({**phi.get_state(), "whitener_": wrong})


def test_vectors_become_columns():
    X = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(get_embedding("vector").fit_transform(X), X[..., None])
    with pytest.raises(ValueError, match="X must hold vectors"):
        get_embedding("vector").fit(np.ones((2, 0)))


def test_overflow_is_refused():
    phi = get_embedding("power", p=2)
    for method in (phi.fit(spd(2, 3)).transform, phi.fit, phi.fit_transform):
        with pytest.raises(ValueError, match=r"'power' of X\[0\] overflows: rescale"):
            method(spd(2, 3, scale=1e200))


def test_wrong_shape_out_is_an_error_of_the_embedding():
    class Square(type(get_embedding("id"))):
        shape_out_ = (3, 1)

    with pytest.raises(TypeError, match=r"Square._transform returns shape \(3, 3\), but its shape_out_ is \(3, 1\)"):
        Square().fit(spd(2, 3))


def test_zero_matrix_is_reported_as_a_constant_image():
    X = spd(3, 4)
    X[1] = 0.0
    with pytest.raises(ValueError, match=r"X\[1\] is all zeros, as for a constant image or series: leave it out"):
        get_embedding("log", reg=0.1).fit(X)


def test_remedy_depends_on_the_precision_and_on_reg():
    single = RANK_ONE.astype(np.float32)
    with pytest.raises(ValueError, match="set reg, for example 4e-06"):
        get_embedding("log").fit(single)
    with pytest.raises(ValueError, match="set reg, for example 1e-06"):
        get_embedding("log").fit(RANK_ONE)
    with pytest.raises(ValueError, match=r"raise reg \(now 1e-05\)"):
        get_embedding("log", reg=1e-5).fit(np.diag([1.0, -1.0]))


def test_settings_are_passed_to_the_named_embedding_only():
    assert repr(get_embedding("power", p=0.25, reg=1e-3)) == "Power(reg=0.001, p=0.25)"
    with pytest.raises(ValueError, match="phi 'sqrt' does not take these settings"):
        get_embedding("sqrt", p=0.3)
    with pytest.raises(ValueError, match="settings \\(reg\\) require phi to be a name"):
        get_embedding(get_embedding("log"), reg=1e-3)
    assert get_embedding("power", p=np.int64(2), reg=np.float32(0.5)).fit(spd(1, 2)) is not None


def test_unknown_name_lists_the_names():
    with pytest.raises(ValueError, match=f"phi must be one of {quoted(EMBEDDINGS)}, .*got 'exp'"):
        get_embedding("exp")
