"""Odd examples: condition numbers, scales, ranks, near duplicates, 1 to 200 classes, all settings of the learners."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.torture.outcomes import Tally, check_finite, check_result
from covmetric import CovMetric, CovMetricClassifier, CovMetricCV, CovMetricPairs, make_paper_problem, solve
from covmetric.embeddings import EMBEDDINGS
from covmetric.learning.prior import PRIORS
from covmetric.learning.rules import RULES
from covmetric.slacks import SLACKS


def draw_examples(rng: np.random.Generator) -> tuple[Any, Any]:
    """Return examples and labels of a random odd kind.

    Parameters
    ----------
    rng : Generator
        The source of randomness.

    Returns
    -------
    X : array of shape (l, n, n) or (l, n)
        Matrices or vectors.
    y : array of int of shape (l,)
        Labels.
    """
    n = int(rng.integers(1, 9))
    n_classes = int(rng.choice([1, 2, 2, 3, 5, 20, 200]))
    count = min(400, n_classes * int(rng.integers(1, 7)) + int(rng.integers(3)))
    y = np.arange(count) % n_classes
    if rng.random() < 0.25:
        X = rng.standard_normal((count, n)) + 0.3 * y[:, None]
    else:
        rank = int(rng.integers(1, n + 1)) if rng.random() < 0.2 else n
        spread = 10.0 ** (rng.uniform(0, 8) * np.linspace(0, -1, n))  # condition numbers up to 1e16
        A = spread[:, None] * rng.standard_normal((count, n, 2 * n)) if rank == n else rng.standard_normal((n, rank))
        A = A if rank == n else A @ rng.standard_normal((count, rank, 2 * n))
        A[y % 2 == 1, 0] *= 1.5
        X = A @ np.swapaxes(A, 1, 2)
    kind = rng.random()
    if kind < 0.15 and count > 1:  # duplicates, exact or nearly
        X[count // 2 :] = X[: count - count // 2] * (1.0 + rng.choice([0.0, 1e-15, 1e-12, 1e-8]))
    elif kind < 0.3:
        X = X * 10.0 ** rng.uniform(-3, 3, (count, *[1] * (X.ndim - 1)))
    if rng.random() < 0.6:
        X = X * 10.0 ** rng.uniform(-150, 150)
    return X, y


def draw_settings(rng: np.random.Generator, X: Any) -> dict[str, Any]:
    """Return random settings of CovMetric that belong to the kind of the examples.

    Parameters
    ----------
    rng : Generator
        The source of randomness.
    X : array
        The examples.

    Returns
    -------
    dict
        The settings.
    """
    phis = [name for name, phi in EMBEDDINGS.items() if phi.takes_vectors == (X.ndim == 2)]
    return {
        "phi": "auto" if rng.random() < 0.2 else str(rng.choice(phis)),
        "prior": str(rng.choice(list(PRIORS))),
        "slack": str(rng.choice(list(SLACKS))),
        "pairs": str(rng.choice(["neighbors", "random"])),
        "budget": int(10.0 ** rng.uniform(0, 3)) if rng.random() < 0.3 else None,
        "lam": np.inf if rng.random() < 0.1 else 10.0 ** rng.uniform(-6, 2),
        "reg": float(rng.choice([0.0, 0.0, 1e-6])),
        "random_state": 0,
    }


def odd_examples(tally: Tally, seed: int, count: int) -> None:
    """Fit learners to odd examples and use them."""
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        X, y = draw_examples(rng)
        settings = draw_settings(rng, X)
        kind = str(rng.choice(["metric", "metric", "classifier", "classifier", "pairs", "search"]))
        rule = str(rng.choice(list(RULES)))
        tally.attempt(lambda X=X, y=y, s=settings, k=kind, r=rule: _fit_and_use(k, r, s, X, y), f"seed {seed}, {i}")


def _fit_and_use(kind: str, rule: str, settings: dict[str, Any], X: Any, y: Any) -> None:
    if kind == "pairs":
        index = np.arange(len(X) - 1)
        pairs = np.stack([index, index + 1 + index % 2 * (index < len(X) - 2)], axis=1)
        similar = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
        kept = {name: value for name, value in settings.items() if name not in ("pairs", "budget")}
        pair_model = CovMetricPairs(preprocessor=X, **kept).fit(pairs, similar)
        check_result(pair_model.result_)
        check_finite(pair_model.pair_distance(pairs))
        return
    if kind == "search" and len(X) <= 60:
        search = CovMetricCV(lambdas=[1.0, 1e-2], cv=2, random_state=0, prior=settings["prior"]).fit(X, y)
        check_result(search.result_)
        check_finite(search.transform(X))
        return
    learner = CovMetric(**settings)
    if kind == "metric":
        learner.fit(X, y)
        check_result(learner.result_)
        check_finite(learner.transform(X), learner.distance(X[:2], X[0]))
        return
    model = CovMetricClassifier(learner, rule=rule, n_neighbors=1).fit(X, y)
    check_result(model.learner_.result_)
    assert np.isin(model.predict(X), y).all(), "a prediction is not a class"
    check_finite(model.predict_proba(X))


def numbers_of_pairs(tally: Tally, seed: int, count: int) -> None:
    """Solve problems of 1 to 10^5 pairs with every slack."""
    for K in [1, 10, 100, 1_000, 10_000, 100_000][:count]:
        for slack in SLACKS:
            for lam in (1e-1, 1e-4):

                def work(K: int = K, slack: str = slack, lam: float = lam) -> None:
                    problem = make_paper_problem(n=6, K=K, lam=lam, slack=slack, seed=seed)
                    check_result(solve(problem, random_state=0))

                tally.attempt(work, f"K = {K}, {slack}, lambda = {lam}")
