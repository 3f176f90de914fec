"""The distance below which a pair counts as similar, chosen on labelled pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from covmetric._utils.validation import FloatArray, is_number


@dataclass(frozen=True)
class _Counts:
    """For each threshold: similar pairs found, dissimilar pairs found by mistake; and how many of both there are."""

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
        found = self.true_positives + self.false_positives
        return (1.0 + beta**2) * self.true_positives / np.maximum(beta**2 * self.positives + found, 1e-300)


STRATEGIES: dict[str, Callable[[_Counts, float, float], FloatArray]] = {
    "accuracy": lambda counts, beta, rate: counts.accuracy,  # noqa: ARG005
    "f_beta": lambda counts, beta, rate: counts.f_beta(beta),  # noqa: ARG005
    "max_tpr": lambda counts, beta, rate: np.where(counts.specificity >= rate, counts.sensitivity, -1.0),  # noqa: ARG005
    "max_tnr": lambda counts, beta, rate: np.where(counts.sensitivity >= rate, counts.specificity, -1.0),  # noqa: ARG005
}


def best_threshold(
    distances: FloatArray,
    similar: FloatArray,
    strategy: str = "accuracy",
    min_rate: float | None = None,
    beta: float = 1.0,
) -> float:
    """The threshold that is best by the strategy; a pair at most so far apart counts as similar.

    Thresholds halfway between neighbouring distances, and one below all and one above, are compared.

    Parameters
    ----------
    distances, similar : arrays, shape (K,)
    strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}
        The largest accuracy; the largest F score; the largest rate of true positives with at least `min_rate` true
        negatives; the largest rate of true negatives with at least `min_rate` true positives.

    Examples
    --------
    >>> best_threshold(np.array([1.0, 2.0, 4.0, 5.0]), np.array([1.0, 1.0, -1.0, -1.0]))
    3.0
    """
    check_calibration(strategy, min_rate, beta)
    order = np.argsort(distances, kind="stable")
    d, near = distances[order], similar[order] > 0.0
    # Only between distances that differ.
    ends = np.flatnonzero(np.append(d[1:] > d[:-1], True)) + 1
    cuts = np.concatenate([[0], ends])
    middles = 0.5 * (d[ends[:-1] - 1] + d[ends[:-1]])
    thresholds = np.concatenate([[d[0] - 1.0], middles, [d[-1] + 1.0]])
    counts = _Counts(
        np.concatenate([[0], np.cumsum(near)])[cuts].astype(float),
        np.concatenate([[0], np.cumsum(~near)])[cuts].astype(float),
        float(near.sum()),
        float((~near).sum()),
    )
    merit = STRATEGIES[strategy](counts, beta, 0.0 if min_rate is None else min_rate)
    return float(thresholds[int(np.argmax(merit))])


def check_calibration(strategy: str, min_rate: float | None, beta: float) -> None:
    """Raise ValueError for settings that do not fit."""
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(map(repr, STRATEGIES))}, got {strategy!r}")
    if strategy in ("max_tpr", "max_tnr") and not (is_number(min_rate) and 0.0 <= min_rate <= 1.0):  # type: ignore[operator]
        raise ValueError(f"strategy {strategy!r} needs a min_rate from 0 to 1, got {min_rate!r}")
    if strategy == "f_beta" and not (is_number(beta) and beta >= 0.0):
        raise ValueError(f"strategy 'f_beta' needs a beta >= 0, got {beta!r}")
