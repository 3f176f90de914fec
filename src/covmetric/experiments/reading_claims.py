"""Which of the paper's claims on recognition hold in which reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from covmetric.experiments.estimates import (
    BETTER,
    WORSE,
    Estimate,
    best_key,
    mean_and_standard_error,
    paired_difference,
    verdict,
)
from covmetric.experiments.evaluation import grid_end
from covmetric.experiments.readings import BRODATZ, ETH80, ReadingRow
from covmetric.experiments.recognition import EYE, PHIS

HOLDS, NOT_SHOWN, CONTRADICTED = "holds", "not shown", "contradicted"


@dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Attributes
    ----------
    protocol : str
        The protocol on which it is checked.
    best_phi : str
        The Phi that is said to be the best one, or "" if learning is said to improve on W = I for every Phi.
    """

    protocol: str
    best_phi: str = ""


CLAIMS: dict[str, Claim] = {
    "learning improves every Phi on Brodatz": Claim(BRODATZ),
    "learning improves every Phi on ETH-80": Claim(ETH80),
    "chol is best on Brodatz": Claim(BRODATZ, "chol"),
    "log is best on ETH-80": Claim(ETH80, "log"),
}


@dataclass(frozen=True)
class ReadingSummary:
    """One Phi in one reading over all splits, in percent.

    Attributes
    ----------
    reading, protocol, phi : str
        As in `ReadingRow`.
    eye : Estimate
        The accuracy with W = I.
    learned : Estimate
        The accuracy with the learned W.
    difference : Estimate
        The learned W minus W = I, paired by split.
    n_largest, n_smallest : int
        The numbers of splits that chose the largest and the smallest lambda of the grid.
    """

    reading: str
    protocol: str
    phi: str
    eye: Estimate
    learned: Estimate
    difference: Estimate
    n_largest: int
    n_smallest: int


@dataclass(frozen=True)
class ReadingVerdict:
    """A claim of the paper in one reading.

    Attributes
    ----------
    reading : str
        A key of `READINGS`.
    claim : str
        A key of `CLAIMS`.
    verdict : {'holds', 'not shown', 'contradicted'}
        "holds" if every difference is "better" by the rule of `verdict`, "contradicted" if one of them is "worse", and
        "not shown" otherwise.
    differences : dict from str to Estimate
        The paired differences, in percent: of each Phi to W = I, or of the claimed Phi to the best of the others, all
        with learned W. The keys name the Phi.
    """

    reading: str
    claim: str
    verdict: str
    differences: dict[str, Estimate]


def summarize_readings(rows: Sequence[ReadingRow]) -> list[ReadingSummary]:
    """Average the accuracies over the splits.

    Parameters
    ----------
    rows : sequence of ReadingRow
        The result of `readings`.

    Returns
    -------
    list of ReadingSummary
        One entry per reading, protocol and Phi.
    """
    accuracies = _accuracies(rows)
    ends = Counter((row.reading, row.protocol, row.phi, grid_end(row.lam, row.lambdas)) for row in rows)
    summary = []
    for (reading, protocol), by_metric in accuracies.items():
        for phi in dict.fromkeys(phi for phi, _ in by_metric):
            eye, learned = by_metric[phi, False], by_metric[phi, True]
            summary.append(
                ReadingSummary(
                    reading,
                    protocol,
                    phi,
                    eye=mean_and_standard_error(list(eye.values())),
                    learned=mean_and_standard_error(list(learned.values())),
                    difference=paired_difference(learned, eye),
                    n_largest=ends[reading, protocol, phi, "largest"],
                    n_smallest=ends[reading, protocol, phi, "smallest"],
                )
            )
    return summary


def judge_readings(rows: Sequence[ReadingRow]) -> list[ReadingVerdict]:
    """Judge each claim of the paper in each reading.

    Parameters
    ----------
    rows : sequence of ReadingRow
        The result of `readings`.

    Returns
    -------
    list of ReadingVerdict
        One entry per reading and claim; claims about protocols without rows are left out.
    """
    accuracies = _accuracies(rows)
    verdicts = []
    for reading in dict.fromkeys(row.reading for row in rows):
        for name, claim in CLAIMS.items():
            by_metric = accuracies.get((reading, claim.protocol))
            if by_metric is not None:
                differences = _differences(by_metric, claim.best_phi)
                verdicts.append(ReadingVerdict(reading, name, judge(list(differences.values())), differences))
    return verdicts


def judge(differences: Sequence[Estimate]) -> str:
    """Judge a claim that all of these differences are positive.

    Parameters
    ----------
    differences : sequence of Estimate
        Results of `paired_difference`.

    Returns
    -------
    {'holds', 'not shown', 'contradicted'}
        As in `ReadingVerdict`.

    Examples
    --------
    >>> judge([Estimate(1.0, 0.1, 5), Estimate(0.1, 0.1, 5)])
    'not shown'
    """
    verdicts = {verdict(difference) for difference in differences}
    if verdicts == {BETTER}:
        return HOLDS
    return CONTRADICTED if WORSE in verdicts else NOT_SHOWN


def _accuracies(rows: Sequence[ReadingRow]) -> dict[tuple[str, str], dict[tuple[str, bool], dict[int, float]]]:
    """Return the accuracies in percent: by reading and protocol, by Phi and whether W is learned, and by split."""
    accuracies: dict[tuple[str, str], dict[tuple[str, bool], dict[int, float]]] = {}
    for row in rows:
        group = accuracies.setdefault((row.reading, row.protocol), {})
        group.setdefault((row.phi, row.W != EYE), {})[row.seed] = 100.0 * row.accuracy
    return accuracies


def _differences(by_metric: dict[tuple[str, bool], dict[int, float]], best_phi: str) -> dict[str, Estimate]:
    """Return the differences that a claim says are positive."""
    if not best_phi:
        return {phi: paired_difference(by_metric[phi, True], by_metric[phi, False]) for phi in PHIS}
    other = best_key({phi: by_metric[phi, True] for phi in PHIS if phi != best_phi})
    return {f"{best_phi} - {other}": paired_difference(by_metric[best_phi, True], by_metric[other, True])}
