"""Verdicts on the paper's claims, from made-up rows."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.experiments.reading_claims import CLAIMS, judge_readings, summarize_readings
from covmetric.experiments.readings import BRODATZ, ETH80, ReadingRow

#: Accuracies of W = I and learned W on two splits, with which every claim holds.
ALL_HOLD = {
    BRODATZ: {"id": (80, 84), "log": (90, 92), "sqrt": (88, 91), "chol": (89, 95)},
    ETH80: {"id": (80, 84), "log": (90, 97), "sqrt": (88, 91), "chol": (89, 95)},
}
IMPROVES_BRODATZ, IMPROVES_ETH80, CHOL_BEST, LOG_BEST = CLAIMS


def make_rows(changes=(), reading="ours"):
    """Return rows on two splits, the second of which is easier by 3 percent for all; changes are learned accuracies."""
    learned = {(protocol, phi): (b, b) for protocol, phis in ALL_HOLD.items() for phi, (_, b) in phis.items()}
    learned.update(changes)
    return [
        ReadingRow(reading, protocol, seed, phi, W, grid, lam, (accuracy + 3 * seed) / 100.0, 0.0, 1.0)
        for protocol, phis in ALL_HOLD.items()
        for phi, (eye, _) in phis.items()
        for seed in (0, 1)
        for W, grid, lam, accuracy in (
            ("eye", "", np.inf, eye),
            ("is", "100.0 1.0 0.01", 100.0 if seed else 1.0, learned[protocol, phi][seed]),
        )
    ]


def verdicts(rows):
    return {one.claim: one.verdict for one in judge_readings(rows)}


def test_all_claims_hold():
    judged = judge_readings(make_rows())
    assert {one.claim: one.verdict for one in judged} == dict.fromkeys(CLAIMS, "holds")
    by_claim = {one.claim: one.differences for one in judged}
    assert by_claim[CHOL_BEST].keys() == {"chol - log"} and by_claim[LOG_BEST].keys() == {"log - chol"}
    assert by_claim[CHOL_BEST]["chol - log"].mean == pytest.approx(3.0)
    assert by_claim[CHOL_BEST]["chol - log"].standard_error == pytest.approx(0.0, abs=1e-9)
    assert by_claim[IMPROVES_ETH80]["log"].mean == pytest.approx(7.0)
    assert list(by_claim[IMPROVES_ETH80]) == ["id", "log", "sqrt", "chol"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({(BRODATZ, "log"): (90, 91)}, {IMPROVES_BRODATZ: "not shown"}),
        ({(BRODATZ, "log"): (87, 88)}, {IMPROVES_BRODATZ: "contradicted"}),
        ({(ETH80, "id"): (78, 78)}, {IMPROVES_ETH80: "contradicted"}),
        ({(BRODATZ, "sqrt"): (95, 96)}, {CHOL_BEST: "not shown"}),
        ({(BRODATZ, "sqrt"): (97, 97)}, {CHOL_BEST: "contradicted"}),
        ({(ETH80, "chol"): (99, 99)}, {LOG_BEST: "contradicted"}),
        ({(ETH80, "chol"): (96, 98)}, {LOG_BEST: "not shown"}),
    ],
)
def test_one_difference_changes_the_verdict_of_its_claim_only(change, expected):
    assert verdicts(make_rows(change)) == {**dict.fromkeys(CLAIMS, "holds"), **expected}


def test_readings_are_judged_apart():
    judged = judge_readings(make_rows() + make_rows({(ETH80, "chol"): (99, 99)}, "Sobel"))
    assert [(one.reading, one.verdict) for one in judged if one.claim == LOG_BEST] == [
        ("ours", "holds"), ("Sobel", "contradicted")
    ]  # fmt: skip


def test_claims_without_rows_are_left_out():
    rows = [row for row in make_rows() if row.protocol == ETH80]
    assert set(verdicts(rows)) == {IMPROVES_ETH80, LOG_BEST}


def test_summary_has_paired_differences_and_counts_the_ends():
    summary = summarize_readings(make_rows({(BRODATZ, "id"): (83, 84)}))
    assert [(row.protocol, row.phi) for row in summary] == [(p, phi) for p, phis in ALL_HOLD.items() for phi in phis]
    first = summary[0]
    assert (first.eye.mean, first.learned.mean) == (pytest.approx(81.5), pytest.approx(85.0))
    assert (first.difference.mean, first.difference.standard_error) == (pytest.approx(3.5), pytest.approx(0.5))
    assert (first.n_largest, first.n_smallest) == (1, 0)
