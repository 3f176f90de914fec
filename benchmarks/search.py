"""What the whole default grid of CovMetricCV costs, beside a single solve by the paper's text.

python -m benchmarks.search
"""

from __future__ import annotations

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

ROUNDS, LIMIT = 3, 20


def data():
    """Name, matrices and classes of training sets: the real ones, or simulated ones."""
    for name, share in (("ERing", 1 / 3), ("Epilepsy", 0.5), ("NATOPS", 0.5)):
        if not problems.available():
            break
        X, y = problems.series(name)
        train, _ = stratified(X, y, share, 0)
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


def within_limit(problem, order: str) -> str:
    """Seconds of the paper's text, or what became of it."""
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(LIMIT)
    try:
        return f"{literal_seconds(problem, order):.2f}"
    except _TooLong:
        return f">{LIMIT}"
    except np.linalg.LinAlgError:
        return "breaks"
    finally:
        signal.alarm(0)


def literal(learner: CovMetric, X, y) -> str:
    """The paper's text, in permuted and in random order, on the problem that a learner solves."""
    if learner.lam == np.inf:
        return "-"
    known, _ = learner._fit(X, y)
    problem = known.problem(known.constraints, learner.lam)
    return " / ".join(within_limit(problem, order) for order in ("perm", "rand"))


def row(name: str, X, y) -> None:
    search, best = CovMetricCV(reg=REG, random_state=0), np.inf
    for _ in range(ROUNDS):
        started = time.perf_counter()
        search.fit(X, y)
        best = min(best, time.perf_counter() - started)
    paper = CovMetric("log", reg=REG, random_state=0, **{**PAPER_SETTINGS, "solver": "auto"})
    cells = [literal(learner, X, y) for learner in (search.best_estimator_, CovMetric(reg=REG, random_state=0), paper)]
    choice = f"{search.best_params_['phi']} {search.best_params_['lam']:g}"
    print(f"{name:>18} {len(X):>4} {best:>8.2f}  {choice:>12} {cells[0]:>24} {cells[1]:>14} {cells[2]:>14}", flush=True)


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    count = len(CovMetricCV()._candidates(np.zeros((2, 1, 1))))
    print(f"Seconds of the default grid of CovMetricCV ({count} candidates, 3 folds, the final solve; best of 3), and")
    print("of the paper's text in NumPy to a relative gap of 1e-6, permuted / random order. One thread.\n")
    print(
        f"{'data':>18} {'l':>4} {'the grid':>8}  {'it chose':>12} {'literal, that problem':>24} {'CovMetric()':>14} "
        f"{'paper, 1e-2':>14}"
    )
    with threadpool_limits(1):
        for name, X, y in data():
            row(name, X, y)


if __name__ == "__main__":
    sys.exit(main())
