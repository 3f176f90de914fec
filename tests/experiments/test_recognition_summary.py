"""Statistics of the recognition experiments, from made-up rows."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.experiments.estimates import verdict
from covmetric.experiments.recognition import BALANCED, LOOSE_SEARCH, RecognitionRow
from covmetric.experiments.recognition_summary import compare_phi, count_flips, summarize_recognition

GRID = "100.0 1.0 0.01"


def make_row(seed, accuracy, phi="log", W="is", variant=BALANCED, lam=1.0, protocol="p"):
    """Return a row; W = I for W = "eye"."""
    fixed = W == "eye"
    return RecognitionRow(
        protocol, "" if fixed else variant, seed, phi, W, "" if fixed else GRID, np.inf if fixed else lam, accuracy,
        0.0, 1.0, 100, 50, 0 if fixed else 100, "8 x 8",
    )  # fmt: skip


def test_summary_averages_over_the_splits():
    rows = [make_row(seed, a, W="eye") for seed, a in enumerate([0.8, 0.9])]
    rows += [make_row(seed, a, lam=1e-2) for seed, a in enumerate([0.7, 1.0])]
    eye, learned = summarize_recognition(rows)
    assert (eye.variant, eye.phi, eye.W, eye.lambdas) == ("", "log", "eye", (np.inf, np.inf))
    assert (eye.accuracy.mean, eye.accuracy.standard_error) == (pytest.approx(85.0), pytest.approx(5.0))
    assert (learned.accuracy.mean, learned.accuracy.standard_error) == (pytest.approx(85.0), pytest.approx(15.0))
    assert learned.lambdas == (1e-2, 1e-2)


def test_difference_to_W_I_is_paired_by_split_and_has_the_same_phi_and_protocol():
    rows = [make_row(seed, a, W="eye") for seed, a in enumerate([0.6, 0.7, 0.8])]
    rows += [make_row(seed, a) for seed, a in enumerate([0.62, 0.73, 0.83])][::-1]  # the order does not matter
    rows += [make_row(seed, 0.1, phi="id", W="eye") for seed in range(3)]
    rows += [make_row(seed, 0.1, W="eye", protocol="q") for seed in range(3)]
    eye, learned, *_ = summarize_recognition(rows)
    assert eye.difference is None
    assert learned.difference.mean == pytest.approx(8.0 / 3.0)
    assert learned.difference.standard_error == pytest.approx(1.0 / 3.0)
    assert verdict(learned.difference) == "better"  # although the accuracies overlap by far
    assert eye.accuracy.standard_error > 5.0


def test_choices_at_the_ends_of_the_grid_are_counted():
    (row,) = summarize_recognition([make_row(seed, 0.5, lam=lam) for seed, lam in enumerate([100.0, 0.01, 1.0, 0.01])])
    assert (row.n_largest, row.n_smallest) == (1, 2)
    (eye,) = summarize_recognition([make_row(0, 0.5, W="eye")])
    assert (eye.n_largest, eye.n_smallest) == (0, 0)


def test_phi_is_compared_with_the_best_other_one_by_split():
    accuracies = {"log": (0.90, 0.80), "chol": (0.88, 0.79), "id": (0.95, 0.70), "relog": (0.99, 0.99)}
    rows = [make_row(seed, a, phi=phi) for phi, values in accuracies.items() for seed, a in enumerate(values)]
    (log,) = compare_phi(rows, "log")
    assert (log.other, log.W, log.variant) == ("chol", "is", BALANCED)  # relog is not a Phi of the paper
    assert (log.difference.mean, log.difference.standard_error) == (pytest.approx(1.5), pytest.approx(0.5))
    (chol,) = compare_phi(rows, "chol")
    assert chol.other == "log" and chol.difference.mean == pytest.approx(-1.5)


def test_phi_is_compared_within_each_protocol_variant_and_W():
    rows = [
        make_row(0, accuracy, phi=phi, W=W, variant=variant, protocol=protocol)
        for phi, accuracy in (("log", 0.9), ("id", 0.8))
        for protocol in ("p", "q")
        for W, variant in (("eye", ""), ("is", BALANCED), ("l2", BALANCED), ("is", "uniform pairs"))
    ]
    compared = compare_phi(rows, "log")
    assert len({(one.protocol, one.variant, one.W) for one in compared}) == len(compared) == 8
    assert all(one.difference.mean == pytest.approx(10.0) for one in compared)


def test_flips_are_choices_that_differ_between_the_tolerances():
    rows = [
        make_row(seed, 0.5, phi=phi, variant=variant, lam=lam)
        for variant, lambdas in ((BALANCED, (1.0, 1.0, 0.01)), (LOOSE_SEARCH, (1.0, 0.01, 0.01)))
        for seed, lam in enumerate(lambdas)
        for phi in ("log", "id")
    ]
    assert count_flips([*rows, make_row(0, 0.5, W="l2"), make_row(0, 0.5, W="eye")]) == (2, 6)
    assert count_flips([make_row(0, 0.5)]) == (0, 0)
