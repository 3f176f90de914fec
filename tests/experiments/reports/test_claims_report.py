"""The page with the verdicts, and the same as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from covmetric.experiments.claims import judge_claims, make_remarks
from covmetric.experiments.provenance import code_version
from covmetric.experiments.reports import TextTable, claims_report, write_claims
from tests.experiments.claims.planted import make_evidence

#: The claims whose rule is that of an earlier claim.
SHARE_A_RULE = ("learning-eth80", "best-phi-brodatz", "best-phi-eth80")


def test_page_has_verdict_evidence_caveat_and_rule_of_every_claim(tmp_path):
    evidence = make_evidence()
    report = claims_report(evidence)
    page = report.write(tmp_path, "covmetric reproduce claims").read_text()
    assert report.summary == judge_claims(evidence)
    for one in report.summary:
        section = page.partition(f"## {one.claim}\n")[2].partition("\n## ")[0]
        assert f"`{one.id}` ({one.source}). Verdict: **{one.verdict}**." in section
        assert one.evidence in section and f"Caveat: {one.caveat}" in section
        rule = "that of `learning-brodatz`" if one.id in SHARE_A_RULE else one.rule
        assert f"Rule: {rule}." in section
        assert all(f"[{name}]({name}.md)" in section for name in one.experiments)
    for remark in make_remarks(evidence):
        assert f"## {remark.title}\n\n{remark.text}" in page
    overview = next(part for part in report.parts if isinstance(part, TextTable))
    assert overview.rows == [[one.claim, one.source, one.verdict] for one in report.summary]


def test_page_names_the_commit_of_each_file_and_what_differs_from_the_paper(tmp_path):
    page = claims_report(make_evidence()).write(tmp_path, "covmetric reproduce claims").read_text()
    assert "| [leml](leml.md) | 0123456789 | `covmetric reproduce leml` |" in page
    section = page.partition("## What differs from the paper's text")[2]
    for words in ("16,650", "nine entries", "Half of the pairs are similar", "divided by their median"):
        assert words in section


def test_json_has_the_same_verdicts_and_numbers(tmp_path):
    evidence = make_evidence()
    content = json.loads(write_claims(tmp_path / "claims.json", evidence).read_text(encoding="utf-8"))
    assert content["code"] == code_version() and content["evidence"] == evidence.codes
    for stored, one in zip(content["claims"], judge_claims(evidence), strict=True):
        assert stored == {**asdict(one), "experiments": list(one.experiments)}
    assert [stored["numbers"] for stored in content["remarks"]] == [one.numbers for one in make_remarks(evidence)]
