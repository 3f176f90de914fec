"""What the whole default grid of CovMetricCV costs, beside a single solve by the paper's text.

python -m benchmarks.search              # one split of each data set, and the paper's settings
python -m benchmarks.search --splits 6   # the problem that was chosen only, on several splits
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

ROUNDS, LIMIT = 3, 20
PAPER_LAMBDAS = (1e-2, 1e-3, 1e-4)  # those of its section 4.1


def data(split: int):
    """Name, matrices and classes of training sets: the real ones, or simulated ones."""
    for name, share in (("ERing", 1 / 3), ("Epilepsy", 0.5), ("NATOPS", 0.5)):
        if not problems.available():
            break
        X, y = problems.series(name)
        train, _ = stratified(X, y, share, split)
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


def row(name: str, X, y, split: int, lambdas) -> None:
    search, best = CovMetricCV(reg=REG, random_state=split), np.inf
    for _ in range(ROUNDS):
        started = time.perf_counter()
        search.fit(X, y)
        best = min(best, time.perf_counter() - started)
    settings = {**PAPER_SETTINGS, "solver": "auto"}
    learners = [search.best_estimator_, CovMetric(reg=REG, random_state=split)]
    learners += [CovMetric("log", lam=lam, reg=REG, random_state=split, **settings) for lam in lambdas]
    cells = " ".join(f"{literal(learner, X, y):>15}" for learner in learners)
    choice = f"{search.best_params_['phi']} {search.best_params_['lam']:g}"
    print(f"{name:>18} {len(X):>4} {best:>8.2f} {choice:>12} {cells}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=0, help="how many splits of each data set (default: one)")
    splits = parser.parse_args().splits
    lambdas = () if splits else PAPER_LAMBDAS
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    count = len(CovMetricCV()._candidates(np.zeros((2, 1, 1))))
    print(f"Seconds of the default grid of CovMetricCV ({count} candidates, 3 folds, the final solve; best of 3), and")
    print("of the paper's text in NumPy to a relative gap of 1e-6, permuted / random order. One thread.\n")
    names = ["its choice", "CovMetric()", *(f"paper, {lam:g}" for lam in lambdas)]
    columns = " ".join(f"{name:>15}" for name in names)
    print(f"{'data':>18} {'l':>4} {'the grid':>8} {'it chose':>12} {columns}")
    with threadpool_limits(1):
        for split in range(max(1, splits)):
            for name, X, y in data(split):
                row(name, X, y, split, lambdas)


if __name__ == "__main__":
    sys.exit(main())
