"""The matrix by which a step stretches the metric: its determinant, its factor, and the limit of the step."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.solvers import StepFailed
from covmetric.solvers.newton.stretch import Stretch


def stretch_of(spectrum, seed=0):
    """Return the stretch with a matrix of this spectrum, in a random basis."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(spectrum), len(spectrum))))[0]
    Delta = Q @ np.diag(spectrum) @ Q.T
    return Stretch(0.5 * (Delta + Delta.T), np.eye(len(spectrum)))


SHORT, LONG = np.array([-0.3, 0.1, 0.35]), np.array([-0.9, 0.2, 0.7])


@pytest.mark.parametrize("spectrum", [SHORT, LONG, 1e-9 * SHORT], ids=["short", "long", "tiny"])
@pytest.mark.parametrize("t", [0.4, 1.0])
def test_logdet_and_its_slope_follow_from_the_spectrum(spectrum, t):
    value, slope = stretch_of(spectrum).logdet(t)
    assert value == pytest.approx(np.log1p(t * spectrum).sum(), rel=1e-6, abs=1e-14)
    assert slope == pytest.approx((spectrum / (1.0 + t * spectrum)).sum(), rel=1e-6), "even if the step is tiny"


@pytest.mark.parametrize("spectrum", [SHORT, LONG])
def test_reverse_logdet_follows_from_the_spectrum(spectrum):
    assert stretch_of(spectrum).reverse_logdet() == pytest.approx(np.log1p(-spectrum).sum())


@pytest.mark.parametrize("largest", [1.0, 3.0])
def test_reverse_logdet_is_none_beyond_the_cone(largest):
    assert Stretch(np.diag([0.0, largest]), np.eye(2)).reverse_logdet() is None


def test_root_is_the_lower_cholesky_factor():
    for spectrum in (SHORT, LONG):
        stretch = stretch_of(spectrum)
        for t in (0.4, 1.0, 0.4, 1.0):
            root = stretch.root(t)
            np.testing.assert_allclose(root @ root.T, np.eye(3) + t * stretch.Delta, atol=1e-14)
            np.testing.assert_array_equal(root, np.tril(root))


def test_a_matrix_that_is_not_positive_definite_has_no_root():
    for t in (1.0, 2.0):
        with pytest.raises(StepFailed):
            stretch_of(np.array([-1.5, 0.0, 0.0])).root(t)


def test_short_steps_need_no_eigenvalues(monkeypatch):
    stretch = stretch_of(SHORT)
    monkeypatch.setattr(Stretch, "spectrum", property(lambda self: pytest.fail("the eigenvalues were computed")))
    assert stretch.is_short and not stretch.is_long
    stretch.logdet(1.0), stretch.reverse_logdet(), stretch.root(1.0)


@pytest.mark.parametrize(
    ("spectrum", "is_short", "is_long"),
    [([-0.5, 0.0], True, False), ([-0.6, 0.4], False, False), ([0.0, 0.49], True, False), ([-0.2, 0.6], False, True)],
)
def test_steps_are_long_if_they_stretch_the_metric_by_more_than_half(spectrum, is_short, is_long):
    stretch = Stretch(np.diag(spectrum), np.eye(2))
    assert (stretch.is_short, stretch.is_long) == (is_short, is_long)
    assert stretch.largest == max(spectrum)


def test_no_eigenvalue_shrinks_by_more_than_four_fifths():
    assert Stretch(np.diag([-0.4, 0.1]), np.eye(2)).limit == pytest.approx(2.0)
    assert Stretch(np.diag([0.0, 0.1]), np.eye(2)).limit == np.inf
