"""Small labelled, embedded examples for the tests of this package."""

from __future__ import annotations

import numpy as np

from covmetric.constraints import AbsoluteBounds, NeighborPairs
from covmetric.learning.fit import FittedProblem
from covmetric.learning.settings import LearningSettings


def embedded_classes(count=24, n=3, m=2, seed=0):
    """Return two classes that differ in the first row; noise in the second row hides this until W is learned."""
    rng = np.random.default_rng(seed)
    codes = np.arange(count) % 2
    embedded = rng.standard_normal((count, n, m)) * np.array([0.5, 4.0, 1.0])[:n, None]
    embedded[:, 0] += 2.0 * codes[:, None]
    return embedded, codes


def settings(**changes):
    """Return the settings of a learner on neighbour pairs."""
    return LearningSettings(**{"selection": NeighborPairs(3), "bounds": AbsoluteBounds(), **changes})


def start_problem(*, copies=1, count=24, **changes):
    """Return a problem at its prior."""
    embedded, codes = embedded_classes(count)
    return FittedProblem.at_prior(settings(**changes), embedded, codes, copies)


def recorder(monkeypatch, module, name):
    """Replace a function of a module by one that records its arguments; return the list of calls."""
    real, calls = getattr(module, name), []

    def record(*args, **kwargs):
        calls.append((args, kwargs))
        return real(*args, **kwargs)

    monkeypatch.setattr(module, name, record)
    return calls
