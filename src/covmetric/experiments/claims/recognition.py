"""Verdicts on the claims about recognition. They depend on choices that the paper leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from covmetric.experiments.claims.evidence import Evidence
from covmetric.experiments.claims.verdicts import (
    DEPENDS,
    HOLDS,
    IN_PART,
    NO_DIFFERENCE,
    NOT_REPRODUCED,
    ClaimVerdict,
)
from covmetric.experiments.estimates import BETTER, STANDARD_ERRORS, WORSE, Estimate, verdict
from covmetric.experiments.reading_claims import CLAIMS, judge, judge_readings
from covmetric.experiments.reading_claims import HOLDS as HOLDS_IN_READING
from covmetric.experiments.readings import BRODATZ, ETH80, SLACK
from covmetric.experiments.recognition import BALANCED, PHIS, SLACKS, RecognitionRow
from covmetric.experiments.recognition_summary import compare_phi, summarize_recognition

#: Paired differences in percent, by Phi and by slack.
Differences = dict[str, dict[str, Estimate]]

_RULE = (
    f"in our settings, the claim holds if all differences, with all slacks, are more than {STANDARD_ERRORS:g} standard "
    f"errors above zero. The verdict is {HOLDS} if that is so in our settings and in all readings; {DEPENDS} if it is "
    f"so in some of these; otherwise, by the differences in our settings, {IN_PART} if some of them are, "
    f"{NO_DIFFERENCE} if all are within {STANDARD_ERRORS:g} standard errors of zero, and {NOT_REPRODUCED} if not"
)
_CAVEAT = (
    "The paper gives neither lambda, nor how the pairs are drawn, nor the unit of the distances, nor the filters of "
    "the derivatives. Balanced pairs and squared distances in units of their median are our choices. {splits} splits, "
    "which overlap, are few for the rule of two standard errors, and {count} differences are judged without a "
    "correction for their number."
)


def judge_learning_on_brodatz(evidence: Evidence) -> ClaimVerdict:
    """Judge the claim that learning improves on W = I for every Phi on Brodatz.

    Parameters
    ----------
    evidence : Evidence
        The rows.

    Returns
    -------
    ClaimVerdict
    """
    return _judge_learning(evidence, evidence.brodatz, "brodatz", BRODATZ, "brodatz 2/2")


def judge_learning_on_eth80(evidence: Evidence) -> ClaimVerdict:
    """Judge the claim that learning improves on W = I for every Phi on ETH-80.

    Parameters
    ----------
    evidence : Evidence
        The rows.

    Returns
    -------
    ClaimVerdict
    """
    return _judge_learning(evidence, evidence.eth80, "eth80", ETH80, "eth80 by object")


def judge_best_phi_on_brodatz(evidence: Evidence) -> ClaimVerdict:
    """Judge the claim that chol is the best Phi on Brodatz.

    Parameters
    ----------
    evidence : Evidence
        The rows.

    Returns
    -------
    ClaimVerdict
    """
    return _judge_best_phi(evidence, evidence.brodatz, "brodatz", BRODATZ, "chol")


def judge_best_phi_on_eth80(evidence: Evidence) -> ClaimVerdict:
    """Judge the claim that log is the best Phi on ETH-80.

    Parameters
    ----------
    evidence : Evidence
        The rows.

    Returns
    -------
    ClaimVerdict
    """
    return _judge_best_phi(evidence, evidence.eth80, "eth80", ETH80, "log")


_NAMES = {"brodatz": "Brodatz", "eth80": "ETH-80"}


def _judge_learning(
    evidence: Evidence, rows: list[RecognitionRow], data_set: str, protocol: str, other_protocol: str
) -> ClaimVerdict:
    differences = _learning_differences(rows, protocol)
    elsewhere = _learning_differences(rows, other_protocol)
    holding, count = _readings_that_hold(evidence, protocol, "")
    return ClaimVerdict(
        id=f"learning-{data_set}",
        claim=f"Whichever Phi is used, learning improves on W = I on {_NAMES[data_set]}",
        source="paper, section 5.2",
        verdict=combined_verdict(differences, len(holding), count),
        evidence=f'Learned W minus W = I on "{protocol}", in percent, for the slacks {_slack_names()}: '
        f'{_by_phi_text(differences)}. {_readings_text(evidence, holding, count)} On "{other_protocol}": '
        f"{_by_phi_text(elsewhere)}.",
        caveat=_caveat(rows, differences),
        rule=_RULE,
        experiments=(data_set, "readings"),
        numbers={
            "protocol": protocol,
            "differences": _plain(differences),
            "other_protocol": other_protocol,
            "other_differences": _plain(elsewhere),
            "readings": count,
            "readings_that_hold": holding,
        },
    )


def _judge_best_phi(
    evidence: Evidence, rows: list[RecognitionRow], data_set: str, protocol: str, phi: str
) -> ClaimVerdict:
    comparisons = [one for one in compare_phi(rows, phi) if (one.protocol, one.variant) == (protocol, BALANCED)]
    differences: Differences = {}
    for one in comparisons:
        differences.setdefault(f"{phi} - {one.other}", {})[one.W] = one.difference
    holding, count = _readings_that_hold(evidence, protocol, phi)
    return ClaimVerdict(
        id=f"best-phi-{data_set}",
        claim=f"With learned W, {phi} is the best Phi on {_NAMES[data_set]}",
        source="paper, section 5.2",
        verdict=combined_verdict(differences, len(holding), count),
        evidence=f'{phi} minus the best of the other Phi on "{protocol}", in percent: '
        f"{_by_phi_text(differences, name_slacks=True)}. {_readings_text(evidence, holding, count)}",
        caveat=_caveat(rows, differences) + " The best of the other Phi is chosen on the test parts, which favours it.",
        rule=_RULE,
        experiments=(data_set, "readings"),
        numbers={
            "protocol": protocol,
            "differences": _plain(differences),
            "readings": count,
            "readings_that_hold": holding,
        },
    )


def combined_verdict(differences: Differences, holding: int, readings: int) -> str:
    """Return the verdict on a claim that all of some differences are positive.

    Parameters
    ----------
    differences : dict from str to dict from str to Estimate
        The paired differences in our settings, by Phi and slack.
    holding : int
        The number of readings of the paper in which the claim holds.
    readings : int
        The number of readings.

    Returns
    -------
    str
        "holds", "depends on the reading", "holds in part", "no difference" or "not reproduced".

    Examples
    --------
    >>> better, same = Estimate(1.0, 0.1, 5), Estimate(0.1, 0.1, 5)
    >>> combined_verdict({"log": {"is": better}}, 10, 10), combined_verdict({"log": {"is": better}}, 3, 10)
    ('holds', 'depends on the reading')
    >>> combined_verdict({"log": {"is": same}, "chol": {"is": better}}, 0, 10)
    'holds in part'
    """
    estimates = [estimate for by_slack in differences.values() for estimate in by_slack.values()]
    ours = judge(estimates) == HOLDS_IN_READING
    if ours and holding == readings:
        return HOLDS
    if ours or holding:
        return DEPENDS
    verdicts = {verdict(estimate) for estimate in estimates}
    if BETTER in verdicts:
        return IN_PART
    return NOT_REPRODUCED if WORSE in verdicts else NO_DIFFERENCE


def _learning_differences(rows: list[RecognitionRow], protocol: str) -> Differences:
    """Return the differences of the learned W to W = I, for the four Phi of the paper."""
    differences: Differences = {phi: {} for phi in PHIS}
    for row in summarize_recognition(rows):
        if (row.protocol, row.variant) == (protocol, BALANCED) and row.phi in PHIS and row.difference is not None:
            differences[row.phi][row.W] = row.difference
    return differences


def _readings_that_hold(evidence: Evidence, protocol: str, best_phi: str) -> tuple[list[str], int]:
    """Return the readings in which a claim holds, and the number of readings."""
    name = next(name for name, claim in CLAIMS.items() if (claim.protocol, claim.best_phi) == (protocol, best_phi))
    verdicts = [one for one in judge_readings(evidence.readings) if one.claim == name]
    return [one.reading for one in verdicts if one.verdict == HOLDS_IN_READING], len(verdicts)


def _readings_text(evidence: Evidence, holding: list[str], count: int) -> str:
    splits = len({row.seed for row in evidence.readings})
    names = f" ({'; '.join(holding)})" if holding else ""
    return (
        f"Of {count} readings of the paper, on {splits} splits with slack `{SLACK}`, the claim holds in "
        f"{len(holding)}{names}."
    )


def _by_phi_text(differences: Differences, name_slacks: bool = False) -> str:
    """Return all differences of each Phi, with their verdict."""
    return "; ".join(
        f"{phi} "
        + ", ".join(
            estimate.text(2, sign=True) + (f" ({slack})" if name_slacks else "") for slack, estimate in by_slack.items()
        )
        + f" ({_verdict_text(by_slack)})"
        for phi, by_slack in differences.items()
    )


def _verdict_text(by_slack: Mapping[str, Estimate]) -> str:
    """Return one verdict if all slacks agree, otherwise that of each slack."""
    verdicts = {slack: verdict(estimate) for slack, estimate in by_slack.items()}
    if len(set(verdicts.values())) == 1:
        return next(iter(verdicts.values()))
    return ", ".join(f"{slack}: {word}" for slack, word in verdicts.items())


def _slack_names() -> str:
    return ", ".join(f"`{slack}`" for slack in SLACKS)


def _caveat(rows: list[RecognitionRow], differences: Differences) -> str:
    count = sum(map(len, differences.values()))
    return _CAVEAT.format(splits=len({row.seed for row in rows}), count=count)


def _plain(differences: Differences) -> dict[str, Any]:
    """Return the differences as dictionaries, with their verdicts."""
    return {
        phi: {slack: {**asdict(estimate), "verdict": verdict(estimate)} for slack, estimate in by_slack.items()}
        for phi, by_slack in differences.items()
    }
