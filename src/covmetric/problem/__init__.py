"""The learning problem: objective, dual and certificate. It does not depend on any solver."""

from __future__ import annotations

from covmetric.problem.blocks import BlockProblem
from covmetric.problem.certificate import Certificate, divergence_roots
from covmetric.problem.certifying import CertifiedPoint, Certifying
from covmetric.problem.checks import check_kept
from covmetric.problem.metric_problem import MetricProblem
from covmetric.problem.span import Reduction, expand, reduce_to_basis, reduce_to_span
from covmetric.problem.stopping_criterion import PaperBound, paper_bound
from covmetric.problem.sums import PairSums
from covmetric.problem.synthetic import make_paper_problem

__all__ = [
    "BlockProblem",
    "Certificate",
    "CertifiedPoint",
    "Certifying",
    "MetricProblem",
    "PairSums",
    "PaperBound",
    "Reduction",
    "check_kept",
    "divergence_roots",
    "expand",
    "make_paper_problem",
    "paper_bound",
    "reduce_to_basis",
    "reduce_to_span",
]
