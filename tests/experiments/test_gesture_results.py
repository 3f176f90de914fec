"""Means, ranges, differences and verdicts of the hand gestures."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.experiments.gesture_results import FIXED, LEARNED, PEER, PYRIEMANN, GestureTable, LearnedRun, Row

SEEDS = (3, 5)


def make_table(learned=((0.8, 0.6), (0.9, 0.7)), seeds=SEEDS):
    """Two people a and b; `learned` has one row per seed and one column per person."""
    rows = [
        Row(FIXED, "log", "a", None, 0.5, 1.0, 0.1),
        Row(FIXED, "log", "b", None, 0.9, 2.0, 0.3),
        Row(FIXED, "chol", "a", None, 0.8, 1.0, 0.1),
        Row(FIXED, "chol", "b", None, 0.8, 1.0, 0.1),
        Row(PYRIEMANN, "SVM", "a", seeds[0], 0.7, 1.0, 0.1),
        Row(PYRIEMANN, "SVM", "b", seeds[0], 0.6, 1.0, 0.1),
        Row(PYRIEMANN, "SVM", "a", seeds[-1], 0.7, 1.0, 0.1),
        Row(PYRIEMANN, "SVM", "b", seeds[-1], 0.8, 3.0, 0.5),
    ]
    for seed, values in zip(seeds, learned, strict=True):
        rows += [Row(LEARNED, "ours", person, seed, a, 1.0, 0.1) for person, a in zip("ab", values, strict=True)]
    runs = [LearnedRun(row, None) for row in rows if row.kind == LEARNED]
    return GestureTable(rows, runs, {}, 10, 8)


def test_people_seeds_and_methods_come_from_the_rows():
    table = make_table()
    assert table.people == ["a", "b"] and table.seeds == [3, 5]
    assert table.methods == {"log": FIXED, "chol": FIXED, "SVM": PYRIEMANN, "ours": LEARNED}
    assert table.learned_methods == ["ours"]


def test_accuracies_have_a_row_per_seed_and_repeat_methods_without_seed():
    table = make_table()
    np.testing.assert_array_equal(table.accuracies("ours"), [[0.8, 0.6], [0.9, 0.7]])
    np.testing.assert_array_equal(table.accuracies("log"), [[0.5, 0.9], [0.5, 0.9]])


def test_summary_has_means_and_the_range_over_seeds():
    log, _, svm, ours = make_table().summary()
    assert (log.kind, log.method, log.accuracies, log.seeds) == (FIXED, "log", (0.5, 0.9), 0)
    assert log.accuracy == log.lowest == log.highest == pytest.approx(0.7)
    assert (log.fit_seconds, log.predict_seconds) == (pytest.approx(1.5), pytest.approx(0.2))
    assert svm.accuracies == pytest.approx((0.7, 0.7)) and svm.seeds == 2
    assert (svm.accuracy, svm.lowest, svm.highest) == pytest.approx((0.7, 0.65, 0.75))
    assert (svm.fit_seconds, svm.predict_seconds) == pytest.approx((1.5, 0.2))
    assert (ours.accuracy, ours.lowest, ours.highest) == pytest.approx((0.75, 0.7, 0.8))


def test_mean_of_a_method_without_seed_does_not_depend_on_the_number_of_seeds():
    """The mean of equal numbers may round, and 66.25 would be printed as 66.2 or 66.3."""
    values = (0.6180555555555556, 0.7069444444444445)
    rows = [Row(FIXED, "log", person, None, a, 1.0, 0.1) for person, a in zip("ab", values, strict=True)]
    rows += [Row(LEARNED, "ours", person, seed, 0.5, 1.0, 0.1) for person in "ab" for seed in range(10)]
    assert GestureTable(rows, [], {}, 10, 8).summary()[0].accuracy == np.mean(values)


def test_mean_of_equal_seeds_is_inside_their_range():
    """Rounding would put it outside for some values, and the picture cannot have a negative error bar."""
    for count in range(720):
        values = (count / 720, (7 * count % 720) / 720)
        rows = [
            Row(LEARNED, "ours", p, seed, a, 1.0, 0.1) for p, a in zip("ab", values, strict=True) for seed in range(10)
        ]
        (ours,) = GestureTable(rows, [], {}, 10, 8).summary()
        assert ours.lowest == ours.accuracy == ours.highest


def test_best_method_of_a_kind_has_the_highest_mean():
    assert make_table().best(FIXED).method == "chol"
    assert make_table().best(LEARNED).accuracy == pytest.approx(0.75)


def test_differences_are_paired_by_person_and_seed():
    """Per seed, `ours` minus SVM is 5 and 5 points, although both vary by 10 points."""
    difference = make_table().difference("ours", "SVM")
    assert difference.mean == pytest.approx(5.0) and difference.standard_error == pytest.approx(0.0, abs=1e-9)
    difference = make_table().difference("ours", "chol")
    assert (difference.mean, difference.standard_error, difference.count) == pytest.approx((-5.0, 5.0, 2))


@pytest.mark.parametrize(
    ("learned", "verdict"),
    [
        (
            ((0.8, 0.6), (0.9, 0.7)),
            (
                "ours is 5.0 ± 5.0 points below the best fixed metric (chol) and 5.0 ± 0.0 points above the best "
                "classifier of pyRiemann (SVM). It does not win against log, chol: it is not above them by more than "
                "two standard errors."
            ),
        ),
        (
            ((0.8, 0.8), (0.8, 0.86)),
            (
                "ours is 1.5 ± 1.5 points above the best fixed metric (chol) and 11.5 ± 3.5 points above the best "
                "classifier of pyRiemann (SVM). It does not win against chol: it is not above them by more than two "
                "standard errors."
            ),
        ),
        (
            ((0.9, 0.95), (1.0, 0.95)),
            (
                "ours is 15.0 ± 2.5 points above the best fixed metric (chol) and 25.0 ± 2.5 points above the best "
                "classifier of pyRiemann (SVM). It is above all of them by more than two standard errors."
            ),
        ),
    ],
    ids=["below", "level", "above"],
)
def test_verdict_follows_from_the_numbers(learned, verdict):
    assert make_table(learned).verdict("ours") == verdict


def test_verdict_names_an_unbeaten_peer_but_not_the_other_method_of_covmetric():
    table = make_table(((0.9, 0.95), (1.0, 0.95)))
    more = [
        Row(kind, name, person, None, 1.0, 1.0, 0.1)
        for kind, name in ((PEER, "GMML"), (LEARNED, "second"))
        for person in "ab"
    ]
    verdict = GestureTable([*table.rows, *more], [], {}, 10, 8).verdict("ours")
    assert verdict.endswith(" It does not win against GMML: it is not above them by more than two standard errors.")


def test_verdict_of_one_seed_has_no_standard_errors():
    assert make_table([(0.8, 0.7)], seeds=[0]).verdict("ours") == (
        "ours is 5.0 points below the best fixed metric (chol) and 0.0 points above the best classifier of pyRiemann "
        "(SVM). It does not win against chol, SVM: it is not above them."
    )


def test_typical_run_is_nearest_to_the_mean_not_the_best():
    """The mean is 0.75."""
    assert make_table(((0.9, 0.5), (0.86, 0.74))).typical("ours").row.accuracy == 0.74
    assert make_table(((0.77, 0.5), (0.99, 0.74))).typical("ours").row.seed == SEEDS[1]
