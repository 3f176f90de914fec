"""The distance up to which a pair counts as similar, calibrated on labelled pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from covmetric._utils.validation import FloatArray, is_number


@dataclass(frozen=True)
class _Counts:
    """The numbers of similar and of dissimilar pairs within each threshold and in total."""

    true_positives: FloatArray
    false_positives: FloatArray
    positives: float
    negatives: float

    @property
    def sensitivity(self) -> FloatArray:
        return self.true_positives / max(self.positives, 1.0)

    @property
    def specificity(self) -> FloatArray:
        return 1.0 - self.false_positives / max(self.negatives, 1.0)

    @property
    def accuracy(self) -> FloatArray:
        return (self.true_positives + self.negatives - self.false_positives) / (self.positives + self.negatives)

    def f_beta(self, beta: float) -> FloatArray:
        predicted = self.true_positives + self.false_positives
        # The lower limit replaces 0 / 0 by 0.
        return (1.0 + beta**2) * self.true_positives / np.maximum(beta**2 * self.positives + predicted, 1e-300)


#: Functions from the counts, beta and the minimum rate to the score of each threshold.
STRATEGIES: dict[str, Callable[[_Counts, float, float], FloatArray]] = {
    "accuracy": lambda counts, beta, rate: counts.accuracy,
    "f_beta": lambda counts, beta, rate: counts.f_beta(beta),
    "max_tpr": lambda counts, beta, rate: np.where(counts.specificity >= rate, counts.sensitivity, -1.0),
    "max_tnr": lambda counts, beta, rate: np.where(counts.sensitivity >= rate, counts.specificity, -1.0),
}


def best_threshold(
    distances: FloatArray,
    similar: FloatArray,
    strategy: str = "accuracy",
    min_rate: float | None = None,
    beta: float = 1.0,
) -> float:
    """Return the best threshold for predicting whether a pair is similar from its distance.

    A pair is predicted to be similar if its distance is at most the threshold. The candidates lie halfway between
    consecutive distinct distances, halfway between 0 and the smallest distance (unless it is 0), and above the
    largest. If several candidates are equally good, the smallest one is returned.

    Parameters
    ----------
    distances : array of shape (K,)
        The distance of each pair.
    similar : array of shape (K,)
        +1 for similar pairs, -1 for dissimilar pairs.
    strategy : {'accuracy', 'f_beta', 'max_tpr', 'max_tnr'}, default='accuracy'
        What the threshold maximises: the accuracy, the F-beta score, the true positive rate among the thresholds with a
        true negative rate of at least `min_rate`, or the true negative rate among the thresholds with a true positive
        rate of at least `min_rate`.
    min_rate : float or None, default=None
        The minimum rate, from 0 to 1. It is required by 'max_tpr' and 'max_tnr'.
    beta : float, default=1.0
        The weight of recall relative to precision. It is used by 'f_beta'.

    Returns
    -------
    float
        The threshold, which is never negative.

    Raises
    ------
    ValueError
        If the strategy is unknown, if its parameter is invalid, or if no threshold reaches `min_rate`, because too many
        dissimilar pairs have distance 0.

    Examples
    --------
    >>> best_threshold(np.array([1.0, 2.0, 4.0, 5.0]), np.array([1.0, 1.0, -1.0, -1.0]))
    3.0
    """
    check_calibration(strategy, min_rate, beta)
    order = np.argsort(distances, kind="stable")
    ascending, is_similar = distances[order], similar[order] > 0.0
    # Equal distances lie on the same side of every threshold: cuts[i] pairs are within thresholds[i].
    ends = np.flatnonzero(np.append(ascending[1:] > ascending[:-1], True)) + 1
    cuts = np.concatenate([[0], ends])
    middles = 0.5 * (ascending[ends[:-1] - 1] + ascending[ends[:-1]])
    thresholds = np.concatenate([[0.5 * ascending[0]], middles, [ascending[-1] + 1.0]])
    if ascending[0] == 0.0:  # no threshold rejects these pairs, because a distance of 0 is at most any threshold
        cuts, thresholds = cuts[1:], thresholds[1:]
    counts = _Counts(
        np.concatenate([[0], np.cumsum(is_similar)])[cuts].astype(float),
        np.concatenate([[0], np.cumsum(~is_similar)])[cuts].astype(float),
        float(is_similar.sum()),
        float((~is_similar).sum()),
    )
    scores = STRATEGIES[strategy](counts, beta, 0.0 if min_rate is None else min_rate)
    best = int(np.argmax(scores))
    if scores[best] < 0.0:
        raise ValueError(
            f"no threshold recognises a fraction of {min_rate} of the dissimilar pairs (min_rate), because "
            f"{counts.false_positives[0]:.0f} of {counts.negatives:.0f} have distance 0: lower min_rate to at most "
            f"{float(counts.specificity[0])!r}, or leave such pairs out"
        )
    return float(thresholds[best])


def only_kind(similar: FloatArray) -> str | None:
    """Return the kind of the pairs if all are of the same kind, so that no threshold can be calibrated on them.

    Parameters
    ----------
    similar : array of shape (K,)
        +1 for similar pairs, -1 for dissimilar pairs.

    Returns
    -------
    str or None
        The kind in words, or None if both kinds occur.

    Examples
    --------
    >>> only_kind(np.array([1.0, 1.0])), only_kind(np.array([1.0, -1.0]))
    ('similar (+1)', None)
    """
    if (similar != similar[0]).any():
        return None
    return "similar (+1)" if similar[0] > 0.0 else "dissimilar (-1)"


def check_calibration(strategy: str, min_rate: float | None, beta: float) -> None:
    """Raise ValueError if the parameters of `best_threshold` are invalid.

    Parameters
    ----------
    strategy : str
        The strategy.
    min_rate : float or None
        The minimum rate.
    beta : float
        The weight of recall relative to precision.
    """
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(map(repr, STRATEGIES))}, got {strategy!r}")
    if strategy in ("max_tpr", "max_tnr") and not (is_number(min_rate) and 0.0 <= min_rate <= 1.0):  # type: ignore[operator]
        raise ValueError(f"strategy {strategy!r} needs a min_rate from 0 to 1, got {min_rate!r}")
    if strategy == "f_beta" and not (is_number(beta) and beta >= 0.0):
        raise ValueError(f"strategy 'f_beta' needs a beta >= 0, got {beta!r}")
