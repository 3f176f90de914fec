"""The time of the default grid of CovMetricCV, compared with one solve by a literal implementation of the paper.

python -m benchmarks.search              # one split of each data set, also with the paper's settings
python -m benchmarks.search --splits 6   # several splits, without the paper's settings
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks import problems
from benchmarks.recognition import REG, stratified
from benchmarks.solvers import literal_seconds
from covmetric import PAPER_SETTINGS, CovMetric, CovMetricCV
from covmetric.estimators.grid import make_grid

ROUNDS, LIMIT = 4, 20
QUICK = 2.0  # solves that take fewer seconds are timed in every round
PAPER_LAMBDAS = (1e-2, 1e-3, 1e-4)  # of section 5.1


def data(split: int):
    """Yield the name, the matrices and the classes of real training sets, or of simulated ones without real data."""
    for name, fraction in (("ERing", 1 / 3), ("Epilepsy", 0.5), ("NATOPS", 0.5)):
        if not problems.available():
            break
        X, y = problems.series(name)
        train, _ = stratified(X, y, fraction, split)
        yield name, X[train], y[train]
    else:
        return
    for n in (4, 24):
        embedded, labels = problems.simulated_classes(n, 120)
        yield f"simulated, n = {n}", embedded @ np.swapaxes(embedded, 1, 2) + np.eye(n), labels


class _TooLong(Exception):
    pass


def _give_up(*_) -> None:
    raise _TooLong


def within_limit(problem, order: str) -> float:
    """Return the seconds of the literal implementation: inf if it takes too long, NaN if it breaks down."""
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(LIMIT)
    try:
        return literal_seconds(problem, order)
    except _TooLong:
        return np.inf
    except np.linalg.LinAlgError:
        return np.nan
    finally:
        signal.alarm(0)


def problem_of(learner: CovMetric, X, y):
    """Return the problem that a learner solves, or None for W = I."""
    if learner.lam == np.inf:
        return None
    classes, codes = np.unique(y, return_inverse=True)
    fitted, _ = learner._learn(X, classes, codes)
    return fitted.problem(fitted.constraints, learner.lam)


def literal_cell(seconds: list[float]) -> str:
    names = [f">{LIMIT}" if t == np.inf else "breaks" if np.isnan(t) else f"{t:.2f}" for t in seconds]
    return " / ".join(names) or "-"


def row(name: str, X, y, split: int, lambdas) -> None:
    """Print one line: the grid and the literal solves in turn, best of all rounds."""
    search = CovMetricCV(reg=REG, random_state=split).fit(X, y)
    settings = {**PAPER_SETTINGS, "solver": "auto"}
    learners = [search.best_estimator_, CovMetric(reg=REG, random_state=split)]
    learners += [CovMetric("log", lam=lam, reg=REG, random_state=split, **settings) for lam in lambdas]
    tasks = [(problem_of(learner, X, y), order) for learner in learners for order in ("perm", "rand")]
    best, literal = np.inf, {}
    for _ in range(ROUNDS):
        started = time.perf_counter()
        search.fit(X, y)
        best = min(best, time.perf_counter() - started)
        for task, (problem, order) in enumerate(tasks):
            if problem is not None and literal.get(task, 0.0) < QUICK:
                literal[task] = min(literal.get(task, np.inf), within_limit(problem, order))
    cells = [literal_cell([literal[t] for t in (2 * i, 2 * i + 1) if t in literal]) for i in range(len(learners))]
    choice = f"{search.best_params_['phi']} {search.best_params_['lam']:g}"
    print(f"{name:>18} {len(X):>4} {best:>8.3f} {choice:>12} " + " ".join(f"{cell:>15}" for cell in cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=0, help="number of splits of each data set (default: 1)")
    splits = parser.parse_args().splits
    lambdas = () if splits else PAPER_LAMBDAS
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    warnings.simplefilter("ignore", RuntimeWarning)  # the table marks the cases that break down
    count = len(make_grid(CovMetricCV(), np.zeros((2, 1, 1))).params)
    print(f"Seconds of the default grid of CovMetricCV ({count} candidates, 5 folds and the final solve), and of a")
    print("literal NumPy implementation of the paper to a relative gap of 1e-6, permuted / random order. One thread,")
    print(f"best of {ROUNDS} rounds.\n")
    names = ["chosen", "CovMetric()", *(f"paper, {lam:g}" for lam in lambdas)]
    columns = " ".join(f"{name:>15}" for name in names)
    print(f"{'data':>18} {'l':>4} {'grid':>8} {'chosen':>12} {columns}")
    with threadpool_limits(1):
        for split in range(max(1, splits)):
            for name, X, y in data(split):
                row(name, X, y, split, lambdas)


if __name__ == "__main__":
    sys.exit(main())
