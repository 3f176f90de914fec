"""Image sets of ETH-80: one 400 x 400 covariance per object, five training objects per class, 1-NN."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from tqdm import tqdm

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.constraints import QuantileBounds, RandomPairs
from covmetric.datasets import load_eth80_sets
from covmetric.embeddings import get_embedding
from covmetric.experiments.estimates import Estimate, mean_and_standard_error, paired_difference
from covmetric.experiments.evaluation import grid_text, grid_values
from covmetric.experiments.rows import RowFile, resume
from covmetric.learning.fit import FittedProblem, fit_path
from covmetric.learning.settings import LearningSettings
from covmetric.learning.splits import Split
from covmetric.neighbors import get_search
from covmetric.solvers import Status, solve

LAMBDAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)


@dataclass(frozen=True)
class SetRow:
    """One lambda on one repeat.

    Attributes
    ----------
    phi : str
        The embedding.
    repeat : int
        The number of the repeat, which is the seed of its split.
    lambdas : str
        The values of lambda on the path, in descending order, separated by spaces.
    tol : float
        The relative gap to which each problem is solved.
    lam : float
        The paper's lambda; inf means W = I.
    accuracy : float
        The accuracy of 1-NN on the test objects.
    leave_one_out : float
        The leave-one-out accuracy of 1-NN on the training objects, in the metric learned from all of them.
    relative_gap : float
        The certified relative gap.
    status : str
        The name of the solver's status, or "" for W = I.
    seconds : float
        The time since the start of the path.
    """

    phi: str
    repeat: int
    lambdas: str
    tol: float
    lam: float
    accuracy: float
    leave_one_out: float
    relative_gap: float
    status: str
    seconds: float


@dataclass(frozen=True)
class SetSummary:
    """One lambda over all repeats.

    Attributes
    ----------
    lam : float
        The paper's lambda; inf means W = I.
    accuracy, leave_one_out : Estimate
        In percent, as in `SetRow`.
    difference : Estimate or None
        The accuracy minus that of W = I, in percent, paired by repeat; None for W = I.
    solved : int
        The number of repeats that the solver solved.
    seconds : float
        The mean time since the start of the path.
    """

    lam: float
    accuracy: Estimate
    leave_one_out: Estimate
    difference: Estimate | None
    solved: int
    seconds: float


@dataclass(frozen=True)
class SetTable:
    """All lambdas, and the one that the training parts choose.

    Attributes
    ----------
    rows : list of SetSummary
        One entry per lambda.
    chosen : SetSummary
        The entry of `chosen_lambda`.
    hours : float
        The time of all paths.
    """

    rows: list[SetSummary]
    chosen: SetSummary
    hours: float


class _Run(NamedTuple):
    """The settings of a path."""

    phi: str
    repeat: int
    lambdas: str
    tol: float


def image_sets(
    folder: Any = None,
    lambdas: Sequence[float] = LAMBDAS,
    phis: Sequence[str] = ("log",),
    repeats: int = 10,
    tol: float = 1e-4,
    n_jobs: int | None = None,
    progress: bool = False,
    file: RowFile[SetRow] | None = None,
) -> list[SetRow]:
    """Learn from all pairs of training objects along a path of decreasing lambda, on random splits of the objects.

    Parameters
    ----------
    folder : path or None, default=None
        The folder of the images, as in `load_eth80`.
    lambdas : sequence of float, default=(1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
        The values of lambda. W = I is always the first row of a path.
    phis : sequence of str, default=('log',)
        The embeddings.
    repeats : int, default=10
        The number of splits.
    tol : float, default=1e-4
        The relative gap to which each problem is solved.
    n_jobs : int or None, default=None
        The number of processes over which the repeats are distributed.
    progress : bool, default=False
        Whether to show a progress bar.
    file : RowFile or None, default=None
        The file to which the rows of a path are written as soon as it is solved, and from which the experiment resumes.

    Returns
    -------
    list of SetRow
        The rows, repeat by repeat.
    """
    runs = [_Run(phi, repeat, grid_text(lambdas), tol) for repeat in range(repeats) for phi in phis]

    def compute(missing: Sequence[_Run]) -> Iterator[tuple[_Run, list[SetRow]]]:
        if not missing:
            return
        data = load_eth80_sets(folder)
        codes = np.unique(data.y, return_inverse=True)[1]
        work = (delayed(_path)(run, data.X, codes) for run in missing)
        done = Parallel(n_jobs, return_as="generator_unordered")(work)
        for rows in tqdm(done, "image sets", len(missing), disable=not progress):
            yield _run_of(rows[0]), rows

    return resume(file, runs, _run_of, compute)


def _run_of(row: SetRow) -> _Run:
    return _Run(row.phi, row.repeat, row.lambdas, row.tol)


def chosen_lambda(rows: Sequence[SetRow], repeats: int = 2) -> float:
    """Choose lambda on the training parts.

    Parameters
    ----------
    rows : sequence of SetRow
        The result of `image_sets`.
    repeats : int, default=2
        The number of repeats that take part in the choice.

    Returns
    -------
    float
        The lambda with the best leave-one-out accuracy in the first repeats. The largest lambda wins ties.

    Examples
    --------
    >>> row = SetRow("log", 0, "0.01", 1e-4, 1e-2, 0.9, 0.8, 0.0, "SOLVED", 1.0)
    >>> chosen_lambda([row, replace(row, lam=1e-3, leave_one_out=0.9), replace(row, lam=1e-4, leave_one_out=0.9)])
    0.001
    """
    scores: dict[float, list[float]] = {}
    for row in rows:
        if row.repeat < repeats:
            scores.setdefault(row.lam, []).append(row.leave_one_out)
    return max(scores, key=lambda lam: (round(float(np.mean(scores[lam])), 12), lam))


def summarize_image_sets(rows: Sequence[SetRow]) -> SetTable:
    """Average the accuracies over the repeats and choose lambda.

    Parameters
    ----------
    rows : sequence of SetRow
        The result of `image_sets`.

    Returns
    -------
    SetTable

    Examples
    --------
    >>> row = SetRow("log", 0, "0.01", 1e-4, 1e-2, 0.8, 0.9, 0.0, "SOLVED", 1800.0)
    >>> rows = [row, replace(row, repeat=1, accuracy=0.9)]
    >>> table = summarize_image_sets(rows)
    >>> table.chosen.accuracy.text(), table.rows[0].solved, table.hours
    ('85.0 ± 5.0', 2, 1.0)
    """
    groups: dict[float, list[SetRow]] = {}
    for row in rows:
        groups.setdefault(row.lam, []).append(row)
    accuracies = {lam: {(row.phi, row.repeat): 100.0 * row.accuracy for row in group} for lam, group in groups.items()}
    fixed = accuracies.get(np.inf)
    summaries = [
        SetSummary(
            lam,
            accuracy=mean_and_standard_error(list(accuracies[lam].values())),
            leave_one_out=mean_and_standard_error([100 * row.leave_one_out for row in group]),
            difference=None if lam == np.inf or fixed is None else paired_difference(accuracies[lam], fixed),
            solved=sum(row.status in ("", Status.SOLVED.name) for row in group),
            seconds=float(np.mean([row.seconds for row in group])),
        )
        for lam, group in groups.items()
    ]
    chosen = chosen_lambda(rows)
    return SetTable(
        summaries,
        chosen=next(row for row in summaries if row.lam == chosen),
        hours=sum(row.seconds for row in groups[rows[-1].lam]) / 3600.0,  # the seconds of a path are cumulative
    )


def split_objects(codes: IntArray, seed: int) -> Split:
    """Draw half of the objects of each class for training.

    Parameters
    ----------
    codes : array of int of shape (l,)
        The classes, 0..n_classes-1.
    seed : int
        The seed of the draw.

    Returns
    -------
    Split

    Examples
    --------
    >>> split = split_objects(np.array([0, 0, 1, 1]), seed=0)
    >>> len(split.train), len(split.test)
    (2, 2)
    """
    rng = np.random.default_rng(seed)
    train: list[int] = []
    for c in np.unique(codes):
        members = rng.permutation(np.flatnonzero(codes == c))
        train += members[: len(members) // 2].tolist()
    return Split(np.sort(train), np.setdiff1d(np.arange(len(codes)), train))


def _path(run: _Run, X: FloatArray, codes: IntArray) -> list[SetRow]:
    """Solve the path of one repeat."""
    split = split_objects(codes, run.repeat)
    train, test = split.train, split.test
    started = time.perf_counter()
    embedding = get_embedding(run.phi)
    embedded, others = embedding.fit_transform(X[train]), embedding.transform(X[test])
    settings = LearningSettings(RandomPairs(budget=10**6, balance=None), QuantileBounds(0.05, 0.95), tol=run.tol)
    fitted, rows = FittedProblem.at_prior(settings, embedded, codes[train]), []
    for lam in [np.inf, *grid_values(run.lambdas)]:
        if lam != np.inf:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                fitted = _next(fitted, lam)
        metric = fitted.learned_metric(embedding)
        references, queries = metric.map(embedded), metric.map(others)
        result = fitted.result
        rows.append(
            SetRow(
                *run,
                lam,
                accuracy=_one_nn(references, queries, codes[train], codes[test]),
                leave_one_out=_one_nn(references, None, codes[train], codes[train]),
                relative_gap=0.0 if result is None else result.certificate.relative_gap,
                status="" if result is None else result.status.name,
                seconds=time.perf_counter() - started,
            )
        )
    return rows


def _next(fitted: FittedProblem, lam: float) -> FittedProblem:
    """Solve the problem at the next lambda, with a warm start from the previous one."""
    if fitted.result is None or fitted.constraints is None:
        return fit_path(fitted, [lam], np.random.default_rng(0))[0]
    problem = fitted.problem(fitted.constraints, lam)
    return replace(fitted, lam=lam, result=solve(problem, tol=fitted.settings.tol, warm_start=fitted.result))


def _one_nn(references: FloatArray, queries: FloatArray | None, codes: IntArray, query_codes: IntArray) -> float:
    """Return the accuracy of 1-NN; without queries, the leave-one-out accuracy of the references."""
    _, nearest = get_search("brute").fit(references).nearest(queries, 1)
    return float(np.mean(codes[nearest[:, 0]] == query_codes))
