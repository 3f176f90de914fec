"""Image sets of ETH-80: one 400 x 400 covariance per object, five objects a class for training, 1-NN."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from tqdm import tqdm

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.constraints import QuantileBounds, RandomPairs
from covmetric.datasets import load_eth80_sets
from covmetric.embeddings import get_embedding
from covmetric.learning.fit import FittedProblem, fit_path
from covmetric.learning.settings import LearningSettings
from covmetric.metric import LearnedMetric
from covmetric.neighbors import get_search
from covmetric.solvers import solve

LAMBDAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)


@dataclass(frozen=True)
class SetRow:
    """One lambda on one repeat; inf is W = I.

    Attributes
    ----------
    phi : str
    repeat : int
    lam : float
    accuracy : float
        Of 1-NN on the test objects.
    leave_one_out : float
        Of 1-NN among the training objects, each left out in turn, in the metric that was learned from all of them.
    relative_gap : float
        What is proven.
    status : str
    seconds : float
        Since the start of the path.
    """

    phi: str
    repeat: int
    lam: float
    accuracy: float
    leave_one_out: float
    relative_gap: float
    status: str
    seconds: float


def image_sets(
    folder: Any = None,
    lambdas: Sequence[float] = LAMBDAS,
    phis: Sequence[str] = ("log",),
    repeats: int = 10,
    tol: float = 1e-4,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Iterator[SetRow]:
    """Learn along a path of falling lambda on each random split of the objects, from all pairs of training objects.

    Parameters
    ----------
    folder : path or None
        As in `load_eth80`.
    lambdas : sequence of floats
    phis : sequence of str
    repeats : int
    tol : float
        The relative gap that each solve is proven to.
    n_jobs : int or None
        Processes that share the repeats.
    progress : bool
    """
    data = load_eth80_sets(folder)
    codes = np.unique(data.y, return_inverse=True)[1]
    tasks = [(phi, repeat) for repeat in range(repeats) for phi in phis]
    work = (delayed(_path)(phi, repeat, data.X, codes, list(lambdas), tol) for phi, repeat in tasks)
    done = Parallel(n_jobs, return_as="generator")(work)
    for rows in tqdm(done, "image sets", len(tasks), disable=not progress):
        yield from rows


def chosen_lambda(rows: Sequence[SetRow], repeats: int = 2) -> float:
    """The lambda with the best leave-one-out accuracy in the first repeats; of equals the largest.

    Examples
    --------
    >>> row = SetRow("log", 0, 1e-2, 0.9, 0.8, 0.0, "SOLVED", 1.0)
    >>> chosen_lambda([row, replace(row, lam=1e-3, leave_one_out=0.9), replace(row, lam=1e-4, leave_one_out=0.9)])
    0.001
    """
    scores: dict[float, list[float]] = {}
    for row in rows:
        if row.repeat < repeats:
            scores.setdefault(row.lam, []).append(row.leave_one_out)
    return max(scores, key=lambda lam: (round(float(np.mean(scores[lam])), 12), lam))


def split(codes: IntArray, seed: int) -> tuple[IntArray, IntArray]:
    """Half of the objects of each class for training, at random, and the others."""
    rng = np.random.default_rng(seed)
    train: list[int] = []
    for c in np.unique(codes):
        members = rng.permutation(np.flatnonzero(codes == c))
        train += members[: len(members) // 2].tolist()
    return np.sort(train), np.setdiff1d(np.arange(len(codes)), train)


def _path(phi: str, repeat: int, X: FloatArray, codes: IntArray, lambdas: list[float], tol: float) -> list[SetRow]:
    train, test = split(codes, repeat)
    started = time.perf_counter()
    embedding = get_embedding(phi)
    embedded, others = embedding.fit_transform(X[train]), embedding.transform(X[test])
    settings = LearningSettings(RandomPairs(budget=10**6, balance=None), QuantileBounds(0.05, 0.95), tol=tol)
    fitted, rows = FittedProblem.at_prior(settings, embedded, codes[train]), []
    for lam in [np.inf, *sorted(lambdas, reverse=True)]:
        if lam != np.inf:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                fitted = _next(fitted, lam)
        metric = LearnedMetric(embedding, fitted.metric())
        references, queries = metric.map(embedded), metric.map(others)
        result = fitted.result
        rows.append(
            SetRow(
                phi,
                repeat,
                float(lam),
                accuracy=_one_nn(references, queries, codes[train], codes[test]),
                leave_one_out=_one_nn(references, None, codes[train], codes[train]),
                relative_gap=0.0 if result is None else result.certificate.relative_gap,
                status="" if result is None else result.status.name,
                seconds=time.perf_counter() - started,
            )
        )
    return rows


def _next(fitted: FittedProblem, lam: float) -> FittedProblem:
    """The solved problem at the next lambda, from the multipliers of the last one."""
    if fitted.result is None or fitted.constraints is None:
        return fit_path(fitted, [lam], np.random.default_rng(0))[0]
    problem = fitted.problem(fitted.constraints, lam)
    return replace(fitted, lam=lam, result=solve(problem, tol=fitted.settings.tol, warm_start=fitted.result))


def _one_nn(references: FloatArray, queries: FloatArray | None, known: IntArray, wanted: IntArray) -> float:
    _, nearest = get_search("brute").fit(references).nearest(queries, 1)
    return float(np.mean(known[nearest[:, 0]] == wanted))
