"""Remarks on the results: the readings of the paper, the logarithm on ETH-80, and image sets."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from covmetric.experiments.claims.evidence import Evidence
from covmetric.experiments.claims.verdicts import Remark
from covmetric.experiments.estimates import BETTER, Estimate, mean_and_standard_error, paired_difference, verdict
from covmetric.experiments.image_sets import summarize_image_sets
from covmetric.experiments.reading_claims import CLAIMS, HOLDS, judge_readings
from covmetric.experiments.readings import ETH80, SLACK
from covmetric.experiments.recognition import BALANCED, EYE


def remark_on_readings(evidence: Evidence) -> Remark:
    """Say in how many readings of the paper all its claims on recognition hold.

    Parameters
    ----------
    evidence : Evidence
        The rows.

    Returns
    -------
    Remark
    """
    counts: dict[str, int] = {}
    for one in judge_readings(evidence.readings):
        counts[one.reading] = counts.get(one.reading, 0) + (one.verdict == HOLDS)
    all_hold = [reading for reading, count in counts.items() if count == len(CLAIMS)]
    names = f" ({'; '.join(all_hold)})" if all_hold else ""
    text = (
        f"The paper makes {len(CLAIMS)} claims on recognition: learning improves every Phi on both data sets, chol is "
        f"best on Brodatz, and log on ETH-80. All of them hold in {len(all_hold)} of {len(counts)} readings{names}. "
        f"The number of claims that hold is {'; '.join(f'{reading}: {count}' for reading, count in counts.items())}."
    )
    return Remark(
        id="readings",
        title="Readings of the paper",
        text=text,
        experiments=("readings",),
        numbers={"claims": len(CLAIMS), "claims_that_hold": counts, "readings_in_which_all_hold": all_hold},
    )


def remark_on_log(evidence: Evidence) -> Remark:
    """Say what the rows of ETH-80 tell about the logarithm.

    Parameters
    ----------
    evidence : Evidence
        The rows.

    Returns
    -------
    Remark
    """
    log, log_gains = _accuracy(evidence, "log"), _gains(evidence, "log")
    relog, relog_gains = _accuracy(evidence, "relog"), _gains(evidence, "relog")
    recentring = paired_difference(relog, log)
    lambdas = sorted({row.lam for row in evidence.eth80 if _is_learned(row, "log", BALANCED)})
    chosen = ", ".join(f"{lam:g}" for lam in lambdas)
    text = (
        f'On "{ETH80}" with slack `{SLACK}`, the logarithm has {_text(log)} percent with W = I. Learning changes this '
        f"by {_gains_text(log_gains)}. With {BALANCED}, cross-validation chose lambda = {chosen}. With the recentred "
        f"logarithm (`relog`), W = I has {_text(relog)} percent, {recentring.text(2, sign=True)} compared with the "
        f"logarithm ({verdict(recentring)}), and learning changes it by {_gains_text(relog_gains)}. "
        + _conclusion(log_gains, relog_gains, recentring)
    )
    return Remark(
        id="log-on-eth80",
        title="The logarithm on ETH-80",
        text=text,
        experiments=("eth80",),
        numbers={
            "log_with_W_eye": asdict(mean_and_standard_error(list(log.values()))),
            "relog_with_W_eye": asdict(mean_and_standard_error(list(relog.values()))),
            "relog_minus_log_with_W_eye": asdict(recentring),
            "log_learned_minus_W_eye": {name: asdict(gain) for name, gain in log_gains.items()},
            "relog_learned_minus_W_eye": {name: asdict(gain) for name, gain in relog_gains.items()},
            "lambdas_chosen_for_log": lambdas,
        },
    )


#: The variants whose pairs are compared.
_VARIANTS = (BALANCED, "neighbour pairs")


def _is_learned(row: Any, phi: str, variant: str) -> bool:
    return (row.protocol, row.phi, row.variant, row.W) == (ETH80, phi, variant, SLACK)


def _accuracy(evidence: Evidence, phi: str) -> dict[int, float]:
    """Return the accuracies with W = I, in percent, by split."""
    return {
        row.seed: 100.0 * row.accuracy for row in evidence.eth80 if (row.protocol, row.phi, row.W) == (ETH80, phi, EYE)
    }


def _gains(evidence: Evidence, phi: str) -> dict[str, Estimate]:
    """Return what learning adds to W = I, for each variant of the pairs."""
    fixed = _accuracy(evidence, phi)
    return {
        variant: paired_difference(
            {row.seed: 100.0 * row.accuracy for row in evidence.eth80 if _is_learned(row, phi, variant)}, fixed
        )
        for variant in _VARIANTS
    }


def _text(accuracies: dict[int, float]) -> str:
    return mean_and_standard_error(list(accuracies.values())).text(2)


def _gains_text(gains: dict[str, Estimate]) -> str:
    return " and ".join(
        f"{gain.text(2, sign=True)} with {variant} ({verdict(gain)})" for variant, gain in gains.items()
    )


def _conclusion(log_gains: dict[str, Estimate], relog_gains: dict[str, Estimate], recentring: Estimate) -> str:
    """Say which explanations the numbers exclude."""
    sentences = []
    helpful = [variant for variant, gain in log_gains.items() if verdict(gain) == BETTER]
    if helpful:
        sentences.append(f"Learning helps the logarithm with {' and '.join(helpful)}.")
    else:
        sentences.append(
            "Pairs of neighbours help the logarithm no more than random pairs do, so that the choice of pairs does not "
            "explain why it gains nothing. We do not know the reason."
        )
    if verdict(recentring) == BETTER and BETTER not in map(verdict, relog_gains.values()):
        sentences.append("The higher accuracy of `relog` comes from recentring, and not from learning.")
    return " ".join(sentences)


def remark_on_image_sets(evidence: Evidence) -> Remark:
    """Say what learning gains on image sets, an experiment that is not in the paper.

    Parameters
    ----------
    evidence : Evidence
        The rows.

    Returns
    -------
    Remark
    """
    table = summarize_image_sets(evidence.image_sets)
    fixed = next(row for row in table.rows if row.difference is None)
    chosen = table.chosen
    gain = chosen.difference
    gain_text = "" if gain is None else f" ({gain.text(1, sign=True)}, {verdict(gain)})"
    text = (
        f"The paper has no experiment on image sets, the application of LEML. Over {chosen.accuracy.count} repeats, "
        f"1-NN has {fixed.accuracy.text()} percent with W = I and {chosen.accuracy.text()} percent with the learned "
        f"W{gain_text}, at lambda = {chosen.lam:g}, which the training parts of the first two repeats choose."
    )
    return Remark(
        id="image-sets",
        title="Image sets of ETH-80",
        text=text,
        experiments=("eth80-sets",),
        numbers={
            "W_eye": asdict(fixed.accuracy),
            "learned": asdict(chosen.accuracy),
            "learned_minus_W_eye": None if gain is None else asdict(gain),
            "lambda": None if gain is None else chosen.lam,
        },
    )
