"""The verdicts on recognition, from made-up rows in which all claims hold, and from altered ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from covmetric.experiments.claims.recognition import (
    combined_verdict,
    judge_best_phi_on_brodatz,
    judge_best_phi_on_eth80,
    judge_learning_on_brodatz,
    judge_learning_on_eth80,
)
from covmetric.experiments.claims.remarks import remark_on_image_sets, remark_on_log, remark_on_readings
from covmetric.experiments.estimates import Estimate
from covmetric.experiments.reading_definitions import READINGS
from covmetric.experiments.readings import ETH80
from covmetric.experiments.recognition import BALANCED
from tests.experiments.claims.planted import make_evidence, make_rows

JUDGES = {
    "brodatz": (judge_learning_on_brodatz, judge_best_phi_on_brodatz),
    "eth80": (judge_learning_on_eth80, judge_best_phi_on_eth80),
}
BETTER, SAME, WORSE = Estimate(1.0, 0.1, 5), Estimate(0.1, 0.1, 5), Estimate(-1.0, 0.1, 5)


@pytest.mark.parametrize(
    ("differences", "holding", "expected"),
    [
        ([BETTER, BETTER], 10, "holds"),
        ([BETTER, BETTER], 9, "depends on the reading"),
        ([BETTER, BETTER], 0, "depends on the reading"),
        ([BETTER, SAME], 1, "depends on the reading"),
        ([WORSE, WORSE], 1, "depends on the reading"),
        ([BETTER, SAME], 0, "holds in part"),
        ([BETTER, WORSE], 0, "holds in part"),
        ([SAME, SAME], 0, "no difference"),
        ([SAME, WORSE], 0, "not reproduced"),
        ([WORSE, WORSE], 0, "not reproduced"),
    ],
)
def test_verdict_combines_our_settings_and_the_readings(differences, holding, expected):
    by_phi = {f"phi {number}": {"is": difference} for number, difference in enumerate(differences)}
    assert combined_verdict(by_phi, holding, 10) == expected


@pytest.mark.parametrize("data_set", JUDGES)
def test_claims_hold_if_all_differences_are_positive(data_set):
    learning, best = (judge(make_evidence()) for judge in JUDGES[data_set])
    assert learning.verdict == best.verdict == "holds"
    assert learning.numbers["readings_that_hold"] == list(READINGS)
    assert set(learning.numbers["differences"]) == {"id", "log", "sqrt", "chol"}
    difference = learning.numbers["differences"]["id"]["l2"]
    assert difference["mean"] == pytest.approx(2.0 + 0.1 / 3) and difference["count"] == 3
    assert difference["verdict"] == "better"
    ((_, by_slack),) = best.numbers["differences"].items()
    assert set(by_slack) == {"is", "l2", "re"} and by_slack["re"]["mean"] == pytest.approx(5.0 + 0.1 / 3)


@pytest.mark.parametrize("data_set", JUDGES)
def test_rows_of_other_variants_do_not_count(data_set):
    rows = [replace(row, accuracy=0.1) if row.variant == "neighbour pairs" else row for row in make_rows()[data_set]]
    for judge in JUDGES[data_set]:
        assert judge(make_evidence(**{data_set: rows})).verdict == "holds"


def test_rows_of_the_other_protocol_do_not_decide_on_the_best_phi():
    rows = make_rows()["brodatz"]
    altered = [
        replace(row, accuracy=0.1) if row.protocol == "brodatz 2/2" and row.phi == "chol" else row for row in rows
    ]
    verdict = judge_best_phi_on_brodatz(make_evidence(brodatz=altered))
    assert verdict.verdict == "holds" and verdict.numbers == judge_best_phi_on_brodatz(make_evidence()).numbers


def swapped(rows):
    """Return rows in which W = I has the accuracy of the learned W, and vice versa."""
    accuracies = {}
    for row in rows:
        key = (getattr(row, "reading", ""), row.protocol, row.phi, row.seed)
        accuracies[(*key, row.W == "eye")] = row.accuracy
    return [
        replace(row, accuracy=accuracies[getattr(row, "reading", ""), row.protocol, row.phi, row.seed, row.W != "eye"])
        for row in rows
    ]


@pytest.mark.parametrize("data_set", JUDGES)
def test_swapping_learned_and_fixed_metrics_changes_the_verdict(data_set):
    rows = make_rows()
    learning, best = JUDGES[data_set]
    altered = {data_set: swapped(rows[data_set])}
    assert learning(make_evidence(**altered)).verdict == "depends on the reading"
    altered["readings"] = swapped(rows["readings"])
    assert learning(make_evidence(**altered)).verdict == "not reproduced"
    assert best(make_evidence(**altered)).verdict == "holds"


def test_another_phi_that_is_better_changes_the_verdict():
    rows = make_rows()
    better = {
        name: [replace(row, accuracy=row.accuracy + 0.2) if row.phi == "sqrt" else row for row in rows[name]]
        for name in ("eth80", "readings")
    }
    verdict = judge_best_phi_on_eth80(make_evidence(**better))
    assert verdict.verdict == "not reproduced" and "log - sqrt" in verdict.numbers["differences"]


def test_learning_that_helps_one_phi_only_holds_in_part():
    rows = make_rows()
    fixed = {}
    for name in ("brodatz", "readings"):
        eye = {(getattr(r, "reading", ""), r.protocol, r.phi, r.seed): r.accuracy for r in rows[name] if r.W == "eye"}
        fixed[name] = [
            row
            if row.phi == "id"
            else replace(row, accuracy=eye[getattr(row, "reading", ""), row.protocol, row.phi, row.seed])
            for row in rows[name]
        ]
    verdict = judge_learning_on_brodatz(make_evidence(**fixed))
    assert verdict.verdict == "holds in part"
    assert "log +0.00 ± 0.00, +0.00 ± 0.00, +0.00 ± 0.00 (no difference)" in verdict.evidence


def test_evidence_shows_the_other_protocol():
    evidence = judge_learning_on_eth80(make_evidence()).evidence
    assert 'On "eth80 by object": id +2.03 ± 0.03' in evidence and "(better)" in evidence


def test_remark_on_readings_counts_the_claims():
    rows = make_rows()["readings"]
    assert remark_on_readings(make_evidence()).numbers["readings_in_which_all_hold"] == list(READINGS)
    worse = [replace(row, accuracy=0.1) if row.reading == "Sobel" and row.phi == "chol" else row for row in rows]
    remark = remark_on_readings(make_evidence(readings=worse))
    assert remark.numbers["claims_that_hold"] == dict.fromkeys(READINGS, 4) | {"Sobel": 1}
    assert f"hold in 9 of {len(READINGS)} readings" in remark.text and "Sobel: 1" in remark.text


def test_remark_on_log_follows_the_rows():
    rows = make_rows()["eth80"]
    remark = remark_on_log(make_evidence())
    assert "Learning helps the logarithm with balanced pairs and neighbour pairs." in remark.text
    assert "recentring" not in remark.text.partition("Learning helps")[2]
    fixed = {(row.phi, row.seed): row.accuracy for row in rows if row.protocol == ETH80 and row.W == "eye"}
    recentred = {seed: 0.9 + 0.01 * seed for seed in range(3)}
    altered = [
        replace(row, accuracy=recentred[row.seed] if row.phi == "relog" else fixed[row.phi, row.seed])
        if row.protocol == ETH80
        else row
        for row in rows
    ]
    remark = remark_on_log(make_evidence(eth80=altered))
    assert "the choice of pairs does not explain" in remark.text
    assert "comes from recentring, and not from learning" in remark.text
    assert remark.numbers["log_learned_minus_W_eye"][BALANCED]["mean"] == 0.0
    assert remark.numbers["relog_with_W_eye"]["mean"] == pytest.approx(91.0)
    assert remark.numbers["lambdas_chosen_for_log"] == [1.0]
    learned = [
        replace(row, accuracy=row.accuracy + 0.02) if row.phi == "relog" and row.W != "eye" else row for row in altered
    ]
    assert "not from learning" not in remark_on_log(make_evidence(eth80=learned)).text


def test_remark_on_image_sets_has_the_paired_gain():
    remark = remark_on_image_sets(make_evidence())
    assert "81.0 ± 0.6 percent with W = I and 86.1 ± 0.6 percent with the learned W (+5.1 ± 0.1, better)" in remark.text
    assert remark.numbers["lambda"] == 0.01
