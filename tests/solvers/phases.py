"""The methods of Hybrid, a problem for all of them, and steps that are counted or fail."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from covmetric import Dykstra, Interior, MetricProblem, Newton
from covmetric.solvers import StepFailed

METHODS = {"dykstra": Dykstra, "newton": Newton, "interior": Interior}


def thin_problem(lam, n=100, K=300, slack="is", seed=0):
    """Return a problem with vectors whose spectrum decays, as that of vectorised logarithms does."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((K // 4, n, 1)) * np.geomspace(1.0, 0.05, n)[:, None]
    pairs = np.array([rng.choice(len(X), 2, replace=False) for _ in range(K)])
    similar = rng.choice([-1.0, 1.0], K)
    squared = ((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2).sum(axis=(1, 2))
    bounds = np.where(similar > 0.0, *np.quantile(squared, [0.1, 0.9]))
    return MetricProblem(X, pairs, similar, bounds, 1.0 / (lam * K), slack)


def phases(result):
    """Return the phases of a solve in their order."""
    return [phase for phase, _ in groupby(result.history.phase.tolist())]


def count_steps(monkeypatch):
    """Return a dict of the numbers of steps that the methods take from now on."""
    counts = dict.fromkeys(METHODS, 0)
    for name, method in METHODS.items():

        def step(self, problem, state, name=name, original=method.step):
            counts[name] += 1
            original(self, problem, state)

        monkeypatch.setattr(method, "step", step)
    return counts


def let_fail(monkeypatch, *names, error=StepFailed, after=0):
    """Let the steps of some methods fail, each after a number of steps that succeed."""
    for name in names:
        calls = []

        def step(self, problem, state, calls=calls, original=METHODS[name].step):
            calls.append(1)
            if len(calls) > after:
                raise error
            original(self, problem, state)

        monkeypatch.setattr(METHODS[name], "step", step)
