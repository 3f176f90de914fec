"""Statistics of the recognition experiments, with differences that are paired by split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from covmetric.experiments.estimates import Estimate, best_key, mean_and_standard_error, paired_difference
from covmetric.experiments.evaluation import grid_end
from covmetric.experiments.recognition import BALANCED, EYE, LOOSE_SEARCH, PHIS, RecognitionRow


@dataclass(frozen=True)
class RecognitionSummary:
    """One Phi and one W over all splits.

    Attributes
    ----------
    protocol, variant, phi, W : str
        As in `RecognitionRow`.
    accuracy : Estimate
        The accuracy of 3-NN in percent.
    difference : Estimate or None
        The accuracy minus that of W = I with the same Phi, in percent, paired by split; None for W = I.
    lambdas : tuple of float
        The lambda of each split.
    n_largest, n_smallest : int
        The numbers of splits that chose the largest and the smallest lambda of the grid.
    """

    protocol: str
    variant: str
    phi: str
    W: str
    accuracy: Estimate
    difference: Estimate | None
    lambdas: tuple[float, ...]
    n_largest: int
    n_smallest: int


@dataclass(frozen=True)
class PhiComparison:
    """A Phi against the best of the other ones, with the same variant and the same W.

    Attributes
    ----------
    protocol, variant, W, phi : str
        As in `RecognitionRow`.
    other : str
        The best other Phi.
    difference : Estimate
        The accuracy of `phi` minus that of `other`, in percent, paired by split.
    """

    protocol: str
    variant: str
    W: str
    phi: str
    other: str
    difference: Estimate


def summarize_recognition(rows: Sequence[RecognitionRow]) -> list[RecognitionSummary]:
    """Average the accuracies over the splits, and compare them with W = I.

    Parameters
    ----------
    rows : sequence of RecognitionRow
        The result of `recognition`.

    Returns
    -------
    list of RecognitionSummary
        One entry per protocol, variant, Phi and W.
    """
    groups: dict[tuple[str, str, str, str], list[RecognitionRow]] = {}
    for row in rows:
        groups.setdefault((row.protocol, row.variant, row.phi, row.W), []).append(row)
    accuracies = {key: {row.seed: 100.0 * row.accuracy for row in group} for key, group in groups.items()}
    summary = []
    for key, group in groups.items():
        protocol, _, phi, W = key
        fixed = accuracies.get((protocol, "", phi, EYE))
        summary.append(
            RecognitionSummary(
                *key,
                accuracy=mean_and_standard_error(list(accuracies[key].values())),
                difference=None if W == EYE or fixed is None else paired_difference(accuracies[key], fixed),
                lambdas=tuple(row.lam for row in group),
                n_largest=sum(grid_end(row.lam, row.lambdas) == "largest" for row in group),
                n_smallest=sum(grid_end(row.lam, row.lambdas) == "smallest" for row in group),
            )
        )
    return summary


def compare_phi(rows: Sequence[RecognitionRow], phi: str, phis: Sequence[str] = PHIS) -> list[PhiComparison]:
    """Compare a Phi with the best of the other ones, for each protocol, variant and W.

    Parameters
    ----------
    rows : sequence of RecognitionRow
        The result of `recognition`.
    phi : str
        The Phi.
    phis : sequence of str, default=('id', 'log', 'sqrt', 'chol')
        The Phi to compare, which contain `phi`.

    Returns
    -------
    list of PhiComparison
        One entry per protocol, variant and W.
    """
    accuracies: dict[tuple[str, str, str], dict[str, dict[int, float]]] = {}
    for row in rows:
        if row.phi in phis:
            group = accuracies.setdefault((row.protocol, row.variant, row.W), {})
            group.setdefault(row.phi, {})[row.seed] = 100.0 * row.accuracy
    comparisons = []
    for key, by_phi in accuracies.items():
        other = best_key({name: values for name, values in by_phi.items() if name != phi})
        comparisons.append(PhiComparison(*key, phi, other, paired_difference(by_phi[phi], by_phi[other])))
    return comparisons


def count_flips(rows: Sequence[RecognitionRow]) -> tuple[int, int]:
    """Count the choices of lambda that depend on the tolerance of the search.

    Parameters
    ----------
    rows : sequence of RecognitionRow
        The result of `recognition` with the variants "balanced pairs" and "search to 1e-3".

    Returns
    -------
    flips : int
        The number of splits and Phi for which the two variants choose different values of lambda.
    choices : int
        The number of splits and Phi.
    """
    chosen = {(row.variant, row.protocol, row.seed, row.phi, row.W): row.lam for row in rows}
    choices = [key[1:] for key in chosen if key[0] == LOOSE_SEARCH]
    flips = sum(chosen[(BALANCED, *choice)] != chosen[(LOOSE_SEARCH, *choice)] for choice in choices)
    return flips, len(choices)
