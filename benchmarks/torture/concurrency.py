"""Eight threads at once, processes of every kind, and Ctrl-C at random moments."""

from __future__ import annotations

import functools
import multiprocessing
import os
import signal
import threading
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import joblib
import numpy as np
from joblib.externals.loky import get_reusable_executor

from benchmarks.torture.outcomes import Tally, check_result
from benchmarks.torture.states import data
from covmetric import CovMetric, CovMetricClassifier, CovMetricCV


def fit_one(seed: int) -> Any:
    """Return what a search and a fit with random pairs and Dykstra's algorithm learn from a seed.

    Parameters
    ----------
    seed : int
        The seed.

    Returns
    -------
    array
        The learned matrices, one after the other.
    """
    X, y = data(seed, 3, n=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        learner = CovMetric(pairs="random", solver="dykstra", random_state=seed).fit(X, y)
        search = CovMetricCV(["log", "relog"], lambdas=[1.0, 1e-2], cv=2, random_state=seed).fit(X, y)
        forest = CovMetricClassifier(CovMetric("log", random_state=seed), rule="svm", random_state=0).fit(X, y)
    check_result(learner.result_)
    return np.concatenate([learner.W_.ravel(), search.W_.ravel(), forest.predict_proba(X).ravel()])


def parallel(tally: Tally, seed: int, count: int) -> None:
    """Fit in 8 threads at once, and in processes of every kind: the same bits as one after the other."""
    seeds = range(seed, seed + count)
    expected = [fit_one(s) for s in seeds]

    def compare(kind: str, results: Any) -> None:
        for s, ours, theirs in zip(seeds, results, expected, strict=True):
            tally.require(np.array_equal(ours, theirs), f"{kind}: seed {s} gives other bits")

    with ThreadPoolExecutor(8) as pool:
        compare("threads", pool.map(fit_one, seeds))
    for kind in ("fork", "spawn", "forkserver") if count > 1 else ("fork",):
        with warnings.catch_warnings(), ProcessPoolExecutor(2, multiprocessing.get_context(kind)) as executor:
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks while other threads run
            compare(kind, executor.map(fit_one, seeds))
    for backend in ("loky", "threading", "multiprocessing") if count > 1 else ("threading",):
        compare(f"joblib, {backend}", joblib.Parallel(2, backend=backend)(joblib.delayed(fit_one)(s) for s in seeds))
    get_reusable_executor().shutdown(wait=True)  # the process would wait for idle workers at its end


def interrupts(tally: Tally, seed: int, count: int) -> None:
    """Press Ctrl-C at random moments: a model with a warning, or KeyboardInterrupt, and the next fit is right."""
    rng = np.random.default_rng(seed)
    fits = [_long_search, _long_solve, _classifier]
    expected, seconds = [], []
    warnings.simplefilter("ignore", UserWarning)
    for fit in fits:
        fit()
        started = time.perf_counter()
        expected.append(_learned(fit()))
        seconds.append(time.perf_counter() - started)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for i in range(count):
        k = i % len(fits)
        timer = threading.Timer(rng.uniform(0, 1.05 * seconds[k]), os.kill, (os.getpid(), signal.SIGINT))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                try:
                    timer.start()
                    model = fits[k]()
                finally:
                    timer.cancel()
                    timer.join()
            except KeyboardInterrupt:
                tally.clear += 1
                continue
        told = any(word in str(warning.message) for warning in caught for word in ("interrupt", "Ctrl-C"))
        same = np.array_equal(_learned(model), expected[k])
        tally.require(told or same, f"interrupt {i}: another result without a warning")
        if i % 10 == 9:
            tally.require(np.array_equal(_learned(fits[k]()), expected[k]), f"the fit after interrupt {i} differs")


@functools.cache
def _many() -> Any:
    return data(1, 8, n=8)


def _long_search() -> Any:
    return CovMetricCV(["log", "relog"], lambdas=[1.0, 1e-1, 1e-2], cv=2, random_state=0).fit(*_many())


def _long_solve() -> Any:
    return CovMetric("log", lam=1e-5, solver="dykstra", tol=1e-9, max_iter=300, random_state=0).fit(*_many())


def _classifier() -> Any:
    return CovMetricClassifier(CovMetric("tangent", lam=1e-3, random_state=0), rule="logistic").fit(*_many())


def _learned(model: Any) -> Any:
    return (model.learner_ if hasattr(model, "learner_") else model).W_
