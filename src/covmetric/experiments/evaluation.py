"""3-NN with W = I and with learned W on one split, with lambda chosen on the training part."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from covmetric._utils.threads import limited_threads
from covmetric._utils.validation import FloatArray, IntArray
from covmetric.constraints import get_bounds, get_pairs
from covmetric.estimators import CovMetric, CovMetricClassifier
from covmetric.learning.candidates import CandidatePath, PhiCandidates
from covmetric.learning.scoring import Scoring
from covmetric.learning.search import choose_candidate, search_candidates
from covmetric.learning.settings import LearningSettings
from covmetric.learning.splits import Split, make_splits

#: The fraction of its mean eigenvalue that is added to the diagonal of each matrix.
REG = 1e-9
#: The number of neighbours that vote.
NEIGHBORS = 3
#: The number of folds that choose lambda.
FOLDS = 3
#: The largest number of training examples that choose lambda; the cost of their neighbours grows with its square.
TUNING_EXAMPLES = 4000
#: The certified relative gap of the final solves.
TOL = 1e-6


@dataclass(frozen=True)
class Learner:
    """How W is learned, apart from Phi and lambda.

    Attributes
    ----------
    pairs : PairSelection
        The pairs, as in `CovMetric`.
    bounds : (float, float) or Bounds
        The bounds, as in `CovMetric`.
    scale : 'median', float or None, default='median'
        The unit of the bounds, as in `CovMetric`.
    slack : str, default='is'
        The slack divergence.
    search_tol : float, default=1e-6
        The tolerance on the relative gap during the choice of lambda.
    """

    pairs: Any
    bounds: Any
    scale: Any = "median"
    slack: str = "is"
    search_tol: float = TOL


@dataclass(frozen=True)
class Outcome:
    """The result of one metric on one split.

    Attributes
    ----------
    lam : float
        The lambda that was chosen; inf for W = I.
    accuracy : float
        The accuracy of 3-NN on the test part.
    relative_gap : float
        The certified relative gap of the final solve; 0 for W = I.
    seconds : float
        The time to choose lambda, to learn W and to classify the test part.
    """

    lam: float
    accuracy: float
    relative_gap: float
    seconds: float


def evaluate(
    X: FloatArray,
    y: npt.NDArray[Any],
    split: Split,
    phi: str,
    learner: Learner | None,
    lambdas: Sequence[float],
    seed: int,
) -> Outcome:
    """Classify the test part of a split by 3-NN, with W = I or with a learned W.

    Parameters
    ----------
    X : array of shape (l, n, n)
        The covariance matrices.
    y : array of shape (l,)
        Their classes.
    split : Split
        The training part and the test part.
    phi : str
        The embedding.
    learner : Learner or None
        How W is learned, or None for W = I.
    lambdas : sequence of float
        The values of lambda to choose from.
    seed : int
        The seed of the folds and of the pairs.

    Returns
    -------
    Outcome
        The chosen lambda and the accuracy.
    """
    started = time.perf_counter()
    lam, settings = np.inf, {}
    with warnings.catch_warnings(), limited_threads(1):
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        if learner is not None:
            lam = choose_lambda(X, y, split, phi, learner, lambdas, seed)
            settings = {
                "pairs": learner.pairs, "bounds": learner.bounds, "scale": learner.scale, "slack": learner.slack
            }  # fmt: skip
        metric = CovMetric(phi, lam=lam, reg=REG, tol=TOL, random_state=seed, **settings)
        classifier = CovMetricClassifier(metric, n_neighbors=NEIGHBORS).fit(X[split.train], y[split.train])
        predicted = classifier.predict(X[split.test])
    result = classifier.learner_.result_
    return Outcome(
        lam,
        accuracy=float(np.mean(predicted == y[split.test])),
        relative_gap=0.0 if result is None else result.certificate.relative_gap,
        seconds=time.perf_counter() - started,
    )


def choose_lambda(
    X: FloatArray,
    y: npt.NDArray[Any],
    split: Split,
    phi: str,
    learner: Learner,
    lambdas: Sequence[float],
    seed: int,
) -> float:
    """Choose lambda by cross-validation of 3-NN on the training part of a split. W = I is not a candidate.

    Parameters
    ----------
    X : array of shape (l, n, n)
        The covariance matrices.
    y : array of shape (l,)
        Their classes.
    split : Split
        The training part, whose groups stay together in the folds. The test part is not used.
    phi : str
        The embedding.
    learner : Learner
        How W is learned.
    lambdas : sequence of float
        The values to choose from.
    seed : int
        The seed of the folds and of the pairs.

    Returns
    -------
    float
        The lambda with the best mean accuracy over the folds. The largest lambda wins ties.
    """
    subset = tuning_subset(split, seed)
    rows = split.train[subset]
    codes = np.asarray(np.unique(y[rows], return_inverse=True)[1], dtype=np.int64)
    groups = None if split.groups is None else split.groups[subset]
    folds_seed = int(np.random.default_rng(seed).integers(2**32))
    # As in the paper, pairs do not depend on groups.
    folds = [replace(fold, groups=None) for fold in make_splits(FOLDS, X[rows], codes, groups, folds_seed)]
    decreasing = sorted(lambdas, reverse=True)
    settings = LearningSettings(
        get_pairs(learner.pairs), get_bounds(learner.bounds), learner.scale, learner.slack, tol=learner.search_tol
    )
    candidates = PhiCandidates(phi, REG, (CandidatePath(settings, tuple(decreasing)),))
    scores = search_candidates([candidates], X[rows], codes, folds, [Scoring("neighbors", NEIGHBORS)], folds_seed)
    return float(decreasing[choose_candidate(range(len(decreasing)), scores)])


def tuning_subset(split: Split, seed: int) -> IntArray:
    """Draw the training examples that choose lambda.

    Parameters
    ----------
    split : Split
        The training part.
    seed : int
        The seed of the draw.

    Returns
    -------
    array of int
        Sorted indices into ``split.train``, at most `TUNING_EXAMPLES`.
    """
    drawn = np.random.default_rng(seed).permutation(len(split.train))[:TUNING_EXAMPLES]
    return np.asarray(np.sort(drawn), dtype=np.int64)


def grid_text(lambdas: Sequence[float]) -> str:
    """Return a grid of lambda as the text that is stored in rows.

    Parameters
    ----------
    lambdas : sequence of float
        The values.

    Returns
    -------
    str
        The values in descending order, separated by spaces.

    Examples
    --------
    >>> grid_text([1e-2, 1e2])
    '100.0 0.01'
    """
    return " ".join(repr(float(lam)) for lam in sorted(lambdas, reverse=True))


def grid_values(text: str) -> list[float]:
    """Return the values of a grid of lambda from its text.

    Parameters
    ----------
    text : str
        The result of `grid_text`, or "" for W = I.

    Returns
    -------
    list of float
        The values in descending order.

    Examples
    --------
    >>> grid_values("100.0 0.01")
    [100.0, 0.01]
    """
    return [float(lam) for lam in text.split()]


def grid_end(lam: float, grid: str) -> str:
    """Say whether a lambda lies at an end of its grid.

    Parameters
    ----------
    lam : float
        The lambda.
    grid : str
        The text of the grid; "" for W = I.

    Returns
    -------
    {'largest', 'smallest', ''}
        The end, or "" if the lambda lies inside the grid or belongs to W = I.

    Examples
    --------
    >>> [grid_end(lam, "100.0 1.0 0.01") for lam in (100.0, 1.0, 0.01)]
    ['largest', '', 'smallest']
    """
    values = grid_values(grid)
    if not values or lam not in (values[0], values[-1]):
        return ""
    return "largest" if lam == values[0] else "smallest"
