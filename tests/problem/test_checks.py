"""Bad input of a problem, case by case."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import MetricProblem
from covmetric.problem.checks import check_kept, check_pairs
from covmetric.slacks import SLACKS
from tests.data import quoted

VALID = {
    "embedded": np.random.default_rng(0).standard_normal((4, 3, 2)),
    "pairs": np.array([[0, 1], [1, 2], [2, 3]]),
    "similar": np.array([1, -1, 1]),
    "bounds": 1.0,
    "weights": 1.0,
}
NAN = VALID["embedded"].copy()
NAN[2, 1, 0] = np.nan
TWINS = VALID["embedded"].copy()
TWINS[2] = TWINS[1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"embedded": NAN}, r"embedded\[2, 1, 0\] is nan"),
        ({"embedded": np.where(np.isnan(NAN), np.inf, NAN)}, r"embedded\[2, 1, 0\] is inf"),
        ({"embedded": np.ones((4, 3))}, r"embedded must have shape \(l, n, m\).*got \(4, 3\)"),
        ({"embedded": np.ones((4, 0, 2))}, r"embedded must have shape \(l, n, m\) with n, m >= 1"),
        ({"embedded": "text"}, r"embedded must be an array of numbers"),
        ({"embedded": [[[1.0]], [[1.0, 2.0]]]}, r"embedded must be an array of numbers, all of one shape"),
        ({"embedded": VALID["embedded"] * 1j}, r"embedded must be real, got complex128"),
        ({"embedded": VALID["embedded"] * 1e200}, r"pair 0 \(0, 1\) is too far from its bound.*rescale"),
        ({"pairs": np.array([[0, 1], [1, 4], [2, 3]])}, r"pairs\[1, 1\] is 4: it must be in 0..3"),
        ({"pairs": np.array([[0, 1], [1, 2], [-1, 3]])}, r"pairs\[2, 0\] is -1: it must be in 0..3"),
        ({"pairs": np.array([[0.0, 1.0]])}, r"pairs must be integers.*float64"),
        ({"pairs": np.array([0, 1])}, r"pairs must have shape \(K, 2\), got \(2,\)"),
        ({"pairs": np.zeros((0, 2), int)}, r"pairs is empty"),
        ({"pairs": []}, r"pairs is empty"),
        ({"similar": [1, -1]}, r"similar must have one entry per pair, shape \(3,\); got \(2,\)"),
        ({"similar": [1, 0, 1]}, r"similar\[1\] is 0.0: every entry must be \+1 \(near\) or -1 \(far\)"),
        ({"similar": [1, 2, 1]}, r"similar\[1\] is 2.0"),
        ({"similar": [1, np.nan, 1]}, r"similar\[1\] is nan"),
        ({"bounds": 0.0}, r"bounds must be positive, got 0.0"),
        ({"bounds": [1.0, -2.0, 1.0]}, r"bounds\[1\] is -2.0: every entry must be positive"),
        ({"bounds": [1.0, 1.0]}, r"bounds must be a scalar or have one entry per pair, shape \(3,\); got \(2,\)"),
        ({"bounds": np.nan}, r"bounds is nan"),
        ({"bounds": None}, r"bounds must be an array of numbers, got None"),
        ({"bounds": "1"}, r"bounds must be an array of numbers, got <U1"),
        ({"bounds": True}, r"bounds must be an array of numbers, got bool"),
        ({"bounds": np.datetime64("2020-01-01")}, r"bounds must be an array of numbers, got datetime64"),
        ({"bounds": np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0])}, r"bounds has masked entries"),
        ({"bounds": 1e-200, "slack": "l2"}, r"pair 0 \(0, 1\) is too far from its bound.*bounds\[0\] = 1e-200"),
        ({"weights": -1}, r"weights must be positive, got -1.0"),
        ({"weights": [1.0, np.inf, 1.0]}, r"weights\[1\] is inf"),
        ({"slack": "kl"}, f"slack must be one of {quoted(SLACKS)}"),
        ({"embedded": TWINS}, r"pair 1 \(1, 2\) is dissimilar, but its examples are equal \(F = 0\).*'l2' or 're'"),
    ],
)
def test_bad_input(changes, message):
    with pytest.raises(ValueError, match=message):
        MetricProblem(**{**VALID, **changes})


def test_bad_differences():
    with pytest.raises(ValueError, match=r"F must have shape \(K, n, m\)"):
        MetricProblem.from_differences(np.zeros((0, 2, 2)), [], 1.0, 1.0)
    with pytest.raises(ValueError, match=r"F\[0, 0, 0\] is nan"):
        MetricProblem.from_differences([[[np.nan]]], [1], 1.0, 1.0)


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (np.eye(2), r"W must have shape \(3, 3\), got \(2, 2\)"),
        (np.diag([1.0, 1.0, -1.0]), r"W must be positive definite; its smallest eigenvalue is -1"),
        (np.array([[1.0, 0.5, 0], [0, 1, 0], [0, 0, 1]]), r"W is not symmetric"),
        (np.full((3, 3), np.nan), r"W\[0, 0\] is nan"),
    ],
)
def test_bad_metric(W, message):
    with pytest.raises(ValueError, match=message):
        MetricProblem(**VALID).certify(W)


def test_bad_multipliers():
    problem = MetricProblem(**VALID)
    with pytest.raises(ValueError, match=r"multipliers must have one entry per pair, shape \(3,\); got \(2,\)"):
        problem.dual(np.zeros(2))
    with pytest.raises(ValueError, match=r"multipliers\[1\] is nan"):
        problem.certify(None, [0, np.nan, 0])
    with pytest.raises(ValueError, match="W and multipliers are both None"):
        problem.certify()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_metric_of_a_solver_must_be_finite(value):
    problem = MetricProblem(**VALID)
    with pytest.raises(ValueError, match="W must be finite"), np.errstate(all="ignore"):
        problem.certified_arrays(np.full((3, 3), value), None)


def test_pairs_are_copied_as_int64():
    pairs = np.array([[0, 1], [1, 0]], dtype=np.int32, order="F")
    checked = check_pairs(pairs, 2)
    assert checked.dtype == np.int64 and checked.flags.c_contiguous
    np.testing.assert_array_equal(checked, pairs)
    same = np.array([[0, 1]])
    assert not np.shares_memory(check_pairs(same, 2), same)


@pytest.mark.parametrize(("weight", "refused"), [(0.9e300, False), (1.1e300, True)])
def test_losses_that_would_overflow_are_refused(weight, refused):
    """The ratio times the weight is at most 1e300."""
    arguments = ([[[1.0]]], [1], 1.0, weight, "l2")
    if refused:
        with pytest.raises(ValueError, match=r"pair 0 \(0, 1\) is too far from its bound"):
            MetricProblem.from_differences(*arguments)
    else:
        MetricProblem.from_differences(*arguments)


def test_a_ratio_that_underflows_is_refused_if_its_loss_is_infinite():
    """The squared distance is 1e-200, and not zero: the pair is not a pair of equal examples."""
    with pytest.raises(ValueError, match=r"pair 0 \(0, 1\) is too far from its bound"):
        MetricProblem.from_differences([[[1e-100]]], [-1], 1e200, 1.0, "is")
    MetricProblem.from_differences([[[1e-100]]], [-1], 1e200, 1.0, "l2")


def test_similar_pairs_of_equal_examples_are_accepted_with_every_slack():
    problem = MetricProblem(**{**VALID, "embedded": TWINS, "similar": [1, 1, 1]})
    assert problem.squared_norms[1] == 0.0


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        ([2**40], r"keep\[0\] is 1099511627776: it must be in 0\.\.2"),
        ([0, -4], r"keep\[1\] is -4: it must be in 0\.\.2"),
        (2**40, r"keep must be a list of indices, or of one Boolean per pair; got int64 of shape \(\)"),
        ([0.5], r"keep must be a list of indices, .*; got float64 of shape \(1,\)"),
        ([True, False], r"keep must have one Boolean per pair: it has 2, there are 3 pairs"),
        ([[0], [1, 2]], r"keep must be a list of indices, .*inhomogeneous"),
    ],
)
def test_invalid_choices_of_kept_pairs_raise_value_error(keep, message):
    with pytest.raises(ValueError, match=message):
        check_kept(keep, 3)


def test_kept_pairs_are_indices_in_the_given_order():
    assert check_kept(None, 3).tolist() == [0, 1, 2]
    assert check_kept([2, -3], 3).tolist() == [2, 0]
    assert check_kept(np.array([False, True, True]), 3).tolist() == [1, 2]
    assert check_kept([], 3).tolist() == []
