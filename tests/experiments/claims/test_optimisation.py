"""The verdicts on the algorithm, from made-up rows in which all claims hold, and from altered ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from covmetric.experiments.claims.optimisation import (
    judge_bound,
    judge_cyclic_too_slow,
    judge_leml,
    judge_projection_cost,
    judge_stochastic_orders,
    judge_tighter_bound,
    judge_unique_root,
)
from tests.experiments.claims.planted import leml_points, make_evidence, points, projection_rows


def test_projection_cost_holds_up_to_the_tolerance():
    verdict = judge_projection_cost(make_evidence())
    assert verdict.verdict == "holds"
    assert verdict.numbers["fitted_exponent"] == pytest.approx(2.5)
    assert verdict.numbers["microseconds"]["100"] == pytest.approx(1e-3 * 100**2.5)


@pytest.mark.parametrize(("power", "expected"), [(3.0, "holds"), (3.3, "holds"), (3.4, "not reproduced")])
def test_projection_cost_may_exceed_cubic_growth_by_a_quarter(power, expected):
    rows = [replace(row, seconds=1e-9 * row.n**power) for row in projection_rows()]
    assert judge_projection_cost(make_evidence(projection=rows)).verdict == expected


def test_one_slow_round_does_not_change_the_cost():
    rows = projection_rows()
    slow = [replace(row, seconds=100.0 * row.seconds) if row.round == 1 else row for row in rows]
    numbers = judge_projection_cost(make_evidence(projection=rows)).numbers
    assert judge_projection_cost(make_evidence(projection=slow)).numbers == numbers


def test_unique_root_is_proved_without_numbers():
    verdict = judge_unique_root(make_evidence())
    assert (verdict.verdict, verdict.numbers) == ("proved", {})


def test_bound_holds_if_no_point_violates_it():
    verdict = judge_bound(make_evidence())
    assert verdict.verdict == "holds"
    assert verdict.numbers == {
        "points": len(points()), "runs": 36, "points_above_the_paper_bound": 0, "points_above_the_certified_gap": 0
    }  # fmt: skip


@pytest.mark.parametrize(
    ("field", "counted"),
    [("objective_gap", "points_above_the_paper_bound"), ("best_excess", "points_above_the_certified_gap")],
)
def test_bound_is_not_reproduced_if_one_point_violates_it(field, counted):
    rows = points()
    bound = rows[5].paper_bound if field == "objective_gap" else rows[5].gap
    for factor, violated in ((1.0 + 9e-6, 0), (1.0 + 2e-5, 1)):
        altered = [*rows[:5], replace(rows[5], **{field: factor * bound}), *rows[6:]]
        verdict = judge_bound(make_evidence(convergence=altered))
        assert verdict.numbers[counted] == violated
        assert verdict.verdict == ("not reproduced" if violated else "holds")


def test_certified_gap_is_compared_with_the_smallest_bound_so_far():
    rows = points()
    assert judge_tighter_bound(make_evidence()).verdict == "holds"
    larger = [replace(point, paper_bound=50.0) if point.epoch == 3 else point for point in rows]
    assert judge_tighter_bound(make_evidence(convergence=larger)).verdict == "holds"
    early = [replace(point, paper_bound=1e-9) if point.epoch == 0 else point for point in rows]
    verdict = judge_tighter_bound(make_evidence(convergence=early))
    assert verdict.verdict == "not reproduced"
    assert verdict.numbers["points_above_the_paper_bound"] == len(rows)  # a bound of an early epoch remains


def swapped(names):
    """Return the points with the names of some orders exchanged."""
    altered = [replace(point, order=names.get(point.order, point.order)) for point in points()]
    return sorted(altered, key=lambda p: (p.n, -p.lam, p.order, p.seed, p.epoch))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({}, "holds"),
        ({"cyclic": "rand", "rand": "cyclic"}, "holds in part"),
        ({"cyclic": "perm", "perm": "cyclic"}, "not reproduced"),
    ],
)
def test_orders_are_judged_by_the_number_of_settings_that_they_win(names, expected):
    verdict = judge_stochastic_orders(make_evidence(convergence=swapped(names)))
    assert verdict.verdict == expected
    assert verdict.numbers["settings"] == 4
    if not names:
        assert verdict.numbers["wins"] == {
            measure: {"perm": 4, "rand": 4} for measure in ("objective_gap", "certified_gap")
        }
        assert verdict.numbers["median_epochs"][0]["objective_gap"] == {"cyclic": 8, "perm": 2, "rand": 4}


def test_half_of_the_settings_are_not_most_of_them():
    slow = [
        replace(point, order={"cyclic": "perm", "perm": "cyclic"}.get(point.order, point.order))
        if point.n == 10
        else point
        for point in points()
    ]
    slow = sorted(slow, key=lambda p: (p.n, -p.lam, p.order, p.seed, p.epoch))
    verdict = judge_stochastic_orders(make_evidence(convergence=slow))
    assert verdict.numbers["wins"]["objective_gap"] == {"perm": 2, "rand": 2}
    assert verdict.verdict == "not reproduced"


def test_cyclic_order_is_too_slow_only_if_a_run_does_not_end():
    verdict = judge_cyclic_too_slow(make_evidence())
    assert verdict.verdict == "holds in part"
    assert verdict.numbers["cyclic_epochs_relative_to"] == {
        "perm": {"10": 4.0, "50": 4.0},
        "rand": {"10": 2.0, "50": 2.0},
    }
    stuck = [
        replace(point, objective_gap=1.0)
        if (point.order, point.lam, point.n, point.seed) == ("cyclic", 1e-4, 10, 0)
        else point
        for point in points()
    ]
    verdict = judge_cyclic_too_slow(make_evidence(convergence=stuck))
    assert (verdict.verdict, verdict.numbers["cyclic_runs_unsolved"]) == ("holds", 1)


def test_cyclic_order_that_is_not_clearly_slower_is_not_too_slow():
    verdict = judge_cyclic_too_slow(make_evidence(convergence=swapped({"cyclic": "rand", "rand": "cyclic"})))
    assert verdict.verdict == "not reproduced"


def test_leml_is_judged_by_its_best_iterates():
    verdict = judge_leml(make_evidence())
    assert verdict.verdict == "holds for a reconstruction"
    assert verdict.numbers["smallest_relative_excess"] == pytest.approx(0.05)
    reached = [replace(point, best_excess=1e-5) if point.seed == 0 else point for point in leml_points()]
    verdict = judge_leml(make_evidence(leml=reached))
    assert (verdict.verdict, verdict.numbers["runs_that_miss_the_optimum"]) == ("holds in part", 6)
    reached = [replace(point, best_excess=1e-5) for point in leml_points()]
    assert judge_leml(make_evidence(leml=reached)).verdict == "not reproduced"
