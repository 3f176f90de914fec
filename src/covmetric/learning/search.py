"""The search for the best candidate settings over all splits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from covmetric._utils.parallel import Shared, lost_worker_errors, run_calls
from covmetric._utils.tuning import SHARED_EMBEDDING_BYTES
from covmetric._utils.validation import FloatArray, IntArray, check_n_jobs
from covmetric._utils.warning import warn
from covmetric.learning.candidates import (
    INTERRUPTED,
    EmbeddedExamples,
    PhiCandidates,
    embed_once,
    score_candidates,
)
from covmetric.learning.scoring import Score
from covmetric.learning.splits import Split


def search_candidates(
    grid: Sequence[PhiCandidates],
    X: npt.NDArray[np.generic],
    codes: IntArray,
    splits: Sequence[Split],
    scorings: Sequence[Score],
    seed: int,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> FloatArray:
    """Return the score of each candidate with each rule on each split.

    Parameters
    ----------
    grid : sequence of PhiCandidates
        The candidates.
    X : array of shape (l, n, n) or (l, d)
        The examples.
    codes : array of int of shape (l,)
        Their classes, 0..n_classes-1.
    splits : sequence of Split
        The splits.
    scorings : sequence of Scoring or DistanceScoring
        The rules.
    seed : int
        The seed of random pairs and random orders. All candidates of a split use the same random numbers.
    n_jobs : int or None, default=None
        The number of processes. The scores do not depend on it.
    verbose : int, default=0
        If not 0, a progress bar is shown.

    Returns
    -------
    array of shape (n_candidates * n_rules, n_splits)
        The scores, in the order of the grid, with all rules of a candidate together. NaN marks scores
        that are missing because of an error or interruption.

    Raises
    ------
    ValueError
        If all candidates fail, or if all candidates with a finite lambda fail.

    Warns
    -----
    UserWarning
        If some candidates fail, or the search is cut short by Ctrl-C or a worker process that dies.
    """
    check_n_jobs(n_jobs)
    sizes = [len(candidates.lambdas) * len(scorings) for candidates in grid]
    ends = np.cumsum(sizes)
    rows = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    scores = np.full((ends[-1], len(splits)), np.nan)
    # The search runs fold by fold. If it is cut short, all candidates have been scored on the same folds.
    tasks = [(fold, g) for fold in range(len(splits)) for g in range(len(grid))]
    embedded = [Shared(one) for one in _shared_embeddings(grid, X)]
    examples, labels = Shared(X), Shared(codes)
    calls = (
        (grid[g], examples, labels, splits[fold], scorings, np.random.default_rng([seed, fold]), embedded[g])
        for fold, g in tasks
    )
    failures: list[str] = []
    interruption: BaseException | None = None
    n_done = 0
    cut_short: tuple[type[BaseException], ...] = (KeyboardInterrupt, *lost_worker_errors())
    results = run_calls(score_candidates, calls, n_jobs)
    try:
        for fold, g in tqdm(tasks, "search", disable=not verbose):
            values, reason = next(results)
            scores[rows[g], fold] = values
            if reason == INTERRUPTED:
                raise KeyboardInterrupt
            n_done += 1
            if reason:
                failures.append(f"phi {grid[g].phi!r}: {reason}")
    except cut_short as error:  # Ctrl-C may also arrive while the bar is drawn
        interruption = error
    if interruption is not None:
        n_complete = n_done // len(grid)
        if n_complete:  # compare all candidates on the same folds
            scores[:, n_complete:] = np.nan
        _warn_cut_short(interruption, scores)
    if failures:
        lambdas = [lam for candidates in grid for lam in candidates.lambdas for _ in scorings]
        _report_failures(failures, lambdas, scores)
    return scores


def choose_candidate(preference: Sequence[int], scores: FloatArray, n_std_errors: float = 0.0) -> int:
    """Return the index of the preferred candidate among those that are about as good as the best one.

    A candidate is about as good as the best one if its mean score is at most `n_std_errors` standard errors lower. The
    standard error is that of the differences from the best candidate on the same splits, pooled over the candidates.
    Only candidates with the largest number of scores are compared: a candidate that failed on a split is left out
    unless all candidates failed on it.

    Parameters
    ----------
    preference : sequence of int
        The rank of each candidate in the order of preference. The smallest rank is preferred.
    scores : array of shape (n_candidates, n_splits)
        The scores. NaN marks a missing score.
    n_std_errors : float, default=0.0
        The number of standard errors. 0 chooses the best candidate, and the preferred one of several best candidates.

    Returns
    -------
    int
        The index of the candidate.

    Examples
    --------
    >>> scores = np.array([[0.5, 0.9], [0.8, 0.8], [0.9, 0.7]])
    >>> choose_candidate([0, 1, 2], scores), choose_candidate([0, 1, 2], scores, n_std_errors=1.0)
    (1, 0)
    """
    scored = scores[:, ~np.isnan(scores).all(axis=0)]
    n_scores = (~np.isnan(scored)).sum(axis=1)
    eligible = np.flatnonzero(n_scores == n_scores.max())
    ranks = np.asarray(preference)[eligible]
    # The means are rounded, because the order of the splits must not matter.
    means = np.nanmean(scored[eligible], axis=1).round(12)
    best = np.lexsort((ranks, -means))[0]
    tolerance = n_std_errors * _pooled_standard_error(scored[eligible], int(best))
    close = np.flatnonzero(means[best] - means <= tolerance + 1e-12)
    return int(eligible[close[ranks[close].argmin()]])


def _pooled_standard_error(scores: FloatArray, best: int) -> float:
    """Return the root mean square of the standard errors of the differences from the best candidate."""
    differences = np.delete(scores[best] - scores, best, axis=0)
    differences = differences[:, ~np.isnan(differences).any(axis=0)]
    n_candidates, n_splits = differences.shape
    if n_candidates == 0 or n_splits < 2:
        return 0.0
    return float(np.sqrt(differences.var(axis=1, ddof=1).mean() / n_splits))


def _shared_embeddings(grid: Sequence[PhiCandidates], X: npt.NDArray[np.generic]) -> list[EmbeddedExamples | None]:
    """Return the embedded examples for each Phi, or None if the examples are embedded in each fold."""
    # The real form of a Hermitian matrix has twice as many rows and columns.
    bytes_per_phi = 8 * X.size * (4 if np.iscomplexobj(X) else 1)
    if len(grid) * bytes_per_phi > SHARED_EMBEDDING_BYTES:
        return [None] * len(grid)
    return [embed_once(candidates.phi, X, candidates.reg) for candidates in grid]


def _warn_cut_short(interruption: BaseException, scores: FloatArray) -> None:
    """Warn that some scores are missing; raise the interruption if all are."""
    if np.isnan(scores).all():
        raise interruption
    is_ctrl_c = isinstance(interruption, KeyboardInterrupt)
    reason = "Ctrl-C" if is_ctrl_c else f"{type(interruption).__name__}: {interruption}"
    warn(f"the search was cut short ({reason}); the best of the candidates that were scored is used")


def _report_failures(failures: list[str], lambdas: Sequence[float], scores: FloatArray) -> None:
    """Raise ValueError if no candidate was learned; otherwise warn that some candidates failed."""
    learned = np.array(lambdas) != np.inf
    if np.isnan(scores).all() or (learned.any() and np.isnan(scores[learned]).all()):
        raise ValueError(failures[0])
    warn(f"some candidates failed and were left out: {failures[0]}")
