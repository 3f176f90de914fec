"""The contract of all claims and remarks."""

from __future__ import annotations

import json
from dataclasses import asdict

from covmetric.experiments.claims import JUDGES, REMARKS, ROW_TYPES, VERDICTS, judge_claims, make_remarks
from tests.experiments.claims.planted import make_evidence


def test_every_claim_has_a_verdict_of_the_list_and_all_texts():
    verdicts = judge_claims(make_evidence())
    assert len(verdicts) == len(JUDGES) == len({one.id for one in verdicts}) == len({one.claim for one in verdicts})
    for one in verdicts:
        assert one.verdict in VERDICTS
        assert one.evidence.endswith(".") and one.caveat.endswith(".") and one.rule and one.source
        assert set(one.experiments) <= ROW_TYPES.keys() and bool(one.experiments) == bool(one.numbers)


def test_numbers_survive_json():
    evidence = make_evidence()
    for one in [*judge_claims(evidence), *make_remarks(evidence)]:
        assert json.loads(json.dumps(asdict(one), allow_nan=False))["numbers"] == one.numbers


def test_every_experiment_is_evidence_for_something():
    evidence = make_evidence()
    used = {name for one in [*judge_claims(evidence), *make_remarks(evidence)] for name in one.experiments}
    assert used == ROW_TYPES.keys() and len(make_remarks(evidence)) == len(REMARKS)


def test_verdicts_depend_on_the_rows_alone():
    assert judge_claims(make_evidence()) == judge_claims(make_evidence())
