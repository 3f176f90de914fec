"""The report with the verdicts on the paper's claims, and the same as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from covmetric.experiments.claims import ROW_TYPES, VERDICTS, ClaimVerdict, Evidence, Remark, judge_claims, make_remarks
from covmetric.experiments.provenance import code_version
from covmetric.experiments.reports.report import Report, TextTable

_INTRODUCTION = (
    "The paper is Matsuzawa, Relator, Sese and Kato, "
    '"Stochastic Dykstra Algorithms for Metric Learning on Positive Semi-Definite Cone", '
    "[arXiv:1601.01422](https://arxiv.org/abs/1601.01422). Each verdict on this page follows by a fixed rule from the "
    f"rows of the experiments ({', '.join(f'[{name}.csv]({name}.csv)' for name in ROW_TYPES)}); "
    "[claims.json](claims.json) has the numbers. Differences of accuracies are in percent, paired by split, mean and "
    "standard error over the splits. The paper shows its accuracies as bars without numbers and does not give lambda, "
    "so that its accuracies cannot be compared digit by digit."
)
_DIFFERENCES = """## What differs from the paper's text

These points are in addition to [the errors of the paper](../theory/slips.md).

- Brodatz has 16,650 training and 5,550 test descriptors with three training quarters and one test quarter, as in the \
paper's text. The paper's numbers, 11,100 and 11,100, are those of two and two. Both are on the [page](brodatz.md).
- The paper's list of "eight" features for ETH-80 has nine entries. We use all nine.
- In the paper's split of ETH-80, both parts show the same objects. The [page](eth80.md) also has a split by object.
- Half of the pairs are similar. This is a choice of ours; the paper does not say how it draws the pairs. Of pairs \
that are drawn uniformly over 111 classes, 0.9 percent are similar. The pages also have uniform pairs.
- Squared distances are divided by their median over the pairs before the bounds 0.05 and 0.95 apply. This is a choice \
of ours; the paper does not give the unit of its distances.
- [Readings](readings.md) of the paper that make such choices in other ways are a page of their own."""


def claims_report(evidence: Evidence) -> Report:
    """Report the verdict on each claim, with its evidence, its caveat and its rule.

    Parameters
    ----------
    evidence : Evidence
        The rows of all experiments.

    Returns
    -------
    Report
        The page, with the verdicts as its summary.
    """
    verdicts, remarks = judge_claims(evidence), make_remarks(evidence)
    return Report(
        name="claims",
        title="Verdicts on the paper's claims",
        parts=[
            _INTRODUCTION,
            TextTable(["claim", "source", "verdict"], [[one.claim, one.source, one.verdict] for one in verdicts]),
            "\n".join(f"- {word}: {meaning}" for word, meaning in VERDICTS.items()),
            *_claim_texts(verdicts),
            *(_remark_text(one) for one in remarks),
            _DIFFERENCES,
            TextTable(
                ["experiment", "commit", "command"],
                [[_page(name), code, f"`covmetric reproduce {name}`"] for name, code in evidence.codes.items()],
                title="The commits that computed the evidence",
            ),
        ],
        summary=verdicts,
    )


def _claim_texts(verdicts: Sequence[ClaimVerdict]) -> list[str]:
    """Return a section per claim; a rule that several claims share is written once."""
    texts, rules = [], dict[str, str]()
    for one in verdicts:
        shared = rules.setdefault(one.rule, one.id)
        rule = one.rule if shared == one.id else f"that of `{shared}`"
        texts.append(
            f"## {one.claim}\n\nClaim `{one.id}` ({one.source}). Verdict: **{one.verdict}**.\n\n{one.evidence}"
            f"{_pages(one.experiments)}\n\nCaveat: {one.caveat}\n\nRule: {rule}."
        )
    return texts


def _remark_text(one: Remark) -> str:
    return f"## {one.title}\n\n{one.text}{_pages(one.experiments)}"


def _pages(experiments: Sequence[str]) -> str:
    return f" Pages: {', '.join(map(_page, experiments))}." if experiments else ""


def _page(experiment: str) -> str:
    return f"[{experiment}]({experiment}.md)"


def write_claims(path: Path, evidence: Evidence) -> Path:
    """Write the verdicts and the remarks as JSON, with the numbers that they rest on.

    Parameters
    ----------
    path : Path
        The file.
    evidence : Evidence
        The rows of all experiments.

    Returns
    -------
    Path
        The file.
    """
    content = {
        "code": code_version(),
        "evidence": evidence.codes,
        "claims": [asdict(one) for one in judge_claims(evidence)],
        "remarks": [asdict(one) for one in make_remarks(evidence)],
    }
    path.write_text(json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
