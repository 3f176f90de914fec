"""The list of the claims, and of the remarks on the results."""

from __future__ import annotations

from collections.abc import Callable

from covmetric.experiments.claims.evidence import Evidence
from covmetric.experiments.claims.optimisation import (
    judge_bound,
    judge_cyclic_too_slow,
    judge_leml,
    judge_projection_cost,
    judge_stochastic_orders,
    judge_tighter_bound,
    judge_unique_root,
)
from covmetric.experiments.claims.recognition import (
    judge_best_phi_on_brodatz,
    judge_best_phi_on_eth80,
    judge_learning_on_brodatz,
    judge_learning_on_eth80,
)
from covmetric.experiments.claims.remarks import remark_on_image_sets, remark_on_log, remark_on_readings
from covmetric.experiments.claims.verdicts import ClaimVerdict, Remark

#: One function per claim, which computes its verdict from the rows.
JUDGES: tuple[Callable[[Evidence], ClaimVerdict], ...] = (
    judge_projection_cost,
    judge_unique_root,
    judge_bound,
    judge_tighter_bound,
    judge_stochastic_orders,
    judge_cyclic_too_slow,
    judge_learning_on_brodatz,
    judge_learning_on_eth80,
    judge_best_phi_on_brodatz,
    judge_best_phi_on_eth80,
    judge_leml,
)
#: One function per remark.
REMARKS: tuple[Callable[[Evidence], Remark], ...] = (remark_on_readings, remark_on_log, remark_on_image_sets)


def judge_claims(evidence: Evidence) -> list[ClaimVerdict]:
    """Judge all claims.

    Parameters
    ----------
    evidence : Evidence
        The rows of all experiments.

    Returns
    -------
    list of ClaimVerdict
        One entry per claim.
    """
    return [judge(evidence) for judge in JUDGES]


def make_remarks(evidence: Evidence) -> list[Remark]:
    """Return all remarks.

    Parameters
    ----------
    evidence : Evidence
        The rows of all experiments.

    Returns
    -------
    list of Remark
    """
    return [remark(evidence) for remark in REMARKS]
