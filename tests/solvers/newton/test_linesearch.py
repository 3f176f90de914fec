"""The ray is the objective, and the search along it descends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmetric.solvers.newton.linesearch import Ray, search
from covmetric.solvers.newton.stretch import Stretch
from tests.problems import problem_seeds, random_problem


@given(seed=st.sampled_from(problem_seeds(63)), size=st.floats(-3, 3), draw=st.integers(0, 50))
def test_the_ray_is_the_objective_and_the_search_descends(seed, size, draw):
    problem = random_problem(seed)
    rng = np.random.default_rng(draw)
    n = problem.n
    A = rng.standard_normal((n, n))
    C = np.linalg.cholesky(A @ A.T / n + 0.1 * np.eye(n))
    D = 10.0**size * rng.standard_normal((n, n))
    D += D.T
    s = problem.squared_distances(C @ C.T) / problem.bounds
    ds = problem.sums.inner_products(C @ D @ C.T) / problem.bounds
    regulariser = -np.linalg.slogdet(C @ C.T)[1] + np.sum(C**2) - n
    ray = Ray(problem, problem.weights, s, ds, Stretch(D, np.eye(n)), regulariser, float(np.sum((C @ D) * C)))
    t = 0.3 * min(ray.limit, 1.0)
    value, slope = ray.at(t)
    moved = C @ (np.eye(n) + t * D) @ C.T
    assert value == pytest.approx(problem.primal((moved + moved.T) / 2), rel=1e-8, abs=1e-8)
    h = 1e-6 * t
    assert slope == pytest.approx((ray.at(t + h)[0] - ray.at(t - h)[0]) / (2 * h), rel=1e-2, abs=1e-2 * abs(value) / t)
    start = ray.at(0.0)
    step, reached = search(ray, start)
    if start[1] < 0.0:
        assert 0.0 < step < ray.limit
        assert reached < start[0]
    else:
        assert step == 0.0
