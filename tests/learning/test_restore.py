"""Fitted problems from model files: every modified part is detected."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from covmetric import CovMetric, LearnedMetric
from covmetric.learning.restore import check_claims, restore_fitted
from covmetric.solvers import Status
from tests.data import classes_of_matrices, fitted_problem, hermitian


def saved_parts(X=None, y=None, **parameters):
    """Return the arguments of `restore_fitted` for a fitted learner, by name."""
    if X is None:
        X, y = classes_of_matrices(24, n=3)
    learner = CovMetric(**{"phi": "log", "budget": 2, "random_state": 0, **parameters})
    fitted, embedded = fitted_problem(learner, X, y)
    return {
        "metric": learner.metric_,
        "result": learner.result_,
        "scale": learner.scale_,
        "embedded": embedded,
        "codes": fitted.codes,
        "settings": dataclasses.replace(fitted.settings, prior="identity"),
        "root": fitted.root,
        "lam": fitted.lam,
        "constraints": fitted.constraints,
    }, fitted


def at(parts, name, **changes):
    """Return the parts with some fields of the dataclass `name` replaced."""
    return {**parts, name: dataclasses.replace(parts[name], **changes)}


def with_certificate(parts, **changes):
    certificate = dataclasses.replace(parts["result"].certificate, **changes)
    return at(parts, "result", certificate=certificate)


def scaled(metric, factor):
    return LearnedMetric(metric.embedding, factor * metric.W)


@pytest.fixture(scope="module")
def parts():
    return saved_parts(prior="covariance")[0]


@pytest.mark.parametrize(
    "parameters", [{}, {"prior": "covariance"}, {"lam": np.inf}, {"lam": np.inf, "prior": "covariance"}]
)
def test_restored_problem_equals_the_saved_problem(parameters):
    parts, fitted = saved_parts(**parameters)
    restored = restore_fitted(**parts)
    np.testing.assert_array_equal(restored.examples, fitted.examples)
    np.testing.assert_array_equal(restored.codes, fitted.codes)
    np.testing.assert_array_equal(restored.metric(), fitted.metric())
    assert (restored.root is None) == (fitted.root is None)
    assert restored.lam == fitted.lam
    assert restored.constraints is fitted.constraints
    assert restored.result is fitted.result
    assert restored.copies == 1


def test_restored_problem_of_hermitian_matrices_counts_their_copies():
    H, y = hermitian(24, 2), np.arange(24) % 2
    H[y == 1] *= 2.0
    parts, _ = saved_parts(H, y)
    assert restore_fitted(**parts).copies == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: {**p, "lam": -1.0}, "lam must be a positive number"),
        (lambda p: {**p, "settings": None}, "its settings or its constraints are missing"),
        (lambda p: {**p, "constraints": "all"}, "its settings or its constraints are missing"),
        (lambda p: at(p, "settings", selection=None), "its selection of pairs is missing"),
        (lambda p: {**p, "constraints": None}, "do not belong together"),
        (lambda p: {**p, "result": None}, "do not belong together"),
        (lambda p: {**p, "lam": np.inf}, "do not belong together"),
        (lambda p: {**p, "lam": np.inf, "result": None}, "do not belong together"),
        (lambda p: at(p, "settings", slack="hinge"), "slack must be one of"),
        (lambda p: {**p, "root": np.eye(2)}, r"root must have shape \(3, 3\), got \(2, 2\)"),
        (lambda p: {**p, "root": np.triu(np.ones((3, 3)))}, "root is not symmetric"),
        (lambda p: {**p, "root": np.full((3, 3), np.nan)}, r"root\[0, 0\] is nan"),
        (lambda p: {**p, "root": None}, "its (gap|primal|dual) is .*, but it claims"),
        (lambda p: {**p, "lam": 2.0 * p["lam"]}, "its (gap|primal|dual) is .*, but it claims"),
        (lambda p: {**p, "embedded": 1.1 * p["embedded"]}, "its (gap|primal|dual) is .*, but it claims"),
        (lambda p: {**p, "codes": np.where(np.arange(24) > 0, p["codes"], 1)}, "its pairs contradict its labels"),
        (lambda p: {**p, "scale": 2.0 * p["scale"]}, r"its scale_ is .*, but the scale of its pairs is"),
        (lambda p: {**p, "metric": scaled(p["metric"], 1.01)}, "its metric does not belong to its result"),
        (lambda p: {**p, "metric": scaled(p["metric"], 0.99)}, "its metric does not belong to its result"),
        (lambda p: at(p, "result", core=1.01 * p["result"].core), "its (gap|primal) is .*, but it claims"),
        (lambda p: at(p, "result", multipliers=0.5 * p["result"].multipliers), "its (gap|dual) is .*, but it claims"),
        (lambda p: with_certificate(p, gap=p["result"].certificate.gap + 1e-3), "its gap is .*, but it claims"),
        (lambda p: with_certificate(p, gap=p["result"].certificate.gap - 1e-3), "its gap is .*, but it claims"),
        (lambda p: with_certificate(p, primal=p["result"].certificate.primal + 1e-3), "its primal is .*, but it cl"),
        (lambda p: with_certificate(p, dual=p["result"].certificate.dual - 1e-3), "its dual is .*, but it claims"),
        (lambda p: with_certificate(p, rounding=1.0), "its rounding is .*, but it claims"),
        (lambda p: with_certificate(p, gap=np.nan), "its gap is .*, but it claims nan"),
        (lambda p: with_certificate(p, tol=1e-3), "tolerance 1e-06, but its certificate has the tolerance 0.001"),
        (lambda p: at(p, "settings", tol=1e-3), "tolerance 0.001, but its certificate has the tolerance 1e-06"),
    ],
)  # fmt: skip
def test_changed_parts_raise_value_error(parts, change, message):
    with pytest.raises(ValueError, match=message):
        restore_fitted(**change(parts))


def changed_pair(parts, pair):
    pairs = parts["constraints"].pairs.copy()
    pairs[0] = pair
    return at(parts, "constraints", pairs=pairs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: changed_pair(p, (-1, 0)), "its pairs are not pairs of its references"),
        (lambda p: changed_pair(p, (0, 24)), "its pairs are not pairs of its references"),
        (lambda p: at(p, "constraints", pairs=p["constraints"].pairs[:0]), "its pairs are not pairs of its references"),
        (
            lambda p: at(p, "constraints", pairs=p["constraints"].pairs[:, :1]),
            "its pairs are not pairs of its references",
        ),
        (
            lambda p: at(p, "constraints", pairs=p["constraints"].pairs[:, 0]),
            "its pairs are not pairs of its references",
        ),
        (lambda p: changed_pair(p, p["constraints"].pairs[1]), "its pairs are not all different"),
        (lambda p: changed_pair(p, p["constraints"].pairs[1][::-1]), "its pairs are not all different"),
        (lambda p: changed_pair(p, (3, 3)), "its pairs are not all different"),
        (lambda p: at(p, "constraints", similar=-p["constraints"].similar), "its pairs contradict its labels"),
    ],
)
def test_changed_pairs_raise_value_error(parts, change, message):
    with pytest.raises(ValueError, match=message):
        restore_fitted(**change(parts))


def test_first_and_last_reference_may_be_in_pairs(parts):
    pairs = parts["constraints"].pairs
    assert pairs.min() == 0
    assert pairs.max() == 23
    restore_fitted(**parts)


@pytest.mark.parametrize("lam", [1e-2, 10.0])
def test_rounding_errors_of_another_machine_are_allowed_in_the_certificate(lam):
    """The tolerance is 1e-8, relative to the objective if that is larger than 1."""
    parts, _ = saved_parts(lam=lam)
    primal = parts["result"].certificate.primal
    assert (primal > 2.0) == (lam < 1.0)
    allowed = 1e-8 * max(1.0, primal)
    for sign in (-1.0, 1.0):
        restore_fitted(**with_certificate(parts, primal=primal + sign * 0.9 * allowed))
        with pytest.raises(ValueError, match="its primal is"):
            restore_fitted(**with_certificate(parts, primal=primal + sign * 1.1 * allowed))


def test_rounding_errors_of_another_machine_are_allowed_in_the_metric(parts):
    """The tolerance is 1e-10, relative to the largest entry, for every entry."""
    W = parts["metric"].W
    size = np.abs(W).max()
    for relative, valid in ((5e-11, True), (2e-10, False)):
        modified = W.copy()
        modified[2, 2] += relative * size
        other = {**parts, "metric": LearnedMetric(parts["metric"].embedding, modified)}
        if valid:
            restore_fitted(**other)
        else:
            with pytest.raises(ValueError, match="its metric does not belong to its result"):
                restore_fitted(**other)


def test_honest_claims_pass(parts):
    check_claims(parts["result"])
    check_claims(dataclasses.replace(parts["result"], status=Status.MAX_ITER))


@pytest.mark.parametrize(
    "changes",
    [
        {"gap": 0.0},
        {"relative_gap": 0.0},
        {"primal": 7.0},
        {"dual": 0.0},
        {"rounding": -1e-12},
        {"tol": 1e-30},
        {"rounding": 1.0},
    ],
)
def test_claims_that_contradict_each_other_raise_value_error(parts, changes):
    with pytest.raises(ValueError, match="its certificate contradicts itself, or its status"):
        check_claims(with_certificate(parts, **changes)["result"])


def test_unproven_claims_are_honest_unless_the_status_is_solved(parts):
    unproven = with_certificate(parts, rounding=1.0)["result"]
    check_claims(dataclasses.replace(unproven, status=Status.NUMERICAL_ERROR))
    with pytest.raises(ValueError, match="contradicts itself"):
        check_claims(unproven)
