"""A verdict on each claim of the paper, which follows from the rows of the experiments by a fixed rule."""

from __future__ import annotations

from covmetric.experiments.claims.evidence import ROW_TYPES, Evidence, read_evidence, row_file
from covmetric.experiments.claims.judgement import JUDGES, REMARKS, judge_claims, make_remarks
from covmetric.experiments.claims.verdicts import VERDICTS, ClaimVerdict, Remark

__all__ = [
    "JUDGES",
    "REMARKS",
    "ROW_TYPES",
    "VERDICTS",
    "ClaimVerdict",
    "Evidence",
    "Remark",
    "judge_claims",
    "make_remarks",
    "read_evidence",
    "row_file",
]
